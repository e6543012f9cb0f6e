"""Shared by all suites."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def namespaces() -> bool:
    """Whether this host lets us make the namespaces the sandbox wants (it may be told not to: tests/escape/nousers.py)."""
    script = "import ctypes, os; exit(ctypes.CDLL(None, use_errno=True).unshare(0x10020000 if os.geteuid() else 0x20000))"
    return subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


