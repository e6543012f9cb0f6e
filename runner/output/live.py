"""The same safe text while it is being written: pieces that, put together, are exactly the finished text.

A piece is a number of complete lines (what a repaint or a sequence may still change is on one line) before which no
secret can have begun that is not yet decided. So nothing is ever taken back: what is undecided is held. Every raw pipe
has its own decoder and filter; what comes out of all of them is one text, looked through once more for a secret that was
split over two channels, and bounded.
"""

from __future__ import annotations

from codecs import utf_8_decode

from .bounds import keep_head, size_of
from .terminal import clean, inert, settled, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.manifest import Limits
    from .redact import Redactor

EVENT_BYTES = 4096


def unsupported(secrets: Iterable[str], redactor: Redactor | None, limits: Limits) -> str:
    """Why text cannot be shown while it is written, or nothing: then what is shown can never spell a secret."""
    if limits.total_output <= 0:
        return "`total_output` is zero"
    for secret in secrets:
        if visible(secret.translate(_KEPT)) != secret.translate(_KEPT):
            return "a secret has characters that are filtered out of every output"
        if len(secret.encode("utf-8", "surrogateescape")) > limits.total_output:
            return "a secret is longer than `total_output`"
    if redactor is not None and redactor.risky:
        return "the replacement could spell a secret together with what stands beside it"
    return ""


_KEPT = dict.fromkeys(map(ord, "\r\n\t"))


class Held:
    """Text -> redacted text, without the end that could be the beginning of a secret."""

    def __init__(self, redactor: Redactor | None) -> None:
        self.redactor, self.text = redactor, ""

    def add(self, text: str) -> str:
        """What is decided by now."""
        if self.redactor is None:
            return text
        self.text += text
        done, self.text = self.redactor.decided(self.text)
        return done

    def end(self) -> str:
        done, self.text = self.text, ""
        return self.redactor(done) if self.redactor is not None else done


class Pipe:
    """One raw pipe: bytes -> safe text."""

    def __init__(self, redactor: Redactor | None) -> None:
        self.redactor, self.held = redactor, Held(redactor)
        self.bytes, self.text = b"", ""

    def add(self, data: bytes) -> str:
        """The safe text that is decided by now."""
        data = self.bytes + data
        text, used = utf_8_decode(data, "replace", False)
        self.bytes = data[used:]
        text = inert(text)
        self.text += text
        return self._settle() if "\n" in text else ""

    def end(self, *, stopped: bool = False) -> str:
        """The rest. stopped: we ended the command, so what is undecided may be a piece of a secret and is dropped."""
        if stopped:
            return ""
        self.text += inert(utf_8_decode(self.bytes, "replace", True)[0])
        rest, self.bytes, self.text = self.text, b"", ""
        shown = clean(rest) if self.redactor is None else settled(self.redactor.mark(rest), self.redactor.mark)
        return self.held.add(shown) + self.held.end()

    def _settle(self) -> str:
        redactor = self.redactor
        if redactor is None:
            lines, newline, self.text = self.text.rpartition("\n")
            return clean(lines + newline)
        stop = redactor.boundary(self.text)
        if not stop:
            return ""
        open_inside = False

        def mark(part: str) -> str:
            nonlocal open_inside
            open_inside = open_inside or redactor.is_open(part)
            return redactor.mark(part)

        shown = settled(redactor.mark(self.text[:stop]), mark)
        if open_inside:
            return ""  # sequences taken out, a secret may go on in the next line: decided when that is here
        self.text = self.text[stop:]
        return self.held.add(shown)


class Stream:
    """All pipes of one request as one bounded text. emit gets pieces of at most EVENT_BYTES bytes, whole characters."""

    def __init__(self, limits: Limits, redactor: Redactor | None, emit: Callable[[str], None]) -> None:
        self.redactor, self.emit = redactor, emit
        self.held = Held(redactor)
        self.budgets = {"stdout": limits.stdout, "stderr": limits.stderr, "total": limits.total_output}

    def pipe(self) -> Pipe:
        return Pipe(self.redactor)

    def wants(self, channel: str) -> bool:
        """Whether any more of it could be shown."""
        return self.budgets[channel] > 0 and self.budgets["total"] > 0

    def publish(self, channel: str, text: str) -> None:
        """channel: stdout | stderr, whose budget it counts against."""
        if text:
            self._emit(self.held.add(self._within(channel, text)))

    def end(self, *, stopped: bool = False) -> None:
        """After the last pipe has ended."""
        if not stopped:
            self._emit(self.held.end())

    def _emit(self, text: str) -> None:
        text = self._within("total", text)
        while text:
            piece = keep_head(text, EVENT_BYTES)
            text = text[len(piece) :]
            self.emit(piece)

    def _within(self, name: str, text: str) -> str:
        """As much as the budget holds; once something did not fit, nothing more does: a gap would be a lie."""
        size = size_of(text)
        if size <= self.budgets[name]:
            self.budgets[name] -= size
            return text
        text = keep_head(text, self.budgets[name])
        self.budgets[name] = 0
        return text
