"""The table: every attempt to get out, how it shows that it works, and what it must get inside.

A row's program is one entry of `programs/` with arguments in which `{name}` stands for a value of the world
(world.py). Run bare, it must bring about `effect`; run confined, its verdict must be one of `refused` and nothing on
the host may have changed. Where the bare kernel itself refuses on some hosts, `bare` lists what it may say and `why`
gives the reason: the confined verdict must then differ from it, or the row would prove nothing.

Verdicts: OK, an errno name, SIG… (killed by it), limit:NAME (the result names that limit), REFUSED (nothing started),
or a word of the program's own (SURVIVED: the attacked process lives; SET, NONE, USER: see programs/kernel.c).
"""

from __future__ import annotations

from runner.model.record import Record


class Attack(Record):
    """needs: any | root | user. effect: "verdict" (it prints OK) or the name of a change the world sees (World.changes).

    proof: what is run bare instead, where the attempt itself would damage the machine. host: plain | tty (the host
    process has a controlling terminal) | preload (loader variables in the host's environment) | other-user (the
    workspace belongs to another user). namespaces: the bare attempt itself needs a namespace or a mount, which some
    hosts refuse to everybody. without_namespaces: same | reported (the result says `constraint` is partly or not held).
    """

    id: str
    group: str
    title: str
    program: tuple[str, ...]
    refused: tuple[str, ...]
    needs: str = "any"
    effect: str = "verdict"
    proof: tuple[str, ...] = ()
    bare: tuple[str, ...] = ("OK",)
    why: str = ""
    host: str = "plain"
    cwd: str = "{ws}"
    limits: tuple[tuple[str, float], ...] = ()
    namespaces: bool = False
    without_namespaces: str = "same"
    constraint: str = ""


def _row(group: str, id: str, title: str, program: str, refused: str, **more: object) -> Attack:
    more.setdefault("proof", "")
    words = {name: tuple(str(more.pop(name)).split()) for name in ("proof", "bare") if name in more}
    return Attack(
        id=id, group=group, title=title, program=tuple(program.split()), refused=tuple(refused.split()),
        **words, **more,
    )  # fmt: skip


OUTSIDE = "ENOENT EACCES"  # no such name in the view; without one, Landlock's answer
READ_ONLY = "EROFS EACCES"  # visible but not writable
CALL = "EPERM"  # a call the filter knows and refuses
UNKNOWN = "EPERM ENOSYS"
INVISIBLE = "ESRCH EPERM"  # no such process in the view; without one, the signal scope or the filter
NO_SOCKET = "EPERM EAFNOSUPPORT EACCES"
EMPTY_NET = "ENETUNREACH ECONNREFUSED EACCES EPERM"
META = {"without_namespaces": "reported", "constraint": "metadata"}
VIEW = {"without_namespaces": "reported", "constraint": "process_view"}
HIDE = {"without_namespaces": "reported", "constraint": "hide"}
MODULES = {"bare": "OK ENOSYS", "why": "kernels built without modules or kexec answer ENOSYS", "needs": "root"}

FILES = (
    _row("files", "read-absolute", "read by absolute path", "read {secret}", OUTSIDE, effect="secret"),
    _row("files", "read-dotdot", "read through ..", "read ../out/secret", OUTSIDE, effect="secret"),
    _row("files", "read-old-link", "read through a link that was there", "read link", OUTSIDE, effect="secret"),
    _row("files", "read-new-link", "read through a link made inside", "symlink-read {secret} l", OUTSIDE, effect="secret"),
    _row("files", "write-new-link", "write through a link made inside", "symlink-write {secret} l", OUTSIDE, effect="tree"),
    _row("files", "read-proc-self-root", "read below /proc/self/root", "read /proc/self/root{secret}", OUTSIDE, effect="secret"),
    _row("files", "read-proc-1-root", "read below /proc/1/root", "read /proc/1/root{secret}", OUTSIDE, effect="secret", needs="root"),
    _row("files", "read-victim-root", "read below another process's root", "read /proc/{pid}/root{secret}", OUTSIDE, effect="secret"),
    _row("files", "read-victim-cwd", "read below another process's folder", "read /proc/{pid}/cwd/secret", OUTSIDE, effect="secret"),
    _row("files", "read-victim-fd", "open another process's descriptor", "read /proc/{pid}/fd/{fd}", OUTSIDE, effect="secret"),
    _row("files", "walk-up", "openat .. up to the root of all", "walk-up {secret}", OUTSIDE, effect="secret"),
    _row("files", "write-absolute", "append by absolute path", "write {secret}", OUTSIDE, effect="tree"),
    _row("files", "write-dotdot", "append through ..", "write ../out/secret", OUTSIDE, effect="tree"),
    _row("files", "write-read-root", "append to a file of a read root", "write {ro}/file", READ_ONLY, effect="tree"),
    _row("files", "write-program", "append to the program's own file", "write {bin}/tool", READ_ONLY + " ETXTBSY", effect="tree"),
    _row("files", "reopen-read-root", "open for reading, reopen /proc/self/fd for writing", "reopen {ro}/file", READ_ONLY, effect="tree"),
    _row("files", "self-mem", "write a shared mapping through /proc/self/mem", "self-mem {ro}/file", READ_ONLY, effect="tree",
         bare="OK EIO EFAULT", why="kernels since 6.12 may restrict forced writes through /proc/self/mem"),
    _row("files", "create-outside", "create a file", "create {out}/new", OUTSIDE, effect="tree"),
    _row("files", "create-read-root", "create a file in a read root", "create {ro}/new", READ_ONLY, effect="tree"),
    _row("files", "create-system", "create a file in /etc", "create /etc/{marker}", READ_ONLY + " ENOENT", effect="system", needs="root"),
    _row("files", "create-host-tmp", "create a file in the host's /tmp", "create /tmp/{marker}", "OK EACCES", effect="tmp"),
    _row("files", "mkdir-outside", "make a folder", "mkdir {out}/new", OUTSIDE, effect="tree"),
    _row("files", "truncate-outside", "truncate(2) without opening (case 81)", "truncate {secret}", OUTSIDE, effect="tree"),
    _row("files", "truncate-read-root", "truncate(2) in a read root (case 81)", "truncate {ro}/file", READ_ONLY, effect="tree"),
    _row("files", "unlink-outside", "unlink", "unlink {secret}", OUTSIDE, effect="tree"),
    _row("files", "unlink-read-root", "unlink in a read root", "unlink {ro}/file", READ_ONLY, effect="tree"),
    _row("files", "rename-out", "rename a file of the workspace outside", "rename own {out}/new", OUTSIDE + " EXDEV", effect="tree"),
    _row("files", "rename-over", "rename over a file outside", "rename own {secret}", OUTSIDE + " EXDEV", effect="tree"),
    _row("files", "rename-in", "rename a file from outside into the workspace", "rename {secret} new", OUTSIDE + " EXDEV", effect="tree"),
    _row("files", "rename-from-read-root", "move a read-only file where it is writable", "rename {ro}/file new", "EXDEV EROFS EACCES", effect="tree"),
    _row("files", "exchange", "exchange with a file outside", "exchange own {secret}", OUTSIDE + " EXDEV", effect="tree"),
    _row("files", "hard-link", "hard link a file from outside and write it", "hard-link {secret} h", OUTSIDE + " EXDEV", effect="tree"),
    _row("files", "hard-link-read-root", "hard link a read-only file and write it", "hard-link {ro}/file h", "EXDEV EROFS EACCES", effect="tree"),
    _row("files", "tmpfile-outside", "O_TMPFILE outside, then linkat", "tmpfile {out} {out}/new", OUTSIDE, effect="tree"),
    _row("files", "tmpfile-moved", "O_TMPFILE inside, linkat outside", "tmpfile . {out}/new", OUTSIDE + " EXDEV", effect="tree"),
    _row("files", "inherited-77", "a folder left open at descriptor 77", "inherited 77 secret", "EBADF", effect="secret"),
    _row("files", "cwd-descriptor", "working folder /proc/self/fd/77 (case 77)", "read secret", "REFUSED", effect="secret", cwd="/proc/self/fd/77"),
    _row("files", "cwd-descriptor-up", "working folder /proc/self/fd/77/.. (case 77)", "read out/secret", "REFUSED", effect="secret", cwd="/proc/self/fd/77/.."),
    _row("files", "cwd-link", "working folder a link to outside (case 77)", "read secret", "REFUSED", effect="secret", cwd="{ws}/up"),
    _row("files", "flip-link", "a link flipped between inside and outside (case 59)", "flip-link flip own {secret}", "UNSEEN", effect="secret"),
    _row("files", "dot-env", ".env below a read root (case 82)", "read {ro}/.env", OUTSIDE, effect="secret", **HIDE),
    _row("files", "dot-env-link", ".env of a read root through a link", "symlink-read {ro}/.env l", OUTSIDE, effect="secret", **HIDE),
    _row("files", "dot-env-workspace", ".env of the workspace (case 82)", "read .env", OUTSIDE, effect="secret", **HIDE),
    _row("files", "dot-env-rename", ".env of the workspace renamed away", "rename .env seen", OUTSIDE + " EBUSY EXDEV", effect="workspace", **HIDE),
    _row("files", "dot-env-hard-link", ".env of the workspace linked away", "hard-link .env seen", OUTSIDE + " EPERM EXDEV", effect="workspace", **HIDE),
    _row("files", "ssh-key", "~/.ssh below a granted home", "read {home}/.ssh/id", OUTSIDE, effect="secret", **HIDE),
    _row("files", "aws-key", "~/.aws below a granted home", "read {home}/.aws/credentials", OUTSIDE, effect="secret", **HIDE),
    _row("metadata", "stat-outside", "see that a file exists", "stat {secret}", OUTSIDE, **META),
    _row("metadata", "chmod-outside", "chmod (case 80)", "chmod {secret}", OUTSIDE, effect="tree", **META),
    _row("metadata", "chmod-read-root", "chmod in a read root (case 80)", "chmod {ro}/file", READ_ONLY, effect="tree", **META),
    _row("metadata", "utime-outside", "set times (case 80)", "utime {secret}", OUTSIDE, effect="tree", **META),
    _row("metadata", "utime-read-root", "set times in a read root (case 80)", "utime {ro}/file", READ_ONLY, effect="tree", **META),
    _row("metadata", "xattr-outside", "set an attribute (case 80)", "xattr {secret}", OUTSIDE, effect="tree", **META),
    _row("metadata", "xattr-read-root", "set an attribute in a read root", "xattr {ro}/file", READ_ONLY, effect="tree", **META),
    _row("metadata", "chown-outside", "chown", "chown {secret}", OUTSIDE, **META),
)  # fmt: skip

MOUNTS = (
    _row("mounts", "mount-tmpfs", "mount a tmpfs", "mount m", CALL, needs="root", namespaces=True),
    _row("mounts", "bind-mount", "bind mount a folder from outside", "bind {out} m", CALL, effect="secret", needs="root", namespaces=True),
    _row("mounts", "remount", "make a read-only mount writable again", "remount {ro}", CALL, needs="root", namespaces=True),
    _row("mounts", "umount", "take a mask off", "umount m", CALL, needs="root", namespaces=True),
    _row("mounts", "pivot-root", "pivot_root", "pivot m", CALL, needs="root", namespaces=True),
    _row("mounts", "open-tree", "clone a mount with open_tree", "open-tree .", UNKNOWN, needs="root", namespaces=True),
    _row("mounts", "fsopen", "a file system context", "fsopen tmpfs", UNKNOWN, needs="root", namespaces=True),
    _row("mounts", "chroot", "chroot", "chroot .", CALL, needs="root"),
    _row("mounts", "open-by-handle", "open_by_handle_at with a handle from outside", "open-handle . {handle}", UNKNOWN, effect="secret", needs="root"),
    _row("mounts", "swapon", "swapon", "swapon /nonexistent", CALL, needs="root"),
    _row("mounts", "user-namespace-mount", "mount in a user namespace of its own (case 75)", "userns-mount m", CALL, namespaces=True),
    _row("mounts", "new-user-namespace", "unshare a user namespace (case 75)", "unshare 10000000", CALL, namespaces=True),
    _row("mounts", "new-user-namespace-high", "the same with bits above the 32 the kernel reads", "clone 110000000", CALL, namespaces=True),
    _row("mounts", "clone-user-namespace", "clone with CLONE_NEWUSER", "clone 10000000", CALL, namespaces=True),
    _row("mounts", "clone3-user-namespace", "clone3 with CLONE_NEWUSER", "clone3 10000000", "ENOSYS", namespaces=True),
    _row("mounts", "new-mount-namespace", "unshare a mount namespace", "unshare 20000", CALL, needs="root", namespaces=True),
    _row("mounts", "new-net-namespace", "unshare a network namespace", "unshare 40000000", CALL, needs="root", namespaces=True),
    _row("mounts", "join-net", "setns into the host's network", "setns /proc/{pid}/ns/net", OUTSIDE + " EPERM", needs="root", namespaces=True),
    _row("mounts", "block-device", "read a block device", "read {block}", OUTSIDE + " EPERM", needs="root"),
    _row("mounts", "make-device", "mknod a block device and read it", "mknod dev {major} {minor}", "EPERM", needs="root"),
    _row("mounts", "dev-mem", "read /dev/mem", "read /dev/mem", "EACCES EPERM ENXIO", needs="root",
         bare="OK ENOENT EPERM", why="a kernel without /dev/mem has no such name; this machine's decides"),
)  # fmt: skip

PROCESSES = (
    _row("processes", "read-environ", "environment of another process (case 63)", "read /proc/{pid}/environ", OUTSIDE + " EPERM", effect="secret"),
    _row("processes", "see-process", "that another process exists", "stat /proc/{pid}", "ENOENT EACCES", **VIEW),
    _row("processes", "read-cmdline", "command line of another process", "read /proc/{pid}/cmdline", OUTSIDE, **VIEW),
    _row("processes", "kill", "kill another process", "signal {pid} 9", INVISIBLE, effect="victim"),
    _row("processes", "stop", "stop another process", "signal {pid} 19", INVISIBLE, effect="victim"),
    _row("processes", "probe-signal", "signal 0 to another process", "signal {pid} 0", INVISIBLE),
    _row("processes", "pidfd-kill", "kill by pidfd", "pidfd-signal {pid}", INVISIBLE + " ENOSYS", effect="victim"),
    _row("processes", "kill-everybody", "kill -9 -1", "kill-everybody {pid}", "SURVIVED " + INVISIBLE, effect="victim", proof="signal {pid} 9"),
    _row("processes", "ptrace", "trace another process", "ptrace {pid}", INVISIBLE),
    _row("processes", "vm-read", "process_vm_readv", "vm-read {pid} {address}", INVISIBLE, effect="secret"),
    _row("processes", "vm-write", "process_vm_writev", "vm-write {pid} {address}", INVISIBLE),
    _row("processes", "proc-mem", "read /proc/PID/mem", "proc-mem {pid} {address}", OUTSIDE + " EPERM", effect="secret"),
    _row("processes", "pidfd-getfd", "take a descriptor of another process", "pidfd-getfd {pid} {fd}", INVISIBLE + " ENOSYS", effect="secret"),
    _row("processes", "prlimit", "set limits of another process", "prlimit {pid}", INVISIBLE, without_namespaces="reported", constraint="process_view"),
    _row("processes", "renice", "set priority of another process", "renice {pid}", INVISIBLE + " EACCES", **VIEW),
    _row("processes", "affinity", "pin another process", "affinity {pid}", INVISIBLE, **VIEW),
    _row("launcher", "kill-parent", "kill -9 the launcher", "kill-parent", "SURVIVED EPERM", proof="launch kill-parent"),
    _row("launcher", "kill-first", "kill -9 1", "kill-first", "SURVIVED EPERM", proof="launch kill-parent"),
    _row("launcher", "stop-parent", "stop the launcher", "stop-parent", "SURVIVED EPERM", proof="launch stop-parent"),
    _row("launcher", "kill-group", "kill 0: the whole process group", "kill-group", "SURVIVED", proof="launch kill-group"),
    _row("launcher", "ptrace-parent", "trace the launcher", "ptrace", "EPERM", proof="launch ptrace"),
    _row("launcher", "ptrace-first", "trace pid 1", "ptrace 1", "EPERM", proof="launch ptrace"),
    _row("launcher", "parent-mem", "write the launcher's memory through /proc/PPID/mem", "parent-mem", "EACCES EPERM ENOENT EMPTY", proof="launch parent-mem"),
    _row("launcher", "first-mem", "write pid 1's memory through /proc/1/mem", "parent-mem 1", "EACCES EPERM ENOENT EMPTY", proof="launch parent-mem"),
    _row("leftovers", "daemon", "a daemon that outlives the command", "daemon {marker} close", "OK", effect="processes"),
    _row("leftovers", "daemon-holding-output", "a daemon that keeps stdout open", "daemon {marker} hold", "OK", effect="processes"),
)  # fmt: skip

SOCKETS = (
    _row("ipc", "path-socket", "connect to a path socket (case 67)", "path-socket {socket}", OUTSIDE + " EPERM", effect="socket"),
    _row("ipc", "path-socket-read-root", "a socket below a read root (case 67)", "path-socket {ro}/socket", OUTSIDE + " EPERM ECONNREFUSED", effect="ro-socket",
         without_namespaces="reported", constraint="unix_sockets"),
    _row("ipc", "path-datagram", "send to a path datagram socket", "path-datagram {datagram}", OUTSIDE + " EPERM", effect="datagram"),
    _row("ipc", "abstract-socket", "connect to an abstract socket", "abstract-socket {abstract}", "ECONNREFUSED EPERM", effect="abstract"),
    _row("ipc", "shm", "attach a SysV segment", "shm {shm}", "EINVAL EIDRM EACCES EPERM", effect="shm", **VIEW),
    _row("ipc", "shm-remove", "remove a SysV segment", "shm-remove {shm}", "EINVAL EIDRM EPERM", effect="shm", **VIEW),
    _row("ipc", "message-queue", "receive from a SysV queue", "msg {msg}", "EINVAL EIDRM EACCES EPERM", effect="secret", **VIEW),
    _row("ipc", "posix-queue", "receive from a POSIX queue", "mq {mq}", "ENOENT EACCES EPERM", effect="secret", **VIEW),
    _row("ipc", "posix-shm", "open a POSIX segment", "read /dev/shm/{posix}", OUTSIDE, effect="secret"),
    _row("ipc", "posix-shm-write", "write a POSIX segment", "write /dev/shm/{posix}", OUTSIDE, effect="posix"),
    _row("ipc", "read-key", "read a key of the host (case 92)", "read-key {key}", UNKNOWN, effect="secret"),
    _row("ipc", "request-key", "find a key of the host (case 92)", "request-key {key_name}", UNKNOWN),
    _row("ipc", "add-key", "leave a key behind", "add-key {marker}", UNKNOWN),
    _row("network", "tcp", "connect to the host's loopback (case 79)", "tcp {tcp}", EMPTY_NET, effect="tcp"),
    _row("network", "tcp-mapped", "the same through an IPv6 socket", "tcp-mapped {tcp}", EMPTY_NET, effect="tcp"),
    _row("network", "fast-open", "the same without connect()", "fast-open {tcp}", EMPTY_NET, effect="tcp"),
    _row("network", "mptcp", "the same by MPTCP", "mptcp {tcp}", EMPTY_NET, effect="tcp",
         bare="OK ENOPROTOOPT EPROTONOSUPPORT", why="kernels without MPTCP answer so"),
    _row("network", "udp", "a datagram to the host's loopback", "udp {udp}", EMPTY_NET, effect="udp"),
    _row("network", "raw", "a raw socket", "socket 2 3 1", NO_SOCKET, needs="root"),
    _row("network", "packet", "a packet socket", "socket 17 3 0", NO_SOCKET, needs="root"),
    _row("network", "xdp", "an XDP socket", "socket 44 3 0", NO_SOCKET, needs="root", bare="OK ENOSYS ESOCKTNOSUPPORT", why="kernels without XDP sockets"),
    _row("network", "netlink-uevent", "a netlink socket other than route", "socket 16 3 15", NO_SOCKET),
    _row("network", "netlink-diag", "socket diagnosis: every connection of the host", "socket 16 3 4", NO_SOCKET),
    _row("network", "vsock", "a socket to the hypervisor", "socket 40 1 0", NO_SOCKET),
    _row("network", "ring-socket", "a socket through io_uring (case 69)", "ring-socket", UNKNOWN, bare="OK EPERM ENOSYS",
         why="kernel.io_uring_disabled refuses to everybody on hardened hosts"),
)  # fmt: skip

KERNEL = (
    _row("kernel", "io-uring", "io_uring_setup", "ring", UNKNOWN),
    _row("kernel", "x32", "a call by its x32 number (case 71)", "x32", "SIGSYS", bare="OK ENOSYS", why="kernels without x32 answer ENOSYS"),
    _row("kernel", "i386", "a call through int 0x80", "i386", "SIGSYS", bare="OK SIGSEGV ENOSYS", why="kernels without i386 emulation raise SIGSEGV"),
    _row("kernel", "bpf", "make a bpf map", "bpf", UNKNOWN, needs="root"),
    _row("kernel", "perf", "open a performance counter", "perf", UNKNOWN, bare="OK EACCES", why="perf_event_paranoid 3 refuses ordinary users"),
    _row("kernel", "userfaultfd", "handle page faults", "userfaultfd", UNKNOWN),
    _row("kernel", "kexec", "load a kernel", "kexec", CALL, **MODULES),
    _row("kernel", "init-module", "load a module", "init-module", CALL, **MODULES),
    _row("kernel", "delete-module", "unload a module", "delete-module fumehood_none", CALL, **MODULES),
    _row("kernel", "reboot", "reboot", "reboot", CALL, needs="root"),
    _row("kernel", "acct", "process accounting", "acct /nonexistent", UNKNOWN, needs="root"),
    _row("kernel", "clock", "set the clock", "clock", CALL, needs="root"),
    _row("kernel", "hostname", "set the host's name", "hostname fumehood-pwned", CALL, needs="root", proof="same-hostname"),
    _row("kernel", "syslog", "read the kernel log by call", "klog", UNKNOWN, needs="root"),
    _row("kernel", "kmsg", "read the kernel log by device", "read /dev/kmsg", OUTSIDE + " EPERM", needs="root"),
    _row("kernel", "personality", "switch address randomisation off", "personality 40000", CALL),
    _row("kernel", "iopl", "input and output ports", "iopl", "EPERM", needs="root", bare="OK ENOSYS", why="kernels without port access answer ENOSYS"),
    _row("kernel", "fanotify", "watch a whole file system", "fanotify", UNKNOWN, needs="root"),
    _row("kernel", "tiocsti", "type into the caller's terminal (case 73)", "tiocsti HI 0", "ENXIO EPERM ENOENT EACCES", effect="terminal", host="tty",
         bare="OK EIO", why="dev.tty.legacy_tiocsti=0 refuses to everybody"),
    _row("kernel", "tiocsti-high", "the same with a bit above 32 (case 73)", "tiocsti HI 1", "ENXIO EPERM ENOENT EACCES", effect="terminal", host="tty",
         bare="OK EIO", why="dev.tty.legacy_tiocsti=0 refuses to everybody"),
)  # fmt: skip

PRIVILEGES = (
    _row("privileges", "no-new-privileges", "gain privileges by exec", "no-new-privileges", "SET"),
    _row("privileges", "setuid-program", "a setuid-root program in a read root", "exec {suid} effective-user", "USER EPERM EACCES", needs="root", host="other-user"),
    _row("privileges", "effective-capabilities", "capabilities in force", "capabilities CapEff", "NONE", needs="root"),
    _row("privileges", "bounding-capabilities", "capabilities that exec could give", "capabilities CapBnd", "NONE", needs="root"),
    _row("privileges", "become-another", "become another user", "become 12345", "EPERM EINVAL", needs="root"),
    _row("privileges", "core-pattern", "write /proc/sys/kernel/core_pattern", "rewrite /proc/sys/kernel/core_pattern", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "sysctl-vm", "write /proc/sys/vm/overcommit_memory", "rewrite /proc/sys/vm/overcommit_memory", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "sysctl-net", "write /proc/sys/net/ipv4/ip_forward", "open-write /proc/sys/net/ipv4/ip_forward", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "sysctl-hostname", "write /proc/sys/kernel/hostname", "rewrite /proc/sys/kernel/hostname", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "sysrq", "open /proc/sysrq-trigger for writing", "open-write /proc/sysrq-trigger", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "sys", "open a file of /sys for writing", "open-write {sysfile}", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "cgroup", "leave the cgroup", "open-write {cgroup}", READ_ONLY + " ENOENT EPERM", needs="root"),
    _row("privileges", "ld-preload", "a library through LD_PRELOAD", "/bin/true", "OK", effect="tree", host="preload"),
    _row("privileges", "oom-score", "shield itself from the memory killer", "oom-shield", "EACCES EPERM ENOENT EROFS", needs="root"),
)  # fmt: skip

BOMBS = (
    _row("bombs", "fork", "300 processes", "fork-bomb 300", "EAGAIN limit:processes", limits=(("processes", 64),)),
    _row("bombs", "memory", "512 MiB of memory", "memory 512", "limit:memory", limits=(("memory", 128 << 20),)),
    _row("bombs", "disk", "64 MiB in /tmp", "fill /tmp/{marker} 64", "ENOSPC limit:tmp_size", limits=(("tmp_size", 16 << 20),),
         without_namespaces="reported", constraint="tmp_size"),
    _row("bombs", "descriptors", "200 descriptors", "open-many 200", "EMFILE", limits=(("open_files", 64),)),
    _row("bombs", "file-size", "64 MiB in one file of the workspace", "fill big 64", "EFBIG SIGXFSZ limit:file_size", limits=(("file_size", 16 << 20),)),
)  # fmt: skip

ATTACKS = (*FILES, *MOUNTS, *PROCESSES, *SOCKETS, *KERNEL, *PRIVILEGES, *BOMBS)
