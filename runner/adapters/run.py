"""`fumehood run`: one confined command, its stdio and exit code passed through."""

from __future__ import annotations

import os
import sys

from ..errors import RunnerError, UsageError
from ..oneshot import Job, perform
from ..outcomes import exit_code
from ..units import parse_bytes, parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..model.outcome import Outcome

_LIMITS: dict[str, tuple[str, Callable[[str], float]]] = {
    "--timeout": ("wall_time", parse_duration),
    "--idle": ("idle_time", parse_duration),
    "--cpu-time": ("cpu_time", parse_duration),
    "--memory": ("memory", parse_bytes),
    "--file-size": ("file_size", parse_bytes),
    "--tmp-size": ("tmp_size", parse_bytes),
    "--processes": ("processes", int),
    "--open-files": ("open_files", int),
}
_PATHS = {"--read": "read", "--write": "write", "--hide": "hide", "--protect": "protect"}


def run_command(argv: list[str]) -> int:
    """The exit code of `fumehood run argv`. Every refusal is one line on stderr and code 125 (126/127 as shells do)."""
    _standard_descriptors()
    try:
        job, show, result_fd = _parse(argv)
    except UsageError as error:
        print(f"fumehood: {error.code}: {error.message}", file=sys.stderr)
        print("  see `fumehood --help`", file=sys.stderr)
        return 125
    try:
        outcome = perform(job, passthrough=not show)
    except RunnerError as error:
        return _failed(error, show, result_fd)
    if show or result_fd is not None:
        _print(outcome, show, result_fd)
    if not show and outcome.error is not None:
        print(f"fumehood: {outcome.error[0]}: {outcome.error[1]}", file=sys.stderr)
    return exit_code(outcome)


def _standard_descriptors() -> None:
    """Before anything is opened: a closed 0, 1 or 2 becomes /dev/null, or the next socket of ours would take its number
    and be handed to the command."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", os.O_RDWR)  # the lowest free number is this one


def _failed(error: RunnerError, show: bool, result_fd: int | None) -> int:
    import json

    text = json.dumps({"error": {"code": error.code, "message": error.message}, "result": None})
    if show:
        print(text)
    else:
        print(f"fumehood: {error.code}: {error.message}", file=sys.stderr)
        if error.remedy:
            print(f"  {error.remedy}", file=sys.stderr)
    if result_fd is not None:
        os.write(result_fd, text.encode() + b"\n")
    return error.exit_code if error.exit_code in (126, 127) else 125


def _print(outcome: Outcome, show: bool, result_fd: int | None) -> None:
    import json

    from ..oneshot import to_result

    text = json.dumps(to_result(outcome).to_json(), ensure_ascii=False)
    if show:
        print(text)
    if result_fd is not None:
        os.write(result_fd, text.encode() + b"\n")


def _parse(argv: list[str]) -> tuple[Job, bool, int | None]:
    """Options up to `--` or the first word that is none; then the command."""
    paths: dict[str, list[str]] = {"read": [], "write": [], "hide": [], "protect": []}
    limits: dict[str, Any] = {}
    more: dict[str, Any] = {}
    environment: dict[str, str] = {}
    show, result_fd, at = False, None, 0
    while at < len(argv) and argv[at].startswith("-"):
        word, equals, inline = argv[at].partition("=") if argv[at].startswith("--") else (argv[at], "", "")
        at += 1
        if word == "--" and not equals:
            break
        if word in ("--network", "--json"):
            show = show or word == "--json"
            more.setdefault("network", False)
            more["network"] = more["network"] or word == "--network"
            continue
        if not equals and at >= len(argv):
            raise UsageError(f"`{word}` needs a value")
        value = inline if equals else argv[at]
        at += not equals
        if word in _PATHS:
            paths[_PATHS[word]].append(value)
        elif word in _LIMITS:
            limits[_LIMITS[word][0]] = _limit(word, value)
        elif word == "--env":
            name, _, text = value.partition("=")
            environment[name] = text
        elif word == "--result-fd":
            result_fd = _number(word, value)
        elif word == "--uid":
            more["uid"] = _number(word, value)
        elif word in ("--cwd", "--backend"):
            more[word[2:]] = value
        else:
            raise UsageError(f"`{word}` is no option of run")
    if at >= len(argv):
        raise UsageError("no program given")
    job = Job(argv=tuple(argv[at:]), limits=limits, environment=environment)
    return job.replace(**{name: tuple(found) for name, found in paths.items()}, **more), show, result_fd


def _limit(word: str, value: str) -> Any:
    try:
        number = _LIMITS[word][1](value)
    except ValueError as error:
        raise UsageError(f"`{word}`: `{value}`: {error}") from error
    if number <= 0:
        raise UsageError(f"`{word}`: `{value}`: must be more than zero")
    return number


def _number(word: str, value: str) -> int:
    if not value.isdigit():
        raise UsageError(f"`{word}`: `{value}` is no number")
    return int(value)
