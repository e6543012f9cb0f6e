"""profiles/seccomp/linux.toml -> a classic BPF program (seccomp(2)).

libseccomp (through pyseccomp) says which number a call has on this machine; the program itself is built here, as a
binary search over ranges of numbers. That matters twice: the kernel evaluates a filter for every call number when it is
installed, which is once per command (a linear list of 400 made arming 2 ms slower, this tree adds next to nothing); and
rules about arguments must compare the 32 bits the kernel reads, where libseccomp compares 64.
Compiled programs are kept in the user's cache folder, which lies outside every root; a file there is only believed when
it and its folder are ours alone.
"""

from __future__ import annotations

import os
import stat
from _sha256 import sha256  # hashlib would load OpenSSL: 4 ms of a one-shot run

from runner.errors import IsolationError
from runner.share import profile_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LD, _AND, _JEQ, _JGE, _JSET, _RET, _JA = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06, 0x05  # linux/bpf_common.h
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000  # linux/seccomp.h
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_EPERM, _ENOSYS, _X32 = 1, 38, 0x40000000
_VERSION = b"2"


def load_filter(*, network: bool, isolated: bool, cache_dir: str | None) -> bytes:
    """The program's instructions, 8 bytes each. isolated: a network namespace of its own stands behind it."""
    with open(profile_path("seccomp", "linux.toml"), "rb") as file:
        table = file.read()
    variant = "bare" if not isolated and not network else "namespaced"
    if cache_dir is None:
        return compile_filter(table, variant)
    name = sha256(b"\0".join((table, variant.encode(), os.uname().machine.encode(), _VERSION))).hexdigest()
    path = os.path.join(cache_dir, f"seccomp-{name[:32]}.bpf")
    program = _cached(path)
    if program is None:
        program = compile_filter(table, variant)
        _keep(path, program)
    return program


def _cached(path: str) -> bytes | None:
    """The file's content where only we can have written it."""
    try:
        folder = os.lstat(os.path.dirname(path))
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        own = os.fstat(fd)
        if not stat.S_ISREG(own.st_mode) or any(i.st_uid != os.geteuid() or i.st_mode & 0o022 for i in (folder, own)):
            return None
        with open(fd, "rb", closefd=False) as file:
            content = file.read()
    finally:
        os.close(fd)
    # Its own digest last: a write that was cut short is no program.
    body, digest = content[:-32], content[-32:]
    return body if body and len(body) % 8 == 0 and sha256(body).digest() == digest else None


def _keep(path: str, program: bytes) -> None:
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if stat.S_IMODE(os.lstat(os.path.dirname(path)).st_mode) & 0o022:
            return
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(program + sha256(program).digest())
        os.rename(temporary, path)
    except OSError:
        return  # no cache: compiled again next time


def compile_filter(table: bytes, variant: str) -> bytes:
    """The program for this machine. Raises IsolationError where the machine or libseccomp is not known."""
    import tomllib

    machine = os.uname().machine
    if machine not in _ARCH:
        raise IsolationError(f"no system call table for `{machine}`", remedy="x86_64 and aarch64 are supported")
    rules = tomllib.loads(table.decode())
    verdicts = {number: _ret(_ALLOW) for number in _listed(rules["allow"], machine)}
    verdicts |= {number: _ret(_ERRNO | _EPERM) for number in _listed(rules["refuse"], machine)}
    for rule in reversed(rules["argument"]):  # the first of the table is asked first
        if rule.get("variant", variant) == variant:
            for call in rule["calls"]:
                number = _number(call)
                if number is not None:
                    verdicts[number] = _body(rule) + verdicts[number]
    head = _instruction(_LD, 4) + _instruction(_JEQ, _ARCH[machine], 1, 0) + _ret(_KILL) + _instruction(_LD, 0)
    return head + _search(_ranges(verdicts))


def _listed(groups: dict[str, Any], machine: str) -> set[int]:
    found: set[int] = set()
    for group in groups.values():
        found |= set(group.get("numbers", {}).get(machine, {}).values())
        found |= {number for number in map(_number, group["calls"]) if number is not None}
    return found


def _ranges(verdicts: dict[int, bytes]) -> list[tuple[int, bytes]]:
    """(first number, code) of each run of numbers with the same verdict; gaps are unknown calls."""
    unknown = _ret(_ERRNO | _ENOSYS)
    found: list[tuple[int, bytes]] = []
    for number in range(max(verdicts) + 2):
        code = verdicts.get(number, unknown)
        if not found or found[-1][1] != code:
            found.append((number, code))
    return [*found, (_X32, _ret(_KILL))]  # numbers with the x32 bit; aarch64 has none that high either


def _search(ranges: list[tuple[int, bytes]]) -> bytes:
    """A decision tree over the ranges; a conditional jump reaches 255 instructions, further goes by an unconditional."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    low, high = _search(ranges[:middle]), _search(ranges[middle:])
    skip = len(low) // 8
    if skip <= 255:
        return _instruction(_JGE, ranges[middle][0], skip, 0) + low + high
    return _instruction(_JGE, ranges[middle][0], 0, 1) + _instruction(_JA, skip) + low + high


def _number(name: str) -> int | None:
    """The native number of a call; None where this machine has no such call (aarch64 has no open)."""
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise IsolationError("libseccomp is not installed", remedy="install the package libseccomp2") from error

    try:
        number = int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name))
    except (ValueError, RuntimeError, OSError):
        return None
    return number if number >= 0 else None


def _instruction(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return code.to_bytes(2, "little") + bytes((jt, jf)) + (k & 0xFFFFFFFF).to_bytes(4, "little")


def _low(index: int) -> bytes:
    """Load the low half of one argument (struct seccomp_data: nr, arch, ip, args; little-endian machines only)."""
    return _instruction(_LD, 16 + 8 * index)


def _ret(value: int) -> bytes:
    return _instruction(_RET, value)


def _body(rule: dict[str, Any]) -> bytes:
    """Instructions that refuse where the rule says so and fall through where not."""
    refuse = _ret(_ERRNO | rule.get("errno", _EPERM))
    test = _low(rule["index"])
    if "mask" in rule:
        test += _instruction(_AND, rule["mask"])
    if "any" in rule:
        test += _instruction(_JSET, rule["any"], 0, 1) + refuse
    elif "equal" in rule:
        for value in rule["equal"]:
            test += _instruction(_JEQ, value, 0, 1) + refuse
    else:
        values = rule["only"]
        for place, value in enumerate(values):
            test += _instruction(_JEQ, value, len(values) - place, 0)
        test += refuse
    for name, sense in (("where", True), ("unless", False)):
        if name in rule:
            skip = len(test) // 8
            other = rule[name]
            test = _low(other["index"]) + _instruction(
                _JEQ, other["equal"], 0 if sense else skip, skip if sense else 0
            ) + test
    return test


def describe() -> str:
    """The table as text, comments included: it is written to be read."""
    with open(profile_path("seccomp", "linux.toml"), encoding="utf-8") as file:
        return file.read()
