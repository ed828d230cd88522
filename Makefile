# orthoprox: the commands. `make` alone lists them.

PYTHON  ?= python3
VENV    := .venv
# PyTorch, JAX and Dask live apart, so that `make test` shows what works without them.
XVENV   := .venv-backends
# A pinned release: an open range may bring several gigabytes of GPU packages.
TORCH   ?= torch==2.13.0
JAX     ?= jax>=0.4.32
# Its interpreter runs our kernels without a GPU.
TRITON  ?= triton>=3.1; platform_system=='Linux'
# Its test reads what AnnData itself writes.
ANNDATA ?= anndata>=0.11
# A comma would part the arguments of a call.
EXTRAS  := test,cluster,storage
# The ends of what pyproject.toml promises: the newest Python here with the newest of everything, and the oldest of both.
NVENV   := .venv-newest
OVENV   := .venv-oldest
# What builds and checks the files of a release.
RVENV   := .venv-release
BUILD   := "build>=1.2" "hatchling>=1.27" "readme-renderer[md]>=44" "twine>=6.1"
# Sphinx and its theme
DVENV   := .venv-docs
NEWEST  ?= 3.14 3.13 3.12
OLDEST  ?= 3.11
WORKERS ?= auto
MARKERS ?= not backends and not pages and not slow
# What another version of a library can break: where commands, frames, estimators, files and pictures are handed to others,
# and of the mathematics what leans on the array standard, on sparse matrices and on LAPACK.
SHORT   ?= $(addprefix tests/,datasets plotting test_versions.py backends/test_catalogue.py backends/test_operations.py \
  laws/test_maps.py laws/test_stiefel.py \
  $(patsubst %,cli/test_%.py,blocks data fit list mistakes solve tables) \
  $(patsubst %,driver/test_%.py,checkpoint copies encoding interrupt result) \
  $(patsubst %,estimators/test_%.py,common refusals robust_subspace sparse_pca_input summary) \
  $(patsubst %,experiments/test_%.py,outputs provenance store))
# processes that make the site
JOBS    ?= 1
# make fuzz: cases of each campaign, and where the draw begins
CASES   ?= 500
SEED    ?= 0
ARGS    ?=

PIP_FLAGS := -qq --disable-pip-version-check
# One thread per worker: several workers with several threads each would wait for one another.
# What is compiled is kept, whatever the caller's environment says: half of the time to collect the tests is compiling them.
PYTEST    := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg PYTHONDONTWRITEBYTECODE=
# Each worker begins with tests that stand together, which share fixtures and what is compiled, and ends with those of others.
XDIST     := -n $(WORKERS) --maxprocesses=4 --dist=worksteal
# One test may take longer than a hang is given.
LONG      := -o faulthandler_timeout=0
FEW       := --hypothesis-profile=few -m "$(MARKERS)" $(SHORT)

define CHECK_PYTHON
python="$(PYTHON)"; command -v "$$python" >/dev/null || { \
  echo "orthoprox needs Python 3.11 or newer, but there is no '$$python' here. Name one: make PYTHON=/path/to/python3" >&2; exit 1; }; \
"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "orthoprox needs Python 3.11 or newer, but $$python is $$("$$python" -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
endef

# $(1): what is installed besides, in words; $(2): the same for pip, which would compile with one processor only.
# Some libraries carry files that are not meant for this Python: they stay as they are.
define MAKE_VENV
@test -x $(@D)/bin/python || { $(CHECK_PYTHON); "$$python" -m venv $(@D); }
@echo "Installing orthoprox $(1) into $(@D) ..."
@$(@D)/bin/python -m pip install $(PIP_FLAGS) --no-compile $(2)
@$(@D)/bin/python -m compileall -qq -j 0 $(@D)/lib || true
@touch $@
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test laws coverage strict newest oldest slow fuzz bench baseline check backends docs measurements release format clean

help:  ## list the commands
	@sed -n 's/^\([a-z][a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

venv: $(VENV)/.stamp  ## make .venv with everything for development (again only when pyproject.toml changes)

$(VENV)/.stamp: pyproject.toml
	$(call MAKE_VENV,and its development tools,-e ".[dev]")

$(XVENV)/.stamp: pyproject.toml
	$(call MAKE_VENV,with PyTorch and JAX and Dask,"$(TORCH)" "$(TRITON)" "$(JAX)" "$(ANNDATA)" -e ".[$(EXTRAS)]")

$(NVENV)/.stamp: PYTHON = $(shell .ci/python $(NEWEST))
$(NVENV)/.stamp: pyproject.toml
	$(call MAKE_VENV,with the newest dependencies,-e ".[test]")

$(OVENV)/%: PYTHON = $(shell .ci/python $(OLDEST))
$(OVENV)/constraints.txt: pyproject.toml .ci/oldest.py
	@$(CHECK_PYTHON); mkdir -p $(@D) && "$$python" .ci/oldest.py > $@
$(OVENV)/.stamp: $(OVENV)/constraints.txt
	$(call MAKE_VENV,with the oldest dependencies,-c $< -e ".[test]")

$(RVENV)/.stamp: Makefile
	@test -x $(@D)/bin/python || { $(CHECK_PYTHON); "$$python" -m venv $(@D); }
	@echo "Installing what builds a release into $(@D) ..."
	@$(@D)/bin/python -m pip install $(PIP_FLAGS) $(BUILD)
	@touch $@

$(DVENV)/.stamp: pyproject.toml
	$(call MAKE_VENV,and what makes its site,-e ".[docs]")

demo: $(VENV)/.stamp  ## run the demonstration
	$(VENV)/bin/orthoprox demo $(ARGS)

test: $(VENV)/.stamp  ## run the tests on NumPy and array-api-strict (MARKERS="not backends" adds the slow ones)
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) -m "$(MARKERS)" $(ARGS)

laws: $(VENV)/.stamp  ## the laws of terms, maps and manifolds with three times as many examples
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) --hypothesis-profile=laws -m "hypothesis and $(MARKERS)" tests/laws $(ARGS)

coverage: $(VENV)/.stamp  ## the tests, and which lines they run: at least 95 %
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) -m "$(MARKERS)" --cov $(ARGS)

strict: $(VENV)/.stamp  ## run the tests that call other libraries, with every warning an error
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) $(FEW) -W error $(ARGS)

newest: $(NVENV)/.stamp  ## the same on the newest Python here and the newest dependencies, in .venv-newest
	$(PYTEST) $(NVENV)/bin/python -m pytest -q $(XDIST) $(FEW) -W error $(ARGS)

oldest: $(OVENV)/.stamp  ## the same on the oldest that pyproject.toml allows, in .venv-oldest; warnings as in make test
	$(PYTEST) $(OVENV)/bin/python -m pytest -q $(XDIST) $(FEW) $(ARGS)

slow: $(VENV)/.stamp  ## run the slow tests, those on real data among them (ORTHOPROX_DATA names its folder)
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) $(LONG) -m "slow and not backends" $(ARGS)

fuzz: $(VENV)/.stamp  ## try CASES random cases of everything (ARGS=tests/fuzz/test_problems.py for one campaign)
	$(PYTEST) ORTHOPROX_FUZZ_CASES=$(CASES) $(VENV)/bin/python -m pytest -q $(XDIST) $(LONG) -o addopts= --import-mode=importlib --hypothesis-seed=$(SEED) $(or $(ARGS),tests/fuzz)

# The same programs compile in half the time, and small arrays gain nothing from the rest. What one worker has compiled the
# others read, even the smallest operation.
XLA := JAX_PLATFORMS=cpu JAX_DISABLE_MOST_OPTIMIZATIONS=true JAX_COMPILATION_CACHE_DIR=$(CURDIR)/build/jax \
  JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1 JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES=none
backends: $(XVENV)/.stamp  ## run the tests that need PyTorch, JAX, Dask or a storage, in .venv-backends
	$(PYTEST) $(XLA) $(XVENV)/bin/python -m pytest -q $(XDIST) -m backends tests/backends $(ARGS)

release: $(RVENV)/.stamp  ## build the sdist and the wheel into dist/ and check them (ARGS="--tag v0.1.0" for one to publish)
	$(RVENV)/bin/python .ci/release.py $(ARGS)

bench: $(VENV)/.stamp  ## run every benchmark in turn
	@set -e; for file in $(filter-out benchmarks/baseline.py,$(wildcard benchmarks/[a-z]*.py)); do \
	  test -e "$$file" || { echo "There is no benchmark in benchmarks/."; break; }; \
	  echo "== $$file"; $(VENV)/bin/python "$$file" $(ARGS); done

baseline: $(VENV)/.stamp  ## compare what users get with benchmarks/baseline.json (ARGS=--store replaces it)
	$(VENV)/bin/python benchmarks/baseline.py $(ARGS)

docs: $(DVENV)/.stamp $(VENV)/.stamp  ## make the site in site/, with warnings as errors, check its links and run its code; nothing is fetched
	$(PYTEST) $(DVENV)/bin/sphinx-build -q -E -W --keep-going -j $(JOBS) -d build/doctrees docs site
	$(DVENV)/bin/python .ci/site.py site $(ARGS)
	$(PYTEST) $(VENV)/bin/python -m pytest -q $(XDIST) -m pages tests/test_documents.py

measurements: $(VENV)/.stamp  ## measure again what the pages show, from one commit (ARGS=--list says what, ARGS=sparse one page)
	$(VENV)/bin/python docs/measure.py $(ARGS)

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
	rm -rf $(VENV) $(XVENV) $(NVENV) $(OVENV) $(RVENV) $(DVENV) build dist out site docs/api/*.rst docs/api/generated docs/auto_examples htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
