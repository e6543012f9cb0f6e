"""Where profiles/ and images/ are: beside the packages in a checkout, inside the package once installed."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_INSTALLED = os.path.join(_PACKAGE, "_share")
ROOT = _INSTALLED if os.path.isdir(_INSTALLED) else os.path.dirname(_PACKAGE)


def profile_path(*parts: str) -> str:
    """Absolute path of a file below profiles/; it is not checked to exist."""
    return os.path.join(ROOT, "profiles", *parts)
