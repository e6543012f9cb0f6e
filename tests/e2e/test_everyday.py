"""What must still work inside: everyday commands, each first run bare (so that a pass means something), then confined.

Every row runs in a fresh workspace with a home folder of its own; afterwards nothing is left outside the workspace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import run

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
    "setsid": "setsid sh -c 'echo x > f' && sleep 0.05 && cat f | grep -q x",
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


def _dedent(code: str) -> str:
    import textwrap

    return textwrap.dedent(code).strip() + "\n"


ROWS = {
    **{name: ["sh", "-ec", text] for name, text in SHELL.items()},
    **{f"python-{name}": [PY, "-c", _dedent(code)] for name, code in PYTHON.items()},
}


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace and a home of our own, outside every temporary folder of the sandbox and of the test runner."""
    base = Path(f"/var/tmp/everyday-{os.getpid()}")
    shutil.rmtree(base, ignore_errors=True)
    (base / "home" / ".ssh").mkdir(parents=True)
    (base / "home" / ".ssh" / "id_rsa").write_text("SECRET")
    (base / "home" / ".gitconfig").write_text("[user]\n\tname = everyday\n\temail = e@x\n")
    (base / "ws").mkdir()
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(base / "cache"))  # ours, of compiled filters; not the command's doing
    (base / "cache").mkdir()
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    yield base
    shutil.rmtree(base)


def _listing(base: Path) -> set[str]:
    """Everything that must not change: the home, and what carries no owner of this moment in the shared folders."""
    return {str(path) for path in (base / "home").rglob("*")} | {str(base / name) for name in os.listdir(base)}


@pytest.mark.parametrize("name", ROWS)
def test_bare(name: str, place: Path) -> None:
    done = subprocess.run(ROWS[name], cwd=place / "ws", stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", ROWS)
def test_confined(name: str, place: Path) -> None:
    before = _listing(place)
    result = run(ROWS[name], write=[str(place / "ws")], cwd=str(place / "ws"), limits={"wall_time": 60})
    assert result.success, (result.error, result.status, result.stdout[-500:], result.stderr[-1500:])
    assert _listing(place) == before
    assert "SECRET" not in result.stdout


def test_credentials_are_hidden_even_below_a_granted_home(place: Path) -> None:
    home = place / "home"
    (home / ".env").write_text("SECRET")
    (home / "notes").write_text("fine")
    script = "cat ~/.ssh/id_rsa; ls ~/.ssh; cat ~/.env; cat ~/notes"
    result = run(["sh", "-c", script], read=[str(home)], cwd=str(home))
    assert "SECRET" not in result.stdout and "id_rsa" not in result.stdout
    assert "fine" in result.stdout
    bare = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert bare.stdout.count("SECRET") == 2


def test_a_hidden_name_granted_by_name_is_there(place: Path) -> None:
    result = run(["cat", str(place / "home/.ssh/id_rsa")], read=[str(place / "home/.ssh")])
    assert result.stdout == "SECRET"


def test_a_toolchain_below_home_is_found_through_the_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = place / "home" / ".cargo" / "bin"
    tools.mkdir(parents=True)
    (tools / "mytool").write_text("#!/bin/sh\necho from $0\n")
    (tools / "mytool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    result = run(["mytool"], write=[str(place / "ws")])
    assert result.success and result.stdout.startswith("from "), (result.error, result.stderr)


def test_pip_builds_a_local_wheel(place: Path) -> None:
    """Without network, without isolation: the build backend is the host interpreter's own setuptools."""
    package = place / "ws" / "package"
    package.mkdir()
    (package / "setup.py").write_text("from setuptools import setup\nsetup(name='x', version='1', py_modules=['x'])\n")
    (package / "x.py").write_text("")
    maker = [PY, "-c", "import sys; sys.argv = ['setup.py', '-q', 'sdist']; exec(open('setup.py').read())"]
    result = run(maker, write=[str(place / "ws")], cwd=str(package))
    assert result.success, (result.error, result.stderr)
    assert list((package / "dist").iterdir())


def test_a_toolchains_own_credentials_are_hidden(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo = place / "home" / ".cargo"
    (cargo / "bin").mkdir(parents=True)
    (cargo / "credentials.toml").write_text("SECRET")
    (cargo / "config.toml").write_text("fine")
    (place / "home/.config/git").mkdir(parents=True)
    (place / "home/.config/git/credentials").write_text("SECRET")
    monkeypatch.setenv("PATH", f"{cargo}/bin:{os.environ['PATH']}")
    script = "cat ~/.cargo/config.toml ~/.cargo/credentials.toml ~/.config/git/credentials"
    bare = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert bare.stdout.count("SECRET") == 2
    result = run(["sh", "-c", script], write=[str(place / "ws")])
    assert "fine" in result.stdout and "SECRET" not in result.stdout
