"""Policy and ceiling: the strictest rule wins, names prove nothing to a rule that allows, `not` turns doubt around."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import host
from runner.compiler import compile_text
from runner.decision import capabilities
from runner.decision.matchers import TABLE, Subject, live
from runner.decision.policy import decide, require_allowed
from runner.errors import Refusal
from runner.model.command import Command, Decision, Effect, Executable, Fingerprint
from runner.model.manifest import Matcher, Policy, Rule

PRINT = Fingerprint(device=1, inode=1, mode=0o100755, uid=0, gid=0, size=1, mtime_ns=1, ctime_ns=1, sha256="0" * 64)
ACTIONS = ("allow", "ask", "deny")
ANY = Matcher(kind="any_command")


def _subject(program: str = "ls", path: str = "", canonical: str = "", trusted: bool = True) -> Subject:
    path = path or f"/usr/bin/{program}"
    executable = Executable(
        requested=program, path=path, canonical=canonical or path, trusted=trusted, stable=trusted, fingerprint=PRINT
    )
    return Subject(command=Command(program=program), executable=executable)


def _name(kind: str, value: str) -> Matcher:
    return Matcher(kind=kind, value=value)


def _group(kind: str, *children: Matcher) -> Matcher:
    return Matcher(kind=kind, children=children)


def _verdict(action: str, matcher: Matcher, subject: Subject, default: str) -> str:
    return decide(Policy(default=default, rules=(Rule(id="rule", action=action, matcher=matcher),)), subject).verdict


def _holds(action: str, matcher: Matcher, subject: Subject) -> bool:
    default = "deny" if action != "deny" else "allow"
    return _verdict(action, matcher, subject, default) == action


# -- strength ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(ACTIONS), max_size=6), st.sampled_from(ACTIONS))
def test_the_strictest_matching_action_wins_with_all_its_rules(actions: list[str], default: str) -> None:
    rules = tuple(Rule(id=f"r{n}", action=action, matcher=ANY) for n, action in enumerate(actions))
    found = decide(Policy(default=default, rules=rules), _subject())
    if not actions:
        assert found == Decision(verdict=default, reasons=(f"default policy: {default}",))
        return
    strictest = max(actions, key=ACTIONS.index)
    assert found.verdict == strictest
    assert found.reasons == tuple(f"r{n}" for n, action in enumerate(actions) if action == strictest)


def test_the_default_counts_only_where_no_rule_matches() -> None:
    for default, action in itertools.product(ACTIONS, ACTIONS):
        assert _verdict(action, ANY, _subject(), default) == action
        assert _verdict(action, _name("program", "other"), _subject(), default) == default


def test_the_order_of_rules_does_not_change_the_verdict() -> None:
    rules = [Rule(id=action, action=action, matcher=ANY) for action in ACTIONS]
    assert {decide(Policy(rules=tuple(order)), _subject()).verdict for order in itertools.permutations(rules)} == {"deny"}


def test_what_a_verdict_leads_to() -> None:
    require_allowed(Decision(verdict="allow", reasons=("x",)))
    for verdict, code in {"deny": "denied", "ask": "permission_required"}.items():
        with pytest.raises(Refusal) as caught:
            require_allowed(Decision(verdict=verdict, reasons=("first", "second")))
        assert caught.value.code == code and "first; second" in caught.value.message


# -- names ------------------------------------------------------------------------------------------------------------

PLAIN = _subject("ls")
PLANTED = _subject("ls", "/w/ls", trusted=False)
BUSYBOX = _subject("rm", "/usr/bin/rm", "/usr/bin/busybox")
LINK = _subject("look", "/usr/bin/look", "/usr/bin/ls")
BY_PATH = _subject("./tool", "/w/./tool", "/w/tool", trusted=False)

NAMES: list[tuple[str, Matcher, Subject, bool]] = [
    ("allow", _name("basename", "ls"), PLAIN, True),
    ("allow", _name("basename", "ls"), PLANTED, False),  # G12
    ("allow", _name("basename", "ls"), LINK, True),
    ("allow", _name("basename", "look"), LINK, False),
    ("allow", _name("basename", "rm"), BUSYBOX, False),
    ("allow", _name("basename", "LS"), PLAIN, False),
    ("allow", _name("basename", "/usr/bin/ls"), PLAIN, False),
    ("allow", _name("program", "ls"), PLAIN, True),
    ("allow", _name("program", "ls"), PLANTED, False),  # a bare name finds what the search path gives
    ("allow", _name("program", "./tool"), BY_PATH, True),  # the author named this file
    ("allow", _name("program", "tool"), BY_PATH, False),
    ("allow", ANY, PLANTED, True),
    ("deny", _name("basename", "ls"), PLANTED, True),
    ("deny", _name("basename", "rm"), BUSYBOX, True),
    ("deny", _name("basename", "busybox"), BUSYBOX, True),
    ("deny", _name("basename", "look"), LINK, True),
    ("deny", _name("basename", "ls"), LINK, True),
    ("deny", _name("basename", "tool"), BY_PATH, True),
    ("deny", _name("basename", "cat"), PLAIN, False),
    ("deny", _name("program", "ls"), PLANTED, True),
    ("deny", _name("program", "/usr/bin/ls"), PLAIN, False),
    ("ask", _name("basename", "rm"), BUSYBOX, True),
    ("ask", _name("program", "ls"), PLANTED, True),
]


@pytest.mark.parametrize(("action", "matcher", "subject", "holds"), NAMES)
def test_names(action: str, matcher: Matcher, subject: Subject, holds: bool) -> None:
    assert _holds(action, matcher, subject) is holds


RM, CAT = _name("basename", "rm"), _name("basename", "cat")


def test_not_turns_doubt_around() -> None:
    """`allow not rm` may not let a renamed rm through; `deny not cat` may not spare what only calls itself cat."""
    planted_cat = _subject("cat", "/w/cat", trusted=False)
    planted_rm = _subject("rm", "/w/rm", trusted=False)
    for kind, matcher in (("rm", RM), ("rm", _name("program", "rm"))):
        assert _holds("allow", _group("not", matcher), PLAIN), kind
        assert not _holds("allow", _group("not", matcher), planted_rm)
    assert not _holds("allow", _group("not", RM), BUSYBOX)
    assert not _holds("deny", _group("not", CAT), _subject("cat"))
    assert _holds("deny", _group("not", CAT), planted_cat)
    assert _holds("deny", _group("not", _name("program", "cat")), planted_cat)
    assert _holds("deny", _group("not", CAT), _subject("cat", canonical="/usr/bin/busybox"))
    # Twice `not` is none; groups in between change nothing.
    assert not _holds("allow", _group("not", _group("not", CAT)), planted_cat)
    assert _holds("deny", _group("not", _group("all", _group("any", CAT))), planted_cat)
    assert not _holds("allow", _group("not", _group("any", CAT, RM)), planted_rm)


def test_groups_are_boolean() -> None:
    yes, no = ANY, _name("program", "other")
    rows = {
        (_group("all", yes, yes), True), (_group("all", yes, no), False), (_group("any", no, yes), True), (_group("any", no, no), False),
        (_group("not", no), True), (_group("not", yes), False), (_group("all", _group("not", no), _group("any", yes)), True),
    }  # fmt: skip
    for matcher, expected in rows:
        for action in ACTIONS:
            assert _holds(action, matcher, PLAIN) is expected


trees = st.recursive(
    st.sampled_from([ANY, CAT, RM, _name("program", "rm"), _name("basename", "busybox")]),
    lambda inner: st.builds(lambda kind, items: _group(kind, *items), st.sampled_from(["all", "any"]), st.lists(inner, min_size=1, max_size=3))
    | st.builds(lambda item: _group("not", item), inner),
    max_leaves=8,
)
subjects = st.builds(
    lambda program, folder, real, trusted: _subject(program, f"{folder}/{program}", f"{folder}/{real or program}", trusted),
    st.sampled_from(["cat", "rm", "ls"]), st.sampled_from(["/usr/bin", "/w"]), st.sampled_from(["", "busybox", "cat"]), st.booleans(),
)  # fmt: skip


@given(trees, subjects)
def test_what_surely_holds_holds_in_doubt_too(matcher: Matcher, subject: Subject) -> None:
    """A matcher that lets a command through would also have stopped it; never the one without the other."""
    assert not _holds("allow", matcher, subject) or _holds("deny", matcher, subject)


_ATTRIBUTES = dict.fromkeys(
    ("program", "basename", "resolved_path", "program_regex", "argument", "argument_contains"), ' value="x"'
) | {"argv_prefix": ' values="x,y"', "effect": ' name="read"'}


def test_the_language_and_the_table_know_the_same_matchers() -> None:
    for kind in TABLE:
        body = "<any_command/>" if kind in ("all", "any", "not") else ""
        value = _ATTRIBUTES.get(kind, "")
        rule = f'<rule id="a" action="deny"><{kind}{value}>{body}</{kind}></rule>'
        spec = compile_text(f'<shell_access id="r"><policy>{rule}</policy></shell_access>').runtimes[0]
        (made,) = spec.policy.rules
        decide(spec.policy.replace(rules=(made.replace(matcher=live(made.matcher, str)),)), PLAIN)


def test_the_readonly_profile_on_planted_programs() -> None:
    policy = compile_text('<shell_access id="r" extends="builtin:workspace-readonly"/>').runtimes[0].policy
    assert decide(policy, _subject("cat")).verdict == "allow"
    assert decide(policy, _subject("cat", "/w/cat", trusted=False)).verdict == "ask"
    assert decide(policy, _subject("cat", canonical="/usr/bin/rm")).verdict == "deny"
    assert decide(policy, BUSYBOX).verdict == "deny"
    assert decide(policy, _subject("sed")).verdict == "ask"


# -- the ceiling ------------------------------------------------------------------------------------------------------


def _allowed(effects: list[Effect], ceiling: capabilities.Ceiling) -> bool:
    try:
        capabilities.check(effects, ceiling, host.canonicalise)
    except Refusal as refusal:
        assert refusal.code == "capability_violation" and refusal.remedy
        return False
    return True


@pytest.mark.parametrize("kind", ["network", "child_processes", "arbitrary_code", "privilege_change", "unknown", "invented"])
def test_powers(kind: str) -> None:
    effect = [Effect(kind=kind)]
    powers = ("network", "child_processes", "arbitrary_code", "privilege_change")
    assert not _allowed(effect, capabilities.Ceiling())
    for power in powers:
        expected = power == ("arbitrary_code" if kind == "unknown" else kind)
        assert _allowed(effect, capabilities.Ceiling(**{power: True})) is expected  # type: ignore[arg-type]


def test_every_effect_must_pass_and_the_first_failure_is_told() -> None:
    found = [Effect(kind="child_processes"), Effect(kind="network"), Effect(kind="unknown", target="x")]
    with pytest.raises(Refusal) as caught:
        capabilities.check(found, capabilities.Ceiling(child_processes=True), host.canonicalise)
    assert "`network`" in caught.value.message
    assert _allowed([], capabilities.Ceiling())


def test_paths_are_where_they_lead(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    for name in ("ro", "rw", "rw/keep", "out", "rw2"):
        os.mkdir(top / name)
    os.symlink("../out", top / "rw/link")
    os.symlink(top / "out/new", top / "rw/dangling")
    os.symlink("loop", top / "rw/loop")
    os.symlink("../rw", top / "out/back")
    ceiling = capabilities.Ceiling(
        read=(f"{top}/ro",), write=(f"{top}/rw",), protect=(f"{top}/rw/keep",), hide=(f"{top}/ro/.env", f"{top}/rw/.env")
    )
    rows = {  # path: (read, write)
        "ro": (True, False), "ro/f": (True, False), "ro/../ro/f": (True, False), "ro/../out/f": (False, False),
        "rw": (True, True), "rw/new/deep": (True, True), "rw/link/f": (False, False), "rw/dangling": (False, False),
        "rw/keep": (True, False), "rw/keep/f": (True, False), "rw/keeper": (True, True), "rw2/f": (False, False),
        "out/back/f": (True, True), "out": (False, False), "ro/.env": (False, False), "ro/.env/x": (False, False),
        "rw/.env": (False, False), "rw/.envy": (True, True), "ro/x/../.env": (False, False), "": (False, False),
    }  # fmt: skip
    for path, expected in rows.items():
        found = tuple(_allowed([Effect(kind=kind, target=f"{top}/{path}")], ceiling) for kind in ("read", "write"))
        assert found == expected, path


def test_the_root_holds_everything() -> None:
    ceiling = capabilities.Ceiling(read=("/",))
    assert _allowed([Effect(kind="read", target="/etc/x")], ceiling) and not _allowed([Effect(kind="write", target="/etc/x")], ceiling)
