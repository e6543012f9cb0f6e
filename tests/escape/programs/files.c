/* Files, their names and their metadata outside what was granted. */
#include "attack.h"
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static int read_path(char **a) { return print_file(open(a[0], O_RDONLY | O_NONBLOCK)); }
static int open_write(char **a) { return verdict(open(a[0], O_WRONLY | O_NONBLOCK), "opened for writing"); }
static int create(char **a) { return verdict(open(a[0], O_CREAT | O_EXCL | O_WRONLY, 0644), "created"); }
static int truncate_path(char **a) { return verdict(truncate(a[0], 0), "truncated"); }
static int unlink_path(char **a) { return verdict(unlink(a[0]), "unlinked"); }
static int make_folder(char **a) { return verdict(mkdir(a[0], 0755), "folder made"); }
static int rename_path(char **a) { return verdict(rename(a[0], a[1]), "renamed"); }
static int exchange(char **a) {
    return verdict(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE), "exchanged");
}
static int chmod_path(char **a) { return verdict(chmod(a[0], 0777), "mode changed"); }
static int chown_path(char **a) { return verdict(chown(a[0], getuid(), getgid()), "owner set"); }
static int set_times(char **a) {
    struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
    return verdict(utimensat(AT_FDCWD, a[0], times, 0), "times changed");
}
static int set_xattr(char **a) { return verdict(setxattr(a[0], "user.fumehood", "x", 1, 0), "attribute set"); }
static int stat_path(char **a) {
    struct stat found;
    return verdict(stat(a[0], &found), "seen");
}

static int append_to(int descriptor) {
    if (descriptor < 0) return fail("open");
    return verdict(write(descriptor, "PWNED\n", 6), "written");
}

static int write_path(char **a) { return append_to(open(a[0], O_WRONLY | O_APPEND)); }

/* Write back exactly what is there, so that success changes nothing on the machine. */
static int rewrite(char **a) {
    char text[4096];
    int source = open(a[0], O_RDONLY);
    ssize_t count = source < 0 ? -1 : read(source, text, sizeof text);
    int target = open(a[0], O_WRONLY);
    if (target < 0) return fail("open for writing");
    return count < 0 ? fail("read") : verdict(write(target, text, (size_t)count), "same value written");
}

static int hard_link_then_write(char **a) {
    if (link(a[0], a[1])) return fail("link");
    return append_to(open(a[1], O_WRONLY | O_APPEND));
}

static int symlink_then_read(char **a) {
    if (symlink(a[0], a[1])) return fail("symlink");
    return print_file(open(a[1], O_RDONLY));
}

static int symlink_then_write(char **a) {
    if (symlink(a[0], a[1])) return fail("symlink");
    return append_to(open(a[1], O_WRONLY | O_APPEND));
}

/* A descriptor opened for less, opened again for more. */
static int reopen_through_proc(char **a) {
    char name[64];
    int descriptor = open(a[0], O_RDONLY);
    if (descriptor < 0) return fail("open");
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    return append_to(open(name, O_WRONLY | O_APPEND));
}

static int temporary_then_link(char **a) {
    char name[64];
    int descriptor = open(a[0], O_TMPFILE | O_RDWR, 0644);
    if (descriptor < 0) return fail("O_TMPFILE");
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    return verdict(linkat(AT_FDCWD, name, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW), "linked");
}

static int inherited(char **a) { return print_file(openat(atoi(a[0]), a[1], O_RDONLY)); }

static int walk_up(char **a) {
    int folder = open(".", O_PATH | O_DIRECTORY);
    for (int level = 0; folder >= 0 && level < 40; level++) {
        int above = openat(folder, "..", O_PATH | O_DIRECTORY);
        close(folder);
        folder = above;
    }
    if (folder < 0) return fail("..");
    return print_file(openat(folder, a[0] + 1, O_RDONLY));
}

static int map_shared(char **a) {
    int descriptor = open(a[0], O_RDWR);
    if (descriptor < 0) return fail("open");
    char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    int self = open("/proc/self/mem", O_RDWR);
    if (memory == MAP_FAILED || self < 0) return fail("map");
    return verdict(pwrite(self, "PWNED", 5, (off_t)memory), "written through memory");
}

/* The node is the attack: whether it opens is up to a device cgroup, if there is one. */
static int make_device(char **a) {
    return verdict(mknod(a[0], S_IFBLK | 0600, makedev((unsigned)atoi(a[1]), (unsigned)atoi(a[2]))), "node made");
}

static int chroot_to(char **a) { return verdict(chroot(a[0]), "chroot"); }

static int bind_over(char **a) {
    char name[4096];
    if (mount(a[0], a[1], NULL, MS_BIND, NULL)) return fail("mount");
    snprintf(name, sizeof name, "%s/secret", a[1]);
    int outcome = print_file(open(name, O_RDONLY));
    umount2(a[1], MNT_DETACH);
    return outcome;
}

static int mount_tmpfs(char **a) {
    if (mount("none", a[0], "tmpfs", 0, NULL)) return fail("mount");
    umount2(a[0], MNT_DETACH);
    return ok("mounted");
}

static int remount(char **a) {
    return gate(mount(NULL, a[0], NULL, MS_REMOUNT | MS_BIND, NULL), EINVAL, "past the privilege check");
}
static int unmount(char **a) { return gate(umount2(a[0], MNT_DETACH), EINVAL, "past the privilege check"); }
static int pivot(char **a) {
    long result = syscall(SYS_pivot_root, a[0], a[0]);
    return gate(result, errno == EBUSY ? EBUSY : EINVAL, "past the privilege check");
}
static int clone_tree(char **a) {
    return verdict(syscall(SYS_open_tree, AT_FDCWD, a[0], 1 /* OPEN_TREE_CLONE */), "mount cloned");
}
static int new_file_system(char **a) { return verdict(syscall(SYS_fsopen, a[0], 0), "file system context"); }

/* Prints a file handle as hex; the host runs it unconfined and hands the text to open_handle. */
static int print_handle(char **a) {
    struct { struct file_handle head; unsigned char bytes[128]; } handle;
    int mount_id;
    handle.head.handle_bytes = sizeof handle.bytes;
    if (name_to_handle_at(AT_FDCWD, a[0], &handle.head, &mount_id, 0)) return fail("name_to_handle_at");
    printf("OK %d:", handle.head.handle_type);
    for (unsigned index = 0; index < handle.head.handle_bytes; index++) printf("%02x", handle.head.f_handle[index]);
    printf("\n");
    return 0;
}

static int open_handle(char **a) {
    struct { struct file_handle head; unsigned char bytes[128]; } handle;
    char *text = strchr(a[1], ':') + 1;
    handle.head.handle_type = atoi(a[1]);
    handle.head.handle_bytes = (unsigned)strlen(text) / 2;
    for (unsigned index = 0; index < handle.head.handle_bytes; index++)
        sscanf(text + 2 * index, "%2hhx", &handle.head.f_handle[index]);
    return print_file(open_by_handle_at(open(a[0], O_RDONLY), &handle.head, O_RDONLY));
}

/* A link that points at an allowed and at a refused file in turn, read all the while (catalogue case 59). */
static int flip_link(char **a) {
    char beside[4096], text[256];
    snprintf(beside, sizeof beside, "%s.next", a[0]);
    pid_t flipper = fork();
    for (int round = 0; flipper == 0; round++) {
        if (symlink(a[1 + round % 2], beside) || rename(beside, a[0])) _exit(1);
    }
    int seen = 0;
    for (int round = 0; round < 20000 && !seen; round++) {
        int descriptor = open(a[0], O_RDONLY);
        ssize_t count = descriptor < 0 ? 0 : read(descriptor, text, sizeof text - 1);
        if (descriptor >= 0) close(descriptor);
        text[count > 0 ? count : 0] = 0;
        seen = !strncmp(text, "SECRET", 6);
    }
    kill(flipper, SIGKILL);
    waitpid(flipper, NULL, 0);
    text[strcspn(text, "\n")] = 0;
    return seen ? ok(text) : fail_as("UNSEEN", "the link never led outside");
}

const struct attack file_attacks[] = {
    {"read", read_path}, {"open-write", open_write}, {"create", create}, {"truncate", truncate_path},
    {"unlink", unlink_path}, {"mkdir", make_folder}, {"rename", rename_path}, {"exchange", exchange},
    {"chmod", chmod_path}, {"chown", chown_path}, {"utime", set_times}, {"xattr", set_xattr}, {"stat", stat_path},
    {"write", write_path}, {"rewrite", rewrite}, {"hard-link", hard_link_then_write},
    {"symlink-read", symlink_then_read}, {"symlink-write", symlink_then_write}, {"reopen", reopen_through_proc},
    {"tmpfile", temporary_then_link}, {"inherited", inherited}, {"walk-up", walk_up}, {"self-mem", map_shared},
    {"mknod", make_device}, {"chroot", chroot_to}, {"bind", bind_over}, {"mount", mount_tmpfs},
    {"remount", remount}, {"umount", unmount}, {"pivot", pivot}, {"open-tree", clone_tree},
    {"fsopen", new_file_system}, {"print-handle", print_handle}, {"open-handle", open_handle},
    {"flip-link", flip_link}, {NULL, NULL}};
