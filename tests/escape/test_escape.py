"""Every row of the table: first shown to work bare, then refused inside with nothing changed on the host."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet

from tests.escape import terminal
from tests.escape.attacks import ATTACKS
from tests.escape.attempt import Observation, bare, confined
from tests.escape.conftest import Worlds
from tests.escape.row import Attack
from tests.escape.world import World

BACKENDS = ("landlock",)
_ROOT = os.geteuid() == 0
_USERS = {"any": True, "root": _ROOT, "user": not _ROOT}


def _parameters(rows: Iterable[Attack]) -> list[ParameterSet]:
    """Rows that need another user are skipped; CI runs the table as both."""
    skip = {name: () if here else pytest.mark.skip(reason=f"needs {name}") for name, here in _USERS.items()}
    return [pytest.param(row, id=row.id, marks=skip[row.needs]) for row in rows]


ROWS = _parameters(ATTACKS)


def _world(row: Attack, worlds: Worlds) -> World:
    return worlds(other_user=row.host == "other-user")


def _bare(row: Attack, world: World) -> Observation:
    return terminal.bare(row, world) if row.host == "tty" else bare(row, world)


def _confined(row: Attack, world: World, backend: str) -> Observation:
    return terminal.confined(row, world, backend) if row.host == "tty" else confined(row, world, backend)


def _works(row: Attack, seen: Observation) -> bool:
    return (seen.verdict == "OK") if row.effect == "verdict" else row.effect in seen.changes


def test_the_table_is_large_and_every_id_is_its_own() -> None:
    assert len(ATTACKS) >= 70
    assert len({row.id for row in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("row", ROWS)
def test_bare(row: Attack, worlds: Worlds, namespaces: bool) -> None:
    """The attempt succeeds on a host without a sandbox, or the row says what this kernel answers and why."""
    seen = _bare(row, _world(row, worlds))
    if row.namespaces and not namespaces:
        assert seen.verdict in {"OK", "EPERM", "ENOSYS"}, seen
    elif seen.verdict == "OK":
        assert _works(row, seen), seen
    else:
        assert row.why and seen.verdict in row.bare, seen


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("row", ROWS)
def test_confined(row: Attack, backend: str, worlds: Worlds, namespaces: bool) -> None:
    """The same attempt inside: the verdict the table says, and the host untouched."""
    seen = _confined(row, _world(row, worlds), backend)
    if not namespaces and row.without_namespaces == "reported" and seen.levels.get(row.constraint) in {"partly", "not"}:
        return  # the result itself says that this does not hold here
    if not (seen.verdict == "REFUSED" and _names_a_limit(row, seen)):
        assert seen.verdict in row.refused, seen
    assert not seen.changes, seen


def _names_a_limit(row: Attack, seen: Observation) -> bool:
    """Nothing started because this host cannot fully hold a limit the row declares, and the error says which."""
    return any(f"`{name}` cannot be fully enforced" in seen.text for name, _ in row.limits)


@pytest.mark.parametrize("row", _parameters(row for row in ATTACKS if row.why))
def test_what_this_kernel_refuses_by_itself_is_refused_otherwise_inside(
    row: Attack, worlds: Worlds, namespaces: bool
) -> None:
    """Where the bare kernel already says no, the confined answer must be another, or the row would prove nothing.

    Not so for a name that does not exist out there at all, and for a state that is already the safe one.
    """
    outside = _bare(row, _world(row, worlds))
    if outside.verdict in {"OK", "ENOENT", "SET"} or (row.namespaces and not namespaces):
        return
    assert _confined(row, _world(row, worlds), BACKENDS[0]).verdict != outside.verdict
