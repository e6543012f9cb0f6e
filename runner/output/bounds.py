"""Cutting text to a number of UTF-8 bytes, on a character boundary."""

from __future__ import annotations


def cut(text: str, size: int, *, keep: str) -> str:
    """The longest head (or tail) of at most `size` bytes."""
    data = text.encode()
    if len(data) <= size:
        return text
    part = data[:size] if keep == "head" else data[len(data) - size :]
    return part.decode("utf-8", "ignore")  # only the cut character can be incomplete


def marker(omitted: int) -> str:
    """The one line that stands for what was left out."""
    return f"\n[… {omitted} bytes left out …]\n"
