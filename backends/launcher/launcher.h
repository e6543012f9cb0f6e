/* The messages between host and launcher. wire.py is the other side; a test compares the two byte for byte.
 *
 * All integers are native-endian (both sides share one machine). Text lives in sealed memory files (memfd) that travel
 * as descriptors; a packet is only a fixed-size header. Every offset is checked by config_check()/start_check() before
 * anything is read through it: these two are the fuzz targets.
 */
#ifndef FUMEHOOD_LAUNCHER_H
#define FUMEHOOD_LAUNCHER_H
#include <stdint.h>

#define CONFIG_MAGIC 0x31474346u /* "FCG1" */
#define START_MAGIC  0x31545346u /* "FST1" */
#define PACKET_MAGIC 0x314b5046u /* "FPK1" */

enum config_flag {
    F_USERNS = 1, F_MOUNTNS = 2, F_PIDNS = 4, F_NETNS = 8, F_IPCNS = 16, F_UTSNS = 32, F_CGROUPNS = 64,
    F_LANDLOCK = 128, F_SETIDS = 256, F_DIRECT = 512,
};
enum op_kind { OP_DIR = 1, OP_BIND, OP_SYMLINK, OP_FILE, OP_TMPFS, OP_PROC, OP_DEVPTS, OP_MASK, OP_MOVE };
enum op_flag { O_RDONLY_TREE = 1, O_ALLOW_DEV = 2, O_OPTIONAL = 4, O_INSTANCE = 8, O_OWNED = 16 };

struct config {
    uint32_t magic, size, flags, uid, gid, umask;
    int32_t  host_pid;
    uint32_t ops, op_count, rules, rule_count, bpf, bpf_count, limits, limit_count;
    uint32_t groups, group_count, writes, write_count, counters, counter_count;
    uint32_t strings, string_bytes, staging;
    uint64_t landlock_fs, landlock_net, landlock_scope;
};
struct op {                 /* path, source: offsets into strings; FILE: source/size are the content's place there */
    uint32_t kind, flags, path, source, mode, pad;
    uint64_t size, device, inode;   /* BIND: 0 or what the opened source must be */
};
struct rule   { uint32_t path, pad; uint64_t access; };
struct limit  { uint32_t resource, pad; uint64_t soft, hard; };
struct group  { uint32_t path, writes, write_count, pad; };
struct gwrite { uint32_t file, text; };
struct counter { uint32_t group, file, key, pad; };

struct start {
    uint32_t magic, size, argc, envc;   /* then strings, each ended by NUL: path, cwd, argv[argc], envp[envc] */
    uint64_t device, inode, length;
    int64_t  mtime_ns, ctime_ns;
    uint32_t mode, uid, gid, pad;
};

enum packet_type {
    P_CONFIG = 1,  /* host -> factory, fd: config                                                     */
    P_ARM,         /* host -> factory                                                                 */
    P_SPAWN,       /* host -> init, a = stage, fd: that runner's socket                               */
    P_SIGNAL,      /* host -> init, a = signal number                                                 */
    P_COPY,        /* host -> init, fds: verified bytes, absolute path; answered by P_DONE or P_ERROR */
    P_START,       /* host -> runner, fds: start record, stdin, stdout, stderr [, program's bytes];
                      a record of up to 16 KiB is sent itself, without packet and first descriptor */
    P_READY = 16,  /* factory -> host: the view stands, a = Landlock ABI; init -> host: armed          */
    P_ARMED,       /* factory -> host, a = pid, fds: init's socket, first runner's socket, pidfd      */
    P_EXIT,        /* init -> host, a = stage, b = wait status, c/d = user/system µs, e = peak KiB,
                      flags: 1 nothing is left inside, 2 a placed copy was detached from its path */
    P_DONE,
    P_ERROR,       /* anyone -> host, a = step, b = errno                                             */
};
enum step {
    S_CONFIG = 1, S_HOST, S_USERNS, S_IDMAP, S_MOUNTNS, S_ROOT, S_OP, S_PIVOT, S_CLONE, S_CGROUP, S_LOOPBACK, S_RULESET,
    S_LIMIT, S_CAPS, S_IDS, S_LANDLOCK, S_SECCOMP, S_CWD, S_VERIFY, S_EXEC, S_START, S_COPY,
};
#define COUNTERS 4
struct packet {
    uint32_t magic, type;
    int32_t  a, b;
    uint64_t c, d, e, flags, counters[COUNTERS];
};
#endif
