"""Interleaved timing: A B A B …, medians and the ratio of medians."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

Work = Callable[[], object]


def interleaved(works: dict[str, Work], rounds: int, pause: float = 0.0) -> dict[str, float]:
    """Median seconds of each; one unmeasured round first. pause: seconds before each measured call."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            if pause:
                time.sleep(pause)
            started = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - started)
    return {name: median(values) for name, values in times.items()}


def in_turn(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Median seconds of each, each repeated without pause; three passes, the middle one counts."""
    passes = []
    for _ in range(3):
        found = {}
        for name, work in works.items():
            work()
            values = []
            for _ in range(rounds):
                started = time.perf_counter()
                work()
                values.append(time.perf_counter() - started)
            found[name] = median(values)
        passes.append(found)
    return {name: median(found[name] for found in passes) for name in works}


def show(title: str, medians: dict[str, float], base: str, target: str) -> None:
    """One table: milliseconds and ratio to the base."""
    print(f"\n{title}   (target: {target})")
    for name, value in medians.items():
        print(f"  {name:<34} {value * 1e3:9.3f} ms   {value / medians[base]:6.2f} x")
