"""The machine, looked at: find a program, fingerprint it, canonicalise a path. Changes nothing.

A stat key proves nothing for a file that somebody can rewrite in place. So a program is `stable` only where it and every
folder above it belong to root and nobody else may write, outside every write root: there the key is evidence, and the
digest is cached by it. Anything else is read once, hashed from those very bytes, and those bytes run.
"""

from __future__ import annotations

import os
import stat
from _sha256 import sha256

from .errors import DigestMismatch, Refusal
from .model.command import Executable, Fingerprint
from .model.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .model.command import PinnedFile
    from .model.manifest import Alias

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
CONTENT_LIMIT = 512 << 20
_LINE_LIMIT = 256  # of a `#!` line, execve(2)
_DEPTH = 4  # of interpreters that are scripts themselves, execve(2)
BUILTINS = frozenset(
    "export set source . eval exec exit read umask ulimit alias type command wait : unset shift trap return".split()
)

Key = tuple[int, int, int, int, int]
_digests: dict[Key, str] = {}
_folders: dict[str, bool] = {}


def resolve(
    program: str,
    *,
    aliases: Sequence[Alias] = (),
    search_path: Iterable[str],
    cwd: str,
    trusted_roots: Iterable[str] = (),
    write_roots: Sequence[str] = (),
) -> Executable:
    """The program a command names, found, checked and fingerprinted.

    aliases and all roots are in absolute canonical paths; search_path in order. Raises Refusal `resolution_error`, its
    exit_code 127 where nothing was found and 126 where it cannot be executed.
    """
    alias = next((item for item in aliases if item.id == program), None)
    path = _find(program, alias, search_path, cwd)
    found = _executable(program, path, tuple(trusted_roots), write_roots, _DEPTH, alias is not None and alias.trusted)
    if alias is not None and alias.sha256 and alias.sha256.lower() != found.fingerprint.sha256:
        raise DigestMismatch(_printable(f"`{path}`: digest mismatch"), remedy="pin the digest of the file that is there")
    return found


def _find(program: str, alias: Alias | None, search_path: Iterable[str], cwd: str) -> str:
    if alias is not None:
        return alias.path
    if not program or "\0" in program:
        raise _refuse("the program's name is empty or holds a NUL byte", "", 127)
    if "/" in program:
        return os.path.normpath(program) if program.startswith("/") else os.path.join(cwd, program)
    if program == "cd":
        raise _refuse("`cd` has no effect: every command starts in the runtime's working folder",
                      "name the folder in the argument, or declare `cwd`", 127)  # fmt: skip
    seen = None
    for folder in search_path:
        path = f"{folder}/{program}"
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode):
            if mode & 0o111:
                return path
            seen = path
    if seen is not None:
        raise _refuse(f"`{seen}` is not executable", "set an execute bit, or name another program", 126)
    if program in BUILTINS:
        raise _refuse(f"`{program}` is a shell builtin, no program", "use a program, or a raw tool with a shell", 127)
    raise _refuse(f"`{program}` is not on the search path", "install it, or name its absolute path", 127)


def _executable(
    requested: str, path: str, trusted_roots: tuple[str, ...], write_roots: Sequence[str], depth: int, trusted: bool
) -> Executable:
    known = _known.get((requested, path, trusted_roots, tuple(write_roots), trusted))
    if known is not None and _same(known, path):
        return known
    canonical = _canonical(path)
    info = _stat(canonical)
    stable = _stable(canonical, info, write_roots)
    if stable:
        content, head, digest = None, b"", _digests.get(_key(info))
        if digest is None:
            head, digest = _hash(canonical, info)
            _digests[_key(info)] = digest
            _heads[_key(info)] = head if head.startswith(b"#!") else b""
        head = _heads.get(_key(info), b"")
    else:
        content, info = _read(canonical)
        digest, head = sha256(content).hexdigest(), content[:_LINE_LIMIT]
    interpreters: tuple[Executable, ...] = ()
    if head.startswith(b"#!"):
        interpreters = _interpreters(path, head, trusted_roots, write_roots, depth)
    found = Executable(
        requested=requested,
        path=path,
        canonical=canonical,
        trusted=(trusted or any(inside(canonical, root) for root in trusted_roots))
        and _owned(info)
        and (stable or _guarded(canonical, write_roots)),
        stable=stable,
        fingerprint=_fingerprint(info, digest),
        content=content,
        interpreters=interpreters,
    )
    if stable and not interpreters and _fixed_folder(os.path.dirname(path)):
        _known[requested, path, trusted_roots, tuple(write_roots), trusted] = found
    return found


_heads: dict[Key, bytes] = {}
_known: dict[tuple[str, str, tuple[str, ...], tuple[str, ...], bool], Executable] = {}


def _same(known: Executable, path: str) -> bool:
    """A stable program whose name lies in a folder only root can change: its stat key says it is still the one."""
    try:
        info = os.stat(path)
    except OSError:
        return False
    f = known.fingerprint
    return _key(info) == (f.device, f.inode, f.size, f.mtime_ns, f.ctime_ns) and (info.st_mode, info.st_uid) == (f.mode, f.uid)


def _interpreters(
    path: str, head: bytes, trusted_roots: tuple[str, ...], write_roots: Sequence[str], depth: int
) -> tuple[Executable, ...]:
    """The chain a `#!` line starts, as the kernel reads it; the kernel itself follows it again inside."""
    words = head[2:_LINE_LIMIT].split(b"\n", 1)[0].strip(b" \t").split(None, 1)
    if not words:
        raise _refuse(f"`{path}`: its `#!` line names no interpreter", "write one", 126)
    if not depth:
        raise _refuse(f"`{path}`: too many interpreters", "name a program that is none", 126)
    name = os.fsdecode(words[0])
    if not name.startswith("/") or "\0" in name:
        raise _refuse(f"`{path}`: its interpreter `{name}` is no absolute path", "write an absolute one", 126)
    try:
        first = _executable(name, name, trusted_roots, write_roots, depth - 1, False)
    except Refusal as error:
        raise _refuse(f"`{path}`: its interpreter `{name}` cannot be used: {error.message}", error.remedy, 126) from error
    return (*first.interpreters, first)


def pinned(file: PinnedFile, *, write_roots: Sequence[str] = ()) -> Executable:
    """A file that is no program of its own, as declared or not at all: Refusal `script_changed`. Read once; unless only
    root can change it, those bytes are what its reader gets."""
    try:
        canonical = os.path.realpath(file.path, strict=True)
        fd = os.open(canonical, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _script_changed(f"the script `{file.path}` cannot be read: {error.strerror}") from error
    with open(fd, "rb", buffering=0) as source:
        info = os.fstat(fd)
        content = source.read(file.max_bytes + 1) if stat.S_ISREG(info.st_mode) else b""
    if len(content) > file.max_bytes or sha256(content).hexdigest() != file.sha256:
        raise _script_changed(f"the script `{file.path}` is not what was declared")
    stable = _stable(canonical, info, write_roots)
    return Executable(
        requested=file.path, path=canonical, canonical=canonical, trusted=False, stable=stable,
        fingerprint=_fingerprint(info, file.sha256), content=None if stable else content,
    )  # fmt: skip


def _script_changed(message: str) -> Refusal:
    return Refusal(_printable(message), code="script_changed", remedy="have the manifest with the new file authorised")


# -- files ------------------------------------------------------------------------------------------------------------


def _canonical(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        code = 126 if isinstance(error, PermissionError) else 127
        raise _refuse(f"`{path}` cannot be resolved: {error.strerror}", "name a program that exists", code) from error


def _stat(canonical: str) -> os.stat_result:
    try:
        info = os.stat(canonical)
    except OSError as error:
        raise _refuse(f"`{canonical}`: {error.strerror}", "", 127) from error
    if not stat.S_ISREG(info.st_mode):
        raise _refuse(f"`{canonical}` is not a regular file", "name a program", 126)
    if not info.st_mode & 0o111:
        raise _refuse(f"`{canonical}` is not executable", "set an execute bit, or name another program", 126)
    return info


def _key(info: os.stat_result) -> Key:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _fingerprint(info: os.stat_result, digest: str) -> Fingerprint:
    return Fingerprint(
        device=info.st_dev, inode=info.st_ino, mode=info.st_mode, uid=info.st_uid, gid=info.st_gid, size=info.st_size,
        mtime_ns=info.st_mtime_ns, ctime_ns=info.st_ctime_ns, sha256=digest,
    )  # fmt: skip


def _hash(path: str, before: os.stat_result) -> tuple[bytes, str]:
    """First bytes and digest through one descriptor; a file that changes meanwhile is refused."""
    digest, head = sha256(), b""
    try:
        with open(path, "rb", buffering=0) as file:
            if _key(os.fstat(file.fileno())) != _key(before):
                raise _changed(path)
            while block := file.read(1 << 20):
                head = head or block[:_LINE_LIMIT]
                digest.update(block)
            if _key(os.fstat(file.fileno())) != _key(before):
                raise _changed(path)
    except PermissionError:
        # May be executed but not read: its identity is then all that can be known.
        return b"", "0" * 64
    return head, digest.hexdigest()


def _read(path: str) -> tuple[bytes, os.stat_result]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refuse(f"`{path}` cannot be read: {error.strerror}", "a program here must be readable", 126) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > CONTENT_LIMIT:
            raise _refuse(f"`{path}` is no regular file of at most 512 MiB", "", 126)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            content = file.readall()
        if _key(os.fstat(fd)) != _key(info) or len(content) != info.st_size:
            raise _changed(path)
    finally:
        os.close(fd)
    return content, info


def _changed(path: str) -> Refusal:
    return Refusal(f"`{path}` changed while it was being fingerprinted", code="executable_changed", remedy="call again")


def _refuse(message: str, remedy: str, code: int) -> Refusal:
    refusal = Refusal(_printable(message), code="resolution_error", remedy=remedy)
    refusal.exit_code = code
    return refusal


def _printable(message: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message)


# -- trust ------------------------------------------------------------------------------------------------------------


def _owned(info: os.stat_result) -> bool:
    return info.st_uid in (0, os.geteuid()) and not info.st_mode & 0o022


def _guarded(canonical: str, write_roots: Sequence[str]) -> bool:
    """Nobody but root and the caller can put another file in its place, and the command cannot either. In a folder of
    everybody's with the sticky bit, others cannot touch what is not theirs."""
    if any(inside(canonical, root) for root in write_roots):
        return False
    while canonical != "/":
        canonical = os.path.dirname(canonical)
        info = os.stat(canonical)
        if info.st_uid not in (0, os.geteuid()) or (info.st_mode & 0o022 and not info.st_mode & stat.S_ISVTX):
            return False
    return True


def _stable(canonical: str, info: os.stat_result, write_roots: Sequence[str]) -> bool:
    if info.st_uid != 0 or info.st_mode & 0o022 or any(inside(canonical, root) for root in write_roots):
        return False
    return _fixed_folder(os.path.dirname(canonical))


def _fixed_folder(path: str) -> bool:
    """Root's alone, and so are all above it. Remembered: only root could change that."""
    known = _folders.get(path)
    if known is None:
        info = os.stat(path)
        own = info.st_uid == 0 and not info.st_mode & 0o022
        known = _folders[path] = own and (path == "/" or _fixed_folder(os.path.dirname(path)))
    return known


def canonicalise(path: str) -> str:
    """Where a path leads, links and `..` resolved; of what does not exist yet, the deepest existing part."""
    return os.path.realpath(path)


def canonicalise_pattern(path: str) -> str:
    """canonicalise() of what stands before the first `*`, the rest as it is: a file that is itself called `*` leads nowhere."""
    fixed, star, rest = path.partition("*")
    if not star:
        return canonicalise(path)
    folder, _, part = fixed.rpartition("/")
    return canonicalise(folder or "/").rstrip("/") + "/" + part + star + rest
