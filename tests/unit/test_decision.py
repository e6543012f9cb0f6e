"""Effects, capabilities, policy: tables of commands and what is made of them; resolving on real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import host
from runner.decision import capabilities, effects, policy
from runner.decision.matchers import Subject
from runner.errors import Refusal
from runner.model.command import Command, Effect, Executable, Fingerprint
from runner.model.manifest import Matcher, Policy, Rule
from runner.model.paths import inside
from runner.share import profile_path

TABLE = effects.load(Path(profile_path("effects", "builtin.toml")).read_text())
PRINT = Fingerprint(device=1, inode=1, mode=0o100755, uid=0, gid=0, size=1, mtime_ns=1, ctime_ns=1, sha256="0" * 64)


def _program(name: str, canonical: str = "", trusted: bool = True) -> Executable:
    path = f"/usr/bin/{name}"
    return Executable(requested=name, path=path, canonical=canonical or path, trusted=trusted, stable=True, fingerprint=PRINT)


def _effects(line: str, **program: object) -> set[str]:
    name, *arguments = line.split()
    found = effects.infer(Command(program=name, arguments=tuple(arguments)), _program(name, **program), "/w", TABLE)  # type: ignore[arg-type]
    return {str(effect) for effect in found}


CODE = "arbitrary_code"
KNOWN = {
    "echo a b": set(),
    "cat a /b": {"read:/w/a", "read:/b"},
    "cat -- -n": {"read:/w/-n"},
    "cat -": set(),
    "ls": {"read:/w/."},
    "ls -la d": {"read:/w/d"},
    "head -n 5 f": {"read:/w/f"},
    "head -n5 f": {"read:/w/f"},
    "head --lines 5 f": {"read:/w/f"},
    "tail -c 3 f": {"read:/w/f"},
    "grep pat f g": {"read:/w/f", "read:/w/g"},
    "grep -e pat f": {"read:/w/f"},
    "grep -f pats f": {"read:/w/pats", "read:/w/f"},
    "grep --fil=pats f": {"read:/w/pats", "read:/w/f"},
    "grep -r pat": {"read:/w/."},
    "grep -rn pat d": {"read:/w/d"},
    "rg pat": {"read:/w/."},
    "rg pat d": {"read:/w/d"},
    "find": {"read:/w/."},
    "find d -name x": {"read:/w/d"},
    "wc --files0-from=list": {"read:/w/list", "unknown"},
    "touch a": {"write:/w/a"},
    "tee a": {"write:/w/a"},
    "cp a b d": {"read:/w/a", "read:/w/b", "write:/w/d"},
    "cp -t d a": {"read:/w/a", "write:/w/d"},
    "sort f -o g": {"read:/w/f", "write:/w/g"},
    "sort -og f": {"read:/w/f", "write:/w/g"},
    "find d -fprint out": {"read:/w/d", "write:/w/out"},
    "find d -delete": {"read:/w/d", "write:/w/d"},
}


@pytest.mark.parametrize("line", KNOWN)
def test_known_programs(line: str) -> None:
    assert _effects(line) == KNOWN[line]


@pytest.mark.parametrize(
    "line",
    ["python3 x", "sh -c x", "env ls", "xargs rm", "find . -exec rm {} ;", "find . -ok x ;", "rg --pre sh pat", "rg --pre=sh pat",
     "rg -z pat", "rg --hostname-bin x pat", "sort --compress-program=sh f", "sort --compress-prog sh f", "git log", "unheard-of x"],
)  # fmt: skip
def test_what_runs_code(line: str) -> None:
    assert CODE in _effects(line)


def test_a_planted_or_renamed_program_is_unknown() -> None:
    assert CODE in _effects("cat f", trusted=False)
    assert CODE in _effects("cat f", canonical="/usr/bin/busybox")
    assert CODE in _effects("echo f", canonical="/w/tool")
    assert CODE in _effects("python3 f", canonical="/usr/bin/python3.11")


def _ceiling(**powers: object) -> capabilities.Ceiling:
    return capabilities.Ceiling(**powers)  # type: ignore[arg-type]


def _check(effect: Effect, **powers: object) -> bool:
    try:
        capabilities.check([effect], _ceiling(**powers), host.canonicalise)
    except Refusal as refusal:
        assert refusal.code == "capability_violation" and refusal.remedy
        return False
    return True


def test_capabilities_follow_links_and_dots(tmp_path: Path) -> None:
    root, outside = str(tmp_path / "root"), str(tmp_path / "outside")
    os.mkdir(root)
    os.symlink(outside, f"{root}/dangling")
    os.symlink("/etc", f"{root}/link")
    for path, allowed in {"f": True, "d/../f": True, "../x": False, "link/passwd": False, "dangling": False, "dangling/new": False}.items():
        assert _check(Effect(kind="write", target=f"{root}/{path}"), write=(root,)) is allowed, path
        assert _check(Effect(kind="read", target=f"{root}/{path}"), read=(root,)) is allowed, path
    assert not _check(Effect(kind="write", target=f"{root}/f"), read=(root,))
    assert not _check(Effect(kind="read", target=f"{root}/.env"), read=(root,), hide=(f"{root}/.env",))
    assert not _check(Effect(kind="write", target=f"{root}/p/x"), write=(root,), protect=(f"{root}/p",))
    assert not _check(Effect(kind="read", target=root + "x"), read=(root,))


@pytest.mark.parametrize("kind", ["network", "child_processes", "arbitrary_code", "privilege_change"])
def test_powers(kind: str) -> None:
    assert not _check(Effect(kind=kind)) and _check(Effect(kind=kind), **{kind: True})
    assert not _check(Effect(kind="unknown", target="x")) and _check(Effect(kind="unknown", target="x"), arbitrary_code=True)


@given(st.lists(st.sampled_from(["a", "b", "ab", ".."]), max_size=5), st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3))
def test_inside_is_a_prefix_of_whole_names(path: list[str], root: list[str]) -> None:
    where, top = os.path.normpath("/" + "/".join(path)), "/" + "/".join(root)
    expected = top == "/" or where.split("/")[: len(root) + 1] == top.split("/")
    assert inside(where, top) is expected


def _decide(rules: list[tuple[str, str, str]], name: str, default: str = "ask", **program: object) -> str:
    made = tuple(Rule(id=f"{i}", action=action, matcher=Matcher(kind=kind, value=value)) for i, (action, kind, value) in enumerate(rules))
    subject = Subject(command=Command(program=name), executable=_program(name, **program))  # type: ignore[arg-type]
    decision = policy.decide(Policy(default=default, rules=made), subject)
    assert decision.reasons
    return decision.verdict


def test_the_strictest_wins_and_no_rule_is_the_default() -> None:
    allow, ask, deny = (("allow", "any_command", ""), ("ask", "any_command", ""), ("deny", "any_command", ""))
    assert _decide([allow, deny, ask], "ls") == "deny"
    assert _decide([allow, ask], "ls") == "ask"
    assert _decide([allow], "ls") == "allow"
    assert _decide([], "ls", default="deny") == "deny"


def test_names_count_for_denying_and_files_for_allowing() -> None:
    assert _decide([("allow", "basename", "ls")], "ls") == "allow"
    assert _decide([("allow", "basename", "ls")], "ls", trusted=False) == "ask"
    assert _decide([("allow", "basename", "ls")], "ls", canonical="/usr/bin/busybox") == "ask"
    assert _decide([("deny", "basename", "rm")], "rm", canonical="/usr/bin/busybox", default="allow") == "deny"
    assert _decide([("deny", "basename", "busybox")], "rm", canonical="/usr/bin/busybox", default="allow") == "deny"


def test_resolving_real_files(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "plain").write_text("x")
    script = folder / "tool"
    script.write_text("#!/bin/sh -e\necho\n")
    script.chmod(0o755)
    (folder / "link").symlink_to("tool")
    found = host.resolve("link", search_path=(str(tmp_path), str(folder)), cwd="/", trusted_roots=("/usr",))
    assert found.path == f"{folder}/link" and found.canonical == str(script) and not found.trusted and not found.stable
    assert found.content == script.read_bytes() and found.interpreters[-1].requested == "/bin/sh"
    for name, code in {"plain": 126, "nothing": 127, "cd": 127, "export": 127, "": 127}.items():
        with pytest.raises(Refusal) as caught:
            host.resolve(name, search_path=(str(folder),), cwd="/")
        assert caught.value.exit_code == code, name


def test_system_programs_are_stable_and_cached_by_their_key() -> None:
    first = host.resolve("true", search_path=("/usr/bin",), cwd="/", trusted_roots=("/usr",))
    assert first.trusted and first.stable and first.content is None
    assert host.resolve("true", search_path=("/usr/bin",), cwd="/", trusted_roots=("/usr",)) is first
    below = host.resolve("true", search_path=("/usr/bin",), cwd="/", write_roots=("/usr",))
    assert not below.stable and below.fingerprint.sha256 == first.fingerprint.sha256


def test_a_program_that_changes_is_seen(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    before = host.resolve(str(tool), search_path=(), cwd="/").fingerprint.sha256
    tool.write_text("#!/bin/sh\nevil\n")
    assert host.resolve(str(tool), search_path=(), cwd="/").fingerprint.sha256 != before
