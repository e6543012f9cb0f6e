/* Other processes: seen, read, written, signalled, stopped, outlived. */
#include "attack.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static long parent(void) { return getppid(); }
static volatile char canary[32] = "SECRET-of-the-parent";

static int signal_one(char **a) { return verdict(kill(atoi(a[0]), atoi(a[1])), "signalled"); }

/* kill(-1): only after a look at an outside process shows that it cannot be reached, so that a broken sandbox is
 * reported and the machine is not taken down with it. */
static int signal_everybody(char **a) {
    if (kill(atoi(a[0]), 0) == 0) return ok("an outside process is within reach; kill(-1) not tried");
    if (kill(-1, SIGKILL)) return fail("kill(-1)");
    return fail_as("SURVIVED", "everything within reach was mine");
}

static int kill_parent(char **a) {
    (void)a;
    long before = parent();
    if (kill((pid_t)before, SIGKILL)) return fail("kill");
    return await_change(parent, before) ? ok("parent killed") : fail_as("SURVIVED", "the parent lives");
}

static int kill_first(char **a) {
    (void)a;
    long before = parent();
    if (kill(1, SIGKILL)) return fail("kill");
    return await_change(parent, before) ? ok("pid 1 killed") : fail_as("SURVIVED", "pid 1 lives");
}

static int kill_group(char **a) {
    (void)a;
    long before = parent();
    signal(SIGTERM, SIG_IGN);
    if (kill(0, SIGTERM)) return fail("kill");
    return await_change(parent, before) ? ok("the parent shared my group") : fail_as("SURVIVED", "a group of my own");
}

static char state_of_parent(void) {
    char name[64], text[512] = "", *end;
    snprintf(name, sizeof name, "/proc/%d/stat", getppid());
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0 || read(descriptor, text, sizeof text - 1) < 0) return 0;
    close(descriptor);
    end = strrchr(text, ')');
    return end ? end[2] : 0;
}
static long parent_stopped(void) { return state_of_parent() == 'T'; }

static int stop_parent(char **a) {
    (void)a;
    if (kill(getppid(), SIGSTOP)) return fail("kill");
    int stopped = await_change(parent_stopped, 0);
    kill(getppid(), SIGCONT);
    return stopped ? ok("parent stopped") : fail_as("SURVIVED", "the parent runs on");
}

static int attach(char **a) {
    pid_t target = a[0] ? atoi(a[0]) : getppid();
    return verdict(ptrace(PTRACE_SEIZE, target, NULL, NULL), "traced");
}

static int read_memory(char **a) {
    char text[33] = "";
    struct iovec here = {text, 32}, there = {(void *)strtoul(a[1], NULL, 16), 32};
    return process_vm_readv(atoi(a[0]), &here, 1, &there, 1, 0) < 0 ? fail("process_vm_readv") : ok(text);
}

static int write_memory(char **a) {
    char text[] = "PWNED";
    struct iovec here = {text, 5}, there = {(void *)strtoul(a[1], NULL, 16), 5};
    return verdict(process_vm_writev(atoi(a[0]), &here, 1, &there, 1, 0), "memory written");
}

static int read_memory_file(char **a) {
    char name[64], text[33] = "";
    snprintf(name, sizeof name, "/proc/%s/mem", a[0]);
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0) return fail("open");
    return pread(descriptor, text, 32, (off_t)strtoul(a[1], NULL, 16)) < 0 ? fail("read") : ok(text);
}

/* The parent is the launcher inside: a vfork child shares its memory, a running stage must not reach it. Finds a
 * writable mapping, reads one byte and writes the same byte back. */
static int touch_parent_memory(char **a) {
    char name[64], line[512], access[8];
    unsigned long start = 0;
    unsigned char byte;
    pid_t target = a[0] ? atoi(a[0]) : getppid();
    snprintf(name, sizeof name, "/proc/%d/maps", target);
    FILE *maps = fopen(name, "r");
    if (!maps) return fail("maps");
    while (fgets(line, sizeof line, maps) && strncmp(access, "rw", 2))
        if (sscanf(line, "%lx-%*x %7s", &start, access) != 2) return fail_as("EMPTY", "no mapping shown");
    snprintf(name, sizeof name, "/proc/%d/mem", target);
    int memory = open(name, O_RDWR);
    if (memory < 0) return fail("mem");
    if (pread(memory, &byte, 1, (off_t)start) != 1) return fail("read");
    return verdict(pwrite(memory, &byte, 1, (off_t)start), "the parent's memory written");
}

static int take_descriptor(char **a) {
    int process = (int)syscall(SYS_pidfd_open, atoi(a[0]), 0);
    if (process < 0) return fail("pidfd_open");
    return print_file((int)syscall(SYS_pidfd_getfd, process, atoi(a[1]), 0));
}

static int signal_by_descriptor(char **a) {
    int process = (int)syscall(SYS_pidfd_open, atoi(a[0]), 0);
    if (process < 0) return fail("pidfd_open");
    return verdict(syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0), "signalled");
}

static int change_limits(char **a) {
    struct rlimit limit = {64, 64};
    return verdict(prlimit(atoi(a[0]), RLIMIT_NOFILE, &limit, NULL), "limit of another process set");
}

static int change_priority(char **a) { return verdict(setpriority(PRIO_PROCESS, (id_t)atoi(a[0]), 19), "reniced"); }

static int change_affinity(char **a) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return verdict(sched_setaffinity(atoi(a[0]), sizeof set, &set), "pinned");
}

static int join_namespace(char **a) {
    int space = open(a[0], O_RDONLY);
    if (space < 0) return fail("open");
    return verdict(setns(space, 0), "joined");
}

/* Twice forked, own session, argv kept so that the host can find it; every descriptor of ours closed or held. */
static int daemonise(char **a) {
    int ready[2];
    char byte;
    if (pipe(ready)) return fail("pipe");
    pid_t child = fork();
    if (child < 0) return fail("fork");
    if (child == 0) {
        setsid();
        if (fork()) _exit(0);
        if (!strcmp(a[1], "close"))
            for (int descriptor = 0; descriptor < 3; descriptor++) close(descriptor);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    waitpid(child, NULL, 0);
    return read(ready[0], &byte, 1) == 1 ? ok("daemon runs") : fail("read");
}

/* launch NAME ARGUMENT…: a sacrificial parent in a session of its own, for attacks on the parent. We outlive it and
 * wait for the attacker as well. */
static int launch(char **a) {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1)) return fail("subreaper");
    pid_t sacrifice = fork();
    if (sacrifice < 0) return fail("fork");
    if (sacrifice == 0) {
        setsid();
        if (fork()) {
            wait(NULL);
            _exit(0);
        }
        execv("/proc/self/exe", a - 1); /* a[-1], "launch", becomes argv[0] */
        _exit(127);
    }
    while (wait(NULL) > 0) continue;
    return 0;
}

/* The victim: prints its address of a secret, holds one descriptor on a[0], waits for the end. */
static int victim(char **a) {
    int held = open(a[0], O_RDONLY);
    printf("%d %lx %d\n", getpid(), (unsigned long)canary, held);
    while (pause() < 0) continue;
    return 0;
}

const struct attack process_attacks[] = {
    {"signal", signal_one}, {"kill-everybody", signal_everybody}, {"kill-parent", kill_parent},
    {"kill-first", kill_first}, {"kill-group", kill_group}, {"stop-parent", stop_parent}, {"ptrace", attach},
    {"vm-read", read_memory}, {"vm-write", write_memory}, {"proc-mem", read_memory_file},
    {"parent-mem", touch_parent_memory}, {"pidfd-getfd", take_descriptor}, {"pidfd-signal", signal_by_descriptor},
    {"prlimit", change_limits}, {"renice", change_priority}, {"affinity", change_affinity},
    {"setns", join_namespace}, {"daemon", daemonise}, {"launch", launch}, {"victim", victim}, {NULL, NULL}};
