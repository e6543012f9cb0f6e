#!/bin/sh
# Build the wheel, install it into an empty environment elsewhere, and use it there.
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w "$place/dist" .
"${PYTHON:-python3}" -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check "$place"/dist/*.whl
cp examples/search.xml "$place/"
cd "$place"
venv/bin/fumehood --version
venv/bin/fumehood run -- true
venv/bin/fumehood inspect search.xml >/dev/null
venv/bin/fumehood call search.xml look --authorize any --input '{"program":"ls","arguments":[]}' | grep -q search.xml
venv/bin/fumehood doctor >/dev/null || [ $? = 1 ]
echo "the wheel works"
