"""Declarations: every form compiles to the same explicit records, every mistake has its code and line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.compiler import compile_text
from runner.compiler.variables import resolve, symbolic
from runner.errors import DeclarationError
from runner.grammar import GrammarError, parse_single
from runner.units import parse_bytes, parse_duration

RUNTIME = '<shell_access id="r"/>'


def _code(text: str) -> list[tuple[str, int]]:
    with pytest.raises(DeclarationError) as caught:
        compile_text(text, file="f")
    found = []
    for line in caught.value.problems:
        place, rest = line.split(": error[", 1)
        found.append((rest.split("]")[0].removeprefix("shell."), int(place.rpartition(":")[2])))
    return found


def _doc(inner: str) -> str:
    return f"<agent>{inner}</agent>"


MISTAKES = {
    "unknown_attribute": '<shell_access id="r" colour="red"/>',
    "missing_attribute": "<shell_access/>",
    "attribute_value_required": '<shell_access id=""/>',
    "invalid_runtime_id": '<shell_access id="1x"/>',
    "unexpected_text": '<shell_access id="r">words</shell_access>',
    "duplicate_section": '<shell_access id="r"><limits/><limits/></shell_access>',
    "unknown_element": '<shell_access id="r"><limit/></shell_access>',
    "invalid_root": '<shell_access id="r"><capabilities><read/></capabilities></shell_access>',
    "invalid_attribute": '<shell_access id="r" pipefail="yes"/>',
    "invalid_duration": '<shell_access id="r"><limits wall_time="1e3s"/></shell_access>',
    "invalid_bytes": '<shell_access id="r"><limits memory="-1"/></shell_access>',
    "invalid_integer": '<shell_access id="r"><limits open_files="many"/></shell_access>',
    "required_limit_disabled": '<shell_access id="r"><limits wall_time="none"/></shell_access>',
    "limit_out_of_range": '<shell_access id="r"><limits processes="0"/></shell_access>',
    "invalid_path": '<shell_access id="r" cwd="${nowhere}/x"/>',
    "invalid_env_name": '<shell_access id="r"><environment><unset name="A=B"/></environment></shell_access>',
    "invalid_path_operation": '<shell_access id="r"><environment><path/></environment></shell_access>',
    "rule_matcher_arity": '<shell_access id="r"><policy><rule id="a" action="deny"/></policy></shell_access>',
    "unknown_matcher": '<shell_access id="r"><policy><rule id="a" action="deny"><colour/></rule></policy></shell_access>',
    "empty_matcher": '<shell_access id="r"><policy><rule id="a" action="deny"><any/></rule></policy></shell_access>',
    "matcher_arity": '<shell_access id="r"><policy><rule id="a" action="deny"><not/></rule></policy></shell_access>',
    "duplicate_named_entry": '<shell_access id="r"><policy><rule id="a" action="deny"><any_command/></rule>'
    '<rule id="a" action="ask"><any_command/></rule></policy></shell_access>',
    "duplicate_runtime": RUNTIME * 2,
    "duplicate_tool": RUNTIME + '<tool name="t" command="ls" runtime="r"/>' * 2,
    "inheritance_cycle": '<shell_access id="a" extends="b"/><shell_access id="b" extends="a"/>',
    "unknown_runtime": '<shell_access id="a" extends="nobody"/>',
    "unknown_builtin_profile": '<shell_access id="a" extends="builtin:nothing@1"/>',
    "incompatible_backend": '<shell_access id="a"><capabilities sandbox="direct_unsafe"/></shell_access>',
    "unknown_executable": RUNTIME + '<tool name="t" executable_ref="x" runtime="r"/>',
    "tool_missing_attribute": '<tool command="ls"/>',
    "tool_unknown_attribute": RUNTIME + '<tool name="t" command="ls" runtime="r" colour="red"/>',
    "tool_invalid_mode": RUNTIME + '<tool name="t" type="shell" mode="loud" runtime="r"/>',
    "tool_invalid_type": RUNTIME + '<tool name="t" type="web" mode="fixed" runtime="r" command="ls"/>',
    "tool_missing_command": RUNTIME + '<tool name="t" type="shell" mode="fixed" runtime="r"/>',
    "tool_conflicting_command": RUNTIME + '<tool name="t" type="shell" mode="fixed" runtime="r" command="ls" executable_ref="x"/>',
    "tool_mode_attribute": RUNTIME + '<tool name="t" type="shell" mode="structured" runtime="r" command="ls"/>',
    "tool_mode_child": RUNTIME + '<tool name="t" type="shell" mode="structured" runtime="r"><arguments mode="none"/></tool>',
    "invalid_argument_bounds": RUNTIME + '<tool name="t" command="ls" runtime="r"><arguments mode="optional" min_count="3" max_count="2"/></tool>',
    "tool_invalid_fixed_command": RUNTIME + '<tool name="t" command="ls | wc" runtime="r"/>',
    "tool_invalid_path": RUNTIME + '<tool name="t" type="shell" mode="fixed" runtime="r"><command program="ls"><path_arg path="x" base="up"/></command></tool>',
}


@pytest.mark.parametrize("code", MISTAKES)
def test_every_mistake_has_its_code(code: str) -> None:
    assert code in [found for found, _ in _code(_doc(MISTAKES[code]))]


def test_all_mistakes_of_a_document_at_once_with_their_lines() -> None:
    text = '<agent>\n<shell_access id="r" a="1"/>\n<tool name="t"\n  colour="red"/>\n<nothing/>\n</agent>'
    assert _code(text) == [("unknown_attribute", 2), ("tool_unknown_attribute", 4), ("unknown_element", 5)]


def test_a_document_may_be_a_sequence() -> None:
    one = compile_text(RUNTIME + '<tool name="t" command="ls" runtime="r"/>')
    other = compile_text(f'<?xml version="1.0"?>\n<!-- c --><any>{RUNTIME}<tool name="t" command="ls" runtime="r"/></any>')
    assert one.sha256 == other.sha256


FORMS = [
    '<tool name="t" command="rg --json" runtime="r"/>',
    '<tool name="t" type="shell" mode="fixed" runtime="r" command="rg --json"/>',
    '<tool name="t" type="shell" mode="fixed" runtime="r"><command program="rg"><arg value="--json"/></command></tool>',
]


def test_compact_and_long_forms_are_one() -> None:
    assert len({compile_text(_doc(RUNTIME + form)).sha256 for form in FORMS}) == 1


def test_legacy_runs_through_the_same_walk() -> None:
    manifest = compile_text(_doc('<tool name="t" command="rg"/>'))
    assert manifest.tools[0].runtime == "legacy:custom" and manifest.runtime("legacy:custom").policy.default == "ask"


def test_order_of_declarations_does_not_matter_order_of_rules_does() -> None:
    a, b = '<shell_access id="a"/>', '<shell_access id="b"/>'
    assert compile_text(_doc(a + b)).sha256 == compile_text(_doc(b + a)).sha256
    rules = ['<rule id="x" action="deny"><any_command/></rule>', '<rule id="y" action="ask"><any_command/></rule>']
    digests = {compile_text(_doc(f'<shell_access id="a"><policy>{one}{two}</policy></shell_access>')).sha256 for one, two in (rules, rules[::-1])}
    assert len(digests) == 2


CHANGES = [
    'cwd="${home}"', 'pipefail="true"', "<capabilities network='true'/>", "<capabilities><read path='/srv'/></capabilities>",
    "<capabilities><protect path='/srv'/></capabilities>", "<resolver><search_path path='/bin'/></resolver>",
    "<resolver><executable id='x' path='/bin/ls'/></resolver>", "<environment><set name='A' value='1'/></environment>",
    "<limits wall_time='1s'/>", "<limits memory='1MiB'/>", "<backends><direct/></backends>", "<policy default='deny'/>",
    "<secrets><from_env name='A'/></secrets>", "<secrets replacement='x'/>",
]  # fmt: skip


def test_every_security_field_changes_the_digest() -> None:
    texts = [f"<shell_access id='a' {c}/>" if "=" in c.split("<")[0] else f"<shell_access id='a'>{c}</shell_access>" for c in CHANGES]
    digests = {compile_text(_doc(text)).sha256 for text in ["<shell_access id='a'/>", *texts]}
    assert len(digests) == len(CHANGES) + 1


def test_a_literal_secret_is_not_in_the_manifest() -> None:
    manifest = compile_text(_doc('<shell_access id="a"><secrets><literal value="hunter2"/></secrets></shell_access>'))
    assert b"hunter2" not in manifest.canonical and b"literal" in manifest.canonical
    assert manifest.runtimes[0].secrets.sources[0].value == "hunter2"


def test_the_digest_is_of_the_canonical_bytes_and_names_no_place() -> None:
    text = _doc('<shell_access id="a"><capabilities><read path="data"/></capabilities></shell_access>')
    here, there = (compile_text(text, source_dir=folder) for folder in ("/one", "/two"))
    assert here.sha256 == there.sha256 and json.loads(here.canonical)["encoding_version"] == "fumehood.manifest.v1"
    assert b"${source_dir}/data" in here.canonical


def test_inheritance_overrides_in_place_and_appends() -> None:
    parent = '<shell_access id="p"><policy default="deny"><rule id="a" action="deny"><any_command/></rule><rule id="b" action="ask"><any_command/></rule></policy></shell_access>'
    child = '<shell_access id="c" extends="p"><policy><rule id="a" action="allow" override="true"><any_command/></rule></policy><limits cpu_time="2s"/></shell_access>'
    spec = compile_text(_doc(child + parent)).runtime("c")
    assert [(rule.id, rule.action) for rule in spec.policy.rules] == [("a", "allow"), ("b", "ask")]
    assert spec.policy.default == "deny" and spec.limits.cpu_time == 2 and "limits.cpu_time" in spec.declared


def test_the_profile_is_what_the_table_says() -> None:
    spec = compile_text(_doc('<shell_access id="a" extends="builtin:workspace-readonly"/>')).runtimes[0]
    assert spec.capabilities.sandbox == "required" and not spec.capabilities.write and spec.policy.default == "ask"
    assert spec.resolved_profile == "builtin:workspace-readonly@1" and spec.requested_profile == "builtin:workspace-readonly"
    assert (spec.limits.wall_time, spec.limits.idle_time, spec.limits.total_output) == (180, 60, 1_500_000)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a b", ["a", "b"]), ("a 'b c' \"d e\"", ["a", "b c", "d e"]), ("a ''", ["a", ""]), (r"a \|", ["a", "|"]),
     (r'a "\n"', ["a", "\\n"]), ("test [ x ]", ["test", "[", "x", "]"]), ("a b=c", ["a", "b=c"]), ("a x~ y#", ["a", "x~", "y#"])],
)  # fmt: skip
def test_words(text: str, words: list[str]) -> None:
    command = parse_single(text)
    assert [command.program, *command.arguments] == words


@pytest.mark.parametrize(
    ("text", "offset"),
    [("", 0), ("a | b", 2), ("a $x", 2), ("ä $x", 3), ("a > b", 2), ('a "$(b)"', 3), ("a 'b", 2), ('a "b', 2), ("a *", 2), ("a ~", 2),
     ("a #c", 2), ("a x[1]", 3), ("A=1 b", 0), ("a \\", 2), ("a & b", 2), ("a {b,c}", 2), ("a\nb", 1)],
)  # fmt: skip
def test_words_that_a_shell_would_change(text: str, offset: int) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_single(text)
    assert caught.value.offset == offset


@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), min_size=1), min_size=1))
def test_quoted_words_come_back(words: list[str]) -> None:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    if "=" not in words[0]:
        command = parse_single(quoted)
        assert [command.program, *command.arguments] == words


@given(st.integers(0, 10**9), st.sampled_from(["", "B", "KiB", "MiB", "GiB"]))
def test_sizes(number: int, unit: str) -> None:
    assert parse_bytes(f"{number}{unit}") == number * {"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}[unit]


@pytest.mark.parametrize("text", ["", "s", "1", "1d", "-1s", "1e3s", "0s", "1_0s", "inf", ".s", "1..5s", "0x1s", " 1s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


def test_path_expressions() -> None:
    bases = {"workspace": "/w", "source_dir": "/s"}
    assert [resolve(text, bases) for text in ("/a/../b", "${workspace}", "${workspace}/x", "rel")] == ["/b", "/w", "/w/x", "/s/rel"]
    for bad in ("", "a${workspace}", "${workspace}x", "${env:HOME}", "a\0b"):
        with pytest.raises(ValueError):
            symbolic(bad)
