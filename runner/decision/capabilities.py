"""The ceiling: every effect must lie within what was declared. Approval can add nothing to it."""

from __future__ import annotations

from ..errors import Refusal
from ..model.paths import covers, inside
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.command import Effect


class Ceiling(Record):
    """Declared powers with canonical absolute roots. hide: never inside, whatever root holds them."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    network: bool = False
    child_processes: bool = False
    arbitrary_code: bool = False
    privilege_change: bool = False


def check(effects: Iterable[Effect], ceiling: Ceiling, canonicalise: Callable[[str], str]) -> None:
    """Raise Refusal `capability_violation` for the first effect that exceeds the ceiling."""
    for effect in effects:
        if not _allowed(effect, ceiling, canonicalise):
            raise Refusal(
                f"the command needs `{effect}`, which the runtime does not grant",
                code="capability_violation",
                remedy=_remedy(effect),
            )


def _allowed(effect: Effect, ceiling: Ceiling, canonicalise: Callable[[str], str]) -> bool:
    if effect.kind == "unknown":
        return ceiling.arbitrary_code
    if effect.kind not in ("read", "write"):
        return bool(getattr(ceiling, effect.kind, False))
    path = canonicalise(effect.target)
    if any(inside(path, name) for name in ceiling.hide):
        return False
    if effect.kind == "write":
        kept = any(covers(name, path) for name in ceiling.protect)
        return not kept and any(inside(path, root) for root in ceiling.write)
    return any(inside(path, root) for root in (*ceiling.read, *ceiling.write))


def _remedy(effect: Effect) -> str:
    if effect.kind in ("read", "write"):
        return f"use a path below the declared roots, or declare `<{effect.kind} path=…/>`"
    name = "arbitrary_code" if effect.kind == "unknown" else effect.kind
    return f'declare `{name}="true"`, or use a program whose effects are known'
