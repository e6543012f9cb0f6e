/* The network of the host, by every door. */
#include "attack.h"
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

static struct sockaddr_in loopback(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int stream_to(const char *port, int protocol) {
    struct sockaddr_in address = loopback(port);
    int descriptor = socket(AF_INET, SOCK_STREAM, protocol);
    if (descriptor < 0) return fail("socket");
    return verdict(connect(descriptor, (struct sockaddr *)&address, sizeof address), "connected");
}

static int tcp(char **a) { return stream_to(a[0], 0); }
static int mptcp(char **a) { return stream_to(a[0], 262); }

static int fast_open(char **a) {
    struct sockaddr_in address = loopback(a[0]);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0) return fail("socket");
    return verdict(sendto(descriptor, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address), "connected");
}

/* An IPv6 socket reaching an IPv4 listener through a mapped address. */
static int tcp_mapped(char **a) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons((unsigned short)atoi(a[0]))};
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
    int descriptor = socket(AF_INET6, SOCK_STREAM, 0);
    if (descriptor < 0) return fail("socket");
    return verdict(connect(descriptor, (struct sockaddr *)&address, sizeof address), "connected");
}

static int udp(char **a) {
    struct sockaddr_in address = loopback(a[0]);
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    if (descriptor < 0) return fail("socket");
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) return fail("connect");
    if (send(descriptor, "PWNED", 5, 0) < 0) return fail("send");
    return verdict(send(descriptor, "PWNED", 5, 0), "datagrams sent"); /* the second hears that nobody listens */
}

static int open_socket(char **a) {
    return verdict(socket(atoi(a[0]), atoi(a[1]), atoi(a[2])), "socket opened");
}

/* A socket made by the ring, where no filter on socket() sees it (catalogue case 69). */
static int ring_socket(char **a) {
    struct io_uring_params p;
    (void)a;
    memset(&p, 0, sizeof p);
    int ring = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (ring < 0) return fail("io_uring_setup");
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, 3, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), 3, MAP_SHARED, ring,
                    IORING_OFF_CQ_RING);
    struct io_uring_sqe *entry = mmap(0, p.sq_entries * sizeof *entry, 3, MAP_SHARED, ring, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || entry == MAP_FAILED) return fail("mmap");
    memset(entry, 0, sizeof *entry);
    entry->opcode = 45; /* IORING_OP_SOCKET */
    entry->fd = AF_INET;
    entry->off = SOCK_STREAM;
    __atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, 1, 0, 0) < 0) return fail("io_uring_enter");
    struct io_uring_cqe *done = (void *)(cq + p.cq_off.cqes);
    errno = -done->res;
    return verdict(done->res, "socket through the ring");
}

const struct attack network_attacks[] = {
    {"tcp", tcp}, {"mptcp", mptcp}, {"fast-open", fast_open}, {"tcp-mapped", tcp_mapped}, {"udp", udp},
    {"socket", open_socket}, {"ring-socket", ring_socket}, {NULL, NULL}};
