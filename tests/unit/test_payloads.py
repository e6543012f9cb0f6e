"""Payloads: every check of the input, in its order; what passes stays literal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RequestError
from runner.model.command import PinnedFile
from runner.model.manifest import ArgumentBounds, ArgumentSource, FixedCommand, ScriptFile, ShellSource, ToolSpec
from runner.request.payload import MAX_ARGUMENT, MAX_RATIONALE, TOTAL_ARGUMENTS, Parsed, parse_payload
from runner.request.schema import description, input_schema

COMMAND = FixedCommand(program="rg", arguments=(ArgumentSource(kind="literal", value="--json"),))


def _tool(mode: str = "fixed", arguments: ArgumentBounds = ArgumentBounds(), **fields: Any) -> ToolSpec:
    command = {"command": COMMAND} if mode == "fixed" else {}
    return ToolSpec(name="t", runtime="r", mode=mode, arguments=arguments, **{**command, **fields})


def _parse(tool: ToolSpec, payload: object, max_stdin: int = 16) -> Parsed:
    return parse_payload(
        tool, payload, max_stdin=max_stdin, request_id="id", environment={"KEY": "s3cret"},
        resolve_path=lambda text: "/resolved/" + text,
    )  # fmt: skip


def _code(tool: ToolSpec, payload: object) -> str:
    with pytest.raises(RequestError) as caught:
        _parse(tool, payload)
    assert caught.value.exit_code == 64
    assert caught.value.message.isprintable() and len(caught.value.message) < 300
    return caught.value.code.removeprefix("shell.tool_")


def _argv(tool: ToolSpec, payload: object) -> list[str]:
    (pipeline,) = _parse(tool, payload).request.pipelines
    (command,) = pipeline.commands
    return [command.program, *command.arguments]


FIXED, STRUCTURED = _tool(), _tool("structured")
BOUND = _tool(arguments=ArgumentBounds(mode="optional", min_count=1, max_count=2, max_item_bytes=4))
NONE = _tool(arguments=ArgumentBounds(mode="none"))
NEEDS = _tool(arguments=ArgumentBounds(mode="required"))
PROGRAM = {"program": "ls", "arguments": []}
CHAIN = _tool("chain")
RAW = _tool("raw", shell=ShellSource(executable="sh", arguments_before_script=("-e", "-c")))
SCRIPT = _tool("script", script=ScriptFile(path="s.py", interpreter="python3", fixed_arguments=("-v",), sha256="ab"))

CHECKS: list[tuple[str, ToolSpec, object]] = [
    # shape
    ("invalid_input", FIXED, []),
    ("invalid_input", FIXED, None),
    ("invalid_input", FIXED, 5),
    ("invalid_input", FIXED, {1: "x"}),
    ("invalid_input", FIXED, ""),
    ("invalid_input", FIXED, "{"),
    ("invalid_input", FIXED, "[1]"),
    ("invalid_input", FIXED, "null"),
    ("invalid_input", FIXED, '{"arguments":[]} x'),
    ("invalid_input", FIXED, b"\xff{}"),
    ("invalid_input", FIXED, "[" * 100_000),
    ("invalid_input", FIXED, '{"arguments":' + "9" * 5000 + "}"),
    ("invalid_input", FIXED, {"arguments": "ls"}),
    ("invalid_input", FIXED, {"arguments": ["a", 1]}),
    ("invalid_input", FIXED, {"arguments": [["a"]]}),
    ("invalid_input", FIXED, {"arguments": None}),
    ("invalid_input", FIXED, {"arguments": {"a": "b"}}),
    ("invalid_input", FIXED, {"arguments": ["a\0b"]}),
    ("invalid_input", FIXED, {"arguments": ["\ud800"]}),
    ("invalid_input", FIXED, '{"arguments": ["\\ud800"]}'),
    ("invalid_input", STRUCTURED, {**PROGRAM, "program": 1}),
    ("invalid_input", STRUCTURED, {**PROGRAM, "program": ""}),
    ("invalid_input", STRUCTURED, {**PROGRAM, "program": "l\0s"}),
    ("invalid_input", STRUCTURED, {**PROGRAM, "program": None}),
    ("invalid_input", STRUCTURED, {**PROGRAM, "rationale": ["why"]}),
    ("invalid_input", _tool(stdin="optional"), {"stdin": ["a"]}),
    ("invalid_input", _tool(stdin="optional"), {"stdin": "\udfff"}),
    # keys
    ("duplicate_input", FIXED, '{"arguments":[],"arguments":[]}'),
    ("duplicate_input", FIXED, '{"x":1,"x":1}'),
    ("duplicate_input", FIXED, '{"arguments":[],"\\u0061rguments":["x"]}'),
    ("unknown_input", FIXED, {"argument": []}),
    ("unknown_input", FIXED, {"Arguments": []}),
    ("unknown_input", FIXED, {"": 1}),
    ("unknown_input", FIXED, {"a\n\x1b[31m\u202eb": 1}),
    ("unknown_input", FIXED, '{"\\ud800": 1}'),
    ("unknown_input", FIXED, {"x" * 100_000: 1}),
    ("unknown_input", FIXED, {"program ": "ls"}),
    ("unknown_input", FIXED, json.dumps({f"k{n}": 1 for n in range(200_000)})),  # never quadratic
    ("field_forbidden", FIXED, {"program": "ls"}),
    ("field_forbidden", FIXED, {"command": "ls"}),
    ("field_forbidden", STRUCTURED, {**PROGRAM, "command": "ls"}),
    ("field_forbidden", STRUCTURED, {**PROGRAM, "script": "ls"}),
    # stdin, rationale
    ("stdin_forbidden", FIXED, {"stdin": "x"}),
    ("stdin_required", _tool(stdin="required"), {}),
    ("stdin_required", _tool(stdin="required"), {"stdin": ""}),
    ("stdin_too_large", _tool(stdin="optional"), {"stdin": "x" * 17}),
    ("stdin_too_large", _tool(stdin="optional"), {"stdin": "ä" * 9}),
    ("rationale_forbidden", FIXED, {"rationale": "why"}),
    ("rationale_forbidden", FIXED, {"rationale": ""}),
    ("rationale_required", _tool(rationale="required"), {}),
    ("rationale_required", _tool(rationale="required"), {"rationale": " \n"}),
    # the mode's fields
    ("program_required", STRUCTURED, {"arguments": []}),
    ("arguments_required", STRUCTURED, {"program": "ls"}),
    # arguments
    ("arguments_forbidden", NONE, {"arguments": ["a"]}),
    ("arguments_forbidden", NONE, {"arguments": []}),
    ("too_few_arguments", NEEDS, {}),
    ("too_few_arguments", NEEDS, {"arguments": []}),
    ("too_few_arguments", BOUND, {}),
    ("too_many_arguments", BOUND, {"arguments": ["a", "b", "c"]}),
    ("argument_too_large", BOUND, {"arguments": ["a", "aaaaa"]}),
    ("argument_too_large", BOUND, {"arguments": ["äää"]}),
    ("argument_too_large", FIXED, {"arguments": ["x" * 65537]}),
    ("argument_too_large", STRUCTURED, {"program": "ls", "arguments": ["x" * 65537]}),
    ("argument_too_large", FIXED, {"arguments": ["x" * 65536] * 33}),
    ("argument_too_large", FIXED, {"arguments": [""] * (TOTAL_ARGUMENTS // 8)}),
    ("missing_program", _tool(command=None), {}),
    # chain, raw, script
    ("command_required", CHAIN, {}),
    ("script_required", RAW, {}),
    ("chain_parse", CHAIN, {"command": ""}),
    ("chain_parse", CHAIN, {"command": "a $b"}),
    ("field_forbidden", CHAIN, {"command": "a", "arguments": []}),
    ("field_forbidden", RAW, {"script": "a", "command": "b"}),
    ("field_forbidden", SCRIPT, {"script": "a"}),
    ("invalid_input", CHAIN, {"command": "a\0b"}),
    ("invalid_input", RAW, {"script": "a\0b"}),
    ("invalid_input", RAW, {"script": ["a"]}),
    ("argument_too_large", RAW, {"script": "x" * (MAX_ARGUMENT + 1)}),
    ("argument_too_large", CHAIN, {"command": "true; echo " + "x" * (MAX_ARGUMENT + 1)}),
    ("argument_too_large", CHAIN, {"command": "true | echo " + "xxxxxxx " * (TOTAL_ARGUMENTS // 16)}),
]


@pytest.mark.parametrize(("code", "tool", "payload"), CHECKS, ids=[f"{n}-{row[0]}" for n, row in enumerate(CHECKS)])
def test_check(code: str, tool: ToolSpec, payload: object) -> None:
    assert _code(tool, payload) == code


def test_the_order_of_the_checks() -> None:
    """One payload with every fault at once; each is mended in turn, and the next is reported."""
    tool = _tool("structured", ArgumentBounds(mode="required", max_item_bytes=4), stdin="required", rationale="required")
    payload: dict[str, object] = {"unknown": 1, "command": "x"}
    seen = []
    mends: list[dict[str, object]] = [
        {"unknown": None}, {"command": None}, {"stdin": "x" * 99}, {"stdin": "x"}, {"rationale": "why"}, {"program": "ls"},
        {"arguments": []}, {"arguments": ["aaaaa"]},
    ]  # fmt: skip
    for mend in mends:
        seen.append(_code(tool, payload))
        payload = {key: value for key, value in {**payload, **mend}.items() if value is not None}
    seen.append(_code(tool, payload))
    assert seen == ["unknown_input", "field_forbidden", "stdin_required", "stdin_too_large", "rationale_required",
                    "program_required", "arguments_required", "too_few_arguments", "argument_too_large"]  # fmt: skip
    payload["arguments"] = ["aaaa"]
    assert _argv(tool, payload) == ["ls", "aaaa"]


def test_what_passes() -> None:
    assert _argv(FIXED, {}) == _argv(FIXED, "{}") == _argv(FIXED, b' {"arguments": []}\n') == ["rg", "--json"]
    assert _argv(NONE, {}) == ["rg", "--json"]
    assert _argv(BOUND, {"arguments": ["", "ää"]}) == ["rg", "--json", "", "ää"]
    assert _argv(STRUCTURED, PROGRAM) == ["ls"]
    assert _argv(FIXED, {"arguments": ["x" * 65536] * 31})[-1] == "x" * 65536
    request = _parse(_tool(stdin="optional", rationale="optional"), {"stdin": "a\0é" * 4, "rationale": " why "}).request
    assert request.stdin == "a\0é".encode() * 4 and request.rationale == " why " and request.kind == "structured"
    assert (request.tool, request.runtime, request.id) == ("t", "r", "id")


def test_what_each_mode_makes_of_it() -> None:
    chain = _parse(CHAIN, {"command": "a 'b c' | d && e"}).request
    assert [(item.operator, [[one.program, *one.arguments] for one in item.commands]) for item in chain.pipelines] == [
        ("", [["a", "b c"], ["d"]]), ("&&", [["e"]])]  # fmt: skip
    assert (chain.kind, chain.script) == ("structured", None)
    assert _argv(RAW, {"script": "x; $y\n"}) == ["/resolved/sh", "-e", "-c", "x; $y\n"]
    assert _parse(RAW, {"script": ""}).request.kind == "raw_shell"
    assert _argv(SCRIPT, {"arguments": ["a b"]}) == ["/resolved/python3", "/resolved/s.py", "-v", "a b"]
    request = _parse(SCRIPT, {}).request
    assert request.kind == "script_file" and request.script == PinnedFile(path="/resolved/s.py", sha256="ab", max_bytes=1 << 20)
    itself = _tool("script", script=ScriptFile(path="s.py", fixed_arguments=("-v",)))
    assert _argv(itself, {"arguments": ["a"]}) == ["/resolved/s.py", "-v", "a"]


def test_a_rationale_is_safe_to_read() -> None:
    assert _parse(_tool("chain", rationale="required"), {"command": "a", "rationale": "\x1b[31mred\x1b[0m \u202eevil"}).request.rationale == "red evil"


def test_empty_input_is_no_input() -> None:
    assert _parse(_tool(stdin="optional"), {"stdin": ""}).request.stdin is None
    assert _parse(_tool(stdin="optional"), {}).request.stdin is None


def test_a_rationale_is_bounded() -> None:
    text = _parse(_tool(rationale="optional"), {"rationale": "ü" * 100_000}).request.rationale
    assert text is not None and len(text) == MAX_RATIONALE


def test_sources_of_leading_arguments() -> None:
    sources = (
        ArgumentSource(kind="literal", value="; rm"),
        ArgumentSource(kind="secret", env="KEY", prefix="Bearer "),
        ArgumentSource(kind="path", base="workspace", path="q.json"),
        ArgumentSource(kind="path", path="/abs"),
    )
    tool = _tool(command=FixedCommand(executable_ref="curl", arguments=sources))
    assert _argv(tool, {"arguments": ["z"]}) == [
        "curl", "; rm", "Bearer s3cret", "/resolved/${workspace}/q.json", "/resolved//abs", "z",
    ]  # fmt: skip
    assert _parse(tool, {}).secrets == ("s3cret",)
    lost = _tool(command=FixedCommand(program="c", arguments=(ArgumentSource(kind="secret", env="GONE"),)))
    assert _code(lost, {}) == "secret_missing"
    assert _code(lost, {"arguments": ["x" * 65537]}) == "argument_too_large"


HOSTILE = ["TODO; rm -rf /", "$(id)", "`id`", "a && b", "a | b", ">out", "*", "~", "$HOME", "-rf", "--", "", " ", "a\nb", "'", '"', "\\", "#x", "\x1b[2J"]


@pytest.mark.parametrize("text", HOSTILE)
def test_arguments_are_literal(text: str) -> None:
    assert _argv(FIXED, {"arguments": [text]}) == ["rg", "--json", text]
    assert _argv(STRUCTURED, json.dumps({"program": "ls", "arguments": [text]})) == ["ls", text]


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@given(st.lists(words, max_size=8), st.booleans())
def test_every_word_arrives_as_it_was(items: list[str], encode: bool) -> None:
    payload: object = {"arguments": items}
    assert _argv(FIXED, json.dumps(payload) if encode else payload) == ["rg", "--json", *items]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)
payloads = anything | st.dictionaries(
    st.sampled_from(["program", "command", "script", "arguments", "stdin", "rationale", "x"]), anything | st.lists(st.text())
)


@given(payloads, st.sampled_from([FIXED, STRUCTURED, NONE, NEEDS, BOUND, _tool(stdin="required"), _tool(rationale="required")]))
def test_any_payload_is_a_request_or_a_request_error(payload: object, tool: ToolSpec) -> None:
    for form in (payload, json.dumps(payload)):
        try:
            request = _parse(tool, form).request
        except RequestError as error:
            assert error.code.startswith("shell.tool_")
        else:
            assert len(request.pipelines) == 1


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    try:
        _parse(FIXED, data)
    except RequestError as error:
        assert error.message.isprintable()


# -- what a model is told ---------------------------------------------------------------------------------------------

STRINGS = {"type": "array", "items": {"type": "string"}}
SCHEMAS = [
    (NONE, {}, []),
    (FIXED, {"arguments": STRINGS}, []),
    (NEEDS, {"arguments": STRINGS}, ["arguments"]),
    (STRUCTURED, {"program": {"type": "string"}, "arguments": STRINGS}, ["program", "arguments"]),
    (CHAIN, {"command": {"type": "string"}}, ["command"]),
    (RAW, {"script": {"type": "string"}}, ["script"]),
    (SCRIPT, {"arguments": STRINGS}, []),
    (_tool(stdin="required", rationale="optional"), {"arguments": STRINGS, "stdin": {"type": "string"}, "rationale": {"type": "string"}}, ["stdin"]),
    (_tool(stdin="optional", rationale="required"), {"arguments": STRINGS, "stdin": {"type": "string"}, "rationale": {"type": "string"}}, ["rationale"]),
]


@pytest.mark.parametrize(("tool", "properties", "required"), SCHEMAS)
def test_schema(tool: ToolSpec, properties: dict[str, Any], required: list[str]) -> None:
    found = input_schema(tool)
    assert found == {"type": "object", "properties": properties, "required": found["required"], "additionalProperties": False}
    assert sorted(found["required"]) == sorted(required) and list(found["properties"]) == list(properties)


def test_description() -> None:
    assert description(FIXED) == description(_tool(description="  \n "))
    own = description(_tool(description="  be brief \n"))
    assert own == description(FIXED) + "\n\nAdditional tool guidance: be brief"
    texts = {description(tool) for tool in (FIXED, NONE, NEEDS, STRUCTURED, CHAIN, RAW, SCRIPT, _tool(stdin="optional"), _tool(stdin="required"),
             _tool(rationale="optional"), _tool(rationale="required"), _tool(result="stdout"), _tool(result="structured"),
             _tool(nonzero="error"), _tool(stream="sanitized"))}  # fmt: skip
    assert len(texts) == 15 and all("sandbox" in text and "policy" in text for text in texts)
    secret = FixedCommand(program="c", arguments=(ArgumentSource(kind="secret", env="KEY", prefix="k="),))
    assert "KEY" not in description(_tool(command=secret))
