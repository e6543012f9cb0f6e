"""Resolving: real files, links and modes; what is found, what is refused, what is trusted, what counts as the same file."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runner import host
from runner.errors import Refusal
from runner.model.command import Executable
from runner.model.manifest import Alias
from runner.model.paths import inside

Make = Callable[..., str]


@pytest.fixture
def top(tmp_path: Path) -> str:
    return str(tmp_path.resolve())


@pytest.fixture
def make(top: str) -> Make:
    def program(name: str, content: bytes = b"\x7fELF", mode: int = 0o755) -> str:
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        Path(path).write_bytes(content)
        os.chmod(path, mode)
        return path

    return program


def _find(program: str, *search_path: str, cwd: str = "/", **options: object) -> Executable:
    return host.resolve(program, search_path=search_path, cwd=cwd, **options)  # type: ignore[arg-type]


def _refused(program: str, *search_path: str, cwd: str = "/", **options: object) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _find(program, *search_path, cwd=cwd, **options)
    assert caught.value.message.isprintable()
    return caught.value


# -- finding ----------------------------------------------------------------------------------------------------------


def test_the_first_regular_executable_of_the_search_path(make: Make, top: str) -> None:
    make("a/tool", mode=0o644)
    os.makedirs(f"{top}/b/tool")
    os.makedirs(f"{top}/c")
    os.symlink("nowhere", f"{top}/c/tool")
    wanted = make("d/tool")
    make("e/tool")
    folders = [f"{top}/{name}" for name in ("missing", "a", "b", "c", "d", "e")]
    found = _find("tool", *folders)
    assert found.path == found.canonical == wanted and found.requested == "tool"
    assert _find("tool", *reversed(folders)).path == f"{top}/e/tool"


def test_any_execute_bit_will_do(make: Make, top: str) -> None:
    for number, mode in enumerate((0o100, 0o010, 0o001)):
        make(f"{number}/tool", mode=mode | 0o400)
        assert _find("tool", f"{top}/{number}").fingerprint.mode & 0o777 == mode | 0o400


def test_a_program_with_a_slash_is_below_the_working_folder(make: Make, top: str) -> None:
    path = make("w/bin/tool")
    for text in ("bin/tool", "./bin/tool", "bin/../bin/tool", path):
        assert _find(text, cwd=f"{top}/w").canonical == path
    assert _refused("bin/tool", f"{top}/w", cwd=top).exit_code == 127


@pytest.mark.parametrize("program", ["", "nothing", "./nothing", "/nothing/there", "a\0b", "a\n\x1b[2Jb", "\udcff", "cd", "export", "source", ".", "eval", "read", ":"])
def test_nothing_is_found(program: str, top: str) -> None:
    refusal = _refused(program, top, cwd=top)
    assert refusal.code == "resolution_error" and refusal.exit_code in (126, 127)


def test_what_cannot_be_executed(make: Make, top: str) -> None:
    make("bin/plain", mode=0o644)
    os.mkdir(f"{top}/bin/folder")
    os.mkfifo(f"{top}/bin/fifo")
    os.chmod(f"{top}/bin/fifo", 0o755)
    for program in ("plain", "./bin/plain", "./bin/folder", "./bin/fifo", "/dev/null"):
        refusal = _refused(program, f"{top}/bin", cwd=top)
        assert (refusal.code, refusal.exit_code) == ("resolution_error", 126), program


def test_a_builtin_that_is_a_file_is_that_file(make: Make, top: str) -> None:
    assert _find("read", f"{top}/bin") if make("bin/read") else False
    assert "builtin" in _refused("export", f"{top}/bin").message
    assert "cwd" in _refused("cd", f"{top}/bin").remedy


# -- links ------------------------------------------------------------------------------------------------------------


def test_argv0_is_the_name_before_links_and_evidence_is_after_them(make: Make, top: str) -> None:
    real = make("real/tool-1.2")
    os.makedirs(f"{top}/bin")
    os.symlink("../real/tool-1.2", f"{top}/bin/tool")
    os.symlink("bin", f"{top}/link")
    found = _find("tool", f"{top}/link")
    assert (found.path, found.canonical) == (f"{top}/link/tool", real)


def test_loops_and_dead_links_are_refused(top: str) -> None:
    os.symlink("b", f"{top}/a")
    os.symlink("a", f"{top}/b")
    os.symlink("gone", f"{top}/dead")
    for name in ("./a", "./dead", "./dead/x"):
        assert _refused(name, cwd=top).code == "resolution_error"


# -- aliases ----------------------------------------------------------------------------------------------------------


def test_an_alias_comes_before_the_search_path(make: Make, top: str) -> None:
    make("bin/tool")
    other = make("opt/other")
    alias = Alias(id="tool", path=other)
    assert _find("tool", f"{top}/bin", aliases=(alias,)).canonical == other
    assert _find("./bin/tool", cwd=top, aliases=(alias,)).canonical == f"{top}/bin/tool"
    assert _refused("tool", f"{top}/bin", aliases=(Alias(id="tool", path=f"{top}/gone"),)).exit_code == 127


def test_a_pin_is_compared_whatever_its_case(make: Make) -> None:
    path = make("tool", b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    for pin in (digest, digest.upper()):
        assert _find("t", aliases=(Alias(id="t", path=path, sha256=pin),)).fingerprint.sha256 == digest
    assert "digest mismatch" in _refused("t", aliases=(Alias(id="t", path=path, sha256="0" * 64),)).message
    make("tool", b"other")
    assert "digest mismatch" in _refused("t", aliases=(Alias(id="t", path=path, sha256=digest),)).message


# -- fingerprint ------------------------------------------------------------------------------------------------------


def test_the_fingerprint_is_of_the_bytes_that_run(make: Make) -> None:
    path = make("tool", b"\x7fELF" + b"x" * 3_000_000, 0o750)
    found, info = _find(path), os.stat(path)
    assert found.content == Path(path).read_bytes() and not found.stable
    assert found.fingerprint.sha256 == hashlib.sha256(found.content).hexdigest()
    assert (found.fingerprint.device, found.fingerprint.inode, found.fingerprint.size) == (info.st_dev, info.st_ino, info.st_size)
    assert (found.fingerprint.uid, found.fingerprint.gid, found.fingerprint.mtime_ns) == (info.st_uid, info.st_gid, info.st_mtime_ns)


def test_a_change_that_keeps_size_and_time_is_seen(make: Make) -> None:
    """A stat key proves nothing for a file the caller can write."""
    path = make("tool", b"\x7fELFaaaa")
    before, info = _find(path), os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"\x7fELFbbbb")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    after = _find(path)
    assert after.content == b"\x7fELFbbbb" and after.fingerprint.sha256 != before.fingerprint.sha256


def test_a_system_program_is_known_by_its_key() -> None:
    found = _find("true", "/usr/bin", trusted_roots=("/usr",))
    assert found.trusted and found.stable and found.content is None
    assert found.fingerprint.sha256 == hashlib.sha256(Path(found.canonical).read_bytes()).hexdigest()


# -- trust ------------------------------------------------------------------------------------------------------------


def test_trust_is_a_root_or_an_alias_and_nothing_else(make: Make, top: str) -> None:
    path = make("bin/tool")
    assert not _find(path).trusted
    assert _find(path, trusted_roots=(top,)).trusted and _find(path, trusted_roots=(f"{top}/bin",)).trusted
    assert not _find(path, trusted_roots=(f"{top}/bi",)).trusted
    assert _find("t", aliases=(Alias(id="t", path=path, trusted=True),)).trusted
    assert not _find("t", aliases=(Alias(id="t", path=path),)).trusted


def test_a_link_in_a_trusted_root_lends_no_trust(make: Make, top: str) -> None:
    make("out/tool")
    os.makedirs(f"{top}/bin")
    os.symlink("../out/tool", f"{top}/bin/tool")
    assert not _find("tool", f"{top}/bin", trusted_roots=(f"{top}/bin",)).trusted


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777, 0o722])
def test_a_file_others_may_write_is_not_trusted(make: Make, top: str, mode: int) -> None:
    path = make("bin/tool", mode=mode)
    assert not _find(path, trusted_roots=(top,)).trusted
    assert not _find("t", aliases=(Alias(id="t", path=path, trusted=True),)).trusted


@pytest.mark.parametrize("folder", ["", "bin", "bin/deep"])
def test_a_file_below_a_folder_others_may_write_is_not_trusted(make: Make, top: str, folder: str) -> None:
    path = make("bin/deep/tool")
    os.chmod(f"{top}/{folder}", 0o777)
    assert not _find(path, trusted_roots=(top,)).trusted
    os.chmod(f"{top}/{folder}", 0o1777)  # with the sticky bit nobody else can replace it
    assert _find(path, trusted_roots=(top,)).trusted


def test_what_the_command_may_write_is_not_trusted(make: Make, top: str) -> None:
    path = make("bin/tool")
    for root in (top, f"{top}/bin", "/"):
        assert not _find(path, trusted_roots=(top,), write_roots=(root,)).trusted
    assert _find(path, trusted_roots=(top,), write_roots=(f"{top}/bi",)).trusted
    below = _find("true", "/usr/bin", trusted_roots=("/usr",), write_roots=("/usr",))
    assert not below.trusted and not below.stable and below.content is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_elses_is_not_trusted(make: Make, top: str) -> None:
    path = make("bin/tool")
    os.chown(path, 12345, 12345)
    assert not _find(path, trusted_roots=(top,)).trusted
    os.chown(path, 0, 0)
    os.chown(f"{top}/bin", 12345, 12345)
    assert not _find(path, trusted_roots=(top,)).trusted


# -- scripts ----------------------------------------------------------------------------------------------------------


def test_the_interpreters_of_a_script(make: Make, top: str) -> None:
    shell = os.path.realpath("/bin/sh")
    script = make("script", b"#!/bin/sh -e\necho\n")
    found = _find(script)
    assert [item.canonical for item in found.interpreters] == [shell] and found.interpreters[0].path == "/bin/sh"
    outer = make("outer", f"#! \t{script} arg\n".encode())
    assert [item.path for item in _find(outer).interpreters] == ["/bin/sh", script]


BAD_LINES = {"none": b"#!\n", "blank": b"#!   \n", "relative": b"#!bin/sh\n", "name": b"#!sh\n", "missing": b"#!/no/such/sh\n",
             "folder": b"#!/usr\n", "nul": b"#!/bin/s\0h\n", "binary": b"#!\xff\xfe\n"}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_line_that_names_no_interpreter(make: Make, name: str) -> None:
    refusal = _refused(make("script", BAD_LINES[name]))
    assert (refusal.code, refusal.exit_code) == ("resolution_error", 126)


def test_a_script_that_is_its_own_interpreter(make: Make, top: str) -> None:
    assert _refused(make("script", f"#!{top}/script\n".encode())).exit_code == 126


def test_an_interpreter_is_trusted_on_its_own(make: Make, top: str) -> None:
    shutil.copy("/bin/sh", f"{top}/sh")
    found = _find(make("script", f"#!{top}/sh\n".encode()), trusted_roots=("/usr", "/bin"))
    assert not found.trusted and not found.interpreters[0].trusted and not found.interpreters[0].stable


# -- where paths lead -------------------------------------------------------------------------------------------------


def test_canonical_paths(top: str) -> None:
    os.makedirs(f"{top}/a/b")
    os.symlink("a/b", f"{top}/link")
    os.symlink(f"{top}/out/there", f"{top}/a/dangling")
    rows = {"link": "a/b", "link/new/x": "a/b/new/x", "link/../y": "a/y", "a/./b//": "a/b", "a/dangling": "out/there",
            "a/dangling/x": "out/there/x", "none/../a": "a"}  # fmt: skip
    for path, expected in rows.items():
        assert host.canonicalise(f"{top}/{path}") == f"{top}/{expected}", path


def test_inside_ends_at_whole_names() -> None:
    rows = [("/a", "/a", True), ("/a/b", "/a", True), ("/ab", "/a", False), ("/", "/a", False), ("/x", "/", True), ("/", "/", True)]
    assert [inside(path, root) for path, root, _ in rows] == [expected for *_, expected in rows]
