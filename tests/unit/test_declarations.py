"""Declarations against the language's promises: forms that compile, one row per diagnostic with its line, the digest."""

from __future__ import annotations

import hashlib
import json
import os
from itertools import permutations
from pathlib import Path

import pytest

from runner.compiler import compile_file, compile_text
from runner.errors import DeclarationError
from runner.model.manifest import ArgumentBounds, ArgumentSource, Manifest, RuntimeSpec, ToolSpec

R = '<shell_access id="r"/>\n'


def _runtime(document: str, name: str = "r") -> RuntimeSpec:
    return compile_text(document).runtime(name)


def _tool(document: str) -> ToolSpec:
    return compile_text(document).tools[0]


def _problems(document: str | bytes) -> list[tuple[str, int]]:
    """(code without its prefix, line) of every diagnostic."""
    with pytest.raises(DeclarationError) as caught:
        compile_text(document, file="dir/a b.xml")
    assert caught.value.problems and caught.value.exit_code == 65
    found = []
    for text in caught.value.problems:
        assert text.startswith("dir/a b.xml:") and "\n" not in text
        line, _, rest = text.removeprefix("dir/a b.xml:").partition(": error[shell.")
        found.append((rest.partition("]")[0], int(line)))
    assert caught.value.code == "shell." + found[0][0]
    return found


# -- good documents ---------------------------------------------------------------------------------------------------

WHOLE = """<agent>
  <!-- everything that is delivered, once -->
  <shell_access id="base_1.x:y-z" extends="builtin:workspace-readonly@1" cwd="${workspace}/src" pipefail="true">
    <capabilities sandbox="preferred" network="true" child_processes="true" arbitrary_code="true" privilege_change="false">
      <read path="/opt/data"/><read path="lib"/><read path_env="DATA" optional="true"/><write path="${cache_dir}"/>
      <protect path="${workspace}/.git/hooks"/><hide path="${home}/.ssh"/>
    </capabilities>
    <resolver allow_relative_search_path="false" merge="replace">
      <search_path path="/usr/bin"/><trusted_root path="/usr"/>
      <executable id="py" path="/usr/bin/python3" sha256="ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD" trusted="true"/>
    </resolver>
    <environment inherit="none">
      <set name="A" value=""/><pass name="B" required="true" secret="true"/><unset name="C"/><unset_prefix value="D_"/>
      <path prepend="${tool_dir}/bin"/><path append="/opt/bin"/><path_env name="E" suffix="bin" position="prepend"/>
    </environment>
    <limits wall_time="1.5m" idle_time="none" cpu_time="200ms" max_stdin="0B" stdout="64KiB" stderr="4096" total_output="1MiB"
      memory="2GiB" file_size="none" open_files="64" processes="9" cpus="1.5" tmp_size="8MiB"/>
    <backends accept_declared_confinement="false" merge="replace">
      <landlock id="l" private_tmp="true" proc="false" dev="minimal"/><direct id="d" when="any"/>
    </backends>
    <policy default="deny" merge="replace">
      <rule id="one" action="allow"><all><any><program value="ls"/><basename value="cat"/></any><not><any_command/></not></all></rule>
      <rule id="two" action="ask"><any_command/></rule>
    </policy>
    <secrets replacement=""><from_env name="TOKEN" optional="true"/><literal value="s3cret"/></secrets>
  </shell_access>
  <tool name="run" type="shell" mode="structured" runtime="base_1.x:y-z" stdin="optional" rationale="required" result="structured" nonzero="error"/>
</agent>"""


def test_every_delivered_element_is_read() -> None:
    spec = _runtime(WHOLE, "base_1.x:y-z")
    powers = spec.capabilities
    assert (spec.cwd, spec.pipefail, powers.sandbox, powers.network) == ("${workspace}/src", True, "preferred", True)
    assert [root.path or root.path_env for root in powers.read] == ["${workspace}", "/opt/data", "${source_dir}/lib", "DATA"]
    assert (powers.protect, powers.hide) == (("${workspace}/.git/hooks",), ("${home}/.ssh",))
    assert spec.resolver.search_path == ("/usr/bin",) and spec.resolver.executables[0].sha256 == "abcdef" * 10 + "abcd"
    kinds = [(op.kind, op.name or op.value, op.position) for op in spec.environment.operations]
    assert kinds[0][:2] == ("set", "A") and kinds[4:] == [
        ("path", "${tool_dir}/bin", "prepend"), ("path", "/opt/bin", "append"), ("path_env", "E", "prepend"),
    ]  # fmt: skip
    limits = spec.limits
    assert (limits.wall_time, limits.idle_time, limits.cpu_time, limits.max_stdin) == (90, None, 0.2, 0)
    assert (limits.stdout, limits.memory, limits.file_size, limits.cpus) == (65536, 2 << 30, None, 1.5)
    assert [backend.id for backend in spec.backends.values] == ["l", "d"]
    assert [rule.id for rule in spec.policy.rules] == ["one", "two"] and spec.secrets.replacement == ""


def test_the_root_may_have_any_name_or_be_missing() -> None:
    tool = '<tool name="t" command="ls" runtime="r"/>'
    forms = [R + tool, f"<a>{R}{tool}</a>", f"\ufeff<?xml version='1.0'?>\n<b>{tool}{R}</b>", f"<!-- x --><c>{R}<!-- y -->{tool}</c>\n"]
    assert len({compile_text(form).sha256 for form in forms}) == 1


@pytest.mark.parametrize(
    "form",
    ['<tool name="t" command="rg --json" runtime="r"/>',
     '<tool name="t" type="shell" mode="fixed" command="rg --json" runtime="r"/>',
     '<tool name="t" type="shell" mode="fixed" runtime="r"><command program="rg"><arg value="--json"/></command></tool>',
     '<tool name="t" type="shell" mode="fixed" runtime="r"><command program="rg"><arg value="--json"/></command>'
     '<arguments mode="optional"/></tool>'],
)  # fmt: skip
def test_compact_and_long_forms_mean_the_same(form: str) -> None:
    tool = _tool(R + form)
    assert tool.command is not None and tool.command.program == "rg"
    assert [source.value for source in tool.command.arguments] == ["--json"]
    assert tool.arguments == ArgumentBounds(mode="optional", min_count=0, max_count=None, max_item_bytes=65536)


def test_tool_defaults() -> None:
    fixed = _tool(R + '<tool name="t" command="ls" runtime="r"/>')
    assert (fixed.stdin, fixed.rationale, fixed.result, fixed.stream, fixed.nonzero) == ("none", "none", "combined", "finalized", "result")
    assert _tool(R + '<tool name="t" type="shell" mode="structured" runtime="r"/>').rationale == "optional"
    legacy = compile_text('<tool name="t" command="ls -l"/>')
    spec = legacy.runtime("legacy:custom")
    assert legacy.tools[0].rationale == "none" and spec.capabilities.sandbox == "direct_unsafe" and spec.policy.default == "ask"
    assert [item.id for item in spec.backends.values] == ["legacy-direct"]


def test_argument_sources() -> None:
    body = '<arg value=""/><secret_arg env="K" prefix="k="/><path_arg base="workspace" path="q.json"/><path_arg path="q"/>'
    tool = _tool(f'{R}<tool name="t" type="shell" mode="fixed" runtime="r"><command program="c">{body}</command></tool>')
    assert tool.command is not None and tool.command.arguments == (
        ArgumentSource(kind="literal", value=""),
        ArgumentSource(kind="secret", env="K", prefix="k="),
        ArgumentSource(kind="path", base="workspace", path="q.json"),
        ArgumentSource(kind="path", path="${source_dir}/q"),
    )


def test_defaults_of_a_runtime() -> None:
    spec = _runtime(R)
    assert (spec.cwd, spec.pipefail, spec.capabilities.sandbox, spec.environment.inherit) == ("${tool_dir}", False, "required", "safe")
    powers = spec.capabilities
    assert not (powers.network or powers.child_processes or powers.arbitrary_code or powers.privilege_change or powers.read or powers.write)
    limits = spec.limits
    assert (limits.wall_time, limits.idle_time, limits.max_stdin) == (180, 60, 1 << 20)
    assert (limits.stdout, limits.stderr, limits.total_output) == (1_000_000, 1_000_000, 1_500_000)
    assert limits.cpu_time is limits.memory is limits.file_size is limits.open_files is None
    assert spec.policy.default == "ask" and not spec.policy.rules and spec.secrets.replacement == "[REDACTED]"
    assert [(item.kind, item.when) for item in spec.backends.values] == [("landlock", "linux"), ("seatbelt", "macos")]


def test_the_readonly_profile_as_the_table_has_it() -> None:
    for name in ("builtin:workspace-readonly", "builtin:workspace-readonly@1"):
        spec = _runtime(f'<shell_access id="r" extends="{name}"/>')
        assert (spec.requested_profile, spec.resolved_profile) == (name, "builtin:workspace-readonly@1")
        assert spec.cwd == "${workspace}" and [root.path for root in spec.capabilities.read] == ["${workspace}"]
        assert spec.resolver.search_path == ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
        assert spec.resolver.trusted_roots == ("/usr", "/bin")
        named = {rule.id: (rule.action, {child.value for child in rule.matcher.children}) for rule in spec.policy.rules}
        assert named == {
            "builtin-deny-destructive": ("deny", {"rm", "mv", "cp", "chmod", "chown", "sudo"}),
            "builtin-allow-read-tools": ("allow", {"pwd", "ls", "cat", "head", "tail", "wc", "grep", "rg"}),
        }


# -- inheritance ------------------------------------------------------------------------------------------------------

PARENT = """<shell_access id="p" cwd="${home}" pipefail="true">
<capabilities network="true"><read path="/a"/><protect path="/p"/></capabilities>
<resolver><search_path path="/1"/><executable id="x" path="/x"/><executable id="y" path="/y"/></resolver>
<environment inherit="none"><set name="A" value="1"/></environment>
<limits memory="1GiB" idle_time="5s"/>
<backends accept_declared_confinement="true"><direct id="d"/></backends>
<policy default="deny"><rule id="a" action="deny"><any_command/></rule><rule id="b" action="ask"><any_command/></rule></policy>
<secrets replacement="x"><from_env name="S"/></secrets></shell_access>"""


def _child(inner: str) -> RuntimeSpec:
    return _runtime(f'<shell_access id="r" extends="p">{inner}</shell_access>' + PARENT)


def test_a_child_that_says_nothing_is_its_parent() -> None:
    parent = _runtime(PARENT, "p")
    assert _child("").replace(id="p") == parent
    empty = "<capabilities/><resolver/><environment/><limits/><backends/><policy/><secrets/>"
    assert _child(empty).replace(id="p") == parent
    assert parent.backends.accept_declared_confinement


def test_lists_append_or_replace_and_scalars_always_merge() -> None:
    assert [root.path for root in _child('<capabilities><read path="/b"/></capabilities>').capabilities.read] == ["/a", "/b"]
    replaced = _child('<capabilities merge="replace"><read path="/b"/></capabilities>').capabilities
    assert [root.path for root in replaced.read] == ["/b"] and replaced.protect == () and replaced.network
    assert _child('<resolver><search_path path="/2"/></resolver>').resolver.search_path == ("/1", "/2")
    assert [op.name for op in _child('<environment merge="replace"><unset name="B"/></environment>').environment.operations] == ["B"]
    assert [item.id for item in _child('<backends merge="replace"><landlock id="l"/></backends>').backends.values] == ["l"]
    secrets = _child('<secrets><from_env name="T"/></secrets>').secrets
    assert [source.name for source in secrets.sources] == ["S", "T"] and secrets.replacement == "x"


def test_override_replaces_in_place() -> None:
    spec = _child('<policy><rule id="a" action="allow" override="true"><any_command/></rule></policy>')
    assert [(rule.id, rule.action) for rule in spec.policy.rules] == [("a", "allow"), ("b", "ask")]
    spec = _child('<resolver><executable id="x" path="/z" override="true"/></resolver>')
    assert [(alias.id, alias.path) for alias in spec.resolver.executables] == [("x", "/z"), ("y", "/y")]


def test_none_clears_a_limit_and_asks_for_nothing() -> None:
    spec = _child('<limits memory="none" idle_time="none"/>')
    assert spec.limits.memory is None and spec.limits.idle_time is None
    assert "limits.memory" not in spec.declared and "limits.memory" in _runtime(PARENT, "p").declared


def test_the_same_runtime_in_three_generations() -> None:
    document = '<shell_access id="c" extends="b"/><shell_access id="b" extends="a"><limits stdout="2"/></shell_access>'
    spec = _runtime(document + '<shell_access id="a"><limits stdout="1" stderr="1"/></shell_access>', "c")
    assert (spec.limits.stdout, spec.limits.stderr) == (2, 1)


# -- diagnostics ------------------------------------------------------------------------------------------------------


def _in(section: str) -> str:
    return f'<shell_access id="r">\n{section}\n</shell_access>'


def _rule(body: str) -> str:
    return _in(f'<policy><rule id="a" action="deny">\n{body}</rule></policy>')


def _fixed(body: str, attributes: str = "") -> str:
    return f'{R}<tool name="t" type="shell" mode="fixed" runtime="r" {attributes}>\n{body}</tool>'


ANY = "<any_command/>"
DIAGNOSTICS: list[tuple[str, str, int]] = [
    ("invalid_xml", '<agent>\n<shell_access id="r"></agent>', 2),
    ("invalid_xml", "<agent>\n<shell_access id=r/></agent>", 2),
    ("invalid_xml", '<agent>\n\n<shell_access id="r" id="s"/></agent>', 3),
    ("invalid_xml", "<agent>\n&other;</agent>", 2),
    ("invalid_xml", '<?xml version="1.0"\n?>\n<agent>\n<a b=c/></agent>', 4),
    ("invalid_xml", "</document><document>", 1),
    ("unexpected_text", "<agent>\nwords</agent>", 1),
    ("unexpected_text", "just words", 1),
    ("unexpected_text", f"<agent>\n{_in('<limits/> words')}</agent>", 2),
    ("unexpected_text", "<agent>\n<shell_access id='r'>two\nlines</shell_access></agent>", 2),
    ("invalid_runtime_id", "\n<shell_access id='a&#10;error[x]: b&#x85;'/>", 2),
    ("unknown_element", f"{R}<shell_acces id='s'/>", 2),
    ("unknown_element", _in("<limit/>"), 2),
    ("unknown_element", _in("<capabilities>\n<exec path='/a'/></capabilities>"), 3),
    ("unknown_element", '<agent xmlns="urn:x">\n<shell_access id="r"/></agent>', 2),
    ("unknown_attribute", '\n<shell_access id="r" sandbox="required"/>', 2),
    ("unknown_attribute", '<agent>\n<shell_access id="r" xml:lang="en"/></agent>', 2),
    ("unknown_attribute", _in('<limits memoryy="1"/>'), 2),
    ("unknown_attribute", '\n<shell_access id="r" children="x"/>', 2),
    ("unknown_attribute", _in('<limits node="x"/>'), 2),
    ("missing_attribute", "\n<shell_access/>", 2),
    ("missing_attribute", _in('<environment><set name="A"/></environment>'), 2),
    ("attribute_value_required", '\n<shell_access id=""/>', 2),
    ("attribute_value_required", _in('<environment><pass name=""/></environment>'), 2),
    ("duplicate_section", _in("<limits/>\n<limits/>"), 3),
    ("duplicate_section", _fixed('<arguments mode="none"/>\n<arguments mode="none"/><command program="a"/>'), 4),
    ("invalid_runtime_id", '\n<shell_access id="1"/>', 2),
    ("invalid_runtime_id", '\n<shell_access id="a b"/>', 2),
    ("invalid_runtime_id", '\n<shell_access id="ä"/>', 2),
    ("invalid_runtime_id", '\n<shell_access id="legacy:custom"/><tool name="t" command="ls"/>', 2),
    ("invalid_runtime_id", '\n<shell_access id="builtin:workspace-readonly@1"/>', 2),
    ("invalid_runtime_id", '\n<shell_access id="builtin:mine"/>', 2),
    ("invalid_attribute", '\n<shell_access id="r" pipefail="True"/>', 2),
    ("invalid_attribute", _in('<capabilities sandbox="Required"/>'), 2),
    ("invalid_attribute", _in('<environment inherit="all"/>'), 2),
    ("invalid_attribute", _in('<resolver><executable id="x" path="/x" sha256="abc"/></resolver>'), 2),
    ("invalid_attribute", _in('<limits cpus="0"/>'), 2),
    ("invalid_duration", _in('<limits wall_time="1e3s"/>'), 2),
    ("invalid_duration", _in('<limits idle_time="0s"/>'), 2),
    ("invalid_duration", _in('<limits cpu_time="-1s"/>'), 2),
    ("invalid_duration", _in('<limits cpu_time="5"/>'), 2),
    ("invalid_bytes", _in('<limits stdout="1MB"/>'), 2),
    ("invalid_bytes", _in('<limits stdout="1.5KiB"/>'), 2),
    ("invalid_bytes", _in(f'<limits memory="{1 << 34}GiB"/>'), 2),
    ("invalid_bytes", _in(f'<limits memory="{"9" * 5000}"/>'), 2),
    ("invalid_integer", _in('<limits open_files="-1"/>'), 2),
    ("invalid_integer", _in('<limits processes="1_0"/>'), 2),
    ("invalid_integer", _in('<limits processes="٣"/>'), 2),
    ("required_limit_disabled", _in('<limits wall_time="none"/>'), 2),
    ("limit_out_of_range", _in('<limits total_output="0"/>'), 2),
    ("invalid_path", '\n<shell_access id="r" cwd="${env:HOME}"/>', 2),
    ("invalid_path", '\n<shell_access id="r" cwd="${workspace}x"/>', 2),
    ("invalid_path", _in('<capabilities><read path="a/${workspace}"/></capabilities>'), 2),
    ("invalid_root", _in("<capabilities><read/></capabilities>"), 2),
    ("invalid_root", _in('<capabilities>\n<write path="/a" path_env="A"/></capabilities>'), 3),
    ("invalid_root", _in('<capabilities><read path="/a" optional="true"/></capabilities>'), 2),
    ("invalid_env_name", _in('<environment><set name="A=B" value="1"/></environment>'), 2),
    ("invalid_path_operation", _in("<environment><path/></environment>"), 2),
    ("invalid_path_operation", _in('<environment><path prepend="/a" append="/b"/></environment>'), 2),
    ("unknown_matcher", _rule("<name value='x'/>"), 3),
    ("rule_matcher_arity", _rule(""), 2),
    ("rule_matcher_arity", _rule(ANY + ANY), 2),
    ("matcher_arity", _rule(f"<not>{ANY}{ANY}</not>"), 3),
    ("empty_matcher", _rule("<not><all/></not>"), 3),
    ("duplicate_named_entry", _in(f'<policy><rule id="a" action="deny">{ANY}</rule>\n<rule id="a" action="ask">{ANY}</rule></policy>'), 3),
    ("duplicate_named_entry", _in('<resolver><executable id="x" path="/x"/>\n<executable id="x" path="/y"/></resolver>'), 3),
    ("duplicate_named_entry", _in('<backends><direct id="x"/><landlock id="x"/></backends>'), 2),
    ("duplicate_named_entry", '<shell_access id="r" extends="builtin:workspace-readonly">\n<policy>\n'
     f'<rule id="builtin-deny-destructive" action="allow">{ANY}</rule></policy></shell_access>', 3),
    ("duplicate_runtime", R + R, 2),
    ("duplicate_tool", R + '<tool name="t" command="a" runtime="r"/>\n<tool name="t" command="b" runtime="r"/>', 3),
    ("inheritance_cycle", '\n<shell_access id="a" extends="a"/>', 2),
    ("unknown_runtime", '\n<shell_access id="a" extends="nobody"/>', 2),
    ("unknown_runtime", R + '<tool name="t" command="ls" runtime="R"/>', 2),
    ("unknown_builtin_profile", '\n<shell_access id="a" extends="builtin:workspace-readonly@2"/>', 2),
    ("unknown_executable", R + '<tool name="t" type="shell" mode="fixed" executable_ref="x" runtime="r"/>', 2),
    ("incompatible_backend", '\n<shell_access id="a"><capabilities sandbox="direct_unsafe"/></shell_access>', 2),
    ("incompatible_backend", '\n<shell_access id="a"><backends merge="replace"><direct/></backends></shell_access>', 2),
    ("incompatible_backend", '\n<shell_access id="a"><backends merge="replace"><landlock when="windows"/></backends></shell_access>', 2),
    ("incompatible_backend", '\n<shell_access id="a"><capabilities sandbox="preferred"/><backends merge="replace"/></shell_access>', 2),
    ("tool_missing_attribute", R + '<tool command="ls" runtime="r"/>', 2),
    ("tool_missing_attribute", R + '<tool name="t" type="shell" mode="fixed" command="ls"/>', 2),
    ("tool_missing_attribute", R + '<tool name="t" type="shell" runtime="r" command="ls"/>', 2),
    ("tool_unknown_attribute", R + '<tool name="t" command="ls" runtime="r" shell="sh"/>', 2),
    ("tool_invalid_attribute", R + '<tool name="t" command="ls" runtime="r" stdin="maybe"/>', 2),
    ("tool_invalid_mode", R + '<tool name="t" type="shell" mode="Fixed" runtime="r"/>', 2),
    ("tool_invalid_type", R + '<tool name="t" type="web" mode="fixed" runtime="r" command="ls"/>', 2),
    ("tool_mode_attribute", R + '<tool name="t" type="shell" mode="structured" runtime="r" executable_ref="x"/>', 2),
    ("tool_mode_child", R + '<tool name="t" type="shell" mode="structured" runtime="r"><command program="x"/></tool>', 2),
    ("tool_missing_command", R + '<tool name="t" runtime="r"/>', 2),
    ("tool_missing_command", _fixed("<command/>"), 2),
    ("tool_conflicting_command", _fixed('<command program="a"/>', 'command="b"'), 2),
    ("tool_conflicting_command", _fixed('<command program="a" executable_ref="b"/>'), 2),
    ("tool_invalid_fixed_command", R + '<tool name="t" command="a; b" runtime="r"/>', 2),
    ("tool_invalid_fixed_command", R + '<tool name="t" command="a $HOME" runtime="r"/>', 2),
    ("tool_invalid_fixed_command", R + "<tool name=\"t\" command=\"a 'b\" runtime=\"r\"/>", 2),
    ("tool_invalid_path", _fixed('<command program="a"><path_arg path="x" base="up"/></command>'), 2),
    ("tool_invalid_path", _fixed('<command program="a"><path_arg path="${up}/x"/></command>'), 2),
    ("invalid_argument_bounds", _fixed('<command program="a"/><arguments mode="optional" min_count="3" max_count="2"/>'), 2),
]  # fmt: skip


@pytest.mark.parametrize(("code", "document", "line"), DIAGNOSTICS)
def test_diagnostic(code: str, document: str, line: int) -> None:
    assert (code, line) in _problems(document)


def test_all_problems_of_the_reading_at_once_in_order() -> None:
    document = (
        '<agent>\n<shell_access id="r" colour="red">\n<limits wall_time="soon" memory="much"/>\n<capabilities><read/>\n<reed/></capabilities>'
        '\n</shell_access>\n<tool name="t" colour="red" runtime="r"/>\n<nothing/></agent>'
    )
    found = _problems(document)
    assert {("unknown_attribute", 2), ("invalid_duration", 3), ("invalid_bytes", 3), ("unknown_element", 5),
            ("tool_unknown_attribute", 7), ("unknown_element", 8)} <= set(found)  # fmt: skip
    assert [line for _, line in found] == sorted(line for _, line in found)


def test_all_problems_of_the_checking_at_once() -> None:
    document = (
        '<shell_access id="a" extends="nobody"/>\n<shell_access id="b"><capabilities sandbox="direct_unsafe"/></shell_access>\n'
        '<tool name="t" command="ls | wc" runtime="a"/>\n<tool name="u" command="ls" runtime="c"/>\n'
        '<tool name="v" type="shell" mode="fixed" executable_ref="x" runtime="b"/>'
    )
    assert _problems(document) == [
        ("unknown_runtime", 1), ("incompatible_backend", 2), ("tool_invalid_fixed_command", 3), ("unknown_runtime", 4),
        ("unknown_executable", 5),
    ]  # fmt: skip


def test_a_cycle_is_named_with_its_path_once() -> None:
    runtimes = ['<shell_access id="a" extends="b"/>', '<shell_access id="b" extends="c"/>', '<shell_access id="c" extends="b"/>']
    with pytest.raises(DeclarationError) as caught:
        compile_text("\n".join(runtimes))
    assert len(caught.value.problems) == 1 and "b -> c -> b" in caught.value.problems[0]


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(DeclarationError) as caught:
        compile_text(_in('<limits memroy="1"/>'))
    assert "did you mean `memory`?" in caught.value.problems[0]


# -- hostile documents ------------------------------------------------------------------------------------------------

LAUGHS = "<!DOCTYPE a [\n" + '<!ENTITY l0 "ha">\n' + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">\n' for n in range(1, 10)
) + "]>\n<agent>&l9;</agent>"


@pytest.mark.parametrize(
    "document",
    [LAUGHS, '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><agent>&x;</agent>',
     '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><agent/>', '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/passwd">%p;]><agent/>',
     LAUGHS.encode("utf-16"), LAUGHS.encode("utf-16-le"), "<agent>\xff</agent>".encode("latin-1"),
     b"<?xml version='1.0' encoding='UTF-7'?><agent>+ADwAIQ-DOCTYPE a</agent>", "<a>" * 100_000, b"<agent>" + b" " * (5 << 20), b"\0"],
    ids=["laughs", "external", "dtd", "parameter", "utf-16", "utf-16-le", "latin-1", "utf-7", "deep", "large", "nul"],
)  # fmt: skip
def test_hostile_documents_are_refused(document: str | bytes) -> None:
    assert _problems(document)[0][0] in ("invalid_xml", "unexpected_text")


def test_a_document_type_is_refused_where_it_stands() -> None:
    assert _problems(f"\n\n{LAUGHS}") == [("invalid_xml", 3)]


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(DeclarationError) as caught:
            compile_file(str(path))
        assert caught.value.code == "shell.source_unavailable"


# -- the digest -------------------------------------------------------------------------------------------------------


def _canonical(manifest: Manifest) -> dict[str, object]:
    found: dict[str, object] = json.loads(manifest.canonical)
    return found


def test_the_digest_is_of_sorted_compact_utf8() -> None:
    manifest = compile_text(R + '<tool name="t" command="ls" runtime="r" description="für ‘alle’"/>')
    assert manifest.sha256 == hashlib.sha256(manifest.canonical).hexdigest()
    again = json.dumps(json.loads(manifest.canonical), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert again.encode() == manifest.canonical


def test_any_order_of_runtimes_and_tools_is_one_digest() -> None:
    parts = ['<shell_access id="a" extends="b"/>', '<shell_access id="b"/>', '<tool name="t" command="ls" runtime="a"/>',
             '<tool name="u" command="ls" runtime="b"/>']  # fmt: skip
    assert len({compile_text("".join(order)).sha256 for order in permutations(parts)}) == 1


def test_writing_and_place_do_not_count() -> None:
    forms = [
        '<shell_access id="r"><limits wall_time="120s" memory="1GiB"/><capabilities><read path="d"/></capabilities></shell_access>',
        "<agent><shell_access  id='r'>\n<capabilities merge='append'><read path='${source_dir}/d'/></capabilities>"
        "<limits memory='1024MiB' wall_time='2m'/></shell_access></agent>",
    ]
    found = {compile_text(form, source_dir=folder, file=folder).sha256 for form in forms for folder in ("/one", "/two")}
    assert len(found) == 1


FIELDS = [
    'cwd="${home}"', 'pipefail="true"', 'extends="builtin:workspace-readonly"', 'extends="builtin:workspace-readonly@1"',
    '<capabilities sandbox="preferred"/>', '<capabilities network="true"/>', '<capabilities child_processes="true"/>',
    '<capabilities arbitrary_code="true"/>', '<capabilities privilege_change="true"/>',
    '<capabilities><read path="/a"/></capabilities>', '<capabilities><write path="/a"/></capabilities>',
    '<capabilities><read path_env="A"/></capabilities>', '<capabilities><read path_env="A" optional="true"/></capabilities>',
    '<capabilities><protect path="/a"/></capabilities>', '<capabilities><hide path="/a"/></capabilities>',
    '<resolver allow_relative_search_path="true"/>', '<resolver><search_path path="/a"/></resolver>',
    '<resolver><trusted_root path="/a"/></resolver>', '<resolver><executable id="x" path="/a"/></resolver>',
    '<resolver><executable id="x" path="/b"/></resolver>', '<resolver><executable id="x" path="/a" trusted="true"/></resolver>',
    f'<resolver><executable id="x" path="/a" sha256="{"a" * 64}"/></resolver>', '<environment inherit="raw"/>',
    '<environment><set name="A" value="1"/></environment>', '<environment><set name="A" value="2"/></environment>',
    '<environment><pass name="A"/></environment>', '<environment><pass name="A" secret="true"/></environment>',
    '<environment><pass name="A" required="true"/></environment>', '<environment><unset name="A"/></environment>',
    '<environment><path prepend="/a"/></environment>', '<environment><path append="/a"/></environment>',
    '<environment><path_env name="A"/></environment>', '<environment><path_env name="A" suffix="b"/></environment>',
    *(f'<limits {name}="7s"/>' for name in ("wall_time", "idle_time", "cpu_time")),
    *(f'<limits {name}="7"/>' for name in ("max_stdin", "stdout", "stderr", "total_output", "memory", "file_size",
                                           "open_files", "processes", "cpus", "tmp_size")),
    '<backends accept_declared_confinement="true"/>', "<backends><direct/></backends>", '<backends><direct when="linux"/></backends>',
    '<backends><landlock private_tmp="false"/></backends>', '<backends><landlock proc="true"/></backends>',
    '<policy default="deny"/>', '<policy default="allow"/>',
    f'<policy><rule id="a" action="deny">{ANY}</rule></policy>', f'<policy><rule id="a" action="allow">{ANY}</rule></policy>',
    f'<policy><rule id="b" action="deny">{ANY}</rule></policy>', '<policy><rule id="a" action="deny"><program value="x"/></rule></policy>',
    '<policy><rule id="a" action="deny"><basename value="x"/></rule></policy>',
    '<secrets replacement="x"/>', '<secrets><from_env name="A"/></secrets>', '<secrets><from_env name="A" optional="true"/></secrets>',
    '<secrets><literal value="A"/></secrets>',
]  # fmt: skip


def test_every_field_of_a_runtime_changes_the_digest() -> None:
    def document(field: str) -> str:
        return f'<shell_access id="r" {field}/>' if not field.startswith("<") else f'<shell_access id="r">{field}</shell_access>'

    digests = {compile_text(document(field)).sha256: field for field in ["", *FIELDS]}
    assert len(digests) == len(FIELDS) + 1


TOOLS = [
    '<tool name="t" command="ls" runtime="r"/>', '<tool name="u" command="ls" runtime="r"/>', '<tool name="t" command="ls -l" runtime="r"/>',
    '<tool name="t" command="ls" runtime="q"/>', '<tool name="t" command="ls" runtime="r" description="d"/>',
    '<tool name="t" command="ls" runtime="r" stdin="optional"/>', '<tool name="t" command="ls" runtime="r" rationale="optional"/>',
    '<tool name="t" command="ls" runtime="r" result="stdout"/>', '<tool name="t" command="ls" runtime="r" nonzero="error"/>',
    '<tool name="t" type="shell" mode="structured" runtime="r"/>', '<tool name="t" command="ls"/>',
    *(f'<tool name="t" command="ls" runtime="r"><arguments {bounds}/></tool>' for bounds in (
        'mode="none"', 'mode="required"', 'mode="optional" min_count="1"', 'mode="optional" max_count="1"',
        'mode="optional" max_item_bytes="1"')),
    '<tool name="t" type="shell" mode="fixed" runtime="r"><command program="ls"><secret_arg env="A"/></command></tool>',
    '<tool name="t" type="shell" mode="fixed" runtime="r"><command program="ls"><path_arg path="A"/></command></tool>',
    '<tool name="t" type="shell" mode="fixed" runtime="r" executable_ref="ls"/>',
]  # fmt: skip


def test_every_field_of_a_tool_changes_the_digest() -> None:
    runtimes = '<shell_access id="q"/><shell_access id="r"><resolver><executable id="ls" path="/bin/ls"/></resolver></shell_access>'
    assert len({compile_text(runtimes + tool).sha256 for tool in TOOLS}) == len(TOOLS)


@pytest.mark.parametrize(
    ("section", "first", "second"),
    [("policy", f'<rule id="a" action="deny">{ANY}</rule>', f'<rule id="b" action="ask">{ANY}</rule>'),
     ("backends", '<direct id="a"/>', '<direct id="b"/>'), ("environment", '<unset name="A"/>', '<set name="A" value="1"/>'),
     ("resolver", '<search_path path="/a"/>', '<search_path path="/b"/>'), ("secrets", '<from_env name="A"/>', '<from_env name="B"/>')],
)  # fmt: skip
def test_order_inside_a_section_counts(section: str, first: str, second: str) -> None:
    assert len({compile_text(_in(f"<{section}>{body}</{section}>")).sha256 for body in (first + second, second + first)}) == 2


def test_a_literal_secret_is_only_a_marker() -> None:
    one, other = (compile_text(_in(f'<secrets><literal value="{value}"/></secrets>')) for value in ("hunter2-ü", "correct-horse"))
    for manifest, value in ((one, "hunter2-ü"), (other, "correct-horse")):
        assert value.encode() not in manifest.canonical and json.dumps(value).strip('"').encode() not in manifest.canonical
        assert manifest.runtimes[0].secrets.sources[0].value == value
    assert one.sha256 == other.sha256


def test_the_canonical_form_names_what_is_required() -> None:
    found = _canonical(compile_text(_in('<limits memory="1GiB"/><secrets><literal value="x"/></secrets>') + '<tool name="t" command="ls" runtime="r"/>'))
    assert found["encoding_version"] == "fumehood.manifest.v1"
    assert found["dependencies"] == [["tool:t", "r", "runtime"]]
    assert {"shell.tool.fixed.v1", "shell.resource_limits.v1", "shell.secret.literal.v1", "shell.backend.landlock.v1"} <= set(
        found["required_features"]  # type: ignore[call-overload]
    )
