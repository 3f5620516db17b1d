# Everything a newcomer types. `make` alone tells what there is.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-all check soak bench lock clean

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q
# Two processes, each with a Spark of its own; a file's tests stay together, for its fixtures.
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder

help: ## tells what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## builds .venv with the `sash` command in it: two or three minutes once, then nothing
	@command -v $(PYTHON) > /dev/null || { echo "make setup: Sash runs on Python 3.11, and there is no $(PYTHON) on the PATH."; exit 1; }
	@$(PYTHON) tools/set_up.py

demo: setup ## runs a year of real flights through Airflow, and shows the windows
	@$(BIN)/python -m demo.run

test: setup ## all tests but the slow ones
	$(PYTEST) $(IN_TWO) -m "not slow" --ignore=tests/benchmarks

test-fast: setup ## the tests that need no Spark: some two minutes
	$(PYTEST) -m "not slow and not spark and not system" --ignore=tests/benchmarks

test-all: setup ## all tests, also those that take minutes
	$(PYTEST) $(IN_TWO) --ignore=tests/benchmarks

check: setup ## what CI runs: style, types, tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@$(MAKE) --no-print-directory test

soak: setup ## batches with kills, full disks, double runs…: make soak BATCHES=200 SEED=1, or GO_ON=its folder
	$(BIN)/python -m tests.crash.soak $(or $(GO_ON),$(or $(BATCHES),200) $(or $(SEED),1))

bench: setup ## measures, as a table at the end
	$(PYTEST) -s tests/benchmarks

lock: setup ## writes requirements.txt from requirements.in and requirements-dev.in, and jars.lock
	$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-annotate --no-header \
		requirements.in requirements-dev.in --output-file requirements.txt
	@$(PYTHON) tools/set_up.py
	$(BIN)/python tools/delta_jars.py lock

clean: ## removes what can be made again: .venv, what the demo made, caches; your tables in var/store stay
	rm -rf .venv var/demo var/demo.lock data/flights spark-warehouse metastore_db derby.log .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
