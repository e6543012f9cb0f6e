"""Many fixed strings in one text, linear in the text. Strings are compared, never used as patterns.

A few are looked for one after another (the interpreter's own search is linear and skips); many share a pass that asks at
each place whether the eight characters there begin one of them, and one with four for the shorter ones.
"""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

Span = tuple[int, int]

_MANY = 64
_KEYS = (8, 4)


class Finder:
    """forms: the strings, none empty."""

    def __init__(self, forms: Iterable[str]) -> None:
        self.forms = frozenset(forms)
        self.longest = max(map(len, self.forms), default=0)
        self._begins = sorted(self.forms)
        self._ends = sorted(form[::-1] for form in self.forms)
        self._lengths: dict[int, dict[str, list[int]]] = {}
        single = set(self.forms)
        for size in _KEYS:
            keyed = {form for form in single if len(form) >= size}
            if len(keyed) > _MANY:
                self._lengths[size] = _lengths_of(keyed, size)
                single -= keyed
        self._single = tuple(single)

    def spans(self, text: str) -> list[Span]:
        """Where they stand; may overlap and is in no order."""
        found = [span for form in self._single for span in _each(text, form)]
        for size, lengths in self._lengths.items():
            found += self._keyed_spans(text, size, lengths)
        return found

    def _keyed_spans(self, text: str, size: int, lengths: dict[str, list[int]]) -> list[Span]:
        found: list[Span] = []
        forms = self.forms
        for at in [at for at in range(len(text) - size + 1) if text[at : at + size] in lengths]:
            for length in lengths[text[at : at + size]]:
                if text[at : at + length] in forms:
                    _append(found, (at, at + length))
                    break
        return found

    def open_end(self, text: str) -> int:
        """How many characters at the end could be the beginning of a longer form."""
        return _overlap(text[-(self.longest - 1) :] if self.longest > 1 else "", self._begins)

    def open_start(self, text: str) -> int:
        """How many characters at the start could be the end of a longer form."""
        return _overlap(text[: self.longest - 1][::-1] if self.longest > 1 else "", self._ends)


def merge(spans: Iterable[Span]) -> list[Span]:
    """In order, overlapping and touching ones made one."""
    merged: list[Span] = []
    for span in sorted(spans):
        _append(merged, span)
    return merged


def _lengths_of(forms: set[str], size: int) -> dict[str, list[int]]:
    """Per beginning of that size, how long the forms with it are, longest first."""
    lengths: dict[str, list[int]] = {}
    for length, key in sorted({(len(form), form[:size]) for form in forms}, reverse=True):
        lengths.setdefault(key, []).append(length)
    return lengths


def _append(spans: list[Span], span: Span) -> None:
    if spans and span[0] <= spans[-1][1]:
        spans[-1] = (spans[-1][0], max(span[1], spans[-1][1]))
    else:
        spans.append(span)


def _each(text: str, form: str) -> list[Span]:
    """Runs of one form: matches that overlap or touch are one span already."""
    found: list[Span] = []
    size, start = len(form), text.find(form)
    while start >= 0:
        last = start
        while (more := text.rfind(form, last + 1, last + 2 * size)) >= 0:
            last = more
        found.append((start, last + size))
        start = text.find(form, last + size)
    return found


def _overlap(text: str, ordered: list[str]) -> int:
    """The longest ending of text that is the beginning, and not all, of one of the sorted strings."""
    for at in range(len(text)):
        # A short look first: comparing all the rest at each place would be quadratic in a long secret.
        if _begins(ordered, text[at : at + 32]) and _begins(ordered, text[at:]):
            return len(text) - at
    return 0


def _begins(ordered: list[str], part: str) -> bool:
    """Whether one of the sorted strings begins with part and is longer."""
    place = bisect_right(ordered, part)
    return place < len(ordered) and ordered[place].startswith(part)
