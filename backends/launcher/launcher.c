/* fumehood launcher: a small static program between the host and every confined command on Linux.
 *
 * Theory of operation
 *   Three kinds of process, one program:
 *     factory  started by the host (posix_spawn), once per prepared sandbox. Enters a user namespace where that is the
 *              way to the others, builds the mount view once, then makes an instance whenever asked. Sees the host's
 *              pid namespace, holds no descriptor but its socket, the host's pidfd and the cgroup folders.
 *     init     pid 1 of one instance, cloned by the factory into fresh namespaces. Finishes the view (private tmpfs,
 *              proc, devpts), arms one runner ahead, forks more on request, reaps everything, reports each stage.
 *     runner   forked by init; confines itself completely, then waits for one packet and executes. What is left on the
 *              critical path of a command is one packet and one execve(2).
 *   Ends: a runner ends in execve or reports why not. init ends when its socket closes or the factory dies, and the
 *   kernel then kills the whole pid namespace; without one, init sweeps its descendants as their subreaper.
 *   The factory ends when the host's socket closes or the host's pidfd says it is gone.
 *   Trust: everything read here was written by the host; a confined command reaches none of these sockets. init keeps
 *   the right to mount (verified copies are bound in its view), so it is not dumpable and blocks every signal.
 */
#define _GNU_SOURCE
#include "decode.h"
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernel interfaces newer than the oldest headers we build with (values: linux/mount.h, linux/landlock.h). */
#ifndef MOUNT_ATTR_RDONLY
#define MOUNT_ATTR_RDONLY 1
#endif
/* One number on every architecture since 5.1 (syscalls(2)). */
enum { SYS_OPEN_TREE = 428, SYS_MOVE_MOUNT, SYS_FSOPEN, SYS_FSCONFIG, SYS_FSMOUNT, SYS_PIDFD_OPEN = 434, SYS_CLOSE_RANGE = 436,
       SYS_OPENAT2, SYS_MOUNT_SETATTR = 442, SYS_LANDLOCK_CREATE = 444, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT };
enum { MOVE_F_EMPTY = 0x4, MOVE_T_EMPTY = 0x40 };
enum { MAX_FDS = 5, INLINE_START = 16384, MAX_NETS = 4096, MAX_STAGES = 1024 };
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define FILE_RIGHTS (1ull | 2ull | 4ull | (1ull << 14) | (1ull << 15)) /* execute, write, read, truncate, ioctl_dev */

struct attr { uint64_t set, clear, propagation, userns; };
struct ruleset_attr { uint64_t fs, net, scope; };

static const struct config *config;
static const char *strings;

static const void *table(uint32_t offset) { return (const char *)config + offset; }
static const char *text(uint32_t offset) { return strings + offset; }

/* Close what may not be there; errno stays what it was, so a failure can still be told. */
static void shut(int fd) {
    int keep = errno;
    if (fd >= 0) close(fd);
    errno = keep;
}

/* ---- packets -------------------------------------------------------------------------------------------------- */

static void put(int fd, uint32_t type, int32_t a, int32_t b) {
    struct packet p = {.magic = PACKET_MAGIC, .type = type, .a = a, .b = b};
    (void)!send(fd, &p, sizeof p, MSG_NOSIGNAL);
}

static void put_fds(int fd, struct packet *p, const int *fds, int count) {
    union { char space[CMSG_SPACE(4 * sizeof(int))]; struct cmsghdr align; } control = {0};
    struct iovec iov = {p, sizeof *p};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
                         .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    (void)!sendmsg(fd, &msg, MSG_NOSIGNAL);
}

/* One message of at most `size` bytes and MAX_FDS descriptors (close-on-exec), count of them set. -1: end, or odd. */
static ssize_t receive(int fd, void *buffer, size_t size, int *fds, int *count) {
    union { char space[CMSG_SPACE(MAX_FDS * sizeof(int))]; struct cmsghdr align; } control;
    struct iovec iov = {buffer, size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    do got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC); while (got < 0 && errno == EINTR);
    *count = 0;
    if (got <= 0) return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        *count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(head), (size_t)*count * sizeof(int));
    }
    if (!(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return got;
    while (*count > 0) close(fds[--*count]);
    return -1;
}

/* One packet; the number of its descriptors, or -1 at the end of the connection and on anything odd. */
static int get(int fd, struct packet *p, int *fds) {
    int count;
    ssize_t got = receive(fd, p, sizeof *p, fds, &count);
    if (got == sizeof *p && p->magic == PACKET_MAGIC) return count;
    while (count > 0) close(fds[--count]);
    return -1;
}

/* Map a sealed memory file read-only. NULL unless it can no longer change or shrink (memfd_create(2)). */
static void *map_sealed(int fd, size_t *size, int protection) {
    struct stat st;
    int want = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    if ((fcntl(fd, F_GET_SEALS) & want) != want || fstat(fd, &st) || st.st_size <= 0) return NULL;
    void *at = mmap(NULL, (size_t)st.st_size, protection, MAP_PRIVATE, fd, 0);
    *size = (size_t)st.st_size;
    return at == MAP_FAILED ? NULL : at;
}

static _Noreturn void fail(int fd, int step, int b) {
    put(fd, P_ERROR, step, b);
    _exit(125);
}

/* ---- the view ------------------------------------------------------------------------------------------------- */

static int resolve(int root, const char *path, int flags) {
    struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
    while (*path == '/') path++;
    return (int)syscall(SYS_OPENAT2, root, *path ? path : ".", &how, sizeof how);
}

/* Make the parents of path below root (mode 0755) and return a descriptor of the last; leaf is set to the name. */
static int parents(int root, const char *path, const char **leaf) {
    char part[4096];
    int at = dup(root);
    for (const char *slash; at >= 0; path = slash + 1) {
        while (*path == '/') path++;
        slash = strchr(path, '/');
        if (!slash) break;
        size_t n = (size_t)(slash - path);
        if (n >= sizeof part) { close(at); errno = ENAMETOOLONG; return -1; }
        memcpy(part, path, n);
        part[n] = 0;
        int next = resolve(at, part, O_PATH | O_DIRECTORY);
        if (next < 0 && errno == ENOENT) {
            if (mkdirat(at, part, 0755)) { shut(at); return -1; }
            next = resolve(at, part, O_PATH | O_DIRECTORY);
        }
        close(at);
        at = next;
    }
    *leaf = path;
    return at;
}

static int make_directory(int root, const char *path, uint32_t mode) {
    const char *leaf;
    int at = parents(root, path, &leaf);
    if (at < 0) return -1;
    /* Only what was made here gets the mode: an existing folder may be the host's. */
    int made = *leaf && !mkdirat(at, leaf, mode), failed = *leaf && !made && errno != EEXIST;
    if (made && fchmodat(at, leaf, mode, 0)) failed = 1;
    shut(at);
    return failed ? -1 : 0;
}

static int make_file(int root, const char *path, const void *content, size_t size, uint32_t mode) {
    const char *leaf;
    int at = parents(root, path, &leaf);
    if (at < 0) return -1;
    int fd = openat(at, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int failed = fd < 0 && errno != EEXIST;
    if (fd >= 0) {
        failed = (size && write(fd, content, size) != (ssize_t)size) || fchmod(fd, mode);
        shut(fd);
    }
    shut(at);
    return failed ? -1 : 0;
}

static int attach(int mount_fd, int root, const char *path) {
    int target = resolve(root, path, O_PATH);
    if (target < 0) return -1;
    int done = (int)syscall(SYS_MOVE_MOUNT, mount_fd, "", target, "", MOVE_F_EMPTY | MOVE_T_EMPTY);
    shut(target);
    return done;
}

static int file_system(const char *type, const char *const *options, uint64_t attributes) {
    int context = (int)syscall(SYS_FSOPEN, type, 1 /* FSOPEN_CLOEXEC */), fd = -1;
    if (context < 0) return -1;
    int bad = 0;
    for (; !bad && *options; options += 2)
        bad = syscall(SYS_FSCONFIG, context, 1 /* SET_STRING */, options[0], options[1], 0) != 0;
    if (!bad && !syscall(SYS_FSCONFIG, context, 6 /* CMD_CREATE */, NULL, NULL, 0))
        fd = (int)syscall(SYS_FSMOUNT, context, 1 /* FSMOUNT_CLOEXEC */, attributes);
    shut(context);
    return fd;
}

static int tmpfs(uint64_t size, uint32_t mode, int owned) {
    char bytes[32], bits[16], uid[16], gid[16];
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)size);
    snprintf(bits, sizeof bits, "%o", mode);
    snprintf(uid, sizeof uid, "%u", config->uid);
    snprintf(gid, sizeof gid, "%u", config->gid);
    const char *options[] = {"mode", bits, size ? "size" : NULL, bytes, NULL, NULL, NULL, NULL, NULL};
    int n = size ? 4 : 2;
    if (owned) {
        options[n++] = "uid"; options[n++] = uid; options[n++] = "gid"; options[n++] = gid;
    }
    options[n] = NULL;
    return file_system("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* Take the source's whole mount tree out of the host's, restricted. */
static int take(const struct op *op) {
    int fd = (int)syscall(SYS_OPEN_TREE, AT_FDCWD, text(op->source),
                          OPEN_TREE_CLONE | O_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    struct stat st;
    if (fd < 0) return -1;
    if (op->inode && (fstat(fd, &st) || st.st_ino != op->inode || st.st_dev != op->device)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    struct attr a = {.set = MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
    if (!(op->flags & O_ALLOW_DEV)) a.set |= MOUNT_ATTR_NODEV;
    if (op->flags & O_RDONLY_TREE) a.set |= MOUNT_ATTR_RDONLY;
    if (syscall(SYS_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof a)) {
        shut(fd);
        return -1;
    }
    return fd;
}

static int place(int mount_fd, int root, const char *path) {
    struct stat st;
    if (fstat(mount_fd, &st)) return -1;
    if (S_ISDIR(st.st_mode) ? make_directory(root, path, 0755) : make_file(root, path, "", 0, 0644))
        if (errno != EROFS && errno != EACCES) return -1; /* exists below a root: attach decides */
    return attach(mount_fd, root, path);
}

/* Cover an existing name by an empty thing of its kind that nobody may open. */
static int mask(int root, const char *path) {
    struct stat st;
    int target = resolve(root, path, O_PATH);
    if (target < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    int fd = -1;
    if (!fstat(target, &st)) {
        const char *source = S_ISDIR(st.st_mode) ? "/.fumehood/none/folder" : "/.fumehood/none/file";
        int from = resolve(root, source, O_PATH);
        fd = (int)syscall(SYS_OPEN_TREE, from, "", OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
        close(from);
        struct attr a = {.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
        if (fd >= 0 && syscall(SYS_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH, &a, sizeof a)) { shut(fd); fd = -1; }
    }
    int done = fd < 0 ? -1 : (int)syscall(SYS_MOVE_MOUNT, fd, "", target, "", MOVE_F_EMPTY | MOVE_T_EMPTY);
    shut(fd);
    shut(target);
    return done;
}

static int do_op(const struct op *op, int root, int taken) {
    const char *const none[] = {NULL}, *const pts[] = {"ptmxmode", "0666", "mode", "0620", NULL};
    const char *leaf;
    int fd, at, done;
    switch (op->kind) {
    case OP_DIR: return make_directory(root, text(op->path), op->mode);
    case OP_FILE: return make_file(root, text(op->path), text(op->source), op->size, op->mode);
    case OP_MASK: return mask(root, text(op->path));
    case OP_BIND: return place(taken, root, text(op->path));
    case OP_SYMLINK:
        at = parents(root, text(op->path), &leaf);
        done = at < 0 ? -1 : symlinkat(text(op->source), at, leaf);
        close(at);
        return done && errno == EEXIST ? 0 : done;
    case OP_MOVE:
        at = resolve(root, text(op->source), O_PATH);
        if (at < 0) return -1;
        fd = (int)syscall(SYS_OPEN_TREE, at, "", O_CLOEXEC | AT_EMPTY_PATH);
        close(at);
        break;
    case OP_TMPFS: fd = tmpfs(op->size, op->mode, op->flags & O_OWNED); break;
    case OP_PROC: fd = file_system("proc", none, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY); break;
    case OP_DEVPTS: fd = file_system("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC); break;
    default: errno = EINVAL; return -1;
    }
    if (fd < 0) return -1;
    done = place(fd, root, text(op->path));
    close(fd);
    return done;
}

static _Noreturn void fail_at(int host, int step, uint32_t index) { fail(host, step, (int)((index << 12) | (uint32_t)errno)); }

/* Perform the operations of one phase in order. taken: trees that are in hand already; the others are taken when due, so
 * that their number is not bound by how many descriptors we may hold. */
static void perform(int host, int root, uint32_t phase, const int *taken) {
    const struct op *ops = table(config->ops);
    for (uint32_t i = 0; i < config->op_count; i++) {
        if ((ops[i].flags & O_INSTANCE) != phase) continue;
        int bind = ops[i].kind == OP_BIND, fd = !bind ? -1 : taken && taken[i] ? taken[i] : take(&ops[i]);
        if (bind && fd < 0 && !(ops[i].flags & O_OPTIONAL)) fail_at(host, S_ROOT, i);
        if (bind && fd < 0) continue;
        if (do_op(&ops[i], root, fd) && !(ops[i].flags & O_OPTIONAL)) fail_at(host, S_OP, i);
        if (bind) close(fd);
    }
}

static int below(const char *path, const char *folder) {
    size_t size = strlen(folder);
    return !strncmp(path, folder, size) && (!path[size] || path[size] == '/');
}

static void build_view(int host) {
    static int taken[MAX_ROOTS];
    const struct op *ops = table(config->ops);
    for (uint32_t i = 0; i < config->op_count; i++) /* what our staging folder is about to cover, while it can be seen */
        if (ops[i].kind == OP_BIND && below(text(ops[i].source), text(config->staging))) {
            taken[i] = take(&ops[i]);
            if (taken[i] < 0 && !(ops[i].flags & O_OPTIONAL)) fail_at(host, S_ROOT, i);
        }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) fail(host, S_MOUNTNS, errno);
    int fd = tmpfs(0, 0755, 0);
    if (fd < 0 || syscall(SYS_MOVE_MOUNT, fd, "", AT_FDCWD, text(config->staging), MOVE_F_EMPTY)) fail(host, S_PIVOT, errno);
    close(fd);
    int root = open(text(config->staging), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fchdir(root)) fail(host, S_PIVOT, errno);
    make_directory(root, "/.fumehood/none/folder", 0);
    make_file(root, "/.fumehood/none/file", "", 0, 0);
    perform(host, root, 0, taken);
    if (syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/")) fail(host, S_PIVOT, errno);
    struct attr a = {.set = MOUNT_ATTR_RDONLY};
    if (syscall(SYS_MOUNT_SETATTR, AT_FDCWD, "/", 0, &a, sizeof a)) fail(host, S_PIVOT, errno);
    close(root);
}

/* ---- small kernel files --------------------------------------------------------------------------------------- */

static int write_file(int at, const char *path, const char *content) {
    int fd = openat(at, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t put_bytes = write(fd, content, strlen(content));
    shut(fd);
    return put_bytes == (ssize_t)strlen(content) ? 0 : -1;
}

/* The number after `key ` at a line start, or the whole file's number where key is empty. The kernel wrote it. */
static uint64_t read_counter(int fd, const char *key) {
    char buffer[2048];
    ssize_t got = pread(fd, buffer, sizeof buffer - 1, 0);
    if (got <= 0) return 0;
    buffer[got] = 0;
    for (char *line = buffer; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, key, strlen(key)) && (!*key || line[strlen(key)] == ' '))
            return strtoull(line + strlen(key), NULL, 10);
    return 0;
}

/* ---- runner --------------------------------------------------------------------------------------------------- */

static void drop_privileges(int socket) {
    for (int cap = 0; cap < 64; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno == EINVAL) break; /* past the last; EPERM: we had none */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail(socket, S_CAPS, errno);
    if (config->flags & F_SETIDS &&
        (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, config->gid, config->gid, config->gid) ||
         syscall(SYS_setresuid, config->uid, config->uid, config->uid)))
        fail(socket, S_IDS, errno);
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &head, none)) fail(socket, S_CAPS, errno);
}

static void confine(int socket, int ruleset) {
    const struct limit *limits = table(config->limits);
    setsid();
    umask(config->umask);
    for (uint32_t i = 0; i < config->limit_count; i++) {
        struct rlimit value = {limits[i].soft, limits[i].hard}, now;
        /* A hard limit can only be kept or lowered; where the host's is lower already, that one holds. */
        if (!getrlimit((int)limits[i].resource, &now) && now.rlim_max < value.rlim_max) value.rlim_max = now.rlim_max;
        if (value.rlim_cur > value.rlim_max) value.rlim_cur = value.rlim_max;
        if (setrlimit((int)limits[i].resource, &value)) fail(socket, S_LIMIT, errno);
    }
    if (!(config->flags & F_DIRECT)) drop_privileges(socket);
    if (ruleset >= 0 && syscall(SYS_LANDLOCK_RESTRICT, ruleset, 0)) fail(socket, S_LANDLOCK, errno);
    if (!(config->flags & F_PIDNS)) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int s = 1; s < 65; s++) sigaction(s, &standard, NULL);
    sigset_t empty;
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    struct sock_fprog program = {(unsigned short)config->bpf_count, (struct sock_filter *)(uintptr_t)table(config->bpf)};
    if (config->bpf_count && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) fail(socket, S_SECCOMP, errno);
}

static int same_file(const char *path, const struct start *want) {
    struct stat st;
    if (stat(path, &st)) return -1;
    errno = ESTALE;
    return st.st_dev == want->device && st.st_ino == want->inode && (uint64_t)st.st_size == want->length &&
                   st.st_mode == want->mode && /* owners look different in a user namespace; ctime tells of a change */
                   st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec == want->mtime_ns &&
                   st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec == want->ctime_ns
               ? 0 : -1;
}

static _Noreturn void run(int socket, int ruleset) {
    static union { char bytes[INLINE_START]; struct start start; struct packet packet; } message;
    static char *few[512];
    int fds[MAX_FDS], count;
    confine(socket, ruleset);
    ssize_t got = receive(socket, &message, sizeof message, fds, &count);
    if (got < 0) _exit(125);
    /* A record that fits travels in the message itself; a larger one as a sealed memory file, first of its descriptors. */
    const struct start *want = &message.start;
    size_t size = (size_t)got;
    int *io = fds;
    if (message.packet.magic == PACKET_MAGIC && count > 3) {
        want = map_sealed(fds[0], &size, PROT_READ);
        io++;
        count--;
    }
    if (!want || size < sizeof *want || count < 3) fail(socket, S_START, EPROTO);
    size_t slots = (size_t)want->argc + want->envc + 4;
    char **list = few;
    if (slots > sizeof few / sizeof *few)
        list = mmap(NULL, slots * sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED || start_check(want, size, list, slots)) fail(socket, S_START, EPROTO);
    char *path = list[0], *cwd = list[1], **argv = list + 2, **envp = list + 2 + want->argc + 1;
    /* Ours are all above 2: the factory's own 0-2 are /dev/null, and init kept them. */
    int high = socket, program = count > 3 ? io[3] : -1;
    for (int i = 0; i < 3; i++)
        if (dup2(io[i], i) < 0) fail(high, S_START, errno);
    if (chdir(cwd)) fail(high, S_CWD, errno);
    if (want->inode && same_file(path, want)) fail(high, S_VERIFY, errno);
    if (program >= 0) { /* a `#!` file is opened again by its interpreter, so this one stays open */
        fcntl(program, F_SETFD, 0);
        syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
    } else execve(path, argv, envp);
    int why = errno;
    put(high, P_ERROR, S_EXEC, why);
    _exit(why == ENOENT ? 127 : 126);
}

/* ---- init ----------------------------------------------------------------------------------------------------- */

static pid_t stages[MAX_STAGES];
static int counter_fds[COUNTERS], stage_count;

static void sweep(pid_t pid, int signal) {
    char path[64], list[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, list, sizeof list - 1);
    close(fd);
    if (got <= 0) return;
    list[got] = 0;
    for (char *at = list, *end; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end) {
        if (signal == SIGKILL) kill(pid, SIGSTOP); /* it can fork no more while its children are visited */
        sweep(pid, signal);
        kill(pid, signal);
    }
}

static void signal_all(int signal) {
    if (config->flags & F_PIDNS) kill(-1, signal);
    else sweep(getpid(), signal);
    if (signal != SIGKILL && signal != SIGSTOP) { /* a stopped process only sees the signal when it goes on */
        if (config->flags & F_PIDNS) kill(-1, SIGCONT);
        else sweep(getpid(), SIGCONT);
    }
}

static _Noreturn void end_instance(void) {
    if (!(config->flags & F_PIDNS))
        for (int left = 1, i = 0; left && i < 1000; i++) {
            sweep(getpid(), SIGKILL);
            for (pid_t p; (p = waitpid(-1, NULL, i < 999 ? 0 : WNOHANG)) > 0;) sweep(getpid(), SIGKILL);
            left = errno != ECHILD;
        }
    _exit(0);
}

/* Verified copies that lie over their originals. Whoever shares the folder from outside this mount namespace can rename
 * another file over the name, which detaches our mount for good (never attaches it again): looking afterwards is enough
 * to know whether anybody may have read something else under that name. */
static struct { char *path; dev_t device; ino_t inode; } copies[MAX_STAGES];
static int copy_count;

static int copies_intact(void) {
    struct stat st;
    for (int i = 0; i < copy_count; i++)
        if (stat(copies[i].path, &st) || st.st_dev != copies[i].device || st.st_ino != copies[i].inode) return 0;
    return 1;
}

static void reap(int host) {
    int status;
    struct rusage used;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &used)) > 0;)
        for (int i = 0; i < stage_count; i++) {
            if (stages[i] != pid) continue;
            stages[i] = 0;
            struct packet p = {.magic = PACKET_MAGIC, .type = P_EXIT, .a = i, .b = status,
                               .c = (uint64_t)used.ru_utime.tv_sec * 1000000 + (uint64_t)used.ru_utime.tv_usec,
                               .d = (uint64_t)used.ru_stime.tv_sec * 1000000 + (uint64_t)used.ru_stime.tv_usec,
                               .e = (uint64_t)used.ru_maxrss};
            const struct counter *counters = table(config->counters);
            p.flags = (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD ? 1 : 0) |
                      (copies_intact() ? 0 : 2);
            for (uint32_t k = 0; k < config->counter_count; k++)
                p.counters[k] = read_counter(counter_fds[k], text(counters[k].key));
            (void)!send(host, &p, sizeof p, MSG_NOSIGNAL);
            if (p.flags & 1) sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}); /* our own end can wait */
        }
}

static void spawn(int host, int stage, int socket, int ruleset) {
    if (stage < 0 || stage >= MAX_STAGES) { put(host, P_ERROR, S_START, EINVAL); return; }
    if (stage) sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) run(socket, ruleset);
    if (pid < 0) put(host, P_ERROR, S_CLONE, errno);
    stages[stage] = pid > 0 ? pid : 0;
    if (stage >= stage_count) stage_count = stage + 1;
}

/* Put verified bytes read-only over the file they were read from, in this instance's view alone. */
static int place_copy(int content, int path_fd) {
    size_t size, path_size;
    const char *path = map_sealed(path_fd, &path_size, PROT_READ);
    const void *bytes = map_sealed(content, &size, PROT_READ);
    if (!path || path[path_size - 1] || !bytes) { errno = EPROTO; return -1; }
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), copy = -1, done = -1;
    int vault = tmpfs(0, 0711, 0);
    if (vault >= 0 && !syscall(SYS_MOVE_MOUNT, vault, "", AT_FDCWD, "/.fumehood", MOVE_F_EMPTY)) {
        int base = open("/.fumehood", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (!make_file(base, "/copy", bytes, size, 0555))
            copy = (int)syscall(SYS_OPEN_TREE, base, "copy", OPEN_TREE_CLONE | O_CLOEXEC);
        struct attr a = {.set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
        if (copy >= 0 && !syscall(SYS_MOUNT_SETATTR, copy, "", AT_EMPTY_PATH, &a, sizeof a))
            done = attach(copy, root, path);
        struct stat st;
        if (!done && copy_count < MAX_STAGES && !fstat(copy, &st)) {
            copies[copy_count].path = strdup(path);
            copies[copy_count].device = st.st_dev;
            copies[copy_count++].inode = st.st_ino;
        } else done = -1;
        shut(base);
        int why = errno;
        umount2("/.fumehood", MNT_DETACH);
        errno = why;
    }
    shut(copy);
    shut(vault);
    shut(root);
    munmap((void *)(uintptr_t)path, path_size);
    munmap((void *)(uintptr_t)bytes, size);
    return done;
}

static int landlock_abi(void) { return (int)syscall(SYS_LANDLOCK_CREATE, NULL, 0, 1 /* VERSION */); }

/* What of the asked rights this kernel knows (landlock(7), "Landlock ABI versions"). */
static struct ruleset_attr known_rights(int abi) {
    uint64_t fs = (1ull << 13) - 1;
    if (abi >= 2) fs |= 1ull << 13; /* refer */
    if (abi >= 3) fs |= 1ull << 14; /* truncate */
    if (abi >= 5) fs |= 1ull << 15; /* ioctl_dev */
    return (struct ruleset_attr){config->landlock_fs & fs, abi >= 4 ? config->landlock_net : 0,
                                 abi >= 6 ? config->landlock_scope : 0};
}

static int make_ruleset(int host) {
    struct ruleset_attr attr = known_rights(landlock_abi());
    size_t size = attr.scope ? sizeof attr : attr.net ? 16 : 8; /* older kernels refuse a longer record */
    int ruleset = (int)syscall(SYS_LANDLOCK_CREATE, &attr, size, 0);
    if (ruleset < 0) fail(host, S_RULESET, errno);
    const struct rule *rules = table(config->rules);
    for (uint32_t i = 0; i < config->rule_count; i++) {
        struct stat st;
        struct landlock_path_beneath_attr beneath = {rules[i].access, open(text(rules[i].path), O_PATH | O_CLOEXEC)};
        if (beneath.parent_fd < 0) continue; /* a path that does not exist grants nothing */
        if (!fstat(beneath.parent_fd, &st) && !S_ISDIR(st.st_mode)) beneath.allowed_access &= FILE_RIGHTS;
        beneath.allowed_access &= attr.fs;
        if (beneath.allowed_access && syscall(SYS_LANDLOCK_ADD, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0))
            fail(host, S_RULESET, errno);
        close(beneath.parent_fd);
    }
    return ruleset;
}

static void finish_view(int host) {
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    perform(host, root, O_INSTANCE, NULL);
    /* Only there where a user namespace needed it for a fresh one; the host's processes must not stay in reach. */
    if (umount2("/.fumehood/proc", MNT_DETACH) && errno != EINVAL && errno != ENOENT) fail(host, S_PIVOT, errno);
    close(root);
}

static void init_loop(int host, int factory, int ruleset, int signals) {
    struct pollfd watch[3] = {{host, POLLIN, 0}, {signals, POLLIN, 0}, {factory, POLLIN, 0}};
    for (;;) {
        if (poll(watch, 3, -1) < 0 && errno != EINTR) end_instance();
        if (watch[2].revents) end_instance();
        if (watch[1].revents) {
            struct signalfd_siginfo info;
            (void)!read(signals, &info, sizeof info);
            reap(host);
        }
        if (!watch[0].revents) continue;
        struct packet p;
        int fds[MAX_FDS], count = get(host, &p, fds);
        if (count < 0) end_instance();
        if (p.type == P_SPAWN && count == 1) spawn(host, p.a, fds[0], ruleset);
        else if (p.type == P_SIGNAL) signal_all(p.a);
        else if (p.type == P_COPY && count == 2) {
            if (place_copy(fds[0], fds[1])) put(host, P_ERROR, S_COPY, errno);
            else put(host, P_DONE, 0, 0);
        }
        while (count > 0) close(fds[--count]);
    }
}

static _Noreturn void init(int host, int runner, int factory, const int *groups) {
    const struct counter *counters = table(config->counters);
    for (uint32_t i = 0; i < config->group_count; i++)
        if (write_file(groups[i], "cgroup.procs", "0")) fail(host, S_CGROUP, errno);
    for (uint32_t i = 0; i < config->counter_count; i++)
        counter_fds[i] = openat(groups[counters[i].group], text(counters[i].file), O_RDONLY | O_CLOEXEC);
    for (uint32_t i = 0; i < config->group_count; i++) close(groups[i]);
    /* Our end is everybody's in a pid namespace; without one we must live to sweep, and the pidfd tells us when. */
    if (config->flags & F_PIDNS) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "fumehood-init", 0, 0, 0);
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    if (!(config->flags & F_PIDNS)) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (config->flags & F_UTSNS) (void)!sethostname("fumehood", 8);
    if (config->flags & F_MOUNTNS) finish_view(host);
    int ruleset = config->flags & F_LANDLOCK && landlock_abi() > 0 ? make_ruleset(host) : -1;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int signals = signalfd(-1, &all, SFD_CLOEXEC);
    spawn(host, 0, runner, ruleset);
    close(runner);
    put(host, P_READY, 0, 0);
    init_loop(host, factory, ruleset, signals);
    _exit(0);
}

/* ---- factory -------------------------------------------------------------------------------------------------- */

#define MAX_INSTANCES 4096
static struct { pid_t pid; unsigned serial; int net; } living[MAX_INSTANCES];
/* Network namespaces are dear to make and destroy (0.7 ms), and a command without capabilities can configure nothing in
 * one. So each serves one instance at a time and, once that is dead with every socket it had, the next. */
static struct { int fd, busy; } nets[MAX_NETS];
static int net_count, net_now = -1;
static unsigned serial;
static int group_roots[8], highest; /* slots in use lie below `highest` */

static void group_name(char *name, size_t size, unsigned number) {
    snprintf(name, size, "fumehood-%d-%d-%u", config->host_pid, getpid(), number);
}

/* 0 when the groups of that number are gone; a group stays busy for a moment after its last process. */
static int remove_groups(unsigned number) {
    char name[64];
    int left = 0;
    group_name(name, sizeof name, number);
    for (uint32_t i = 0; i < config->group_count; i++)
        left |= unlinkat(group_roots[i], name, AT_REMOVEDIR) && errno == EBUSY;
    return left;
}

static int make_groups(int *groups) {
    char name[64];
    const struct group *all = table(config->groups);
    const struct gwrite *writes = table(config->writes);
    group_name(name, sizeof name, serial);
    for (uint32_t i = 0; i < config->group_count; i++) {
        if (mkdirat(group_roots[i], name, 0755)) return -1;
        groups[i] = openat(group_roots[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (groups[i] < 0) return -1;
        for (uint32_t k = all[i].writes; k < all[i].writes + all[i].write_count; k++) {
            const char *file = text(writes[k].file);
            /* A leading `?`: only where the kernel has that file. */
            if (write_file(groups[i], file + (*file == '?'), text(writes[k].text)) && *file != '?') return -1;
        }
    }
    return 0;
}

static int make_net(void) {
    struct ifreq request = {.ifr_name = "lo"};
    if (net_count == MAX_NETS) { errno = EMFILE; return -1; }
    if (unshare(CLONE_NEWNET)) return -1;
    net_now = -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int net = ioctl(fd, SIOCGSKNS);
    int bad = net < 0 || fcntl(net, F_SETFD, FD_CLOEXEC);
    if (inet >= 0) { /* a kernel without IPv4 has no loopback to bring up */
        bad = bad || ioctl(inet, SIOCGIFFLAGS, &request);
        request.ifr_flags |= IFF_UP;
        bad = bad || ioctl(inet, SIOCSIFFLAGS, &request);
        close(inet);
    }
    shut(fd);
    if (bad) return -1;
    nets[net_count].fd = net;
    return net_now = net_count++;
}

/* Enter a network namespace that nobody uses; its number, or -1. The next clone inherits it. */
static int enter_net(void) {
    int i = net_now >= 0 && !nets[net_now].busy ? net_now : 0;
    while (i < net_count && nets[i].busy) i++;
    if (i == net_count) i = make_net();
    else if (i != net_now) {
        if (setns(nets[i].fd, CLONE_NEWNET)) return -1;
        net_now = i;
    }
    if (i >= 0) nets[i].busy = 1;
    return i;
}

/* Everything one more instance needs. 0, or the step that failed; what was had by then is the caller's to give back. */
static int claim(int slot, int *groups, int ends[4]) {
    if (slot == MAX_INSTANCES) { errno = EAGAIN; return S_CLONE; }
    serial++;
    if (config->flags & F_NETNS && (living[slot].net = enter_net()) < 0) return S_LOOPBACK;
    if (make_groups(groups)) return S_CGROUP;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
                   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends + 2) ? S_CLONE : 0;
}

static void give_back(int slot) {
    if (slot == MAX_INSTANCES) return;
    remove_groups(serial);
    if (living[slot].net >= 0) nets[living[slot].net].busy = 0;
    living[slot].net = -1;
}

static void arm(int host, int self) {
    int ends[4] = {-1, -1, -1, -1}, groups[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, pidfd = -1, slot = 0;
    while (slot < MAX_INSTANCES && living[slot].pid) slot++;
    if (slot < MAX_INSTANCES) living[slot].net = -1;
    static const struct { uint32_t asked; unsigned flag; } kinds[] = {
        {F_MOUNTNS, CLONE_NEWNS}, {F_PIDNS, CLONE_NEWPID}, {F_IPCNS, CLONE_NEWIPC}, {F_UTSNS, CLONE_NEWUTS}, {F_CGROUPNS, CLONE_NEWCGROUP}};
    unsigned long flags = SIGCHLD | CLONE_PIDFD;
    for (int i = 0; i < 5; i++) if (config->flags & kinds[i].asked) flags |= kinds[i].flag;
    int bad = claim(slot, groups, ends);
    pid_t pid = bad ? -1 : (pid_t)syscall(SYS_clone, flags, 0, &pidfd, 0, 0);
    if (pid == 0) {
        close(host);
        close(ends[0]);
        close(ends[2]);
        init(ends[1], ends[3], self, groups);
    }
    if (pid < 0) {
        put(host, P_ERROR, bad ? bad : S_CLONE, errno);
        give_back(slot);
    } else {
        living[slot].pid = pid;
        if (slot >= highest) highest = slot + 1;
        living[slot].serial = serial;
        struct packet p = {.magic = PACKET_MAGIC, .type = P_ARMED, .a = pid};
        put_fds(host, &p, (int[]){ends[0], ends[2], pidfd}, 3);
    }
    for (int i = 0; i < 4; i++) shut(ends[i]);
    for (int i = 0; i < 8; i++) shut(groups[i]);
    shut(pidfd);
}

/* Reap what has ended; a slot is free once its groups are gone too. Whether some are still to be removed. */
static int bury(void) {
    int left = 0;
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
        for (int i = 0; i < MAX_INSTANCES; i++)
            if (living[i].pid == pid) {
                if (living[i].net >= 0) nets[living[i].net].busy = 0;
                living[i].net = -1;
                living[i].pid = -1;
                break;
            }
    for (int i = 0; i < highest; i++)
        if (living[i].pid == -1) {
            if (remove_groups(living[i].serial)) left = 1;
            else living[i].pid = 0;
        }
    return left;
}

/* The host is gone or wants no more: end every instance, leave no group behind. */
static _Noreturn void end_factory(void) {
    for (int i = 0; i < highest; i++)
        if (living[i].pid > 0 && config->flags & F_PIDNS) kill(living[i].pid, SIGKILL);
    for (int i = 0; config->group_count && i < 200; i++) {
        int left = bury();
        for (int k = 0; k < highest; k++) left |= living[k].pid > 0;
        if (!left) break;
        usleep(1000);
    }
    _exit(0);
}

static void enter_user_namespace(int host) {
    char line[64];
    unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) fail(host, S_USERNS, errno);
    if (write_file(AT_FDCWD, "/proc/self/setgroups", "deny") && errno != ENOENT) fail(host, S_IDMAP, errno);
    snprintf(line, sizeof line, "%u %u 1", uid, uid);
    if (write_file(AT_FDCWD, "/proc/self/uid_map", line)) fail(host, S_IDMAP, errno);
    snprintf(line, sizeof line, "%u %u 1", gid, gid);
    if (write_file(AT_FDCWD, "/proc/self/gid_map", line)) fail(host, S_IDMAP, errno);
}

static void load_config(int host) {
    struct packet p;
    int fds[MAX_FDS];
    size_t size = 0;
    int count = get(host, &p, fds);
    const void *bytes = count == 1 && p.type == P_CONFIG ? map_sealed(fds[0], &size, PROT_READ) : NULL;
    if (!bytes || config_check(bytes, size)) fail(host, S_CONFIG, EPROTO);
    config = bytes;
    strings = (const char *)bytes + config->strings;
    close(fds[0]);
}

int main(void) {
    const int host = 3;
    syscall(SYS_CLOSE_RANGE, 4, ~0u, 0);
    fcntl(host, F_SETFD, FD_CLOEXEC);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    /* Never preempt the host or a command when we wake: arming the next can wait for a free CPU. */
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    setsid(); /* a Ctrl-C at the caller's terminal is the host's to handle, not ours to die of */
    load_config(host);
    int owner = (int)syscall(SYS_PIDFD_OPEN, config->host_pid, 0), self = (int)syscall(SYS_PIDFD_OPEN, getpid(), 0);
    if (owner < 0 || self < 0 || getppid() != config->host_pid) fail(host, S_HOST, errno);
    const struct group *groups = table(config->groups);
    for (uint32_t i = 0; i < config->group_count; i++) {
        group_roots[i] = open(text(groups[i].path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (group_roots[i] < 0) fail(host, S_CGROUP, errno);
    }
    if (config->flags & F_USERNS) enter_user_namespace(host);
    else if (config->flags & F_MOUNTNS && unshare(CLONE_NEWNS)) fail(host, S_MOUNTNS, errno);
    if (config->flags & F_MOUNTNS) build_view(host);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int signals = signalfd(-1, &all, SFD_CLOEXEC);
    put(host, P_READY, landlock_abi(), 0);
    struct pollfd watch[3] = {{host, POLLIN, 0}, {owner, POLLIN, 0}, {signals, POLLIN, 0}};
    for (int left = 0;;) {
        int ready = poll(watch, 3, left ? 20 : -1);
        if (ready < 0 && errno != EINTR) _exit(125);
        if (watch[1].revents) end_factory();
        if (watch[2].revents) {
            struct signalfd_siginfo info;
            (void)!read(signals, &info, sizeof info);
        }
        if (watch[2].revents || left) left = bury();
        if (!watch[0].revents) continue;
        struct packet p;
        int fds[MAX_FDS], count = get(host, &p, fds);
        if (count < 0) end_factory();
        while (count > 0) close(fds[--count]);
        if (p.type == P_ARM) arm(host, self);
    }
}
