"""Sizes and durations as people write them: plain decimals with a unit. The compiler and the command line share these."""

from __future__ import annotations

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _split(text: str) -> tuple[str, str]:
    digits = 0
    while digits < len(text) and (text[digits] in "0123456789."):
        digits += 1
    return text[:digits], text[digits:]


def parse_duration(text: str) -> float:
    """Seconds of `1.5s`, `200ms`, `3m`, `1h`; positive and finite. Raises ValueError."""
    number, unit = _split(text)
    if unit not in _SECONDS or not number.strip(".") or number.count(".") > 1:
        raise ValueError("a duration is a decimal number and one of ms, s, m, h")
    seconds = float(number) * _SECONDS[unit]
    if not 0 < seconds < 1e9:
        raise ValueError("a duration must be more than zero and finite")
    return seconds


def parse_bytes(text: str) -> int:
    """Bytes of `4096`, `64KiB`, `1MiB`, `2GiB`; below 2**63. Raises ValueError."""
    number, unit = _split(text)
    if unit not in _BYTES or not number.isdigit():
        raise ValueError("a size is a whole number and one of B, KiB, MiB, GiB")
    size = int(number) * _BYTES[unit]
    if size >= 1 << 63:
        raise ValueError("the size does not fit into 63 bits")
    return size
