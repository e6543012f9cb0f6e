/* Sockets by name, shared memory, queues and keys of the host. */
#include "attack.h"
#include <mqueue.h>
#include <stddef.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static int connect_to(const char *name, int abstract, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path + abstract, name, length);
    int descriptor = socket(AF_UNIX, type, 0);
    if (descriptor < 0) return fail("socket");
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)abstract + length);
    if (type == SOCK_DGRAM)
        return verdict(sendto(descriptor, "PWNED", 5, 0, (struct sockaddr *)&address, size), "datagram sent");
    return verdict(connect(descriptor, (struct sockaddr *)&address, size), "connected");
}

static int path_socket(char **a) { return connect_to(a[0], 0, SOCK_STREAM); }
static int path_datagram(char **a) { return connect_to(a[0], 0, SOCK_DGRAM); }
static int abstract_socket(char **a) { return connect_to(a[0], 1, SOCK_STREAM); }

static int shared_memory(char **a) {
    char *memory = shmat(atoi(a[0]), NULL, 0);
    if (memory == (void *)-1) return fail("shmat");
    char text[64];
    snprintf(text, sizeof text, "%s", memory);
    memcpy(memory, "PWNED", 5);
    return ok(text);
}

static int remove_shared_memory(char **a) { return verdict(shmctl(atoi(a[0]), IPC_RMID, NULL), "removed"); }

static int message_queue(char **a) {
    struct { long kind; char text[64]; } message = {0, ""};
    return msgrcv(atoi(a[0]), &message, 63, 0, IPC_NOWAIT) < 0 ? fail("msgrcv") : ok(message.text);
}

static int posix_queue(char **a) {
    char text[8193] = "";
    mqd_t queue = mq_open(a[0], O_RDONLY | O_NONBLOCK);
    if (queue < 0) return fail("mq_open");
    return mq_receive(queue, text, 8192, NULL) < 0 ? fail("mq_receive") : ok(text);
}

static int read_key(char **a) {
    char text[65] = "";
    return syscall(SYS_keyctl, 11 /* KEYCTL_READ */, atol(a[0]), text, 64L) < 0 ? fail("keyctl") : ok(text);
}

static int request_key(char **a) {
    return verdict(syscall(SYS_request_key, "user", a[0], NULL, 0L), "key found");
}

static int add_key(char **a) {
    return verdict(syscall(SYS_add_key, "user", a[0], "x", 1L, -4L /* the user's keyring */), "key left behind");
}

const struct attack ipc_attacks[] = {
    {"path-socket", path_socket}, {"path-datagram", path_datagram}, {"abstract-socket", abstract_socket},
    {"shm", shared_memory}, {"shm-remove", remove_shared_memory}, {"msg", message_queue}, {"mq", posix_queue},
    {"read-key", read_key}, {"request-key", request_key}, {"add-key", add_key}, {NULL, NULL}};
