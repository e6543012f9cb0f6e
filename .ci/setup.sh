#!/bin/sh
# Everything a fresh machine needs: system packages where we may install them, then .venv with the project in it.
set -eu
cd "$(dirname "$0")/.."

missing=""
need() { # need COMMAND-OR-FILE PACKAGE
    command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || missing="$missing $2"
}
need cc gcc
need git git
need /usr/bin/python3 python3
need /usr/bin/bwrap bubblewrap
need script bsdutils
need strace strace
for name in libseccomp.so.2; do
    ldconfig -p 2>/dev/null | grep -q "$name" || missing="$missing libseccomp2"
done
/usr/bin/python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3-venv"
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    { apt-get update && apt-get install -y --no-install-recommends $missing; } >/dev/null 2>&1 ||
        echo "fumehood: could not install:$missing" >&2
fi

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "fumehood: python 3.11 or newer is needed" >&2
    exit 1
}
stamp=.venv/.installed
if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ] || [ backends/launcher/launcher.c -nt "$stamp" ] ||
    [ backends/launcher/launcher.h -nt "$stamp" ] || [ ! -x backends/launcher/launcher ]; then
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
    touch "$stamp"
fi
