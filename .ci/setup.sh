#!/bin/sh
# Everything a fresh machine needs: system packages where we may install them, then .venv with the project in it.
# With --tests also the programs that the suite runs inside the sandbox or measures beside it.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.installed

main() {
    system_packages "$@"
    environment
    launcher
}

# -- system packages --------------------------------------------------------------------------------------------------

missing=""
need() { # need COMMAND-OR-FILE PACKAGE
    command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || missing="$missing $2"
}

need_python_module() { # need_python_module MODULE PACKAGE: for the distribution's own interpreter
    /usr/bin/python3 -c "import $1" >/dev/null 2>&1 || missing="$missing $2"
}

static_library_works() {
    program=$(mktemp)
    echo 'int main(void) { return 0; }' | cc -static -x c -o "$program" - >/dev/null 2>&1 && code=0 || code=1
    rm -f "$program"
    return "$code"
}

seccomp_library() {
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -q 'libseccomp\.so\.2'
}

look_for_essentials() {
    need cc gcc
    static_library_works || missing="$missing libc6-dev"
    seccomp_library || missing="$missing libseccomp2"
    need /usr/bin/python3 python3
    need_python_module ensurepip python3-venv
    need /etc/ssl/certs/ca-certificates.crt ca-certificates
}

look_for_test_programs() {
    need git git
    need make make
    need ps procps
    need perl perl
    need script bsdutils
    need node nodejs
    need strace strace
    need bwrap bubblewrap
    need shellcheck shellcheck
    need_python_module pip python3-pip
    need_python_module setuptools python3-setuptools
    need_python_module wheel python3-wheel
}

system_packages() {
    look_for_essentials
    essential=$missing
    if [ "${1:-}" = --tests ]; then look_for_test_programs; fi
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        install_packages
    elif [ -n "$essential" ]; then
        echo "fumehood: missing:$essential; as root: apt-get install$essential" >&2
        exit 1
    else
        echo "fumehood: tests that need them will fail without:$missing" >&2
    fi
}

install_packages() {
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # a list of words
    if { apt-get -o Acquire::Retries=3 update && apt-get -o Acquire::Retries=3 install -y --no-install-recommends $missing; } >"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "fumehood: could not install:$missing" >&2
        exit 1
    fi
}

# -- .venv ------------------------------------------------------------------------------------------------------------

newer() { # newer FILE…: whether one of them changed after the last installation
    [ ! -e "$stamp" ] || [ -n "$(find "$@" -newer "$stamp")" ]
}

environment() {
    python=${PYTHON:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "fumehood: python 3.11 or newer is needed; name one with PYTHON=…" >&2
        exit 1
    }
    .venv/bin/python -c 'import pip' 2>/dev/null || { rm -rf .venv && "$python" -m venv .venv; }
    newer pyproject.toml backends/launcher/hatch_build.py || return 0
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 10 -e '.[dev]'
    touch "$stamp"
}

launcher() { # An editable installation has compiled it; a later change of its source needs no more than a compiler.
    if [ ! -x backends/launcher/launcher ] || newer backends/launcher/*.[ch] backends/launcher/build.py; then
        .venv/bin/python backends/launcher/build.py
        touch "$stamp"
    fi
}

main "$@"
