"""The filter against the running kernel: each rule of the table, tried in a child that has installed it."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from backends.landlock import seccomp
from runner.share import profile_path

LIBC = ctypes.CDLL(None, use_errno=True)
TABLE = tomllib.loads(Path(profile_path("seccomp", "linux.toml")).read_text())


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def _under(program: bytes | None, number: int, *arguments: int) -> tuple[str, int]:
    """("returned", errno or 0) or ("killed", signal) of one system call in a child under the filter."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            if program is not None:
                LIBC.prctl(38, 1, 0, 0, 0)
                holder = Program(len(program) // 8, program)
                assert LIBC.syscall(317, 1, 0, ctypes.byref(holder)) == 0
            ctypes.set_errno(0)
            result = LIBC.syscall(number, *(ctypes.c_ulong(value) for value in arguments))
            os.write(write, (ctypes.get_errno() if result == -1 else 0).to_bytes(4, "little"))
        finally:
            os._exit(0)
    os.close(write)
    status = os.waitpid(pid, 0)[1]
    data = os.read(read, 4)
    os.close(read)
    if os.WIFSIGNALED(status):
        return "killed", os.WTERMSIG(status)
    return "returned", int.from_bytes(data, "little")


@pytest.fixture(scope="module")
def program() -> bytes:
    return seccomp.load_filter(network=False, isolated=True, cache_dir=None)


@pytest.fixture(scope="module")
def bare() -> bytes:
    return seccomp.load_filter(network=False, isolated=False, cache_dir=None)


REFUSED = sorted(
    {name for group in TABLE["refuse"].values() for name in group["calls"] if seccomp._number(name) is not None}
)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_calls_answer_eperm(name: str, program: bytes) -> None:
    number = seccomp._number(name)
    assert number is not None
    assert _under(program, number, 0, 0, 0, 0, 0) == ("returned", errno.EPERM)


@pytest.mark.parametrize("name", ["getpid", "getuid", "sched_yield", "getppid"])
def test_allowed_calls_work(name: str, program: bytes) -> None:
    number = seccomp._number(name)
    assert number is not None and _under(program, number) == ("returned", 0)


def test_unknown_and_clone3_answer_enosys(program: bytes) -> None:
    assert _under(program, 9999) == ("returned", errno.ENOSYS)
    assert _under(program, 435, 0, 0) == ("returned", errno.ENOSYS)
    assert _under(None, 435, 0, 0)[1] != errno.ENOSYS


def test_x32_numbers_kill(program: bytes) -> None:
    assert _under(program, 0x40000000 + 39) == ("killed", signal.SIGSYS)
    assert _under(None, 0x40000000 + 39)[0] == "returned"


def test_i386_calls_kill(program: bytes, tmp_path: Path) -> None:
    source = tmp_path / "i386.c"
    source.write_text("int main(void){int r;__asm__ volatile(\"int $0x80\":\"=a\"(r):\"a\"(20));return r>0?0:1;}")
    subprocess.run(["cc", "-o", str(tmp_path / "i386"), str(source)], check=True)
    assert subprocess.run([str(tmp_path / "i386")], check=False).returncode in (0, -signal.SIGSEGV)
    pid = os.fork()
    if not pid:
        LIBC.prctl(38, 1, 0, 0, 0)
        holder = Program(len(program) // 8, program)
        LIBC.syscall(317, 1, 0, ctypes.byref(holder))
        os.execv(tmp_path / "i386", ["i386"])
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS


# (call, arguments, errno under the filter, errno must differ without it)
ARGUMENTS = [
    ("unshare", (0x10000000,), errno.EPERM),
    ("unshare", (0x00020000,), errno.EPERM),
    ("unshare", (0x400,), 0),
    ("clone", (0x10000000 | 17, 0, 0, 0, 0), errno.EPERM),
    ("clone", ((1 << 33) | 0x10000000 | 17, 0, 0, 0, 0), errno.EPERM),
    ("ioctl", (0, 0x5412, 0), errno.EPERM),
    ("ioctl", (0, (1 << 32) | 0x5412, 0), errno.EPERM),
    ("ioctl", (0, 0x541C, 0), errno.EPERM),
    ("mknod", (0, 0o020666, 0x103), errno.EPERM),
    ("mknodat", (0, 0, 0o060666, 0), errno.EPERM),
    ("personality", (0x20000,), errno.EPERM),
    ("personality", (0xFFFFFFFF,), 0),
    ("personality", (0x40000,), 0),
    ("socket", (40, 1, 0), errno.EAFNOSUPPORT),
    ("socket", ((1 << 32) | 40, 1, 0), errno.EAFNOSUPPORT),
    ("socket", (17, 3, 0), errno.EAFNOSUPPORT),
    ("socket", (38, 5, 0), errno.EAFNOSUPPORT),
    ("socket", (2, 3, 1), errno.EPERM),
    ("socket", (10, 3, 58), errno.EPERM),
    ("socket", (2, 1, 0), 0),
    ("socket", (10, 2, 0), 0),
    ("socket", (1, 1, 0), 0),
    ("socket", (16, 3, 0), 0),
    ("socket", (16, 3, 9), errno.EPERM),
    ("socket", (16, 3, 12), errno.EPERM),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), ARGUMENTS)
def test_argument_rules(name: str, arguments: tuple[int, ...], expected: int, program: bytes) -> None:
    number = seccomp._number(name)
    assert number is not None
    assert _under(program, number, *arguments) == ("returned", expected)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [("socket", (2, 1, 0), errno.EAFNOSUPPORT), ("socket", (10, 2, 0), errno.EAFNOSUPPORT), ("socket", (1, 2, 0), errno.EPERM),
     ("socket", (1, 1, 0), 0), ("connect", (0, 0, 0), errno.EPERM), ("getpid", (), 0)],
)  # fmt: skip
def test_without_a_network_namespace(name: str, arguments: tuple[int, ...], expected: int, bare: bytes) -> None:
    number = seccomp._number(name)
    assert number is not None
    assert _under(bare, number, *arguments) == ("returned", expected)


def test_the_cache_is_only_believed_when_it_is_ours(tmp_path: Path, program: bytes) -> None:
    folder = tmp_path / "cache"
    assert seccomp.load_filter(network=False, isolated=True, cache_dir=str(folder)) == program
    (file,) = folder.iterdir()
    assert seccomp._cached(str(file)) == program
    good = file.read_bytes()
    file.write_bytes(b"\6\0\0\0\0\0\xff\x7f" + good[8:])
    assert seccomp.load_filter(network=False, isolated=True, cache_dir=str(folder)) == program
    file.write_bytes(good)
    folder.chmod(0o777)
    assert seccomp._cached(str(file)) is None


def test_every_group_says_why() -> None:
    groups = [*TABLE["allow"].values(), *TABLE["refuse"].values(), *TABLE["argument"]]
    assert all(group["why"] for group in groups)
    names = [name for kind in ("allow", "refuse") for group in TABLE[kind].values() for name in group["calls"]]
    assert len(names) == len(set(names))
