"""Everyday commands: what must run inside exactly as it runs outside. Each exits 0, in an empty workspace, without a network."""

from __future__ import annotations

from textwrap import dedent

PY = "/usr/bin/python3"
GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main"

SHELL: dict[str, str] = {
    "echo": "test \"$(echo hi)\" = hi",
    "pipeline": "seq 1000 | sort -rn | head -1 | grep -qx 1000",
    "mktemp": "f=$(mktemp) && d=$(mktemp -d) && echo x > $f && rm -r $f $d",
    "write-workspace": "mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && rm -r a",
    "rename-between-folders": "mkdir one two && echo x > one/f && mv one/f two/f && ln two/f one/g && test -e one/g",
    "flock": "flock lock -c 'echo locked' | grep -q locked",
    "dev-files": "echo x > /dev/null && head -c 4 /dev/zero | wc -c | grep -q 4 && head -c 4 /dev/urandom | wc -c | grep -q 4"
    " && ! echo x > /dev/full",
    "dev-fd": "cat /dev/fd/0 < /etc/hosts > /dev/null && echo x > /dev/stdout",
    "process-substitution": "bash -c 'diff <(seq 3) <(seq 3) && paste <(seq 2) <(seq 2) | tail -1 | grep -q 2'",
    "tee-substitution": "bash -c 'exec > >(tee log) 2>&1; seq 100; echo END'; until grep -q END log; do sleep 0.01; done",
    "sort-temp-files": "seq 200000 | sort -S 1M -R | sort -S 1M -n | tail -1 | grep -qx 200000",
    "tar-gzip": "mkdir t && echo x > t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && grep -q x t/f",
    "awk-sed": "seq 10 | sed s/5/five/ | awk '{n++} END {print n}' | grep -qx 10",
    "find-exec": "mkdir d && touch d/a d/b && find d -type f -exec basename {} \\; | sort | tail -1 | grep -qx b",
    "xargs-parallel": "seq 20 | xargs -P 4 -n 1 echo | wc -l | grep -qx 20",
    "perl": "perl -e 'use POSIX; print strftime(\"%Y\", gmtime)' | grep -q 20",
    "make": "printf 'all:\\n\\t@echo made > out\\n' > Makefile && make -s && grep -q made out",
    "gcc": "printf '#include <stdio.h>\\nint main(void){puts(\"hi\");return 0;}' > a.c && gcc -O2 -o a a.c && ./a | grep -q hi",
    "ps": "ps -e | grep -q sh && ps aux | wc -l | grep -qv '^0$'",
    "id": "id -un && id -gn && whoami",
    "date-timezone": "TZ=Europe/Berlin date +%Z | grep -q CE",
    "locale": "locale > /dev/null && LC_ALL=C.UTF-8 printf '%s' ä | wc -m | grep -qx 1",
    "nproc": "nproc | grep -q '[1-9]'",
    "disk": "df . > /dev/null && du -s . > /dev/null && stat -f . > /dev/null",
    "timeout-inside": "timeout 0.1 sleep 5 || test $? = 124",
    "kill-own-child": "sleep 50 & kill $!; wait $! || test $? = 143",
    "background-wait": "(sleep 0.05; echo late > f) & wait; grep -q late f",
    "trap": "sh -c 'trap \"exit 7\" TERM; kill $$; sleep 1' || test $? = 7",
    "exit-139": "sh -c 'exit 139' || test $? = 139",
    "setsid": "setsid -w sh -c 'echo x > f' && grep -q x f",
    "script-pty": "script -qec 'test -t 1 && echo tty' /dev/null | grep -q tty",
    "dash-and-bash": "bash -c '[[ a == a ]] && echo ok' | grep -q ok && dash -c 'echo ok' | grep -q ok",
    "proc-self": "grep -q Name /proc/self/status && readlink /proc/self/exe > /dev/null && sh -c 'cat /proc/$$/comm' | grep -q sh",
    "proc-cpuinfo": "grep -q processor /proc/cpuinfo && grep -q MemTotal /proc/meminfo",
    "ulimit": "sh -c 'ulimit -n 64 && ulimit -n' | grep -qx 64",
    "fifo": "mkfifo p && (echo x > p &) && grep -q x p",
    "symlinks": "ln -s /etc/hosts h && cat h > /dev/null && ln -s nowhere n && test -L n",
    "chmod-own": "touch f && chmod 600 f && test \"$(stat -c %a f)\" = 600",
    "touch-times": "touch -d 2001-02-03 f && test \"$(stat -c %Y f)\" -lt 1000000000",
    "xattr-like-metadata": "touch f && chmod +x f && test -x f",
    "hidden-dotfiles": "echo a > .gitignore && mkdir -p config && echo b > config/HEAD && cat .gitignore config/HEAD",
    "script-file": "printf '#!/bin/sh\\necho $0 $1\\n' > s.sh && chmod +x s.sh && ./s.sh arg | grep -q './s.sh arg'",
    "nested-shell": "sh -c \"sh -c 'sh -c true'\"",
    "git-commit": f"{GIT} init -q . && echo a > f && {GIT} add f && {GIT} commit -qm m && {GIT} log --oneline | grep -q m",
    "git-branch": f"{GIT} init -q . && {GIT} commit -q --allow-empty -m m && {GIT} checkout -qb topic && {GIT} branch | grep -q topic",
    "git-worktree": f"{GIT} init -q m && {GIT} -C m commit -q --allow-empty -m m && {GIT} -C m worktree add -q ../w && "
    f"echo x > w/f && {GIT} -C w add f && {GIT} -C w commit -qm n",
    "git-clone": f"{GIT} init -q m && {GIT} -C m commit -q --allow-empty -m m && {GIT} clone -q m c 2> /dev/null && {GIT} -C c log -1 -q > /dev/null",
    "gitconfig-readable": "git config --global user.name | grep -qx everyday",
    "home-is-writable": "mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/f && grep -q x ~/.cache/tool/f",
    "env": "env -i A=1 env | grep -qx A=1 && printenv HOME > /dev/null",
    "dev-shm": "d=$(mktemp -d -p /dev/shm) && echo x > $d/f && mv $d/f $d/g && grep -q x $d/g && rm -r $d",
    "checksums": "echo x > f && sha256sum f > sums && sha256sum -c sums > /dev/null",
    "diff-comm-join": "seq 3 > a && seq 2 4 > b && comm -12 a b | grep -qx 2 && join a b > c && ! diff a b > /dev/null",
    "read-write-descriptor": "exec 3<> f && echo x >&3 && exec 3>&- && grep -q x f",
    "coproc": "bash -c 'coproc cat; echo x >&${COPROC[1]}; read -r y <&${COPROC[0]}; test $y = x'",
    "nohup-nice": "nohup nice -n 5 true > out 2>&1",
    "realpath": "mkdir d && ln -s d e && test \"$(realpath e)\" = \"$(readlink -f d)\"",
    "getent": "getent passwd \"$(id -u)\" > /dev/null && getent hosts localhost > /dev/null",
    "make-parallel": "printf 'all: a b c\\na b c:\\n\\t@echo $@ > $@.out\\n' > Makefile && make -s -j4 && cat a.out b.out c.out > /dev/null",
    "shared-library": "echo 'int f(void){return 7;}' > f.c && gcc -shared -fPIC -o libf.so f.c"
    f" && {PY} -c 'import ctypes; assert ctypes.CDLL(\"./libf.so\").f() == 7'",
    "perl-fork": "perl -e 'my $p = fork; exit 3 unless $p; waitpid $p, 0; exit($? >> 8 == 3 ? 0 : 1)'",
    "perl-tempfile": "perl -MFile::Temp=tempfile -e 'my ($h, $n) = tempfile(UNLINK => 1); print $h \"x\"; -e $n or die'",
    "git-push-to-a-bare-repository": f"{GIT} init -q --bare r && {GIT} clone -q r m 2> /dev/null && {GIT} -C m commit -q --allow-empty -m m"
    f" && {GIT} -C m push -qu origin HEAD:main && {GIT} -C r log -1 --format=%s main | grep -qx m",
    "git-stash-rebase": f"{GIT} init -q . && echo a > f && {GIT} add f && {GIT} commit -qm a && echo b >> f && {GIT} stash -q"
    f" && {GIT} stash pop -q && {GIT} commit -qam b && {GIT} rebase -q HEAD~1 && {GIT} gc -q && {GIT} fsck > /dev/null 2>&1",
    "node-spawn-pipe": "node -e 'const c=require(\"child_process\").spawn(\"cat\");c.stdout.on(\"data\",d=>process.exit(d==\"x\"?0:1));"
    "c.stdin.end(\"x\")'",
    "node-worker-threads": "node -e 'const w=require(\"worker_threads\");new w.Worker(\"process.exit(0)\",{eval:true})'",
    "node-http": "node -e 'const h=require(\"http\");const s=h.createServer((q,r)=>r.end(\"x\")).listen(0,\"127.0.0.1\",()=>"
    "h.get({port:s.address().port,host:\"127.0.0.1\"},r=>process.exit(r.statusCode==200?0:1)))'",
    "pip-wheel": "mkdir p && echo \"from setuptools import setup; setup(name='x', version='1', py_modules=['x'])\" > p/setup.py && touch p/x.py"
    f" && {PY} -m pip wheel -q --no-index --no-deps --no-build-isolation --disable-pip-version-check -w out ./p && ls out/x-1-*.whl > /dev/null",
    "node": "node -e 'const c=require(\"child_process\");process.exit(c.execSync(\"echo hi\").toString()===\"hi\\n\"?0:1)'",
    "node-fs": "node -e 'require(\"fs\").writeFileSync(\"f\",\"x\")' && grep -q x f",
    "disk-sync": "echo x > f && sync f && sync",
    "split-cut": "seq 100 > f && split -l 10 f part. && ls part.* | wc -l | grep -qx 10",
    "here-document": "cat <<X | grep -q hi\nhi\nX",
    "stdin-is-empty": "test -z \"$(cat)\"",
}

PYTHON: dict[str, str] = {
    "multiprocessing": """
        import multiprocessing as m
        def f(x): return x * x
        if __name__ == "__main__":
            with m.Pool(2) as p: assert sum(p.map(f, range(10))) == 285""",
    "posix-semaphore": "import multiprocessing as m; s = m.Semaphore(1); assert s.acquire(); s.release()",
    "shared-memory": """
        from multiprocessing.shared_memory import SharedMemory
        s = SharedMemory(create=True, size=64); s.buf[0] = 7; s.close(); s.unlink()""",
    "sqlite": """
        import sqlite3
        c = sqlite3.connect("db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(x)")
        c.execute("insert into t values (1)"); c.commit(); assert c.execute("select * from t").fetchall() == [(1,)]""",
    "threads": """
        import threading
        r = []; ts = [threading.Thread(target=r.append, args=(i,)) for i in range(50)]
        [t.start() for t in ts]; [t.join() for t in ts]; assert len(r) == 50""",
    "subprocess": "import subprocess as s; assert s.run(['cat'], input=b'x', capture_output=True).stdout == b'x'",
    "socketpair": "import socket; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'",
    "unix-server-in-workspace": """
        import socket
        s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen()
        c = socket.socket(socket.AF_UNIX); c.connect("sock"); a, _ = s.accept(); c.send(b"x"); assert a.recv(1) == b"x" """,
    "loopback-http": """
        import http.server, threading, urllib.request
        s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=s.serve_forever, daemon=True).start()
        assert urllib.request.urlopen(f"http://127.0.0.1:{s.server_port}/").status == 200""",
    "loopback-ipv6-udp": """
        import socket
        a = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); a.bind(("::1", 0))
        b = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); b.sendto(b"x", a.getsockname()[:2]); assert a.recv(1) == b"x" """,
    "inotify": """
        import ctypes, os
        l = ctypes.CDLL(None); f = l.inotify_init1(0); assert l.inotify_add_watch(f, b".", 0x100) > 0
        open("new", "w").close(); assert len(os.read(f, 4096)) > 0""",
    "memfd": "import os; f = os.memfd_create('x'); os.write(f, b'x'); assert os.pread(f, 1, 0) == b'x'",
    "getpwuid": "import pwd, os, getpass; pwd.getpwuid(os.getuid()); getpass.getuser(); assert os.path.expanduser('~') != '/'",
    "process-pool": """
        from concurrent.futures import ProcessPoolExecutor
        if __name__ == "__main__": assert sum(ProcessPoolExecutor(2).map(abs, [-1, -2, 3])) == 6""",
    "fork-exec-wait": """
        import os
        pid = os.fork()
        if not pid: os.execv("/bin/sh", ["sh", "-c", "exit 9"])
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9""",
    "poll-family": """
        import ctypes, os, select
        c = ctypes.CDLL(None); r, w = os.pipe(); e = select.epoll(); e.register(r); os.write(w, b"x"); assert e.poll(1)
        assert c.eventfd(0, 0) > 0 and c.timerfd_create(1, 0) > 0 and os.pidfd_open(os.getpid()) > 0""",
    "file-copy-calls": """
        import os, fcntl
        a = os.open("a", os.O_RDWR | os.O_CREAT); b = os.open("b", os.O_RDWR | os.O_CREAT); os.write(a, b"x" * 9000)
        assert os.sendfile(b, a, 0, 9000) == 9000 and os.copy_file_range(a, b, 100, 0) == 100
        os.posix_fallocate(a, 0, 20000); fcntl.lockf(a, fcntl.LOCK_EX); os.fsync(a); assert os.fstat(a).st_size == 20000""",
    "scheduling": """
        import os, resource
        os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); assert os.getloadavg() and os.cpu_count()""",
    "unittest": """
        import subprocess, sys
        open("test_x.py", "w").write("import unittest\\nclass T(unittest.TestCase):\\n    def test(self): pass\\n")
        subprocess.run([sys.executable, "-m", "unittest", "-q"], check=True, stderr=subprocess.DEVNULL)""",
    "archives": """
        import shutil, os
        os.mkdir("d"); open("d/f", "w").close(); shutil.make_archive("z", "zip", "d"); shutil.unpack_archive("z.zip", "u")
        shutil.copytree("d", "e"); shutil.move("e", "g"); shutil.rmtree("g"); assert os.path.exists("u/f")""",
    "time-zones": "import time, zoneinfo; time.tzset(); assert zoneinfo.ZoneInfo('Europe/Berlin')",
    "extension-modules": "import bz2, lzma, zlib, curses, readline, uuid, decimal, select, resource, termios; uuid.uuid4()",
    "pty": """
        import os, pty
        pid, fd = pty.fork()
        if not pid: os.write(1, b"hi"); os._exit(0)
        assert os.read(fd, 2) == b"hi"; os.waitpid(pid, 0)""",
    "mmap-shared": """
        import mmap
        open("m", "wb").write(b"0" * 4096); f = open("m", "r+b"); m = mmap.mmap(f.fileno(), 4096); m[0:1] = b"x"; m.flush()
        assert open("m", "rb").read(1) == b"x" """,
    "ctypes": "import ctypes; assert ctypes.CDLL(None).getpid() > 0",
    "signals": "import os, signal; signal.signal(signal.SIGUSR1, lambda *a: None); os.kill(os.getpid(), signal.SIGUSR1)",
    "asyncio": """
        import asyncio
        async def main():
            p = await asyncio.create_subprocess_exec("echo", "x", stdout=-1); assert (await p.communicate())[0] == b"x\\n"
        asyncio.run(main())""",
    "tempfile": "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); d = tempfile.TemporaryDirectory()",
    "venv": "import venv; venv.create('v', with_pip=False); import subprocess; subprocess.run(['v/bin/python', '-c', 'pass'], check=True)",
    "large-address-space": "import mmap; m = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)",
    "openssl-hash": "import ssl, hashlib; ssl.create_default_context(); hashlib.sha512(b'x')",
}

ROWS = {
    **{name: ["sh", "-ec", text] for name, text in SHELL.items()},
    **{f"python-{name}": [PY, "-c", dedent(code).strip() + "\n"] for name, code in PYTHON.items()},
}
