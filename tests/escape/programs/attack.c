/* attack NAME ARGUMENT…: make one attempt. See attack.h. */
#include "attack.h"

static const struct attack *const tables[] = {file_attacks,   process_attacks,  ipc_attacks, network_attacks,
                                              kernel_attacks, resource_attacks, swap_attacks};

int ok(const char *detail) {
    printf("OK %s\n", detail);
    return 0;
}

int fail_as(const char *name, const char *what) {
    printf("FAIL %s %s\n", name, what);
    return 1;
}

int fail(const char *what) {
    const char *name = strerrorname_np(errno);
    return fail_as(name ? name : "UNKNOWN", what);
}

int verdict(long result, const char *what) { return result < 0 ? fail(what) : ok(what); }

int gate(long result, int past, const char *what) {
    return result < 0 && errno != past ? fail(what) : ok(what);
}

int print_file(int descriptor) {
    char text[513];
    if (descriptor < 0) return fail("open");
    ssize_t count = read(descriptor, text, sizeof text - 1);
    if (count < 0) return fail("read");
    text[count] = 0;
    text[strcspn(text, "\n")] = 0;
    return ok(text);
}

int await_change(long (*probe)(void), long before) {
    struct timespec pause = {0, 1000000};
    for (int round = 0; round < 300; round++) {
        if (probe() != before) return 1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t table = 0; count > 1 && table < sizeof tables / sizeof *tables; table++)
        for (const struct attack *entry = tables[table]; entry->name; entry++)
            if (!strcmp(entry->name, arguments[1])) return entry->run(arguments + 2);
    fprintf(stderr, "no such attack\n");
    return 64;
}
