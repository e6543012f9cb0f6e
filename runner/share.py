"""Shared by every layer: where profiles/ and images/ are (beside the packages in a checkout, inside the package once
installed), and reading a file that somebody else names."""

from __future__ import annotations

import errno
import os
import stat

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_INSTALLED = os.path.join(_PACKAGE, "_share")
ROOT = _INSTALLED if os.path.isdir(_INSTALLED) else os.path.dirname(_PACKAGE)


def profile_path(*parts: str) -> str:
    """Absolute path of a file below profiles/; it is not checked to exist."""
    return os.path.join(ROOT, "profiles", *parts)


def read_regular(path: str, limit: int) -> bytes:
    """The whole content. Raises OSError, also for a pipe, a device, a folder, or more than limit bytes: never a wait."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:  # looked at before it is wrapped: wrapping a folder fails by itself, and leaves the descriptor open
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with open(fd, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(fd)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes")
    return data
