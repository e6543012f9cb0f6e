"""Every matcher of policy rules on what it must hold for and what it must not, under both polarities."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import Registry
from runner.compiler import compile_text
from runner.decision.matchers import Subject, live, looks_at_paths, matches
from runner.errors import ManifestError
from runner.model.command import Command, Effect, Executable, Fingerprint
from runner.model.manifest import Matcher

PRINT = Fingerprint(device=1, inode=1, mode=0o100755, uid=0, gid=0, size=1, mtime_ns=1, ctime_ns=1, sha256="0" * 64)
W, R = "write", "read"


def _subject(
    *argv: str, trusted: bool = True, canonical: str = "", effects: tuple[Effect, ...] = (), kind: str = "structured"
) -> Subject:
    program, *rest = argv
    path = canonical or (program if "/" in program else f"/usr/bin/{program}")
    executable = Executable(
        requested=program, path=path, canonical=path, trusted=trusted, stable=trusted, fingerprint=PRINT
    )
    return Subject(
        command=Command(program=program, arguments=tuple(rest)), executable=executable, effects=effects, kind=kind
    )


def _effects(*pairs: tuple[str, str]) -> tuple[Effect, ...]:
    return tuple(Effect(kind=kind, target=target) for kind, target in pairs)


GIT = _subject("git", "push", "--force", "")
PLANTED = _subject("git", "push", trusted=False, canonical="/w/git")
BY_PATH = _subject("/w/git", "push", trusted=False)
WRITES = _subject("tee", "/w/a", effects=_effects((W, "/w/a")))
CLIMBS = _subject("tee", "/w/../etc/x", effects=_effects((W, "/w/../etc/x")))
ROWS = [  # matcher, subject, holds for a rule that denies, holds for one that allows
    (Matcher(kind="resolved_path", value="/usr/bin/git"), GIT, True, True),
    (Matcher(kind="resolved_path", value="/usr/bin/git"), PLANTED, False, False),
    (Matcher(kind="trusted_executable"), GIT, True, True),
    (Matcher(kind="trusted_executable"), PLANTED, False, False),
    (Matcher(kind="program_regex", value="^gi"), GIT, True, True),
    (Matcher(kind="program_regex", value="^gi"), PLANTED, True, False),
    (Matcher(kind="program_regex", value="/git$"), BY_PATH, True, True),
    (Matcher(kind="program_regex", value="GIT"), GIT, False, False),
    (Matcher(kind="program_regex", value="push"), GIT, False, False),
    (Matcher(kind="argv_prefix", values=("git", "push")), GIT, True, True),
    (Matcher(kind="argv_prefix", values=("git", "push")), PLANTED, True, False),
    (Matcher(kind="argv_prefix", values=("git", "pu")), GIT, False, False),
    (Matcher(kind="argv_prefix", values=("git", "push", "--force", "", "x")), GIT, False, False),
    (Matcher(kind="argument", value="--force"), GIT, True, True),
    (Matcher(kind="argument", value=""), GIT, True, True),
    (Matcher(kind="argument", value=""), PLANTED, False, False),
    (Matcher(kind="argument", value="git"), GIT, False, False),
    (Matcher(kind="argument_contains", value="orc"), GIT, True, True),
    (Matcher(kind="argument_contains", value=""), PLANTED, True, True),
    (Matcher(kind="argument_contains", value=""), _subject("ls"), False, False),
    (Matcher(kind="effect", value=W), WRITES, True, True),
    (Matcher(kind="effect", value=R), WRITES, False, False),
    (Matcher(kind="effect", value=W, under="/w"), WRITES, True, True),
    (Matcher(kind="effect", value=W, under="/w/a/b"), WRITES, False, False),
    (Matcher(kind="effect", value=W, under="/w"), CLIMBS, False, False),
    (Matcher(kind="effect", value=W, under="/etc"), CLIMBS, True, True),
    (Matcher(kind="no_unknown_effects"), WRITES, True, True),
    (Matcher(kind="no_unknown_effects"), _subject("x", effects=_effects(("unknown", "why"))), False, False),
    (Matcher(kind="raw_shell"), _subject("sh", kind="raw_shell"), True, True),
    (Matcher(kind="raw_shell"), _subject("sh", "-c", "ls"), False, False),
]


@pytest.mark.parametrize(("matcher", "subject", "denying", "allowing"), ROWS)
def test_a_matcher(matcher: Matcher, subject: Subject, denying: bool, allowing: bool) -> None:
    matcher = live(matcher, str)
    assert matches(matcher, subject) is denying
    assert matches(matcher, subject.replace(sure=True)) is allowing
    turned = Matcher(kind="not", children=(matcher,))
    assert matches(turned, subject) is not allowing and matches(turned, subject.replace(sure=True)) is not denying


def test_a_link_leads_where_it_leads(tmp_path: Path) -> None:
    """A rule that allows writing below a folder is not fooled by a link in it; one that denies holds at both ends."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir(), outside.mkdir()
    (inside / "link").symlink_to(outside)
    subject = _subject("tee", "x", effects=_effects((W, f"{inside}/link/x"))).replace(canonicalise=os.path.realpath)
    here, there = (live(Matcher(kind="effect", value=W, under=str(folder)), str) for folder in (inside, outside))
    assert matches(here, subject) and not matches(here, subject.replace(sure=True))
    assert matches(there, subject) and matches(there, subject.replace(sure=True))


@given(st.text("ab/.", max_size=20), st.text("ab/.", max_size=8))
def test_a_literal_pattern_is_a_search_for_its_text(program: str, text: str) -> None:
    import re

    subject = _subject("p").replace(command=Command(program=program))
    assert matches(Matcher(kind="program_regex", value=re.escape(text)), subject) is (text in program)


def test_no_pattern_stalls_a_decision() -> None:
    """A backtracking engine does not come back from a far shorter text."""
    attack = [sys.executable, "-c", "import re; re.search('(a+)+$', 'a' * 60 + 'b')"]
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(attack, timeout=1, check=False)
    assert not matches(Matcher(kind="program_regex", value="(a+)+$"), _subject("a" * 50_000 + "b"))


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", r"(a)\1", "(?=a)", "(?<!a)b", "["])
def test_a_pattern_that_is_none(pattern: str) -> None:
    with pytest.raises(ManifestError) as caught:
        live(Matcher(kind="not", children=(Matcher(kind="program_regex", value=pattern),)), str)
    assert caught.value.code == "shell.invalid_program_regex" and pattern in str(caught.value)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ManifestError) as caught:
        live(Matcher(kind="program_regex", value="never-compiled-before"), str)
    assert caught.value.code == "shell.unsupported_feature" and "fumehood[regex]" in caught.value.remedy


def test_paths_become_live() -> None:
    group = Matcher(
        kind="all",
        children=(Matcher(kind="resolved_path", value="${home}/x"), Matcher(kind="effect", value=W, under="${home}")),
    )
    made = live(group, lambda text: text.replace("${home}", "/h"))
    assert [child.values for child in made.children] == [("/h/x", "/h/x"), ("/h", "/h")]
    assert all(map(looks_at_paths, (group, *group.children))) and not looks_at_paths(Matcher(kind="effect", value=W))


# -- as an author uses them -------------------------------------------------------------------------------------------


def _load(tmp_path: Path, policy: str) -> Registry:
    file = tmp_path / "agent.xml"
    file.write_text(
        f"""<agent><shell_access id="r" extends="builtin:workspace-readonly@1"><capabilities child_processes="true" arbitrary_code="true"/>
        {policy}</shell_access><tool name="any" type="shell" mode="structured" runtime="r"/></agent>"""
    )
    return Registry.load(file, authorize=lambda manifest: True, workspace=tmp_path)


def _code(registry: Registry, program: str, *arguments: str) -> str:
    result = registry.call("any", {"program": program, "arguments": list(arguments)})
    return result.error.code if result.error else ""


def test_a_policy_of_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "shut").mkdir()
    for name in ("open/f", "shut/f"):
        (tmp_path / name).write_text("x\n")
    policy = """<policy default="deny" merge="replace">
      <rule id="reads" action="allow"><all><resolved_path value="/usr/bin/cat"/><effect name="read" under="${workspace}/open"/></all>
        <example argv="cat open/f" action="allow"/><example argv="cat shut/f" action="deny"/></rule>
      <rule id="sort" action="allow"><program_regex value="^so"/></rule>
      <rule id="no-reverse" action="deny"><any><argument value="-r"/><argument_contains value="reverse"/></any></rule>
    </policy>"""
    with _load(tmp_path, policy) as registry:
        assert _code(registry, "cat", "open/f") == "" and _code(registry, "cat", "shut/f") == "denied"
        assert _code(registry, "cat", "open/f", "shut/f") == "denied", "one allowed file carries no other one through"
        assert _code(registry, "sort", "open/f") == "" and _code(registry, "sort", "-r", "open/f") == "denied"
        assert _code(registry, "sort", "--reverse", "open/f") == "denied" and _code(registry, "ls") == "denied"
        (tmp_path / "open/f").unlink()
        (tmp_path / "open/f").symlink_to(tmp_path / "shut/f")
        assert _code(registry, "cat", "open/f") == "denied", "a verdict about a path is not kept from before it moved"


def test_a_declared_link_that_is_moved(tmp_path: Path) -> None:
    """A command may move a link of its workspace: what was denied stays denied, by every name; nothing more is allowed."""
    tool, folder = tmp_path / "tool", tmp_path / "folder"
    tool.symlink_to(tmp_path / "one")
    folder.symlink_to(tmp_path / "in-one")
    subjects = {
        name: _subject(str(tool), trusted=False, canonical=str(tmp_path / name), effects=_effects((W, f"{folder}/x")))
        .replace(canonicalise=os.path.realpath) for name in ("one", "two")
    }  # fmt: skip
    program = live(Matcher(kind="resolved_path", value=str(tool)), str)
    below = live(Matcher(kind="effect", value=W, under=str(folder)), str)
    assert matches(program, subjects["one"].replace(sure=True)) and matches(below, subjects["one"].replace(sure=True))
    for link, target in ((tool, "two"), (folder, "in-two")):
        link.unlink()
        link.symlink_to(tmp_path / target)
    moved = subjects["two"]
    assert matches(program, moved) and not matches(program, moved.replace(sure=True))
    assert matches(below, moved) and not matches(below, moved.replace(sure=True))
    direct = moved.replace(effects=_effects((W, f"{tmp_path}/in-two/x")))
    assert matches(below, direct) and matches(below, direct.replace(effects=_effects((W, f"{tmp_path}/in-one/x"))))


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ('<example argv="cat f" action="deny"/>', "decided `allow`, not `deny`"),
        ('<example argv="no-such-program-here" action="allow"/>', "cannot be decided"),
        ('<example argv="cat | rm" action="allow"/>', "cannot be decided"),
    ],
)
def test_an_example_that_is_wrong(tmp_path: Path, example: str, said: str) -> None:
    with pytest.raises(ManifestError) as caught:
        _load(tmp_path, f'<policy><rule id="mine" action="allow"><basename value="cat"/>{example}</rule></policy>')
    assert (
        caught.value.code == "shell.policy_example_failed"
        and "`mine`" in str(caught.value)
        and said in str(caught.value)
    )


def test_the_language_takes_no_broken_pattern_live(tmp_path: Path) -> None:
    rule = '<policy><rule id="a" action="deny"><program_regex value="("/></rule></policy>'
    compile_text(f'<shell_access id="r">{rule}</shell_access>')  # compiling asks no engine
    with pytest.raises(ManifestError) as caught:
        _load(tmp_path, rule)
    assert caught.value.code == "shell.invalid_program_regex"
