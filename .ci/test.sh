#!/bin/sh
# The whole suite: as we are; where user namespaces are refused; and, as root, both again as an ordinary user.
set -eu
cd "$(dirname "$0")/.."
user=fumehood-test
failed=0

main() {
    echo "== the whole suite as $(id -un)"
    .venv/bin/python -m pytest "$@" || failed=1
    echo "== the sandbox as $(id -un), user namespaces refused"
    .venv/bin/python tests/escape/nousers.py .venv/bin/python -m pytest -q tests/escape || failed=1
    if [ "$(id -u)" = 0 ]; then as_ordinary_user; fi
    exit "$failed"
}

as_ordinary_user() {
    id "$user" >/dev/null 2>&1 || useradd --system --create-home --shell /bin/sh "$user"
    copy="$(getent passwd "$user" | cut -d: -f6)/checkout"
    copy_checkout
    # Our own interpreter may lie in a folder only root can enter: this user gets the distribution's.
    if theirs PYTHON=/usr/bin/python3 .ci/setup.sh --tests; then
        echo "== the sandbox as $user"
        theirs .venv/bin/python -m pytest -q tests/escape tests/e2e tests/contract tests/fault || failed=1
        echo "== the sandbox as $user, user namespaces refused"
        theirs .venv/bin/python tests/escape/nousers.py .venv/bin/python -m pytest -q tests/escape || failed=1
    else
        failed=1
    fi
}

copy_checkout() { # What belongs to the project, readable by that user; an environment made before is kept.
    mkdir -p "$copy"
    find "$copy" -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {} +
    git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard |
        tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$copy"
    chown -R "$user" "$copy"
}

theirs() { # theirs [NAME=VALUE…] COMMAND…: in that user's copy; folders of ours that the environment names are not theirs
    su "$user" -c "cd '$copy' && env -u XDG_CACHE_HOME -u TMPDIR $*"
}

main "$@"
