"""`python -m runner` is `fumehood`. In a folder that others can write, use `fumehood` (or `python -P -m runner`)."""

from __future__ import annotations

from .adapters.cli import entry

if __name__ == "__main__":
    entry()
