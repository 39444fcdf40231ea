PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test lint bench clean

install: .venv/installed

# hatchling comes with the lock, so the project itself needs no build isolation and no index
.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: install
	$(BIN)/runoff screen catalog/campaigns/canonical.yaml

test: install
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
