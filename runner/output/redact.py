"""Secrets out of text: every form of each, longest first, in one pass, touching matches merged into one replacement.

Forms: the value itself; for values of eight characters or more also base64 (three alignments, both alphabets),
percent-encoding, hexadecimal and JSON escapes. Values are compared as text, never used as patterns.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ENCODED_FROM = 8  # shorter values in encoded form would shred ordinary output


class Redactor:
    """secrets: literal values (empty ones are ignored); replacement: what stands for each."""

    def __init__(self, secrets: Iterable[str], replacement: str) -> None:
        self.replacement = replacement
        self.forms = sorted({form for secret in secrets if secret for form in _forms(secret)}, key=len, reverse=True)
        self.longest = len(self.forms[0]) if self.forms else 0

    def __call__(self, text: str) -> str:
        spans = self._spans(text)
        if not spans:
            return text
        parts: list[str] = []
        at = 0
        for start, stop in spans:
            parts += (text[at:start], self.replacement)
            at = stop
        return "".join((*parts, text[at:]))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Merged places of all matches, overlapping ones included."""
        found: list[tuple[int, int]] = []
        for form in self.forms:
            at = text.find(form)
            while at >= 0:
                found.append((at, at + len(form)))
                at = text.find(form, at + 1)
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return merged

    def without_prefix(self, text: str) -> str:
        """Text that was cut off behind: drop an ending that could be the beginning of a secret."""
        size = max((self._overlap(text, form) for form in self.forms), default=0)
        return text[: len(text) - size]

    def without_suffix(self, text: str) -> str:
        """Text that was cut off before: drop a beginning that could be the end of a secret."""
        size = 0
        for form in self.forms:
            for count in range(min(len(form) - 1, len(text)), size, -1):
                if text.startswith(form[len(form) - count :]):
                    size = count
                    break
        return text[size:]

    @staticmethod
    def _overlap(text: str, form: str) -> int:
        for count in range(min(len(form) - 1, len(text)), 0, -1):
            if text.endswith(form[:count]):
                return count
        return 0


def slack(secrets: Iterable[str]) -> int:
    """How many bytes more than the bound a capture keeps at each end, so that a secret at the cut is seen whole."""
    return max((len(form.encode()) for secret in secrets if secret for form in _forms(secret)), default=0)


def _forms(secret: str) -> set[str]:
    forms = {secret}
    lines = [line for line in secret.splitlines() if len(line) >= ENCODED_FROM]
    if len(lines) > 1:
        forms |= set(lines)  # a key of several lines is often printed line by line
    if len(secret) >= ENCODED_FROM:
        forms |= _encoded(secret)
    return forms


def _encoded(secret: str) -> set[str]:
    import binascii
    import json
    from urllib.parse import quote, quote_plus

    data = secret.encode("utf-8", "surrogateescape")
    hexadecimal = data.hex()
    forms = {hexadecimal, hexadecimal.upper(), json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {quote(data, safe=""), quote(data), quote_plus(data), secret[::-1]}
    for shift in range(3):
        # The characters that depend on the secret alone, whatever stands before and behind it.
        text = binascii.b2a_base64(b"\0" * shift + data, newline=False).decode().rstrip("=")
        core = text[(shift * 8 + 5) // 6 : len(text) - (1 if (shift + len(data)) % 3 else 0)]
        if len(core) >= ENCODED_FROM:
            forms |= {core, core.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= ENCODED_FROM}
