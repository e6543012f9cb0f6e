"""fumehood: run untrusted, model-written commands behind glass.

    from runner import Registry, run

    registry = Registry.load("agent.xml", authorize=digest)     # declared shell tools, compiled, authorised, live
    registry.call("search", {"arguments": ["TODO", "lib"]})     # -> Result
    run(["python3", "x.py"], read=["data"], write=["out"])      # one confined command -> Result

The folders are the stages of the walk in order: model, compiler, request, decision, planning, execution, output.
Names are imported when first used, so that a one-shot run pays only for what it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .errors import RunnerError as RunnerError
    from .oneshot import run as run
    from .registry import Registry as Registry
    from .result import Result as Result

__version__ = "0.1.0"
_HOME = {"RunnerError": "errors", "run": "oneshot", "Registry": "registry", "Result": "result"}
__all__ = ["Registry", "Result", "RunnerError", "run"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module `runner` has no attribute `{name}`")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value
