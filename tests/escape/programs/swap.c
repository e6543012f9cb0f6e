/* A program's file changed between check and start, over and over until killed. Arguments: the target, two files that
 * take its place in turn (rename), or the offset and two words of one length (write, map). */
#include "attack.h"
#include <sys/mman.h>

static int by_rename(char **a) {
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.next", a[0]);
    for (int round = 0;; round++)
        if (link(a[1 + round % 2], beside) || rename(beside, a[0])) return fail("rename");
}

static int by_write(char **a) {
    int target = open(a[0], O_RDWR);
    size_t length = strlen(a[2]);
    for (int round = 0;; round++)
        if (pwrite(target, a[2 + round % 2], length, atol(a[1])) < 0) return fail("pwrite");
}

/* The mapping is older than any check, its stores move no time stamp. */
static int by_map(char **a) {
    int target = open(a[0], O_RDWR);
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, target, 0);
    if (memory == MAP_FAILED) return fail("mmap");
    ok("mapped");
    for (int round = 0;; round++) memcpy(memory + atol(a[1]), a[2 + round % 2], strlen(a[2]));
}

const struct attack swap_attacks[] = {
    {"swap-rename", by_rename}, {"swap-write", by_write}, {"swap-map", by_map}, {NULL, NULL}};
