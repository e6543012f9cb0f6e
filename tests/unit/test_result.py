"""Result: every outcome in every form, the table of endings, the published schema."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from runner.model.command import Enforcement
from runner.model.manifest import Limits
from runner.model.outcome import Channel, CommandEntry, Outcome, Status, Usage
from runner.outcomes import TABLE, error_of, exit_code
from runner.output.redact import Redactor
from runner.result import Result, describe_status, error_result

SECRET = "tok_4f9c2e7ab1d0"
EXITED, FAILED, KILLED = Status(exited=0), Status(exited=3), Status(signaled=9)
SEED = [
    "request_id", "status", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "backend", "runtime_id",
    "manifest_sha256", "commands",
]  # fmt: skip
COMMAND = ["program", "arguments", "executable", "executable_sha256", "status", "intercepted_by"]


def channel(text: str) -> Channel:
    return Channel(head=text.encode(), total=len(text.encode()))


def outcome(status: Status | None = EXITED, **changes: Any) -> Outcome:
    entry = CommandEntry(
        program="ls", arguments=("zz",), executable="/usr/bin/ls", executable_sha256="9c", status=status or EXITED
    )
    return Outcome(
        **{
            "request_id": "shell-1", "runtime_id": "lab", "manifest_sha256": "5e", "backend": "linux-landlock",
            "status": status, "stdout": channel("out\n"), "stderr": channel("err\n"),
            "commands": (entry,) if status else (), "usage": Usage(wall=0.5),
            "enforcement": (Enforcement(constraint="network", level="fully", by="namespace"),), **changes,
        }
    )  # fmt: skip


def of(item: Outcome, **options: Any) -> Result:
    return Result.of(item, **{"limits": Limits(), **options})


def structured(status: str) -> str:
    return (
        '{"request_id":"shell-1","status":' + status + ',"stdout":"out\\n","stderr":"err\\n","stdout_truncated":false,'
        '"stderr_truncated":false,"backend":"linux-landlock","runtime_id":"lab","manifest_sha256":"5e","commands":'
        '[{"program":"ls","arguments":["zz"],"executable":"/usr/bin/ls","executable_sha256":"9c","status":' + status + ","
        '"intercepted_by":null}]}'
    )


TIMED_OUT = '{"error":{"code":"timed_out","message":"the command was ended at its wall time limit"},"result":'
NONZERO = '{"error":{"code":"shell.tool_nonzero","message":"the command exited with 3"},"result":'
DENIED = '{"error":{"code":"denied","message":"no rule allows `ls`"}}'
GOLDEN = {
    ("ok", "combined"): "out\nerr\n",
    ("ok", "stdout"): "out\n",
    ("ok", "structured"): structured('{"exited":0}'),
    ("failed", "combined"): "out\nerr\n",
    ("failed", "stdout"): "out\n",
    ("failed", "structured"): structured('{"exited":3}'),
    ("nonzero", "combined"): NONZERO + '"out\\nerr\\n"}',
    ("nonzero", "stdout"): NONZERO + '"out\\n"}',
    ("nonzero", "structured"): NONZERO + structured('{"exited":3}') + "}",
    ("limit", "combined"): TIMED_OUT + '"out\\nerr\\n"}',
    ("limit", "stdout"): TIMED_OUT + '"out\\n"}',
    ("limit", "structured"): TIMED_OUT + structured('{"signaled":9}') + "}",
    ("denied", "combined"): DENIED,
    ("denied", "stdout"): DENIED,
    ("denied", "structured"): DENIED,
}
CASES = {
    "ok": outcome(),
    "failed": outcome(FAILED),
    "nonzero": outcome(FAILED),
    "limit": outcome(KILLED, limit="wall_time"),
    "denied": outcome(None, error=("denied", "no rule allows `ls`")),
}


@pytest.mark.parametrize(("name", "mode"), GOLDEN)
def test_render(name: str, mode: str) -> None:
    result = of(CASES[name], mode=mode, nonzero="error" if name == "nonzero" else "result")
    assert result.render() == GOLDEN[name, mode]


@pytest.mark.parametrize("name", CASES)
def test_to_json_and_back(name: str) -> None:
    result = of(CASES[name], nonzero="error" if name == "nonzero" else "result")
    data = json.loads(json.dumps(result.to_json()))
    if name in ("ok", "failed"):
        assert list(data) == [*SEED, "limit", "usage", "enforcement"]
        assert list(data["commands"][0]) == [*COMMAND, "core_dumped", "usage"]
        assert Result.model_validate(data) == result
    else:
        assert list(data) == ["error", "result"] and (data["result"] is None) == (name == "denied")
    if name == "limit":
        assert data["result"]["limit"] == "wall_time" and data["result"]["stderr"] == "err\n"
        assert Result.model_validate({**data["result"], "error": data["error"]}) == result


def test_stderr_stays_in_the_diagnostics() -> None:
    result = of(outcome(), mode="stdout")
    assert result.render() == "out\n" and result.to_json()["stderr"] == "err\n"


def test_nonzero_error_leaves_success_alone() -> None:
    assert of(outcome(), nonzero="error").render() == "out\nerr\n"
    killed = of(outcome(Status(signaled=11)), nonzero="error")
    assert json.loads(killed.render())["error"]["message"] == "the command was ended by signal 11"
    assert describe_status(None) == "did not start"


def test_core_flag_is_told_per_command() -> None:
    dumped = outcome(Status(signaled=11, core=True))
    data = of(dumped).to_json()
    assert data["status"] == {"signaled": 11} and data["commands"][0]["core_dumped"] is True


@pytest.mark.parametrize(
    ("status", "changes", "code", "exit"),
    [
        (EXITED, {}, None, 0),
        (FAILED, {}, None, 3),
        (Status(exited=255), {}, None, 255),
        (Status(signaled=11), {}, None, 139),
        (KILLED, {"limit": "wall_time"}, "timed_out", 124),
        (EXITED, {"limit": "wall_time"}, "timed_out", 124),
        (KILLED, {"limit": "idle_time"}, "idle_timed_out", 124),
        (KILLED, {"limit": "cpu_time"}, "cpu_time_limit_exceeded", 124),
        (KILLED, {"limit": "memory"}, "memory_limit_exceeded", 137),
        (FAILED, {"limit": "processes"}, "processes_limit_exceeded", 3),
        (Status(signaled=25), {"limit": "file_size"}, "file_size_limit_exceeded", 153),
        (Status(signaled=15), {"limit": "total_output"}, "output_limit_exceeded", 143),
        (KILLED, {"limit": "not_yet_known"}, "not_yet_known_limit_exceeded", 137),
        (None, {"error": ("denied", "no")}, "denied", 125),
        (None, {"error": ("sandbox_unavailable", "no")}, "sandbox_unavailable", 125),
        (None, {"error": ("resolution_error", "no")}, "resolution_error", 127),
        (None, {"error": ("spawn_error", "no")}, "spawn_error", 126),
        (EXITED, {"error": ("executable_changed", "no")}, "executable_changed", 125),
        (KILLED, {"error": ("cancelled", "no"), "limit": "wall_time"}, "cancelled", 130),
        (None, {}, None, 125),
    ],
)
def test_table_of_endings(status: Status | None, changes: dict[str, Any], code: str | None, exit: int) -> None:
    item = outcome(status, **changes)
    error = error_of(item)
    assert (error[0] if error else None, exit_code(item)) == (code, exit)


def test_table_is_one() -> None:
    assert len({row.ended_by for row in TABLE}) == len(TABLE)
    assert all(row.message and row.message[0].islower() and not row.message.endswith(".") for row in TABLE if row.ended_by in Limits._fields)
    assert {row.ended_by for row in TABLE if row.exit == 124} == {"wall_time", "idle_time", "cpu_time"}


def test_the_table_costs_no_pydantic() -> None:
    code = "import sys, runner.outcomes, runner.output; print(sorted({'pydantic', 'json', 're', 'typing'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_secrets_are_nowhere_in_the_result() -> None:  # 199
    entry = CommandEntry(
        program=f"/opt/{SECRET}/x", arguments=("-k", SECRET, f"--t={SECRET}", SECRET.encode().hex()),
        executable=f"/opt/{SECRET}/x", executable_sha256="9c", status=FAILED,
    )  # fmt: skip
    item = outcome(
        FAILED, commands=(entry,), stdout=channel(f"a {SECRET}"), stderr=channel(f"\x1b[1m{SECRET[:5]}\x1b[0m{SECRET[5:]}"),
        error=("spawn_error", f"`{SECRET}` cannot be executed"),
        enforcement=(Enforcement(constraint="hide", level="partly", by="view", why=f"/{SECRET} is missing"),),
    )  # fmt: skip
    result = of(item, redactor=Redactor((SECRET,)), mode="structured")
    for text in (json.dumps(result.to_json()), result.render(), repr(result)):
        assert SECRET not in text and SECRET.encode().hex() not in text
    assert result.commands[0].arguments == ["-k", "[REDACTED]", "--t=[REDACTED]", "[REDACTED]"]


def test_half_a_secret_at_the_end_of_a_stopped_command() -> None:
    item = outcome(KILLED, limit="total_output", stdout=channel("a " + SECRET[:9]))
    assert of(item, redactor=Redactor((SECRET,))).stdout == "a "


def test_words_of_a_request_obey_nothing() -> None:
    entry = CommandEntry(
        program="ls", arguments=("\x1b[2J\u202e\u2028x\0", "\udcff"), executable="/x", executable_sha256="", status=EXITED
    )
    text = of(outcome(commands=(entry,)), mode="structured").render()
    assert text.isascii() or text.isprintable()
    assert json.loads(text)["commands"][0]["arguments"][0] == "\\x1b[2J\\u202e\\u2028x\\x00"
    assert len(text.splitlines()) == 1
    text.encode()


def test_messages_are_one_line() -> None:
    result = error_result("shell-1", "lab", "5e", "resolution_error", "no `a\nb\x1b[2J`")
    assert result.error is not None and result.error.message == "no `a\\nb\\x1b[2J`"


def test_bounds_hold_for_the_whole() -> None:
    item = outcome(stdout=channel("o" * 900), stderr=channel("e" * 900))
    result = of(item, limits=Limits(stdout=500, stderr=500, total_output=600))
    assert result.stdout_truncated and result.stderr_truncated
    assert len(result.stdout.encode()) + len(result.stderr.encode()) <= 600 + 2 * 64


def test_error_result() -> None:
    result = error_result("shell-7", "lab", "5e", "shell.tool_invalid_input", "`x` is no object")
    assert result.render() == '{"error":{"code":"shell.tool_invalid_input","message":"`x` is no object"}}'
    assert (result.status, result.commands, result.stdout, result.success) == (None, [], "", False)
    assert result.to_json()["result"] is None
    assert Result.model_validate(result.model_dump()) == result


def test_the_model_is_closed() -> None:
    good = of(outcome()).structured()
    for bad in (
        {**good, "extra": 1},
        {**good, "status": {"exited": 256}},
        {**good, "status": {"exited": 0, "signaled": 9}},
        {**good, "status": {}},
        {**good, "status": None},
        {name: value for name, value in good.items() if name != "backend"},
    ):
        with pytest.raises(ValidationError):
            Result.model_validate(bad)
    with pytest.raises(ValidationError):
        of(outcome()).stdout = "changed"  # type: ignore[misc]


def test_published_schema() -> None:
    schema = Result.json_schema()
    assert list(schema["properties"]) == [*SEED, "limit", "usage", "enforcement", "error"]
    assert schema == Result.json_schema()
    objects = [schema, *schema["$defs"].values()]
    assert all(item["additionalProperties"] is False for item in objects)
    assert set(SEED) <= set(schema["required"])
    assert list(schema["$defs"]["CommandResult"]["properties"])[: len(COMMAND)] == COMMAND


# -- goldens of render(): each mode, each kind of ending --------------------------------------------------------------


def shown(kind: str, status: str) -> str:
    return {"combined": '"out\\nerr\\n"', "stdout": '"out\\n"', "structured": structured(status)}[kind]


MODES = ("combined", "stdout", "structured")
ENDINGS = {
    "wall_time": ("timed_out", "the command was ended at its wall time limit"),
    "idle_time": ("idle_timed_out", "the command was ended: neither output nor work within its idle time limit"),
    "cpu_time": ("cpu_time_limit_exceeded", "the command used up its CPU time limit"),
    "total_output": ("output_limit_exceeded", "the command was ended: it wrote more than its output limit"),
    "memory": ("memory_limit_exceeded", "the command ran into its memory limit"),
    "processes": ("processes_limit_exceeded", "the command ran into its limit of processes"),
    "file_size": ("file_size_limit_exceeded", "the command was ended: a file grew past its size limit"),
    "open_files": ("open_files_limit_exceeded", "the command ran into its limit of open files"),
    "tmp_size": ("tmp_size_limit_exceeded", "the command filled its private temporary folder"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", ENDINGS)
def test_golden_of_each_limit(limit: str, mode: str) -> None:  # ruling 9
    code, message = ENDINGS[limit]
    for status, text in ((KILLED, '{"signaled":9}'), (EXITED, '{"exited":0}')):
        for nonzero in ("result", "error"):
            golden = f'{{"error":{{"code":"{code}","message":"{message}"}},"result":{shown(mode, text)}}}'
            assert of(outcome(status, limit=limit), mode=mode, nonzero=nonzero).render() == golden


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("code", ["cancelled", "executable_changed", "spawn_error", "audit_unavailable"])
def test_golden_of_each_error(code: str, mode: str) -> None:
    """With what there is where something ran; alone where nothing did, and never a result then."""
    error = f'"error":{{"code":"{code}","message":"it is `so`"}}'
    started = outcome(FAILED, error=(code, "it is `so`"), limit="wall_time")
    assert of(started, mode=mode).render() == f'{{{error},"result":{shown(mode, STATUS3)}}}'
    assert of(outcome(None, error=(code, "it is `so`")), mode=mode, nonzero="error").render() == f"{{{error}}}"


STATUS3 = '{"exited":3}'
OWN = {
    "exited 0": (EXITED, '{"exited":0}', None),
    "exited 3": (FAILED, STATUS3, "the command exited with 3"),
    "exited 255": (Status(exited=255), '{"exited":255}', "the command exited with 255"),
    "signal 9": (KILLED, '{"signaled":9}', "the command was ended by signal 9"),
    "signal 64": (Status(signaled=64, core=True), '{"signaled":64}', "the command was ended by signal 64"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OWN)
def test_golden_of_each_own_ending(name: str, mode: str) -> None:  # ruling 10
    status, text, message = OWN[name]
    plain = {"combined": "out\nerr\n", "stdout": "out\n", "structured": structured(text)}[mode]
    assert of(outcome(status), mode=mode).render() == plain
    failed = f'{{"error":{{"code":"shell.tool_nonzero","message":"{message}"}},"result":{shown(mode, text)}}}'
    assert of(outcome(status), mode=mode, nonzero="error").render() == (failed if message else plain)


def test_golden_of_a_cut() -> None:  # ruling 8: a breach of one channel truncates, and is no failure
    item = outcome(stdout=channel("0123456789" * 4), stderr=channel("é" * 10))
    result = of(item, limits=Limits(stdout=8, stderr=9))
    assert result.render() == "012345\n[… 32 bytes left out …]\n89ééé\n[… 12 bytes left out …]\né"
    assert (result.stdout_truncated, result.stderr_truncated, result.error, result.success) == (True, True, None, True)


def test_golden_of_no_output() -> None:
    item = outcome(stdout=Channel(), stderr=Channel())
    assert [of(item, mode=mode).render() for mode in ("combined", "stdout")] == ["", ""]
    assert of(item, mode="combined", nonzero="error").render() == ""


def test_status_is_null_exactly_when_nothing_started() -> None:  # correction 23
    for row in TABLE:
        error = None if row.status == "given" else (row.ended_by.replace(" ", "_"), "why")
        limit = row.ended_by if row.ended_by in Limits._fields else None
        for status in (KILLED, None) if row.status == "either" else (KILLED,):
            result = of(outcome(status, error=error, limit=limit))
            data = result.to_json()
            assert (result.status is None) == (status is None)
            assert ("error" in data) == (result.error is not None) == (row.ended_by != "itself")
            assert "error" not in data or (data["result"] is None) == (status is None)
            assert ('"result":' in result.render()) == (result.error is not None and status is not None)


def test_exit_codes_of_the_command_line_are_its_own_or_the_table_s() -> None:  # correction 22
    for code in range(256):
        assert exit_code(outcome(Status(exited=code))) == code
    for number in range(1, 65):
        assert exit_code(outcome(Status(signaled=number))) == 128 + number
    for name, wanted in {"denied": 125, "shell.unknown_attribute": 125, "capability_violation": 125, "resolution_error": 127}.items():
        assert exit_code(outcome(None, error=(name, "no"))) == wanted
        assert exit_code(outcome(FAILED, error=(name, "no"), limit="wall_time")) == wanted


def test_half_a_secret_in_each_channel() -> None:
    """The combined form has nothing between the two."""
    redactor = Redactor((SECRET,), "*")
    for at in range(1, len(SECRET)):
        item = outcome(stdout=channel("a" + SECRET[:at]), stderr=channel(SECRET[at:] + "z\n"))
        assert of(item, redactor=redactor).render() == "a*z\n"
        assert SECRET not in of(item, redactor=redactor, nonzero="error", mode="structured").render()
    calm = outcome()
    assert of(calm, redactor=redactor).render() == of(calm).render() == "out\nerr\n"


def test_arguments_forge_no_line() -> None:  # 183
    word = 'ok\u2028{"event":"allow"}\x85x\x7fz\u2029\n'
    entry = CommandEntry(program="ls", arguments=(word,), executable="/x", executable_sha256="", status=EXITED)
    item = outcome(commands=(entry,), stdout=channel(word))
    for text in (of(item, mode="structured").render(), json.dumps(of(item).to_json(), ensure_ascii=False)):
        assert len(text.splitlines()) == 1
        assert json.loads(text)["stdout"] == 'ok\n{"event":"allow"}\nxz\n\n'
