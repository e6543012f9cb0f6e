"""One host with something to lose: files outside the roots, sockets, queues, keys and a process.

`World` makes it all for one attempt and takes it away afterwards. `values` are what a row's arguments may name;
`changes(output)` says which of it an attempt has touched, by name; nothing touched is the empty set.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import uuid
from pathlib import Path
from typing import Self

import psutil

from tests.escape import kernelobjects

SECRET = "SECRET-for-the-host"
BASE = Path(os.environ.get("FUMEHOOD_ESCAPE_BASE", "/var/tmp"))
OTHER_USER = 65534
_SYSTEM_FILES = (
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/profiling",
    "/sys/module/printk/parameters/time",
    "/sys/power/state",
)
_CGROUP_FILES = (
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/unified/cgroup.procs",
    "/sys/fs/cgroup/pids/cgroup.procs",
)
_BLOCK_DEVICES = ("/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda", "/dev/loop0")


def _first(names: tuple[str, ...]) -> str:
    return next((name for name in names if os.path.exists(name)), names[0])


def _listen(kind: int, name: str | bytes) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(name)
    return _waiting(server, kind)


def _listen_inet(kind: int) -> socket.socket:
    server = socket.socket(socket.AF_INET, kind)
    server.bind(("127.0.0.1", 0))
    return _waiting(server, kind)


def _close_quietly(descriptor: int) -> None:
    """Two worlds of one test share the number."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _at_large(process: psutil.Process) -> bool:
    """Neither stopped nor traced nor dead; whether it happens to run or sleep is no matter."""
    return process.status() in {psutil.STATUS_RUNNING, psutil.STATUS_SLEEPING}


def _waiting(server: socket.socket, kind: int) -> socket.socket:
    if kind == socket.SOCK_STREAM:
        server.listen(4)
    server.setblocking(False)
    return server


def _visited(server: socket.socket) -> bool:
    """Whether anybody has connected to it or sent to it."""
    with contextlib.suppress(BlockingIOError):
        if server.type == socket.SOCK_STREAM:
            server.accept()[0].close()
        else:
            server.recv(64)
        return True
    return False


def _picture(folder: Path, *, names_only: bool = False) -> dict[str, object]:
    """Every name below a folder with all that an attempt could change about it."""
    return {str(path): names_only or _details(path) for path in [folder, *sorted(folder.rglob("*"))]}


def _details(path: Path) -> tuple[object, ...]:
    seen = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path, follow_symlinks=False)}
    return seen.st_mode, seen.st_uid, seen.st_gid, seen.st_nlink, seen.st_mtime_ns, content, str(attributes)


class World:
    """A context manager; see the module. tool: the built attack program; preload: the built library."""

    def __init__(self, tool: Path, preload: Path, *, other_user: bool = False) -> None:
        self._stack = contextlib.ExitStack()
        self.tool, self.preload, self.other_user = tool, preload, other_user
        self.marker = f"escape-{uuid.uuid4().hex[:12]}"
        self.root = BASE / self.marker
        self.out, self.ws, self.ro, self.home, self.tools, self.bin = (
            self.root / name for name in ("out", "ws", "ro", "home", "tools", "bin")
        )
        self.values: dict[str, str] = {}

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._stack = stack
            self._make_files()
            self._open_descriptor()
            self._make_servers()
            self._make_objects()
            self._start_victim()
            self._name_values()
            self._before = self._state()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _make_files(self) -> None:
        self._stack.callback(shutil.rmtree, self.root, ignore_errors=True)
        folders = (
            self.out,
            self.ws,
            self.ro,
            self.tools,
            self.bin,
            self.home / ".ssh",
            self.home / ".aws",
            self.ws / "m",
        )
        for folder in folders:
            folder.mkdir(parents=True)
        secrets = ("out/secret", "ro/.env", "ws/.env", "home/.ssh/id", "home/.aws/credentials")
        for name in secrets:
            (self.root / name).write_text(SECRET + "\n")
        (self.ro / "file").write_text("reference\n")
        (self.ws / "own").write_text("mine\n")
        for name, target in (("link", "../out/secret"), ("up", "../out"), ("flip", "own")):
            (self.ws / name).symlink_to(target)
        for name in ("tool", "spare"):
            shutil.copy2(self.tool, self.tools / name)
        shutil.copy2(self.tool, self.bin / "tool")
        self._change_owner()

    def _change_owner(self) -> None:
        """A workspace of another user, and a setuid-root program within that user's reach."""
        if self.other_user:
            shutil.copy2(self.tool, self.tools / "suid")
            os.chmod(self.tools / "suid", 0o4755)
            for path in (self.ws, *self.ws.rglob("*")):
                os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)

    def _open_descriptor(self) -> None:
        folder = os.open(self.out, os.O_RDONLY | os.O_DIRECTORY)
        os.dup2(folder, 77, inheritable=True)
        os.close(folder)
        self._stack.callback(_close_quietly, 77)

    def _make_servers(self) -> None:
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        self._servers = {
            "socket": _listen(stream, str(self.out / "socket")),
            "ro-socket": _listen(stream, str(self.ro / "socket")),
            "datagram": _listen(datagram, str(self.out / "datagram")),
            "abstract": _listen(stream, b"\0" + self.marker.encode()),
            "tcp": _listen_inet(stream),
            "udp": _listen_inet(datagram),
        }
        for server in self._servers.values():
            self._stack.callback(server.close)

    def _make_objects(self) -> None:
        text = SECRET.encode()
        self._segment = kernelobjects.make_segment(text)
        self._stack.callback(kernelobjects.remove_segment, self._segment)
        self._messages = kernelobjects.make_messages(text)
        self._stack.callback(kernelobjects.remove_messages, self._messages)
        kernelobjects.make_posix_queue("/" + self.marker, text)
        self._stack.callback(kernelobjects.remove_posix_queue, "/" + self.marker)
        self._key = kernelobjects.make_key(self.marker + "-key", text)
        self._stack.callback(kernelobjects.remove_key, self._key)
        self._stack.callback(lambda: kernelobjects.remove_key(kernelobjects.find_key(self.marker)))
        self._posix = Path("/dev/shm") / self.marker
        self._posix.write_text(SECRET + "\n")
        self._stack.callback(self._posix.unlink, missing_ok=True)

    def _start_victim(self) -> None:
        command = [str(self.tool), "victim", str(self.out / "secret")]
        environment = {"VICTIM": SECRET}
        self._victim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=self.out)
        self._stack.callback(self._end_victim)
        assert self._victim.stdout
        self._pid, self._address, self._held = self._victim.stdout.readline().split()

    def _end_victim(self) -> None:
        self._victim.kill()
        self._victim.communicate()

    def _name_values(self) -> None:
        folders = {name: str(getattr(self, name)) for name in ("out", "ws", "ro", "home", "tools", "bin", "marker")}
        block = _first(_BLOCK_DEVICES)
        number = os.stat(block).st_rdev if os.path.exists(block) else 0
        names = {
            "secret": str(self.out / "secret"), "socket": str(self.out / "socket"), "block": block,
            "datagram": str(self.out / "datagram"), "abstract": self.marker, "mq": "/" + self.marker,
            "posix": self.marker, "key_name": self.marker + "-key", "pid": self._pid, "address": self._address,
            "fd": self._held, "suid": str(self.tools / "suid"), "major": str(os.major(number)),
            "minor": str(os.minor(number)), "shm": str(self._segment), "msg": str(self._messages),
            "key": str(self._key), "sysfile": _first(_SYSTEM_FILES), "cgroup": _first(_CGROUP_FILES),
        }  # fmt: skip
        ports = {name: str(self._servers[name].getsockname()[1]) for name in ("tcp", "udp")}
        self.values = {**folders, **names, **ports, "handle": self._handle()}

    def _handle(self) -> str:
        """What name_to_handle_at says of the secret: knowledge an attacker could guess."""
        command = [str(self.tool), "print-handle", str(self.out / "secret")]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
        return said[1] if said[:1] == ["OK"] else "1:00"

    def _state(self) -> dict[str, object]:
        """Everything that must be as it was after a confined attempt."""
        trees = {name: _picture(getattr(self, name)) for name in ("out", "ro", "tools", "bin", "home")}
        victim = psutil.Process(int(self._pid)) if self._victim.poll() is None else None
        return {
            "tree": trees,
            "workspace": (self.ws / ".env").exists() and (self.ws / ".env").lstat().st_nlink,
            "victim": (_at_large(victim), victim.nice(), victim.cpu_affinity()) if victim else None,
            "shm": kernelobjects.read_segment(self._segment),
            "posix": self._posix.read_bytes() if self._posix.exists() else None,
            "hostname": (socket.gethostname(), Path("/proc/sys/kernel/core_pattern").read_text()),
            "tmp": os.path.lexists(f"/tmp/{self.marker}"),
            "system": os.path.lexists(f"/etc/{self.marker}"),
            "key": kernelobjects.find_key(self.marker) == -1,
        }

    def daemons(self) -> list[psutil.Process]:
        """Processes that an attempt left behind, found by the marker in their arguments."""
        return [process for process in psutil.process_iter() if self._is_daemon(process)]

    def _is_daemon(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return bool(process.cmdline()[1:3] == ["daemon", self.marker] and process.status() != psutil.STATUS_ZOMBIE)
        return False

    def changes(self, output: str) -> set[str]:
        """The names of all that is no longer as it was, and "secret" when the output shows it."""
        after = self._state()
        found = {name for name, value in self._before.items() if after[name] != value}
        found |= {name for name, server in self._servers.items() if _visited(server)}
        found |= {"secret"} if "SECRET" in output else set()
        return found | ({"processes"} if self.daemons() else set())

    def read_roots(self) -> list[str]:
        return [str(folder) for folder in (self.tools, self.bin, self.ro, self.home)]

    def clean(self) -> None:
        """Remove what a bare attempt left outside the world's own folders."""
        for process in self.daemons():
            process.kill()
        for folder in ("/tmp", "/etc"):
            with contextlib.suppress(OSError):
                os.unlink(f"{folder}/{self.marker}")
