"""Landlock access bits as numbers (landlock(7), linux/landlock.h) and the three grants made of them.

Numbers, not a library's flags: importing enum-based bindings costs 50 ms, more than a whole one-shot run may. A test
holds these equal to what landlockpy says for every ABI.
"""

from __future__ import annotations

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15

ALL_FS = (1 << 16) - 1  # everything through ABI 5; the launcher drops what the running kernel does not know
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_UNIX, SIGNALS = 1, 2

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ALL_FS & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
DEVICE = READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEV
LIST = READ_DIR


def handled(abi: int) -> int:
    """The filesystem rights a kernel of that ABI can restrict."""
    bits = (1 << 13) - 1 if abi >= 1 else 0
    bits |= REFER if abi >= 2 else 0
    bits |= TRUNCATE if abi >= 3 else 0
    return bits | (IOCTL_DEV if abi >= 5 else 0)
