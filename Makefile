# orthoprox: the commands. `make` alone lists them.

PYTHON  ?= python3
VENV    := .venv
# PyTorch and JAX live apart, so that `make test` shows what works without them.
XVENV   := .venv-backends
# A pinned release: an open range may bring several gigabytes of GPU packages.
TORCH   ?= torch==2.13.0
JAX     ?= jax>=0.4.32
WORKERS ?= auto
MARKERS ?= not backends and not slow
# make fuzz: cases of each campaign, and where the draw begins
CASES   ?= 500
SEED    ?= 0
ARGS    ?=

PIP_FLAGS := -qq --disable-pip-version-check
# One thread per worker: several workers with several threads each would wait for one another.
PYTEST    := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg
XDIST     := -n $(WORKERS) --maxprocesses=4

define CHECK_PYTHON
command -v $(PYTHON) >/dev/null || { \
  echo "orthoprox needs Python 3.11 or newer, but there is no $(PYTHON) here. Name one: make PYTHON=/path/to/python3" >&2; exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "orthoprox needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help venv demo test coverage slow fuzz bench baseline check backends format clean

help:  ## list the commands
	@sed -n 's/^\([a-z][a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

venv: $(VENV)/.stamp  ## make .venv with everything for development (again only when pyproject.toml changes)

$(VENV)/.stamp: pyproject.toml
	@$(CHECK_PYTHON)
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing orthoprox and its development tools into $(VENV) ..."
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) -e ".[dev]"
	@touch $@

$(XVENV)/.stamp: pyproject.toml
	@$(CHECK_PYTHON)
	@test -x $(XVENV)/bin/python || $(PYTHON) -m venv $(XVENV)
	@echo "Installing orthoprox with PyTorch and JAX into $(XVENV) ..."
	@$(XVENV)/bin/python -m pip install $(PIP_FLAGS) "$(TORCH)" "$(JAX)" -e ".[test]"
	@touch $@

demo: $(VENV)/.stamp  ## run the demonstration
	$(VENV)/bin/orthoprox demo $(ARGS)

test: $(VENV)/.stamp  ## run the tests on NumPy and array-api-strict (MARKERS="not backends" adds the slow ones)
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) -m "$(MARKERS)" $(ARGS)

coverage: $(VENV)/.stamp  ## the same, and which lines they run: at least 95 %
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) -m "$(MARKERS)" --cov $(ARGS)

slow: $(VENV)/.stamp  ## run the slow tests, those on real data among them (ORTHOPROX_DATA names its folder)
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) -m "slow and not backends" $(ARGS)

fuzz: $(VENV)/.stamp  ## try CASES random cases of everything (ARGS=tests/fuzz/test_problems.py for one campaign)
	$(PYTEST) ORTHOPROX_FUZZ_CASES=$(CASES) $(VENV)/bin/python -m pytest -q $(XDIST) -o addopts= --import-mode=importlib --hypothesis-seed=$(SEED) $(or $(ARGS),tests/fuzz)

backends: $(XVENV)/.stamp  ## run the tests that need PyTorch or JAX, in .venv-backends
	$(PYTEST) JAX_PLATFORMS=cpu $(XVENV)/bin/python -m pytest -q $(XDIST) -m backends tests/backends $(ARGS)

bench: $(VENV)/.stamp  ## run every benchmark in turn
	@set -e; for file in $(filter-out benchmarks/baseline.py,$(wildcard benchmarks/[a-z]*.py)); do \
	  test -e "$$file" || { echo "There is no benchmark in benchmarks/."; break; }; \
	  echo "== $$file"; $(VENV)/bin/python "$$file" $(ARGS); done

baseline: $(VENV)/.stamp  ## compare what users get with benchmarks/baseline.json (ARGS=--store replaces it)
	$(VENV)/bin/python benchmarks/baseline.py $(ARGS)

check: $(VENV)/.stamp  ## format, lint, types, import order of the layers, spelling
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy --strict src
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/codespell

format: $(VENV)/.stamp  ## format the code and mend what the linter can mend
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

clean:  ## remove environments, caches and results
	rm -rf $(VENV) $(XVENV) build dist out htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
