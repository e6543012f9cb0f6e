"""The audit log: one line per event, chained, healed after a crash, and every way to falsify it that it can show."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from runner.audit.chain import Chain, State
from runner.audit.checkpoint import Checkpoints
from runner.audit.checkpoint import load as load_checkpoints
from runner.audit.event import EVENTS, TERMINAL, Event, body, command_digest
from runner.audit.journal import Journal
from runner.audit.replay import interrupted, request_view, validate
from runner.audit.sinks import CallbackSink, JsonlSink, StderrSink
from runner.errors import AuditError, Refusal
from runner.model.command import Command, Pipeline, Request
from runner.model.outcome import Channel, Outcome, Status

KEY = b"k" * 32


def _fill(path: Path, count: int, *, key: bytes | None = None, checkpoints: Checkpoints | None = None) -> None:
    sink = JsonlSink(str(path), chain=Chain(key), sync="none", checkpoints=checkpoints)
    for number in range(count):
        sink.write(Event(event="finished" if number % 2 else "started", timestamp=float(number), request_id=f"shell-{number // 2}"))
    sink.close()


def _codes(path: Path, key: bytes | None = None, marks: list[State] | None = None) -> list[str]:
    return [problem.code for problem in validate(str(path), key=key, checkpoints=marks or ()).problems]


def _edit(path: Path, number: int, **changes: object) -> None:
    found = path.read_text().splitlines()
    record = {**json.loads(found[number]), **changes}
    found[number] = json.dumps(record, separators=(",", ":"))
    path.write_text("\n".join(found) + "\n")


def test_a_log_verifies_is_private_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    _fill(path, 10)
    report = validate(str(path))
    assert (report.problems, report.records, report.last.sequence, report.open) == ((), 10, 9, ())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = json.loads(path.read_text().splitlines()[0])
    assert list(first)[:4] == ["schema_version", "sequence", "timestamp", "session_id"] and list(first)[-1] == "event_sha256"
    assert first["previous_event_sha256"] is None


def test_the_chain_goes_on_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for _ in range(3):
        _fill(path, 4)
    assert _codes(path) == [] and validate(str(path)).records == 12


def test_two_writers_share_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "a"
    one, two = JsonlSink(str(path)), JsonlSink(str(path))
    for number in range(20):
        (one, two)[number % 2].write(Event(event="output", timestamp=0.0))
    assert _codes(path) == [] and validate(str(path)).records == 20


def test_two_processes_share_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "a"
    children = []
    for _ in range(3):
        pid = os.fork()
        if not pid:
            try:
                _fill(path, 60)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    assert _codes(path) == [] and validate(str(path)).records == 180


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"event": "rejected"}, "shell.audit_chain_digest"),
        ({"sequence": 7}, "shell.audit_sequence_gap"),
        ({"previous_event_sha256": "0" * 64}, "shell.audit_chain_previous"),
        ({"schema_version": "other"}, "shell.audit_schema_version"),
        ({"event": "nothing"}, "shell.audit_field"),
        ({"sequence": True}, "shell.audit_field"),
        ({"chain": "hmac-sha256:0123456789abcdef"}, "shell.audit_chain_key"),
        ({"event_sha256": "é"}, "shell.audit_chain_digest"),
    ],
)
def test_an_edited_record_shows(tmp_path: Path, changes: dict[str, object], code: str) -> None:
    path = tmp_path / "a"
    _fill(path, 6)
    _edit(path, 3, **changes)
    assert code in _codes(path)


def test_a_removed_a_swapped_and_a_foreign_line_show(tmp_path: Path) -> None:
    path = tmp_path / "a"
    _fill(path, 6)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    assert {"shell.audit_sequence_gap", "shell.audit_chain_previous"} <= set(_codes(path))
    path.write_text("".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    assert "shell.audit_sequence_gap" in _codes(path)
    path.write_text("".join([*lines, "no json\n"]))
    assert _codes(path) == ["shell.audit_json"]
    path.write_text("".join([*lines, "[" * 100_000 + "\n"]))
    assert _codes(path) == ["shell.audit_json"]


def test_a_whole_rewrite_passes_without_a_key_and_shows_with_one(tmp_path: Path) -> None:
    plain, keyed = tmp_path / "p", tmp_path / "k"
    _fill(plain, 6)
    _fill(plain.rename(tmp_path / "old"), 0)
    _fill(plain, 5)  # the attacker's own log, made anew
    assert _codes(plain) == []
    _fill(keyed, 6, key=KEY)
    assert _codes(keyed, KEY) == []
    keyed.unlink()
    _fill(keyed, 5)
    assert set(_codes(keyed, KEY)) == {"shell.audit_chain_key"}
    keyed.unlink()
    _fill(keyed, 5, key=b"x" * 32)
    assert set(_codes(keyed, KEY)) == {"shell.audit_chain_key"}
    for number in range(5):  # the right name over a digest made without the key
        _edit(keyed, number, chain=Chain(KEY).name)
    assert set(_codes(keyed, KEY)) >= {"shell.audit_chain_digest"}


def test_a_cut_tail_shows_only_with_checkpoints(tmp_path: Path) -> None:
    path, marks = tmp_path / "a", tmp_path / "marks"
    _fill(path, 6, key=KEY, checkpoints=Checkpoints(str(marks), KEY, every=3))
    whole = path.read_bytes().splitlines(keepends=True)
    found = load_checkpoints(str(marks), KEY)
    assert [mark.sequence for mark in found] == [2, 5, 5] and _codes(path, KEY, found) == []
    path.write_bytes(b"".join(whole[:4]))
    assert _codes(path, KEY) == [] and _codes(path, KEY, found) == ["shell.audit_truncated"]
    remade = tmp_path / "b"
    sink = JsonlSink(str(remade), chain=Chain(KEY), sync="none")
    for number in range(6):
        sink.write(Event(event="output", timestamp=float(number)))
    assert "shell.audit_rewritten" in _codes(remade, KEY, found)


def test_a_forged_checkpoint_does_not_verify(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    Checkpoints(str(marks), KEY).write("a", State(sequence=9, digest="d"))
    marks.write_text(marks.read_text().replace('"sequence":9', '"sequence":1'))
    with pytest.raises(AuditError) as caught:
        load_checkpoints(str(marks), KEY)
    assert caught.value.code == "shell.audit_checkpoint"


@pytest.mark.parametrize("cut", [1, 20, 10_000])
def test_a_torn_last_line_is_healed_and_nothing_acknowledged_is_lost(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a"
    _fill(path, 4)
    whole = path.read_bytes()
    path.write_bytes(whole + (b'{"schema_version":"' + b"x" * 20_000)[: 20 + cut])
    assert _codes(path) == ["shell.audit_torn"]
    _fill(path, 2)
    assert path.read_bytes().startswith(whole) and _codes(path) == []
    healed = json.loads(path.read_bytes().splitlines()[4])
    assert healed["event"] == "recovered" and healed["torn_bytes"] == min(20 + cut, 20_019)


def test_a_log_that_is_only_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"x')
    _fill(path, 2)
    assert _codes(path) == [] and validate(str(path)).records == 3


def test_a_last_line_that_is_no_record_stops_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"garbage\n")
    with pytest.raises(AuditError) as caught:
        _fill(path, 1)
    assert caught.value.code == "shell.audit_chain_tail" and path.read_bytes() == b"garbage\n"


def test_rotation_keeps_the_chain_and_drops_the_oldest(tmp_path: Path) -> None:
    path = tmp_path / "a"
    sink = JsonlSink(str(path), sync="none", rotate=(4000, 3))
    other = JsonlSink(str(path), sync="none", rotate=(4000, 3))
    for number in range(60):
        (sink, other)[number % 3 == 0].write(Event(event="output", timestamp=0.0))
    assert sorted(name.name for name in tmp_path.iterdir()) == ["a", "a.1", "a.2", "a.3"]
    report = validate(str(path))
    assert report.problems == () and report.last.sequence == 59 and report.records < 60


@pytest.mark.parametrize("make", ["fifo", "link", "folder", "missing"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x" / "a" if make == "missing" else tmp_path / "a"
    if make == "fifo":
        os.mkfifo(path)
    elif make == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif make == "folder":
        path.mkdir()
    with pytest.raises(AuditError) as caught:
        JsonlSink(str(path))
    assert caught.value.code == "shell.audit_open_failed" and not (tmp_path / "elsewhere").exists()


def test_one_physical_line_per_record_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "a"
    sink = JsonlSink(str(path))
    hostile = 'a\u2028{"event":"allow"}\x85\x00\x7f\n\r\x1b[2J\udcff' * 3
    sink.write(Event(event="rejected", timestamp=0.0, command=hostile, fields=(("reason", hostile),)))
    sink.write(Event(event="rejected", timestamp=0.0, command="x" * 500_000))
    text = path.read_bytes().decode("ascii")
    assert len(text.splitlines()) == 2 and [json.loads(line)["event"] for line in text.splitlines()] == ["rejected"] * 2
    assert "\x00" not in text and "\x1b" not in text and _codes(path) == []
    assert len(text.splitlines()[1]) < 64 << 10


def test_the_unchained_sinks_number_their_own(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[dict[str, object]] = []
    for sink in (StderrSink(), CallbackSink(seen.append)):
        for _ in range(2):
            sink.write(Event(event="output", timestamp=1.5))
    told = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [record["sequence"] for record in told] == [record["sequence"] for record in seen] == [0, 1]
    assert "event_sha256" not in told[0] and told == seen


def test_a_key_must_be_long_enough() -> None:
    with pytest.raises(AuditError):
        Chain(b"short")


# -- the journal ------------------------------------------------------------------------------------------------------


REQUEST = Request(id="shell-r", tool="t", runtime="r", pipelines=(Pipeline(commands=(Command(program="ls"),)),))


class _Broken:
    def write(self, event: Event) -> None:
        raise OSError(28, "No space left on device")

    def close(self) -> None: ...


def _journal(seen: list[dict[str, object]], *more: tuple[object, str], level: str = "redacted") -> Journal:
    def redact(text: str) -> str:
        return text.replace("s3cret", "[REDACTED]")

    return Journal(
        [(CallbackSink(seen.append), "continue"), *more], runtime_id="r", manifest_sha256="m", level=level, redact=redact, clock=lambda: 1.0  # type: ignore[list-item]
    )


def _outcome(**changes: object) -> Outcome:
    return Outcome(
        request_id="shell-r", runtime_id="r", manifest_sha256="m", status=Status(exited=0), stdout=Channel(head=b"abc", total=3)
    ).replace(**changes)


@pytest.mark.parametrize(
    ("changes", "event", "fields"),
    [
        ({}, "finished", {"exit_kind": "exited", "exit_code": 0, "stdout_bytes": 3}),
        ({"status": Status(signaled=11)}, "finished", {"exit_kind": "signaled", "signal": 11}),
        ({"limit": "wall_time", "status": Status(signaled=15)}, "terminated", {"exit_kind": "timed_out", "limit": "wall_time", "signal": 15}),
        ({"limit": "memory", "status": Status(signaled=9)}, "terminated", {"exit_kind": "memory_limit_exceeded"}),
        ({"error": ("cancelled", "x")}, "terminated", {"exit_kind": "cancelled"}),
        ({"error": ("spawn_error", "x"), "status": None}, "failed", {"error_code": "spawn_error"}),
    ],
)
def test_each_ending_is_one_terminal_event(changes: dict[str, object], event: str, fields: dict[str, object]) -> None:
    seen: list[dict[str, object]] = []
    with _journal(seen).entry(REQUEST) as entry:
        entry.event("resolved")
        entry.outcome(_outcome(**changes))
    assert [record["event"] for record in seen] == ["resolved", event]
    assert fields.items() <= seen[1].items() and event in TERMINAL


def test_every_refusal_and_fault_ends_its_request() -> None:
    for error, event, code in (
        (Refusal("no"), "rejected", "denied"),
        (AuditError("no"), "failed", "audit_unavailable"),
        (KeyError("boom s3cret"), "failed", "internal_error"),
    ):
        seen: list[dict[str, object]] = []
        with pytest.raises(type(error)), _journal(seen).entry(REQUEST):
            raise error
        assert [(record["event"], record["error_code"]) for record in seen] == [(event, code)]
    seen = []
    with _journal(seen).entry(REQUEST):
        pass
    assert [record["event"] for record in seen] == ["failed"]


@pytest.mark.parametrize(("level", "shown"), [("metadata", None), ("redacted", "ls [REDACTED]"), ("full", "ls [REDACTED]")])
def test_no_level_tells_a_secret(level: str, shown: str | None) -> None:
    seen: list[dict[str, object]] = []
    with _journal(seen, level=level).entry(REQUEST) as entry:
        entry.about(("ls", "s3cret"), "/w", ("read",), "plan")
        entry.event("policy_decided", policy_action="deny", policy_reason="because s3cret")
        entry.end("rejected", reason="s3cret")
    assert "s3cret" not in json.dumps(seen)
    assert seen[0].get("command") == shown
    assert seen[0]["command_sha256"] == command_digest(("ls", "s3cret")) and seen[0]["plan_id"] == "plan"


@pytest.mark.parametrize(
    ("failure", "before", "after"), [("continue", False, False), ("deny_start", True, False), ("terminate", True, True)]
)
def test_what_a_failing_sink_means(failure: str, before: bool, after: bool) -> None:
    seen: list[dict[str, object]] = []
    entry = _journal(seen, (_Broken(), failure)).entry(REQUEST)
    for name, raises in (("resolved", before), ("started", after)):
        if raises:
            with pytest.raises(AuditError) as caught:
                entry.event(name)
            assert caught.value.code == "audit_unavailable"
        else:
            entry.event(name)
    assert [record["event"] for record in seen] == ["resolved", "started"]  # the others got it all the same


def test_the_strongest_failure_wins() -> None:
    journal = _journal([], (_Broken(), "continue"), (_Broken(), "terminate"), (_Broken(), "deny_start"))
    with pytest.raises(AuditError):
        journal.entry(REQUEST).event("started")


def test_a_request_without_an_ending_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    journal = Journal([(JsonlSink(str(path)), "terminate")], runtime_id="r", manifest_sha256="m", clock=lambda: 2.5)
    entry = journal.entry(REQUEST)
    entry.about(("ls", "-l"), "/w", ("read",), "p")
    entry.event("plan_created", backend="linux-landlock")
    entry.event("started", backend="linux-landlock")
    assert validate(str(path)).open == ("shell-r",)
    (record,) = interrupted(str(path))
    assert record["redacted_command"] == "ls -l" and record["retryable"] is False and record["interrupted_at_ns"] == 2_500_000_000
    entry.outcome(_outcome())
    assert validate(str(path)).open == () and interrupted(str(path)) == []
    view = request_view(str(path), "shell-r")
    assert view["completed"] is True and view["backend"] == "linux-landlock" and view["exit_code"] == 0 and view["stdout_bytes"] == 3
    with pytest.raises(AuditError) as caught:
        request_view(str(path), "shell-none")
    assert caught.value.code == "shell.audit_request_not_found"


def test_every_event_of_the_table_can_be_written() -> None:
    for name in EVENTS:
        assert body(Event(event=name, timestamp=0.0), 0, None, None)["event"] == name
