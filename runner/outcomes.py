"""One table: what ended a request -> error code for a model, exit code for a shell.

| ended by                        | error code            | exit code            | status           |
|---------------------------------|-----------------------|----------------------|------------------|
| the command itself              | -                     | its own, 128+n       | what it was      |
| wall_time, idle_time, cpu_time  | timed_out, …          | 124                  | what the kernel said |
| any other limit                 | …_exceeded            | as the status says   | what the kernel said |
| a refusal, a failure of ours    | its code              | 125                  | null             |
| program not found / not executable | resolution_error, spawn_error | 127 / 126  | null             |
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model.outcome import Outcome

LIMIT_CODES = {
    "wall_time": ("timed_out", "the command was ended after its wall time limit"),
    "idle_time": ("idle_timed_out", "the command was ended: no output and no work within its idle time limit"),
    "cpu_time": ("cpu_time_exceeded", "the command used up its CPU time limit"),
    "memory": ("memory_limit_exceeded", "the command ran into its memory limit"),
    "processes": ("process_limit_exceeded", "the command ran into its limit of processes"),
    "file_size": ("file_size_exceeded", "the command was ended: a file grew past its size limit"),
    "total_output": ("output_limit_exceeded", "the command was ended: it wrote more than its output limit"),
}
_TIME = ("wall_time", "idle_time", "cpu_time")


def exit_code(outcome: Outcome) -> int:
    """What `fumehood run` exits with."""
    if outcome.status is None:
        return {"resolution_error": 127, "spawn_error": 126}.get(outcome.error[0] if outcome.error else "", 125)
    return 124 if outcome.limit in _TIME else outcome.status.code
