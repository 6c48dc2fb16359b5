# The commands for users and contributors; `make` lists them.

PYTHON ?= python3
VENV ?= .venv
# One more than two cores, because some tests wait for processes that they start.
JOBS ?= 3
MODEL ?=
SRC ?=
PYTEST ?=
MINUTES ?= 60
BIN := $(VENV)/bin
EXTRAS := test,recipes,docs
INSTALLED := $(VENV)/.installed
RUN_TESTS = $(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup $(PYTEST)
# The demo uses the whole environment if there is one; otherwise it installs only what it needs.
DEMO := $(or $(wildcard $(INSTALLED)),$(VENV)/.demo)

.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE # compiled bytecode is shared by all processes
.PHONY: help install test tests test-long test-all every-test lint soak demo docs site format constraints audit clean

help: ## list these commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|'
	@echo '  PYTHON=python3.12 sets the interpreter (3.11 to 3.13) for $(VENV)'

install: $(INSTALLED) ## create the environment .venv with cgru and its tools

define CHECK_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	{ echo 'Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.12 ...' >&2; exit 1; }
endef

# uv installs in a tenth of pip's processor time; pip also reads indexes that only pip knows.
define INSTALL
$(BIN)/python -m pip install --quiet uv && \
	VIRTUAL_ENV='$(abspath $(VENV))' $(BIN)/uv pip install --quiet -e '.[$(1)]' || \
	$(BIN)/python -m pip install --quiet -e '.[$(1)]'
endef

$(INSTALLED): requirements.txt setup.py
	$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(VENV)
	$(call INSTALL,$(EXTRAS))
	@touch $@

$(VENV)/.demo: requirements.txt setup.py
	$(CHECK_PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(call INSTALL,quickstart)
	@touch $@

test: $(INSTALLED) ## run the tests of all modules, and lint
	@$(MAKE) --no-print-directory -j2 lint tests

tests: $(INSTALLED)
	$(RUN_TESTS) tests

test-long: $(INSTALLED) ## run the longer tests: programs, recipes, pages, the site, stress
	$(RUN_TESTS) -m "long and not exhaustive" tests

test-all: $(INSTALLED) ## run all tests, with all combinations instead of a selection, and lint
	@$(MAKE) --no-print-directory -j2 lint every-test

every-test: $(INSTALLED)
	$(RUN_TESTS) -m "" tests

lint: $(INSTALLED) ## run only the linter, the format check and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

demo: $(DEMO) ## translate, then train a small model; or MODEL=model.npz SRC=src.txt
ifeq ($(strip $(MODEL)),)
	@echo 'Translating with the example model: Where is the station?'
	@echo 'Where is the station?' | $(BIN)/cgru translate -m examples/en-de.npz
	PATH="$(abspath $(BIN)):$$PATH" OUT=demo recipes/quickstart/run.sh
else
	$(BIN)/cgru convert '$(MODEL)' --info
	$(BIN)/cgru translate -m '$(MODEL)' $(if $(strip $(SRC)),-i '$(SRC)')
endif

soak: $(INSTALLED) ## run stress tests for MINUTES=60: damaged files, changed bytes, kills
	$(BIN)/python tests/adversary/soak.py --minutes $(MINUTES)

docs: $(INSTALLED) ## write docs/options.md, docs/names.md and the manual pages from the code
	$(BIN)/python docs/generate.py

site: $(INSTALLED) ## build the documentation site, in site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

format: $(INSTALLED) ## format the code, and fix lint errors automatically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

constraints: $(INSTALLED) ## pin the newest versions of all packages, with hashes, in constraints.txt
	$(BIN)/python -m pip install --quiet uv
	UV_CUSTOM_COMPILE_COMMAND='make constraints' $(BIN)/python -m uv pip compile --quiet --upgrade \
		setup.py --extra prep --extra documents --extra sentences --extra plot --extra tune --extra tensorboard \
		--universal --python-version 3.11 --generate-hashes --no-annotate --output-file constraints.txt

audit: $(INSTALLED) ## check these packages for known vulnerabilities; needs PyPI's advisories
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python -m pip_audit --strict --disable-pip --require-hashes -r constraints.txt

clean: ## remove the environment and all generated files
	rm -rf $(VENV) build dist demo site *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
