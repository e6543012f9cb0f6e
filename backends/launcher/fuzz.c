/* Fuzz target and replay tool for decode.h. Built with sanitizers; each argument is a file of one input, without any it
 * mutates a seed of its own for the number of rounds in the environment (FUMEHOOD_ROUNDS, default 20000). */
#include "decode.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The record is copied to memory of exactly its size, so that one byte too far is seen. Then what a decoder allowed is
 * read through, as the launcher would. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *list[64];
    if (!size) return 0;
    uint8_t *copy = malloc(size);
    volatile size_t sum = 0;
    memcpy(copy, data, size);
    if (!config_check(copy, size)) {
        const struct config *c = (const void *)copy;
        const struct op *op = (const void *)(copy + c->ops);
        const char *strings = (const char *)copy + c->strings;
        for (uint32_t i = 0; i < c->op_count; i++) sum += strlen(strings + op[i].path) + strlen(strings + op[i].source);
    }
    if (!start_check(copy, size, list, 64))
        for (int i = 0; i < 64 && (i < 3 || list[i]); i++) sum += list[i] ? strlen(list[i]) : 0;
    free(copy);
    return 0;
}

#ifndef FUMEHOOD_LIBFUZZER
static uint64_t state = 88172645463325252ull;
static uint32_t next(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state % below);
}

static size_t seed_config(uint8_t *at) {
    struct config c = {.magic = CONFIG_MAGIC, .ops = 120, .op_count = 1, .rules = 168, .bpf = 168, .limits = 168,
                       .groups = 168, .writes = 168, .counters = 168, .strings = 168, .string_bytes = 8, .size = 176};
    struct op op = {.kind = OP_DIR, .path = 1, .source = 0};
    memcpy(at, &c, sizeof c);
    memcpy(at + 120, &op, sizeof op);
    memcpy(at + 168, "\0/abcde", 8);
    return 176;
}

static size_t seed_start(uint8_t *at) {
    static const char strings[] = "/bin/true\0/\0true\0-x\0A=1";
    struct start r = {.magic = START_MAGIC, .argc = 2, .envc = 1, .size = sizeof r + sizeof strings};
    memcpy(at, &r, sizeof r);
    memcpy(at + sizeof r, strings, sizeof strings);
    return r.size;
}

int main(int argc, char **argv) {
    static uint8_t data[1 << 16];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file) {
            LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof data, file));
            fclose(file);
        }
    }
    const char *text = getenv("FUMEHOOD_ROUNDS");
    long rounds = text ? atol(text) : 20000, accepted = 0;
    for (long i = 0; argc == 1 && i < rounds; i++) {
        size_t size = i % 2 ? seed_config(data) : seed_start(data);
        for (uint32_t k = next(6); k > 0; k--) {
            uint32_t place = next((uint32_t)size);
            static const uint32_t edges[] = {0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 176, 168};
            if (next(2)) data[place] = (uint8_t)next(256);
            else if (place + 4 <= size) memcpy(data + place / 4 * 4, &edges[next(9)], 4);
        }
        size -= next(4) ? 0 : next((uint32_t)size);
        char *list[64];
        accepted += size && (!config_check(data, size) || !start_check(data, size, list, 64));
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%ld rounds, %ld accepted\n", argc == 1 ? rounds : argc - 1, accepted);
    return 0;
}
#endif
