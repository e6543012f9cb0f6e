#!/bin/sh
# Lint and types, of the scripts too where shellcheck is there.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/ruff check .
.venv/bin/mypy
if command -v shellcheck >/dev/null 2>&1; then shellcheck .ci/*; fi
