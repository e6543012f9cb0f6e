/* More than a fair share: processes, memory, space, descriptors. Each bomb has a bound of its own. */
#include "attack.h"
#include <sys/mman.h>

static int fork_bomb(char **a) {
    int wanted = atoi(a[0]), made = 0, failed = 0;
    pid_t *children = calloc((size_t)wanted, sizeof *children);
    for (; made < wanted && !failed; made += !failed) {
        children[made] = fork();
        if (children[made] == 0)
            for (;;) pause();
        failed = children[made] < 0;
    }
    int reason = errno;
    for (int index = 0; index < made; index++) {
        kill(children[index], SIGKILL);
        waitpid(children[index], NULL, 0);
    }
    errno = reason;
    return failed ? fail("fork") : ok("all forked");
}

static int use_memory(char **a) {
    for (int step = 0; step < atoi(a[0]); step += 16) {
        char *block = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) return fail("mmap");
        memset(block, 1, 16 << 20);
    }
    return ok("all touched");
}

static int fill(char **a) {
    static char block[1 << 20];
    int target = open(a[0], O_CREAT | O_WRONLY | O_TRUNC, 0644), failed = 0;
    if (target < 0) return fail("open");
    for (int step = 0; step < atoi(a[1]) && !failed; step++) failed = write(target, block, sizeof block) < 0;
    int reason = errno;
    unlink(a[0]);
    errno = reason;
    return failed ? fail("write") : ok("all written");
}

static int open_many(char **a) {
    for (int made = 0; made < atoi(a[0]); made++)
        if (dup(0) < 0) return fail("dup");
    return ok("all opened");
}

const struct attack resource_attacks[] = {
    {"fork-bomb", fork_bomb}, {"memory", use_memory}, {"fill", fill}, {"open-many", open_many}, {NULL, NULL}};
