# Every target sets up its own virtual environment, pinned by constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Tests and benchmarks on real corpora look here; without the folder they skip and say so.
export LOGLIN_DATA ?= $(wildcard ../shared/data)

.PHONY: demo test test-full bench lint clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/loglin demo

lint: $(READY)
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy

# On all cores; a worker keeps neighboring tests, which share fixtures, until another has none left.
PYTEST := $(BIN)/pytest -n auto --dist worksteal

test: $(READY) lint
	$(PYTEST) -m "not full"

test-full: $(READY) lint
	$(PYTEST)

bench: $(READY)
	$(BIN)/python benchmarks/crf.py
	$(BIN)/python benchmarks/trainers.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/criteria.py
	$(BIN)/python benchmarks/maxent.py
	$(BIN)/python benchmarks/lattices.py
	$(BIN)/python benchmarks/forests.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
