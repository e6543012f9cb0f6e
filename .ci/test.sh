#!/bin/sh
# The whole suite: as we are; as root also as an ordinary user; and where user namespaces are refused.
set -eu
cd "$(dirname "$0")/.."
sandbox_suites="tests/escape tests/e2e tests/contract tests/fault"
failed=0

.venv/bin/python -m pytest "$@" || failed=1

echo "== sandbox suites where user namespaces are refused"
.venv/bin/python tests/escape/nousers.py .venv/bin/python -m pytest -q tests/escape || failed=1

if [ "$(id -u)" = 0 ]; then
    echo "== sandbox suites as an ordinary user"
    user=fumehood-test
    id "$user" >/dev/null 2>&1 || useradd --system --create-home --shell /bin/sh "$user"
    home=$(getent passwd "$user" | cut -d: -f6)
    copy="$home/checkout"
    rm -rf "$copy"
    mkdir -p "$copy"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
    chown -R "$user" "$copy"
    # Our own interpreter may lie in a folder only root can enter: this user gets the distribution's.
    su "$user" -c "cd '$copy' && PYTHON=/usr/bin/python3 .ci/setup.sh" || failed=1
    # shellcheck disable=SC2086
    su "$user" -c "cd '$copy' && .venv/bin/python -m pytest -q $sandbox_suites" || failed=1
    echo "== the same, user namespaces refused"
    su "$user" -c "cd '$copy' && .venv/bin/python tests/escape/nousers.py .venv/bin/python -m pytest -q tests/escape" || failed=1
fi
exit "$failed"
