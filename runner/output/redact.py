"""Secrets out of text: all matches of all forms at once, overlapping and touching ones merged, one replacement each.

Text is looked at twice: without invisible joiners, and, for forms that may be wrapped, without white space too. A part
that was cut out of a stream may begin or end in the middle of a secret; `part` drops what could be a piece of one.
"""

from __future__ import annotations

from .finder import Finder, Span, merge
from .forms import JOINERS, forms_of
from .terminal import SECRET, clean, sequence_rests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_REPLACEMENT = "[REDACTED]"
_COVERS = "█▓▒░■◆●"
_REPAINT = dict.fromkeys(map(ord, "\r\b"))


class Redactor:
    """secrets: values (blank ones are ignored); replacement: what stands for each, taken literally.

    Where the replacement and the text around it would spell a secret anew, a bar that is part of no secret stands instead.
    """

    def __init__(self, secrets: Iterable[str], replacement: str = DEFAULT_REPLACEMENT) -> None:
        forms = forms_of(secrets)
        self.replacement = replacement
        self._literal = Finder(forms.literal | {SECRET})
        self._packed = Finder(forms.packed)
        used = set().union(*forms.literal, *forms.packed)
        self._cover = next((char for char in _COVERS if char not in used), "\n")
        self._risky = not replacement or bool(used & {replacement[0], replacement[-1]} or self._spans(replacement))

    @property
    def risky(self) -> bool:
        """Whether the replacement beside other text may spell a secret anew."""
        return self._risky

    def is_open(self, text: str) -> bool:
        """Whether a secret may have begun at the end of text."""
        return self._open_end(text) > 0

    def boundary(self, text: str) -> int:
        """Behind the last newline of text that no secret can stand across, whatever follows; 0 where there is none."""
        known = len(text) - self._open_end(text)
        stop = text.rfind("\n", 0, known) + 1
        for first, last in reversed(self._spans(text)):
            if first < stop and _goes_on(text, last, stop):
                stop = text.rfind("\n", 0, first) + 1
        return stop

    def decided(self, text: str) -> tuple[str, str]:
        """(redacted text that nothing to come can change, the rest as it is)."""
        stop = len(text) - self._open_end(text)
        spans = self._spans(text)
        for first, last in reversed(spans):
            if first < stop and _goes_on(text, last, stop):
                stop = first
        return _join(text, spans, 0, stop, self.replacement), text[stop:]

    def __call__(self, text: str) -> str:
        spans = self._spans(text)
        return self._replaced(text, spans, 0, len(text)) if spans else text

    def mark(self, text: str, *, cut_before: bool = False, cut_after: bool = False) -> str:
        """SECRET for each secret: one cell, so that a line resolved afterwards shows none of its characters.

        The rest of a secret at a cut goes now already: once something is painted over it, it would not be recognised.
        """
        start, stop = self._whole(text, cut_before, cut_after)
        return _join(text, self._spans(text), start, stop, SECRET)

    def begin(self, text: str) -> str:
        """Unfiltered text behind a cut: without the rest of a sequence, if a piece of a secret stands behind that.

        Of several possible rests the longest: one that ends earlier may have a piece of another secret behind it by chance,
        and what stands behind the longest is part of what stands behind the others.
        """
        for skip in sorted(sequence_rests(text), reverse=True)[:-1]:
            if self._open_start_at(clean(text[skip:].translate(_REPAINT))):
                return text[skip:]
        return text

    def part(self, text: str, *, cut_before: bool = False, cut_after: bool = False) -> str:
        """Redacted, and without the rest of a secret at a side where the stream went on."""
        start, stop = self._whole(text, cut_before, cut_after)
        return self._replaced(text, self._spans(text), start, stop)

    def _whole(self, text: str, cut_before: bool, cut_after: bool) -> Span:
        """Where text holds no piece of a secret that is cut."""
        start = self._open_start(text) if cut_before else 0
        stop = len(text) - self._open_end(text) if cut_after else len(text)
        return start, max(start, stop)

    def _replaced(self, text: str, spans: list[Span], start: int, stop: int) -> str:
        done = _join(text, spans, start, stop, self.replacement)
        if self._risky and spans and self._spans(done):
            return _join(text, spans, start, stop, self._cover)
        return done

    def _spans(self, text: str) -> list[Span]:
        thin = _thin(text)
        found = self._literal.spans(thin)
        if found and len(thin) < len(text):
            found = _placed(merge(found), text, wrapped=False)
        if self._packed.forms:
            packed = _packed(thin)
            more = merge(self._packed.spans(packed))
            found += _placed(more, text, wrapped=True) if more and len(packed) < len(text) else more
        return merge(found)

    def _open_end(self, text: str) -> int:
        thin = _thin(text)
        literal, packed = self._literal.open_end(thin), self._packed.open_end(_packed(thin))
        return max(_reach(text[::-1], literal, wrapped=False), _reach(text[::-1], packed, wrapped=True))

    def _open_start(self, text: str) -> int:
        """Also behind the rest of a colour sequence, which may have stood inside the secret."""
        found = [(skip, self._open_start_at(text[skip:])) for skip in sequence_rests(text)]
        return max((skip + behind for skip, behind in found if behind), default=0)

    def _open_start_at(self, text: str) -> int:
        thin = _thin(text)
        literal, packed = self._literal.open_start(thin), self._packed.open_start(_packed(thin))
        return max(_reach(text, literal, wrapped=False), _reach(text, packed, wrapped=True))


def slack(secrets: Iterable[str]) -> int:
    """How many bytes beyond its bound a capture keeps at each cut, so that a secret there is seen whole; 0 without secrets.

    Not needed for safety (a piece is dropped), but for showing the replacement and losing no text beside it.
    """
    forms = forms_of(secrets)
    literal = max((len(form.encode()) for form in forms.literal), default=0)
    packed = max((len(form) + len(form) // 32 + 1 for form in forms.packed), default=0)  # wrapped, newlines included
    return max(literal, packed) + 3 if literal or packed else 0  # 3: what a cut character can lack


def _goes_on(text: str, last: int, stop: int) -> bool:
    """Whether the secret that ends at last may be one with what comes behind stop: nothing visible is between."""
    return last >= stop or not _packed(_thin(text[last:stop]))


def _thin(text: str) -> str:
    return text if text.isascii() else text.translate(JOINERS)


def _packed(thin: str) -> str:
    return "".join(thin.split())


def _left_out(char: str, wrapped: bool) -> bool:
    return ord(char) in JOINERS or (wrapped and char.isspace())


def _placed(spans: list[Span], text: str, *, wrapped: bool) -> list[Span]:
    """Places in a thinned text as places in the text itself."""
    places = [at for at, char in enumerate(text) if not _left_out(char, wrapped)]
    return [(places[start], places[stop - 1] + 1) for start, stop in spans]


def _reach(text: str, count: int, *, wrapped: bool) -> int:
    """How many characters of text hold the first `count` of its thinned form."""
    at = 0
    while count:
        count -= not _left_out(text[at], wrapped)
        at += 1
    return at


def _join(text: str, spans: list[Span], start: int, stop: int, replacement: str) -> str:
    """text[start:stop] with the spans replaced; a span across an edge is replaced whole."""
    parts: list[str] = []
    at = start
    for first, last in spans:
        if last > start and first < stop:
            parts += (text[at : max(first, at)], replacement)
            at = last
    return "".join((*parts, text[at:stop]))
