/* The kernel's own surface: namespaces, privileges, other entries into the system call table, machine state. */
#include "attack.h"
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/swap.h>
#include <sys/timex.h>

static int new_namespace(char **a) { return verdict(unshare((int)strtol(a[0], NULL, 16)), "unshared"); }

static int clone_namespace(char **a) {
    long child = syscall(SYS_clone, strtoul(a[0], NULL, 16) | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    if (child > 0) waitpid((pid_t)child, NULL, 0);
    return verdict(child, "cloned");
}

static int clone3_namespace(char **a) {
    unsigned long words[8] = {strtoul(a[0], NULL, 16), 0, 0, 0, SIGCHLD};
    long child = syscall(SYS_clone3, words, sizeof words);
    if (child == 0) _exit(0);
    if (child > 0) waitpid((pid_t)child, NULL, 0);
    return verdict(child, "cloned");
}

static int mount_in_own_namespace(char **a) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return fail("unshare");
    return verdict(mount("none", a[0], "tmpfs", 0, NULL), "mounted");
}

static int no_new_privileges(char **a) {
    (void)a;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) ? fail_as("SET", "no_new_privs") : ok("may gain privileges");
}

static int effective_capabilities(char **a) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    (void)a;
    if (syscall(SYS_capget, &head, sets)) return fail("capget");
    return sets[0].effective | sets[1].effective ? ok("capabilities held") : fail_as("NONE", "no capability held");
}

static int bounding_capabilities(char **a) {
    (void)a;
    for (int number = 0, held = 0; held >= 0; number++) {
        held = prctl(PR_CAPBSET_READ, number, 0, 0, 0);
        if (held > 0) return ok("capabilities within reach");
    }
    return fail_as("NONE", "no capability within reach");
}

static int become(char **a) { return verdict(setresuid((uid_t)atoi(a[0]), (uid_t)-1, (uid_t)-1), "another user"); }
static int effective_user(char **a) {
    (void)a;
    return geteuid() == 0 ? ok("effective user 0") : fail_as("USER", "still an ordinary user");
}
static int run_program(char **a) {
    execv(a[0], a);
    return fail("execv");
}

static int x32_socket(char **a) {
    (void)a;
    return verdict(syscall(0x40000000L | SYS_socket, 2L, 1L, 0L), "socket by the x32 number");
}

static int i386_socket(char **a) {
    long result = -ENOSYS;
    (void)a;
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(359L), "b"(2L), "c"(1L), "d"(0L) : "memory", "r8", "r9", "r10", "r11");
#endif
    errno = (int)-result;
    return verdict(result, "socket by the i386 number");
}

static int load_bpf(char **a) {
    union bpf_attr wanted;
    (void)a;
    memset(&wanted, 0, sizeof wanted);
    wanted.map_type = BPF_MAP_TYPE_ARRAY;
    wanted.key_size = wanted.value_size = 4;
    wanted.max_entries = 1;
    return verdict(syscall(SYS_bpf, BPF_MAP_CREATE, &wanted, sizeof wanted), "map made");
}

static int count_events(char **a) {
    struct perf_event_attr wanted = {.type = PERF_TYPE_SOFTWARE, .size = sizeof wanted, .config = 1, .exclude_kernel = 1};
    (void)a;
    return verdict(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0), "counter opened");
}

static int handle_faults(char **a) {
    (void)a;
    return verdict(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */), "fault handler opened");
}

static int set_up_ring(char **a) {
    char room[256] = "";
    (void)a;
    return verdict(syscall(SYS_io_uring_setup, 4, room), "ring made");
}

/* Calls whose privilege check comes first: with it, a harmless argument is refused for another reason. */
static int load_kernel(char **a) {
    (void)a;
    return gate(syscall(SYS_kexec_load, 0L, 0L, NULL, 0xffffL), EINVAL, "past the privilege check");
}
static int load_module(char **a) {
    (void)a;
    return gate(syscall(SYS_init_module, NULL, 0L, ""), ENOEXEC, "past the privilege check");
}
static int unload_module(char **a) { return gate(syscall(SYS_delete_module, a[0], O_NONBLOCK), ENOENT, "past the privilege check"); }
static int restart(char **a) {
    (void)a;
    return gate(syscall(SYS_reboot, 0L, 0L, 0L, NULL), EINVAL, "past the privilege check");
}
static int swap_on(char **a) { return gate(swapon(a[0], 0), ENOENT, "past the privilege check"); }
static int account(char **a) { return gate(acct(a[0]), ENOENT, "past the privilege check"); }
static int set_clock(char **a) {
    struct timex now = {.modes = 0};
    (void)a;
    if (adjtimex(&now) < 0) return fail("adjtimex");
    now.modes = ADJ_TICK;
    return verdict(adjtimex(&now), "clock set");
}
static int set_host_name(char **a) { return verdict(sethostname(a[0], strlen(a[0])), "host name set"); }
static int set_same_host_name(char **a) {
    char name[256];
    (void)a;
    gethostname(name, sizeof name);
    return verdict(sethostname(name, strlen(name)), "same host name set");
}
static int read_kernel_log(char **a) {
    char text[256];
    (void)a;
    return verdict(klogctl(3 /* SYSLOG_ACTION_READ_ALL */, text, sizeof text), "kernel log read");
}
static int set_personality(char **a) { return verdict(personality(strtoul(a[0], NULL, 16)), "personality set"); }
static int port_access(char **a) {
    (void)a;
    return verdict(syscall(SYS_iopl, 3), "ports opened");
}
static int watch_file_system(char **a) {
    (void)a;
    return verdict(syscall(SYS_fanotify_init, 0L, 0L), "watcher made");
}

/* Keystrokes into the caller's terminal, plainly and with a bit above the 32 the kernel looks at (catalogue case 73). */
static int type_keys(char **a) {
    unsigned long request = 0x5412UL | (a[1][0] == '1' ? 1UL << 32 : 0);
    int terminal = open("/dev/tty", O_RDWR);
    if (terminal < 0) return fail("/dev/tty");
    for (const char *key = a[0]; *key; key++)
        if (syscall(SYS_ioctl, terminal, request, key)) return fail("TIOCSTI");
    return ok("typed");
}

const struct attack kernel_attacks[] = {
    {"unshare", new_namespace}, {"clone", clone_namespace}, {"clone3", clone3_namespace},
    {"userns-mount", mount_in_own_namespace}, {"no-new-privileges", no_new_privileges},
    {"effective-capabilities", effective_capabilities}, {"bounding-capabilities", bounding_capabilities}, {"become", become}, {"effective-user", effective_user}, {"exec", run_program},
    {"x32", x32_socket}, {"i386", i386_socket}, {"bpf", load_bpf}, {"perf", count_events},
    {"userfaultfd", handle_faults}, {"ring", set_up_ring}, {"kexec", load_kernel}, {"init-module", load_module},
    {"delete-module", unload_module}, {"reboot", restart}, {"swapon", swap_on}, {"acct", account},
    {"clock", set_clock}, {"hostname", set_host_name}, {"same-hostname", set_same_host_name},
    {"klog", read_kernel_log}, {"personality", set_personality}, {"iopl", port_access},
    {"fanotify", watch_file_system}, {"tiocsti", type_keys}, {NULL, NULL}};
