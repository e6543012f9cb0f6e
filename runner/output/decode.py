"""Raw bytes -> text: UTF-8, each invalid part one U+FFFD (Unicode 15, 3.9, "maximal subpart").

Where a capture cut the stream, the halves of the character at the cut are dropped, not shown as damage of the output.
"""

from __future__ import annotations

from codecs import utf_8_decode

PLAIN = bytes((*range(0x20, 0x7F), 0x09, 0x0A))  # what needs no look at all
_CONTINUATION = bytes(range(0x80, 0xC0))


def is_plain(data: bytes) -> bool:
    """Printable ASCII, tab and newline only."""
    return not data.translate(None, PLAIN)


def decode(data: bytes, *, cut_before: bool = False, cut_after: bool = False) -> str:
    """cut_before, cut_after: more bytes stood there in the stream, so a character may have lost its other half."""
    if cut_before:
        data = data[:3].lstrip(_CONTINUATION) + data[3:]
    return utf_8_decode(data, "replace", not cut_after)[0]
