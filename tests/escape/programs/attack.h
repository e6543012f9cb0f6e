/* One attempt per function. Each prints one line of verdict: `OK detail` (the attack succeeded) or `FAIL ERRNO what`.
 * Nothing here decides whether that is right: the table in attacks.py does. */
#ifndef ATTACK_H
#define ATTACK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct attack {
    const char *name;
    int (*run)(char **arguments); /* arguments are NULL-terminated; the table gives the right number */
};

extern const struct attack file_attacks[], process_attacks[], ipc_attacks[], network_attacks[], kernel_attacks[],
    resource_attacks[], swap_attacks[];

int ok(const char *detail);
int fail(const char *what);                   /* prints the name of errno */
int fail_as(const char *name, const char *what); /* a verdict that is no errno */
int verdict(long result, const char *what);   /* negative: fail, else ok */
int gate(long result, int past, const char *what); /* also ok when the refusal came after the privilege check */
int print_file(int descriptor);               /* read from it and show what came */
int await_change(long (*probe)(void), long before); /* poll up to 300 ms; 1 when it changed */

#endif
