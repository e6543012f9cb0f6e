"""`python -m runner` is `fumehood`. In a folder that others can write, use `fumehood` (or `python -P -m runner`)."""

from __future__ import annotations

import sys

from .adapters.cli import main

if __name__ == "__main__":
    sys.exit(main())
