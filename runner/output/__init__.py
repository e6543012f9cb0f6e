"""bytes -> safe text, pure, in this order: decode, terminal filter, redact, cut. finalise() is the whole of it.

The order matters: only decoded text can be filtered, only filtered text shows a secret that escapes had split, and only
redacted text may be cut, for a cut secret is no longer recognised. Plain ASCII without secrets passes in one look.
"""

from __future__ import annotations

from ..model.outcome import Channel
from ..model.record import Record
from .bounds import Parts, fit, share
from .decode import decode, is_plain
from .redact import Redactor
from .terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.manifest import Limits


class SafeText(Record):
    """text: what may be shown; truncated: something that was written is not in it. Counts are bytes: total_bytes as
    the command wrote them, omitted_bytes as the line in the text says."""

    text: str
    truncated: bool = False
    total_bytes: int = 0
    omitted_bytes: int = 0


def finalise(channel: Channel, limit: int, redactor: Redactor | None = None, *, stopped: bool = False) -> SafeText:
    """The channel as at most `limit` bytes of UTF-8 and one line that says what was left out.

    stopped: we ended the command, so the channel itself may end in the middle of a secret.
    """
    return _fitted(_prepare(channel, redactor, stopped), limit, channel.total)


def finalise_both(
    stdout: Channel, stderr: Channel, limits: Limits, redactor: Redactor | None = None, *, stopped: bool = False
) -> tuple[SafeText, SafeText]:
    """Both channels, each within its own bound and the two together within `total_output`."""
    out, err = _prepare(stdout, redactor, stopped), _prepare(stderr, redactor, stopped)
    first, second = share(min(out.size, limits.stdout), min(err.size, limits.stderr), limits.total_output)
    return _fitted(out, first, stdout.total), _fitted(err, second, stderr.total)


def _fitted(parts: Parts, limit: int, total: int) -> SafeText:
    text, omitted = fit(parts, limit)
    return SafeText(text=text, truncated=omitted > 0, total_bytes=total, omitted_bytes=omitted)


def _prepare(channel: Channel, redactor: Redactor | None, stopped: bool) -> Parts:
    if not channel.dropped:
        return Parts(head=_text(channel.head + channel.tail, redactor, cut_after=stopped))
    head = _text(channel.head, redactor, cut_after=True)
    tail = _text(channel.tail, redactor, cut_before=True, cut_after=stopped)
    return Parts(head=head, tail=tail, dropped=channel.dropped)


def _text(data: bytes, redactor: Redactor | None, *, cut_before: bool = False, cut_after: bool = False) -> str:
    if is_plain(data):
        text = data.decode("ascii")
    else:
        text = decode(data, cut_before=cut_before, cut_after=cut_after)
        if redactor is None:
            return clean(text)
        text = redactor.begin(text) if cut_before else text
        text = clean(text, lambda part: redactor.mark(part, cut_before=cut_before, cut_after=cut_after))
    return redactor.part(text, cut_before=cut_before, cut_after=cut_after) if redactor else text
