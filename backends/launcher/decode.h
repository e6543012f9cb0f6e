/* What makes a record of launcher.h safe to read: nothing is followed before these said 0. Fuzzed by fuzz.c. */
#ifndef FUMEHOOD_DECODE_H
#define FUMEHOOD_DECODE_H
#include "launcher.h"

#include <linux/filter.h>
#include <stddef.h>
#include <string.h>

#define MAX_ROOTS 4096

static int within(uint32_t offset, uint64_t count, uint64_t item, uint32_t size) {
    return offset % 8 == 0 && offset <= size && count * item <= (uint64_t)size - offset;
}

/* 0 when every table and string offset of the record lies inside its `size` bytes. */
static int config_check(const void *bytes, size_t size) {
    const struct config *c = bytes;
    if (size < sizeof *c || size > (1u << 28) || c->magic != CONFIG_MAGIC || c->size != size) return -1;
    if (!within(c->ops, c->op_count, sizeof(struct op), c->size) || c->op_count > MAX_ROOTS ||
        !within(c->rules, c->rule_count, sizeof(struct rule), c->size) ||
        !within(c->bpf, c->bpf_count, sizeof(struct sock_filter), c->size) || c->bpf_count > BPF_MAXINSNS ||
        !within(c->limits, c->limit_count, sizeof(struct limit), c->size) ||
        !within(c->groups, c->group_count, sizeof(struct group), c->size) || c->group_count > 8 ||
        !within(c->writes, c->write_count, sizeof(struct gwrite), c->size) ||
        !within(c->counters, c->counter_count, sizeof(struct counter), c->size) || c->counter_count > COUNTERS ||
        !within(c->strings, c->string_bytes, 1, c->size) || c->string_bytes == 0)
        return -1;
    const char *base = (const char *)bytes, *s = base + c->strings;
    if (s[c->string_bytes - 1] != 0 || c->staging >= c->string_bytes) return -1;
    const struct op *op = (const void *)(base + c->ops);
    for (uint32_t i = 0; i < c->op_count; i++) {
        if (op[i].path >= c->string_bytes || op[i].source >= c->string_bytes) return -1;
        if (s[op[i].path] != '/') return -1;
        if (op[i].kind == OP_FILE && op[i].size > (uint64_t)c->string_bytes - op[i].source) return -1;
    }
    const struct rule *rule = (const void *)(base + c->rules);
    for (uint32_t i = 0; i < c->rule_count; i++)
        if (rule[i].path >= c->string_bytes) return -1;
    const struct gwrite *w = (const void *)(base + c->writes);
    for (uint32_t i = 0; i < c->write_count; i++)
        if (w[i].file >= c->string_bytes || w[i].text >= c->string_bytes) return -1;
    const struct group *g = (const void *)(base + c->groups);
    for (uint32_t i = 0; i < c->group_count; i++)
        if (g[i].path >= c->string_bytes || (uint64_t)g[i].writes + g[i].write_count > c->write_count) return -1;
    const struct counter *n = (const void *)(base + c->counters);
    for (uint32_t i = 0; i < c->counter_count; i++)
        if (n[i].group >= c->group_count || n[i].file >= c->string_bytes || n[i].key >= c->string_bytes) return -1;
    return 0;
}

/* Fill `list` (argc + envc + 4 slots) with path, cwd, argv…, NULL, envp…, NULL; 0 when all strings end inside. */
static int start_check(const void *bytes, size_t size, char **list, size_t slots) {
    const struct start *r = bytes;
    if (size < sizeof *r || size > (1u << 28) || r->magic != START_MAGIC || r->size != size) return -1;
    if (r->argc < 1 || (uint64_t)r->argc + r->envc + 4 > slots) return -1;
    char *at = (char *)(uintptr_t)bytes + sizeof *r, *end = (char *)(uintptr_t)bytes + size;
    uint64_t strings_wanted = 2ull + r->argc + r->envc, slot = 0;
    for (uint64_t i = 0; i < strings_wanted; i++) {
        char *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop) return -1;
        list[slot++] = at;
        if (i + 1 == 2ull + r->argc) list[slot++] = NULL;
        at = stop + 1;
    }
    list[slot] = NULL;
    return at == end ? 0 : -1;
}
#endif
