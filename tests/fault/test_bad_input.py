"""Whatever is wrong with the input: one clear line, a stable code, no traceback, nothing started, nothing left open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from runner import Registry, RunnerError, run

FUMEHOOD = [sys.executable, "-m", "runner"]
DECLARATION = """<agent>
<shell_access id="r" extends="builtin:workspace-readonly@1"/>
<tool name="count" type="shell" mode="fixed" runtime="r" stdin="optional"><command program="wc"><arg value="-c"/></command>
  <arguments mode="optional" max_item_bytes="100" max_count="3"/></tool>
</agent>"""


@pytest.fixture
def declaration(tmp_path: Path) -> Path:
    file = tmp_path / "agent.xml"
    file.write_text(DECLARATION)
    return file


def _cli(*argv: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    return subprocess.run([*FUMEHOOD, *argv], input=stdin, capture_output=True, timeout=60, check=False, cwd=cwd, env=environment)


def _clean(done: subprocess.CompletedProcess[bytes]) -> str:
    text = done.stderr.decode()
    assert "Traceback" not in text and text.strip(), text
    return text


DOCUMENTS = {
    "not-xml": ("<agent><tool", "shell.invalid_xml", 1),
    "second-line": ("<agent>\n<tool nam='x'/>\n</agent>", "shell.tool_unknown_attribute", 2),
    "unknown-element": ("<agent>\n\n<shell_axess id='a'/></agent>", "shell.unknown_element", 3),
    "bad-unit": ("<agent><shell_access id='a'><limits wall_time='3 parsecs'/></shell_access></agent>", "shell.invalid_duration", 1),
    "bad-size": ("<agent><shell_access id='a'><limits memory='1.5GiB'/></shell_access></agent>", "shell.invalid_bytes", 1),
    "entity-bomb": ("<!DOCTYPE a [<!ENTITY x 'y'>]><agent>&x;</agent>", "shell.invalid_xml", 1),
    "not-utf8": (b"<agent>\n\xff</agent>", "shell.invalid_xml", 2),
    "unknown-runtime": ("<agent><tool name='t' command='ls' runtime='nowhere'/></agent>", "shell.unknown_runtime", 1),
    "pipeline-in-fixed": ("<agent><shell_access id='a'/><tool name='t' command='a | b' runtime='a'/></agent>", "shell.tool_invalid_fixed_command", 1),
    "empty-script": ("<agent><script language='starlark' kind='moderator'/></agent>", "shell.script_empty_source", 1),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_bad_declarations(name: str, tmp_path: Path) -> None:
    text, code, line = DOCUMENTS[name]
    file = tmp_path / "bad.xml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = _cli("inspect", str(file))
    assert done.returncode == 65 and f"{file}:{line}: error[{code}]:" in _clean(done), _clean(done)


def test_a_declaration_that_is_a_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "agent.xml")
    done = _cli("inspect", str(tmp_path / "agent.xml"))
    assert done.returncode == 65 and "not a regular file" in _clean(done)


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/nonexistent/agent.xml"])
def test_a_declaration_that_is_no_file(path: str) -> None:
    assert _cli("inspect", path).returncode == 65


PAYLOADS = {
    "{": "shell.tool_invalid_input",
    "[]": "shell.tool_invalid_input",
    '{"arguments": "x"}': "shell.tool_invalid_input",
    '{"arguments": ["a\\u0000b"]}': "shell.tool_invalid_input",
    '{"arguments": ["\\ud800"]}': "shell.tool_invalid_input",
    '{"arguments": [], "arguments": []}': "shell.tool_duplicate_input",
    '{"colour": 1}': "shell.tool_unknown_input",
    '{"program": "ls"}': "shell.tool_field_forbidden",
    '{"rationale": "why"}': "shell.tool_rationale_forbidden",
    '{"arguments": ["%s"]}' % ("x" * 101): "shell.tool_argument_too_large",
    '{"arguments": ["a", "b", "c", "d"]}': "shell.tool_too_many_arguments",
    '{"stdin": "%s"}' % ("x" * (2 << 20)): "shell.tool_stdin_too_large",
    "[" * 100_000: "shell.tool_invalid_input",
}


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda text: text[:40])
def test_bad_payloads_are_results(payload: str, declaration: Path, tmp_path: Path) -> None:
    with Registry.load(declaration, authorize=lambda manifest: True, workspace=tmp_path) as registry:
        result = registry.call("count", payload)
    assert result.status is None and result.error is not None and result.error.code == PAYLOADS[payload]
    assert json.loads(result.render())["error"]["code"] == PAYLOADS[payload]
    assert "\n" not in result.error.message


def test_a_gigabyte_of_input_is_refused_with_bounded_memory(declaration: Path, tmp_path: Path) -> None:
    script = f"head -c 1000000000 /dev/zero | {' '.join(FUMEHOOD)} call {declaration} count --authorize any --input -"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(["/usr/bin/env", "bash", "-c", script], capture_output=True, cwd=tmp_path, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": root})  # fmt: skip
    assert done.returncode == 2 and "more than" in _clean(done)


RUNS = {
    ("--colour", "--", "true"): 125,
    ("--timeout", "soon", "--", "true"): 125,
    ("--memory", "-1", "--", "true"): 125,
    ("--read",): 125,
    ("--",): 125,
    ("--read", "/nonexistent", "--", "true"): 125,
    ("--backend", "magic", "--", "true"): 125,
    ("--", "no-such-program"): 127,
    ("--", "/etc/hosts"): 126,
    ("--", "cd", "/"): 127,
    ("--", "export", "A=1"): 127,
    ("--", ""): 125,
}


@pytest.mark.parametrize("argv", RUNS, ids=" ".join)
def test_bad_runs(argv: tuple[str, ...]) -> None:
    done = _cli("run", *argv)
    assert done.returncode == RUNS[argv]
    assert len(_clean(done).strip().splitlines()) <= 2
    as_json = _cli("run", "--json", *argv)
    if as_json.stdout:
        assert json.loads(as_json.stdout)["error"]["code"]


def test_an_unauthorised_manifest_is_refused(declaration: Path) -> None:
    done = _cli("call", str(declaration), "count")
    assert done.returncode == 65 and "shell.manifest_rejected" in _clean(done)
    with pytest.raises(RunnerError, match="not the authorised"):
        Registry.load(declaration, authorize="0" * 64)


def test_an_unknown_tool_is_a_result(declaration: Path, tmp_path: Path) -> None:
    done = _cli("call", str(declaration), "nothing", "--authorize", "any", cwd=tmp_path)
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "shell.tool_missing"


def test_nothing_is_left_open_or_running(declaration: Path, tmp_path: Path) -> None:
    """Descriptors and children of the host, before and after every kind of failure."""
    with Registry.load(declaration, authorize=lambda manifest: True, workspace=tmp_path) as registry:
        registry.call("count", {})
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with Registry.load(declaration, authorize=lambda manifest: True, workspace=tmp_path) as registry:
            for payload in (*list(PAYLOADS)[:8], '{"arguments": ["/nonexistent"]}', "{}"):
                registry.call("count", payload)
        run(["no-such-program"], read=[str(tmp_path)])
        run(["sleep", "9"], read=[str(tmp_path)], limits={"wall_time": 0.1})
        run(["true"], read=["/nonexistent"])
    assert len(os.listdir("/proc/self/fd")) == before
    assert not [child for child in psutil.Process().children(recursive=True) if "fumehood" in child.name()]
