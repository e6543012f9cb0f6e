# `make demo` and `make test` work on a fresh machine; everything longer than a line is in .ci/.
.PHONY: demo test full lint bench effects clean setup

setup:
	@.ci/setup.sh

demo: setup
	@.venv/bin/fumehood call examples/search.xml search --authorize any --input '{"arguments":["TODO","runner"]}' --json

test: setup
	@.ci/test.sh

full: setup
	@FUMEHOOD_FULL=1 .ci/test.sh

lint: setup
	@.venv/bin/ruff check .
	@.venv/bin/mypy

bench: setup
	@.venv/bin/python -m tests.bench

clean:
	@rm -rf .venv build dist backends/launcher/launcher
