"""Request ids: time-ordered and random, unique across processes and restarts."""

from __future__ import annotations

import os
import time


def new_request_id() -> str:
    """`shell-` + 12 hex digits of milliseconds since 1970 + 12 random ones."""
    return f"shell-{time.time_ns() // 1_000_000:012x}{os.urandom(6).hex()}"
