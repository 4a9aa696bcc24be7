# Every target sets up its own virtual environment, pinned by constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Tests and benchmarks on real corpora look here; without the folder they skip and say so.
export LOGLIN_DATA ?= $(wildcard ../shared/data)
# Else every process of the tests compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-full test-wheel faults fuzz bench tables docs dist lint kernels clean

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

# Into an extension for this machine; what depends on no edited file is not compiled anew. Without a C compiler, the
# package ziglang links it.
kernels: $(READY)
	@command -v cc > /dev/null || command -v gcc > /dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt ziglang
	$(BIN)/python -m loglin.kernels.build

# A call with types that no kernel declares is an error in tests, in place of a compilation.
test test-full: export LOGLIN_KERNELS := strict

test: $(READY) lint kernels
	$(PYTEST) -m "not full"

# Then what kernels do with arrays, compiled so that an index outside of one is an error.
test-full: $(READY) lint kernels
	$(PYTEST)
	NUMBA_BOUNDSCHECK=1 LOGLIN_KERNELS=jit NUMBA_CACHE_DIR=$(CURDIR)/build/bounds \
		$(PYTEST) tests/kernels tests/features tests/structures tests/objectives tests/decoding -m "not full"

# The suite on an installed wheel, with nothing of the source in reach; what the wheel lacks is an error.
WHEEL := build/wheel
test-wheel: $(READY)
	rm -rf $(WHEEL) && mkdir -p $(WHEEL)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check . --no-deps -w $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)/env
	$(WHEEL)/env/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(echo $(WHEEL)/*.whl)[dev]"
	LOGLIN_KERNELS=strict $(WHEEL)/env/bin/pytest -n auto --dist worksteal -m "not full"

# Commands killed and signaled at random instants, and without room to write; KILLS and SIGNALS may be large. Then
# trainings with a checkpoint, killed RESUMED times.
KILLS ?= 1000
RESUMED ?= 200
SIGNALS ?= 1000
SEED ?= 0
faults: $(READY) kernels
	$(BIN)/python tests/faults/run.py --kills $(KILLS) --signals $(SIGNALS) --seed $(SEED)
	$(BIN)/python tests/faults/checkpoints.py --kills $(RESUMED) --seed $(SEED)

# Random cases of files, options and calls: CASES of them from SEED on, of one KIND if it is given.
fuzz: $(READY) kernels
	$(BIN)/python tests/fuzz/run.py --cases $(or $(CASES),100000) --seed $(or $(SEED),1) $(if $(KIND),--kind $(KIND))

bench: $(READY)
	$(BIN)/python benchmarks/crf.py --output docs/benchmarks
	$(BIN)/python benchmarks/crfsuite.py --output docs/benchmarks
	$(BIN)/python benchmarks/trainers.py --output docs/benchmarks
	$(BIN)/python benchmarks/scaling.py --output docs/benchmarks
	$(BIN)/python benchmarks/criteria.py --output docs/benchmarks
	$(BIN)/python benchmarks/defaults.py --output docs/benchmarks
	$(BIN)/python benchmarks/annotate.py --output docs/benchmarks
	$(BIN)/python benchmarks/maxent.py --output docs/benchmarks
	$(BIN)/python benchmarks/lattices.py --output docs/benchmarks
	$(BIN)/python benchmarks/forests.py --output docs/benchmarks
	$(BIN)/python benchmarks/anywhere.py --growth --output docs/benchmarks
	$(BIN)/python benchmarks/tagging.py --output docs/benchmarks
	$(BIN)/python benchmarks/cold.py --output docs/benchmarks
	$(BIN)/python benchmarks/labels.py --output docs/benchmarks
	$(BIN)/python benchmarks/vectors.py --output docs/benchmarks
	$(BIN)/python benchmarks/scale.py --output docs/benchmarks
	$(BIN)/python benchmarks/serve.py --seconds 300 --output docs/benchmarks

# The pages in docs/results, one process per table; those made from the present source and data are skipped.
# TABLE=name makes one table, FORCE=1 makes tables that were made already, too.
tables: $(READY)
	$(BIN)/python benchmarks/tables.py --output docs/results $(if $(FORCE),--force) $(TABLE)

# What the site and a release take beyond the tests, installed when first asked for.
$(VENV)/.docs $(VENV)/.dist: $(VENV)/.%: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	touch $@

# The documentation site, in build/site; a warning is an error, and nothing is fetched.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The source distribution, and a wheel for this machine built from it, in build/dist. LOGLIN_LEVELS=none makes one
# without compiled kernels.
dist: $(VENV)/.dist
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist
	$(BIN)/twine check --strict build/dist/*

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build src/loglin/kernels/compiled-*
