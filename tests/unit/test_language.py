"""The rest of the language: authority sections, tool forms, scripts, imports, profiles, and what the manifest makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner import Registry
from runner.compiler import compile_file, compile_text
from runner.compiler.elements import ELEMENTS, TOP_LEVEL
from runner.errors import DeclarationError, ManifestError
from runner.model.manifest import Manifest

R = '<shell_access id="r"/>\n'


def _in(body: str) -> str:
    return f'<shell_access id="r">\n{body}</shell_access>'


def _problems(document: str) -> list[tuple[str, int]]:
    with pytest.raises(DeclarationError) as caught:
        compile_text(document)
    found = []
    for line in caught.value.problems:
        place, rest = line.split(": error[", 1)
        assert "\n" not in line
        found.append((rest.split("]")[0].removeprefix("shell."), int(place.rsplit(":", 1)[1])))
    return found


def _runtime(document: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(compile_text(document).canonical)["runtimes"][0]
    return found


def _rule(matcher: str, action: str = "deny") -> str:
    return _in(f'<policy><rule id="a" action="{action}">{matcher}</rule></policy>')


HOOK = 'executable="/bin/hook" runtime="r"'
BAD = [
    # matchers
    ("rule_matcher_arity", _rule("")), ("rule_matcher_arity", _rule("<any_command/><raw_shell/>")),
    ("unknown_matcher", _rule("<everything/>")), ("missing_attribute", _rule("<resolved_path/>")),
    ("invalid_list", _rule('<argv_prefix values="a,,b"/>')), ("invalid_path", _rule('<resolved_path value="${x}"/>')),
    ("invalid_attribute", _rule('<effect name="fly"/>')), ("invalid_attribute", _rule('<effect name="network" under="/x"/>')),
    ("attribute_value_required", _rule('<program_regex value=""/>')), ("unknown_script", _rule('<script_match script="m"/>')),
    ("empty_matcher", _rule("<all/>")), ("matcher_arity", _rule("<not><raw_shell/><raw_shell/></not>")),
    # approvals and extensions
    ("invalid_list", _in('<approvals scopes="once,forever"/>')), ("invalid_list", _in('<approvals scopes="once,once"/>')),
    ("invalid_attribute", _in('<approvals provider="nobody"/>')), ("unknown_element", _in("<approvals><x/></approvals>")),
    ("duplicate_named_entry", _in('<reviewers><reviewer id="a" kind="ui"/><reviewer id="a" kind="ui"/></reviewers>')),
    ("missing_attribute", _in('<reviewers><reviewer id="a" kind="model"/></reviewers>')),
    ("missing_attribute", _in('<reviewers><reviewer id="a" kind="chatml"/></reviewers>')),
    ("missing_attribute", _in('<reviewers><reviewer id="a" kind="executable" executable="/x"/></reviewers>')),
    ("invalid_extension", _in('<reviewers><reviewer id="a" kind="ui" script="s"/></reviewers>')),
    ("invalid_extension", _in(f'<reviewers><reviewer id="a" kind="ui" {HOOK}/></reviewers>')),
    ("invalid_attribute", _in('<reviewers strategy="all"/>')),
    ("invalid_extension", _in('<interceptors><interceptor id="a" phase="before"/></interceptors>')),
    ("invalid_extension", _in(f'<interceptors><interceptor id="a" phase="before" script="s" {HOOK}/></interceptors>')),
    ("after_interceptor_match", _in(f'<interceptors><interceptor id="a" phase="after" {HOOK}><match><raw_shell/></match></interceptor></interceptors>')),
    ("matcher_arity", _in(f'<interceptors><interceptor id="a" phase="before" {HOOK}><match/></interceptor></interceptors>')),
    ("invalid_extension", _in('<effect_analysis><analyzer id="a" kind="executable" script="s"/></effect_analysis>')),
    ("unknown_worker_runtime", _in('<effect_analysis><analyzer id="a" kind="executable" executable="/x" runtime="w"/></effect_analysis>')),
    ("runtime_dependency_cycle", _in(f'<effect_analysis><analyzer id="a" kind="executable" {HOOK}/></effect_analysis>')),
    # secrets and audit
    ("missing_attribute", _in("<secrets><from_file/></secrets>")), ("missing_attribute", _in("<audit/>")),
    ("audit_path_required", _in('<audit format="jsonl"/>')), ("invalid_attribute", _in('<audit format="stderr" path="/x"/>')),
    ("invalid_extension", _in('<audit format="stderr"><filter/></audit>')),
    # backends
    ("external_backend_command_argv", _in('<backends><external_backend executable="/x"/></backends>')),
    ("external_backend_command_argv", _in('<backends><external_backend executable="/x"><command_argv/><command_argv/></external_backend></backends>')),
    ("external_backend_unverifiable", _in('<backends><external_backend executable="/x" confinement="verified"><command_argv/></external_backend></backends>')),
    ("missing_attribute", _in('<backends><external_backend executable="/x"><read_roots/><command_argv/></external_backend></backends>')),
    # tools
    ("tool_missing_attribute", R + '<tool name="t" type="shell" mode="raw" runtime="r"/>'),
    ("tool_invalid_path", R + '<tool name="t" type="shell" mode="raw" runtime="r" executable="${x}/sh"/>'),
    ("tool_invalid_attribute", R + '<tool name="t" type="shell" mode="raw" runtime="r" executable="/bin/sh" arguments_before_script="-c"/>'),
    ("tool_invalid_attribute", R + '<tool name="t" type="shell" mode="raw" runtime="r" executable="/bin/sh" arguments_before_script="[1]"/>'),
    ("tool_missing_attribute", R + '<tool name="t" type="shell" mode="script" runtime="r"/>'),
    ("tool_conflicting_script", R + '<tool name="t" type="shell" mode="script" runtime="r" script="/etc/hostname" interpreter="/bin/sh" executable="true"/>'),
    ("script_not_executable", R + '<tool name="t" type="shell" mode="script" runtime="r" script="/etc/hostname" executable="false"/>'),
    ("script_unavailable", R + '<tool name="t" type="shell" mode="script" runtime="r" script="/nothing/here"/>'),
    ("script_too_large", R + '<tool name="t" type="shell" mode="script" runtime="r" script="/etc/passwd" max_source_bytes="3"/>'),
    ("tool_mode_attribute", R + '<tool name="t" type="shell" mode="chain" runtime="r" command="ls"/>'),
    ("tool_mode_attribute", R + '<tool name="t" type="shell" mode="fixed" runtime="r" command="ls" interpreter="/bin/sh"/>'),
    ("tool_mode_child", R + '<tool name="t" type="shell" mode="raw" runtime="r" executable="/bin/sh"><arguments mode="none"/></tool>'),
    ("tool_unknown_attribute", R + '<tool name="t" colour="red"/>'),
    ("tool_stream_unsupported", _in(f'<interceptors><interceptor id="a" phase="after" executable="/x" runtime="w"/></interceptors>') + '<shell_access id="w"/><tool name="t" command="ls" runtime="r" stream="sanitized"/>'),  # noqa: F541
    # scripts, moderator, imports
    ("script_id_required", '<script language="starlark" kind="shell_matcher">x</script>'),
    ("script_empty_source", '<script language="starlark" kind="moderator"/>'),
    ("script_conflicting_source", '<script language="starlark" kind="moderator" src="x">y</script>'),
    ("script_source_unavailable", '<script language="starlark" kind="moderator" src="/nothing/here"/>'),
    ("script_invalid_limit", '<script language="starlark" kind="moderator" fuel="0">x</script>'),
    ("duplicate_script", '<script language="starlark" kind="shell_matcher" id="a">x</script><script language="chatml" kind="moderator" id="a">x</script>'),
    ("multiple_moderators", '<script language="starlark" kind="moderator">x</script><script language="starlark" kind="moderator" id="b">x</script>'),
    ("invalid_attribute", '<script language="perl" kind="moderator">x</script>'),
    ("unknown_runtime", '<moderator_runtime shell_runtime="x"/>'),
    ("duplicate_section", R + '<moderator_runtime shell_runtime="r"/><moderator_runtime shell_runtime="r"/>'),
    ("unexpected_text", R + '<moderator_runtime shell_runtime="r">text</moderator_runtime>'),
    ("source_unavailable", '<import src="nothing.xml"/>'), ("missing_attribute", '<import namespace="a"/>'),
    ("invalid_attribute", '<import src="x.xml" namespace="a:b"/>'),
]  # fmt: skip


@pytest.mark.parametrize(("code", "document"), BAD, ids=[f"{number}-{code}" for number, (code, _) in enumerate(BAD)])
def test_what_is_wrong_has_its_code(code: str, document: str) -> None:
    assert code in [found for found, _ in _problems(document)]


def test_every_element_can_be_written_and_arrives() -> None:
    document = """
<shell_access id="w" extends="builtin:hook-worker"/>
<script language="starlark" kind="shell_matcher" id="m">def match_command(c): pass</script>
<script language="starlark" kind="shell_reviewer" id="v">x</script>
<shell_access id="r" pipefail="true" cwd="${workspace}">
  <capabilities><read path="/a"/><write path_env="W" optional="true"/><protect path="/a/b"/><hide path="/a/c"/></capabilities>
  <resolver><search_path path="/bin"/><trusted_root path="/usr"/><executable id="x" path="/bin/ls" trusted="true"/></resolver>
  <environment inherit="selected"><set name="A" value=""/><pass name="B" secret="true"/><unset name="C"/><unset_prefix value="D"/>
    <path append="/x"/><path_env name="E" suffix="/bin" position="prepend"/></environment>
  <limits wall_time="1m" idle_time="none" processes="9" cpus="1.5" tmp_size="1MiB"/>
  <backends merge="replace" accept_declared_confinement="true"><landlock private_tmp="true" proc="true" dev="minimal"/>
    <container image="i" when="macos"/><seatbelt/><bubblewrap when="macos"/><direct/>
    <external_backend executable="/w" confinement="declared" when="macos"><arg value="-x"/><cwd_value/><target_executable/><command_argv/>
      <read_roots flag="-r"/><write_roots flag="-w"/><network_flag value="-n"/><resource_limit_args/></external_backend></backends>
  <policy default="ask"><rule id="1" action="allow"><all><program value="ls"/><basename value="ls"/><resolved_path value="/bin/ls"/>
    <trusted_executable/><argv_prefix values="ls, -l"/><argument value=""/><argument_contains value="x"/></all>
    <example argv="ls -l" action="ask"/></rule>
    <rule id="2" action="deny"><any><program_regex value="^x"/><effect name="read" under="/a"/><raw_shell/><any_command/>
    <script_match script="m" failure="deny"/></any></rule>
    <rule id="3" action="ask"><not><no_unknown_effects/></not></rule></policy>
  <approvals provider="ui" unavailable="error" scopes="once,durable_exact" durable="true"/>
  <reviewers><reviewer id="a" kind="ui"/><reviewer id="b" kind="script" script="v"/><reviewer id="c" kind="model" agent="x" model="y"/>
    <reviewer id="d" kind="executable" executable="/h" runtime="w" timeout="2s" max_input="1KiB"/></reviewers>
  <interceptors><interceptor id="a" phase="before" executable="/h" runtime="w"><match><raw_shell/></match></interceptor></interceptors>
  <effect_analysis><analyzer id="a" kind="executable" executable="/h" runtime="w" replace="true"/></effect_analysis>
  <secrets replacement="***"><from_env name="S" optional="true"/><from_file path="/s" strip="false"/><literal value="hush"/></secrets>
  <audit format="jsonl" path="/log" content="metadata" failure="terminate"><filter executable="/h" runtime="w"/></audit>
</shell_access>
<tool name="t" type="shell" mode="fixed" runtime="r"><command program="ls"><arg value="-l"/><secret_arg env="B" prefix="p"/>
  <path_arg base="workspace" path="x"/></command><arguments mode="none"/></tool>
<moderator_runtime shell_runtime="r"/>
"""
    manifest = compile_text(document)
    used = {name for name in ELEMENTS if f"<{name}" in document}
    assert set(ELEMENTS) - used == {"import", "chatml_match"}
    spec = manifest.runtime("r")
    assert spec.approvals.scopes == ("once", "durable_exact") and spec.audit.filter is not None
    assert [item.kind for item in spec.reviewers] == ["ui", "script", "model", "executable"]
    assert spec.interceptors[0].matcher is not None and spec.effect_analysis[0].replaces
    assert spec.policy.rules[0].examples[0].argv == "ls -l" and spec.backends.values[-1].atoms[0].kind == "arg"
    assert b"hush" not in manifest.canonical and b"[literal secret]" in manifest.canonical
    assert [script.id for script in manifest.scripts] == ["m", "v"] and manifest.moderator_runtime == "r"
    assert "shell.reviewer.model.v1" in manifest.required_features and "shell.secret.file.v1" in manifest.required_features
    assert "shell.backend.container.v1" not in manifest.required_features  # it is for another platform
    body = json.loads(manifest.canonical)
    assert ["r", "w", "worker"] in body["dependencies"] and ["r", "script:m", "script"] in body["dependencies"]
    assert set(TOP_LEVEL) <= set(ELEMENTS)


@pytest.mark.parametrize(
    ("document", "feature"),
    [
        (R + '<tool name="t" type="shell" mode="raw" runtime="r" executable="/bin/sh"/>', None),
        (_in('<reviewers><reviewer id="a" kind="model" agent="x"/></reviewers>') + '<tool name="t" command="ls" runtime="r"/>', "shell.reviewer.model.v1"),
        (_in('<backends merge="replace"><bubblewrap/></backends>') + '<tool name="t" command="ls" runtime="r"/>', "shell.backend.bubblewrap.v1"),
    ],
)  # fmt: skip
def test_what_this_host_cannot_do_is_refused_by_name_at_load(tmp_path: Path, document: str, feature: str | None) -> None:
    file = tmp_path / "a.xml"
    file.write_text(document)
    if feature is None:
        assert compile_file(str(file)).tools[0].shell is not None
        return
    with pytest.raises(ManifestError) as caught:
        Registry.load(file, authorize=lambda manifest: True)
    assert caught.value.code == "shell.unsupported_feature" and f"`{feature}`" in caught.value.message


# -- tools ------------------------------------------------------------------------------------------------------------


def test_tool_forms_and_their_defaults() -> None:
    text = R + """<tool name="c" type="shell" mode="chain" runtime="r"/><tool name="w" type="shell" mode="raw" runtime="r" executable="/bin/sh"/>
<tool name="s" type="shell" mode="script" runtime="r" script="/etc/passwd" interpreter="/bin/sh" fixed_arguments='["--ci"]'/>
<tool name="l" command="ls -l"/><tool name="patch"/><tool name="remote" mcp_server="https://x"/><tool name="other" agent="a.xml"/>"""
    manifest = compile_text(text)
    found = {tool.name: tool for tool in manifest.tools}
    assert [found[name].rationale for name in "cwsl"] == ["optional", "optional", "optional", "none"]
    assert found["w"].shell is not None and found["w"].shell.arguments_before_script == ("-c",)
    script = found["s"].script
    assert script is not None and len(script.sha256) == 64 and script.fixed_arguments == ("--ci",) and script.max_source_bytes == 1 << 20
    assert found["l"].runtime == "legacy:custom" and manifest.host_tools == ("patch", "remote", "other")


def test_a_changed_script_file_changes_the_digest(tmp_path: Path) -> None:
    file, script = tmp_path / "a.xml", tmp_path / "s.sh"
    file.write_text(R + '<tool name="s" type="shell" mode="script" runtime="r" script="s.sh" interpreter="/bin/sh"/>')
    script.write_text("echo 1")
    before = compile_file(str(file)).sha256
    script.write_text("echo 2")
    assert compile_file(str(file)).sha256 != before


# -- imports ----------------------------------------------------------------------------------------------------------


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.xml").write_text(text)
    return folder / "main.xml"


def _compile(folder: Path, **files: str) -> Manifest:
    return compile_file(str(_write(folder, **files)))


def _refused(folder: Path, **files: str) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        _compile(folder, **files)
    return caught.value


def test_ids_and_references_are_qualified_and_nested_namespaces_join(tmp_path: Path) -> None:
    inner = '<shell_access id="base"/><shell_access id="r" extends="base"/><tool name="t" command="ls" runtime="r"/>'
    manifest = _compile(
        tmp_path,
        main='<import src="lib.xml" namespace="lib"/><shell_access id="mine" extends="lib:in:r"/><tool name="u" command="ls" runtime="mine"/>',
        lib='<import src="inner.xml" namespace="in"/><shell_access id="x" extends="in:r"/>',
        inner=inner,
    )
    assert sorted(spec.id for spec in manifest.runtimes) == ["lib:in:base", "lib:in:r", "lib:x", "mine"]
    assert {tool.name: tool.runtime for tool in manifest.tools} == {"t": "lib:in:r", "u": "mine"}
    assert [(item.file, item.namespace) for item in manifest.imports] == [("lib.xml", "lib"), ("inner.xml", "lib:in")]


def test_paths_of_an_imported_file_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "lib.xml").write_text('<shell_access id="r"><capabilities><read path="data"/></capabilities></shell_access>')
    manifest = _compile(tmp_path, main='<import src="sub/lib.xml" namespace="l"/>')
    spec = manifest.runtime("l:r")
    assert spec.capabilities.read[0].path == "${source_dir}/data" and spec.source.folder == str((tmp_path / "sub").resolve())
    assert spec.source.file == "sub/lib.xml"


def test_a_changed_imported_file_changes_the_digest(tmp_path: Path) -> None:
    before = _compile(tmp_path, main='<import src="lib.xml"/>', lib=R)
    after = _compile(tmp_path, main='<import src="lib.xml"/>', lib=R + "<!-- x -->")
    assert before.sha256 != after.sha256 and before.imports[0].sha256 != after.imports[0].sha256


def test_cycles_depth_and_duplicate_namespaces(tmp_path: Path) -> None:
    cycle = _refused(tmp_path, main='<import src="a.xml"/>', a='<import src="b.xml"/>', b='\n<import src="a.xml"/>')
    assert cycle.code == "shell.import_cycle" and "a.xml -> b.xml -> a.xml" in cycle.problems[0] and "b.xml:2:" in cycle.problems[0]
    files = {f"f{number}": f'<import src="f{number + 1}.xml"/>' for number in range(140)}
    assert _refused(tmp_path, main='<import src="f0.xml"/>', **files).code == "shell.import_depth"
    twice = _refused(tmp_path, main='<import src="a.xml" namespace="n"/><import src="b.xml" namespace="n"/>', a=R, b="")
    assert twice.code == "shell.duplicate_import"


def test_problems_of_an_imported_file_name_it(tmp_path: Path) -> None:
    broken = _refused(tmp_path, main='<import src="a.xml"/>\n<nothing/>', a="\n<shell_access")
    assert [problem.split(": ")[0].rsplit("/", 1)[1] for problem in broken.problems] == ["a.xml:2", "main.xml:2"]
    assert _refused(tmp_path, main='<import src="a.xml"/>', a='\n\n<shell_access id="r" x="1"/>').problems[0].split(": ")[0].endswith("a.xml:3")


def test_many_imports_of_one_file_end(tmp_path: Path) -> None:
    files = {f"f{number}": f'<import src="f{number + 1}.xml" namespace="a"/><import src="f{number + 1}.xml" namespace="b"/>' for number in range(20)}
    assert _refused(tmp_path, main='<import src="f0.xml"/>', f20="", **files).code == "shell.import_depth"


def test_a_hosts_conversation_is_passed_over_and_its_imports_followed(tmp_path: Path) -> None:
    manifest = _compile(
        tmp_path,
        main='<config model="x"/><system>text <import src="lib.xml"/> more</system><user>hello <b>you</b></user>'
        '<assistant>no <import src="nothing.xml"/></assistant><msg role="tool"><import src="nothing.xml"/></msg>'
        '<tool name="t" command="ls" runtime="r"/>',
        lib=R,
    )
    assert [spec.id for spec in manifest.runtimes] == ["r"] and manifest.tools[0].name == "t"


# -- profiles and inheritance -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["workspace-readonly", "workspace-development", "hook-worker", "yolo"])
def test_an_alias_is_its_version_under_another_digest(name: str) -> None:
    alias = compile_text(f'<shell_access id="r" extends="builtin:{name}"/>')
    pinned = compile_text(f'<shell_access id="r" extends="builtin:{name}@1"/>')
    assert alias.sha256 != pinned.sha256
    one, two = alias.runtimes[0], pinned.runtimes[0]
    assert one.resolved_profile == two.resolved_profile == f"builtin:{name}@1"
    assert one.replace(requested_profile=None) == two.replace(requested_profile=None)


def test_profiles_are_what_the_table_says() -> None:
    def of(name: str) -> object:
        return compile_text(f'<shell_access id="r" extends="builtin:{name}"/>').runtimes[0]

    yolo, work, hook = (compile_text(f'<shell_access id="r" extends="builtin:{name}"/>').runtimes[0] for name in ("yolo", "workspace-development", "hook-worker"))
    assert yolo.capabilities.sandbox == "direct_unsafe" and yolo.policy.default == "allow" and yolo.approvals.provider == "none"
    assert all((yolo.capabilities.network, yolo.capabilities.child_processes, yolo.capabilities.arbitrary_code, yolo.capabilities.privilege_change))
    assert [item.kind for item in yolo.backends.values] == ["direct"] and yolo.environment.inherit == "raw"
    assert work.capabilities.sandbox == "preferred" and "direct" not in [item.kind for item in work.backends.values]
    assert work.capabilities.arbitrary_code and not work.capabilities.privilege_change and not work.capabilities.network
    assert "${workspace}/.git/hooks" in work.capabilities.protect and work.policy.default == "ask"
    assert hook.limits.wall_time == 5 and hook.limits.total_output == 320 << 10 and hook.policy.default == "deny"


def test_authority_sections_append_replace_and_refuse_duplicates() -> None:
    parent = '<shell_access id="p"><reviewers><reviewer id="a" kind="ui"/></reviewers><approvals scopes="once" durable="true"/></shell_access>'
    child = '<shell_access id="c" extends="p">{}</shell_access>'

    def ids(body: str) -> list[str]:
        return [item.id for item in compile_text(parent + child.format(body)).runtime("c").reviewers]

    assert ids("") == ["a"] and ids('<reviewers><reviewer id="b" kind="ui"/></reviewers>') == ["a", "b"]
    assert ids('<reviewers merge="replace"><reviewer id="b" kind="ui"/></reviewers>') == ["b"]
    assert ("duplicate_named_entry", 1) in _problems(parent + child.format('<reviewers><reviewer id="a" kind="ui"/></reviewers>'))
    spec = compile_text(parent + child.format('<approvals scopes="exact_session"/>')).runtime("c")
    assert spec.approvals.scopes == ("exact_session",) and spec.approvals.durable


def test_the_manifest_does_not_depend_on_where_the_checkout_lies(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "s.sh").write_text("echo")
        (folder / "sub" / "lib.xml").write_text(
            '<shell_access id="r"><capabilities><read path="data"/></capabilities></shell_access>'
            '<tool name="s" type="shell" mode="script" runtime="r" script="s.sh" interpreter="/bin/sh"/>'
        )
        digests.append(_compile(folder, main='<import src="sub/lib.xml" namespace="l"/>').sha256)
    assert digests[0] == digests[1]


def test_an_unused_script_warns_and_stays_outside() -> None:
    script = '<script language="starlark" kind="shell_matcher" id="m">x = {}</script>'
    one, two = compile_text(R + script.format(1)), compile_text(R + script.format(2))
    assert one.sha256 == two.sha256 and one.scripts == () and "warning[shell.unused_script]" in one.warnings[0]
    used = _rule('<script_match script="m"/>')
    assert compile_text(used + script.format(1)).sha256 != compile_text(used + script.format(2)).sha256


def test_the_kind_of_a_script_must_fit_its_use() -> None:
    wrong = '<script language="starlark" kind="shell_reviewer" id="m">x</script>'
    assert ("script_kind_mismatch", 1) in _problems(_rule('<script_match script="m"/>').replace("\n", "") + wrong)


def test_a_worker_cycle_names_its_path() -> None:
    def analysed(name: str, worker: str) -> str:
        return f'<shell_access id="{name}"><effect_analysis><analyzer id="a" kind="executable" executable="/x" runtime="{worker}"/></effect_analysis></shell_access>'

    with pytest.raises(DeclarationError) as caught:
        compile_text(analysed("a", "b") + analysed("b", "c") + analysed("c", "a"))
    assert "a -> b -> c -> a" in caught.value.problems[0] and len(caught.value.problems) == 1
    extends = analysed("a", "w") + '<shell_access id="w" extends="a"/>'
    assert "runtime_dependency_cycle" in [code for code, _ in _problems(extends)]  # a worker that extends its caller
