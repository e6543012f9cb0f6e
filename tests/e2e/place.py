"""Shared by the suites of this folder: one confined command in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner import Result, run


def confined(argv: Sequence[str], place: Path, **options: Any) -> Result:
    """Run in the workspace, which is the only folder granted unless `options` say more."""
    workspace = str(place / "ws")
    grants = {"write": [workspace], "cwd": workspace, "limits": {"wall_time": 60}, **options}
    return run(list(argv), **grants)


def sh(script: str, place: Path, **options: Any) -> Result:
    return confined(["sh", "-c", script], place, **options)
