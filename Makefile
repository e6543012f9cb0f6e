# `make demo` and `make test` work on a fresh machine; everything longer than a line is in .ci/.
.PHONY: demo test full lint bench clean setup setup-tests

demo: setup
	@.venv/bin/fumehood call examples/search.xml search --authorize any --input '{"arguments":["TODO","runner"]}' --json

test: setup-tests
	@.ci/test.sh

full: setup-tests
	@FUMEHOOD_FULL=1 .ci/test.sh

lint: setup-tests
	@.ci/lint.sh

bench: setup-tests
	@.venv/bin/python -m tests.bench

setup:
	@.ci/setup.sh

setup-tests:
	@.ci/setup.sh --tests

clean:
	@rm -rf .venv build dist backends/launcher/launcher backends/launcher/fuzz
