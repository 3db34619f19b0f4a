# `make` alone lists what there is. The first use of a target sets up .venv; later uses find it ready.

PYTHON ?= python3
# The main job: the web app, in a browser. Any other arguments of `meijin` can be given instead, such as a game in the
# terminal:
#   make play PLAY="play hex --seat 0='mcts(seconds=5)'"
PLAY ?= serve --open
BENCH ?= benchmarks/run.py
# Processes that test: one more than there are cores, as tests wait for other processes now and then; but each takes a
# gigabyte of memory.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 7 ? n + 1 : 8)))
# Arguments of the soak tests: make soak SOAK="--mutations 1000000 --seed 7"
SOAK ?=

comma := ,
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed-core
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs
SOAKING := $(VENV)/.installed-soak
READ := $(VENV)/.read-tests
INPUTS := pyproject.toml constraints.txt
WEB := tools/web/node_modules
PIP = PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check --no-input --no-compile
# The linker for WebAssembly that comes as a Python package is a big download, for those who have no other.
LINKER := $(if $(shell command -v wasm-ld),,$(comma)publish)

# Bytecode must be kept: packages are installed without it, and tests start Python many times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help play test style types layers web soak bench docs format clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

play: $(CORE) ## open the web app: play any game against the computer
	@$(BIN)/meijin $(PLAY)

test: ## check the format, the types and the layers, and run the tests
	@mkdir -p $(VENV)
	@$(MAKE) --no-print-directory web > $(VENV)/web.log 2>&1 & web=$$!; \
	  $(MAKE) --silent $(DEV) || { wait $$web; exit 1; }; \
	  $(MAKE) --no-print-directory --jobs --keep-going --output-sync=target style types layers > $(VENV)/checks.log 2>&1 & \
	  checks=$$!; $(MAKE) --silent $(READ); \
	  $(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder; failed=$$?; \
	  wait $$checks || failed=1; wait $$web || failed=1; cat $(VENV)/checks.log $(VENV)/web.log; exit $$failed

style: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy

layers: $(DEV)
	$(BIN)/lint-imports --no-logo

web: ## check the types of the web app (needs Node.js)
	@if command -v npm > /dev/null; then $(MAKE) --silent $(WEB) && $(WEB)/.bin/tsc -p tools/web; else \
	  echo "The web app's types are not checked: there is no npm here."; fi

soak: $(SOAKING) ## run the long tests: mutated files, hostile messages, killed servers, many positions; takes a while
	$(BIN)/pytest -m soak -n $(JOBS)
	@for script in tests/soak/fuzz_*.py; do MEIJIN_JIT=0 $(BIN)/python $$script $(SOAK) || exit 1; done
	@for script in tests/soak/server_*.py tests/soak/ray_*.py; do $(BIN)/python $$script $(SOAK) || exit 1; done

bench: $(DEV) ## measure the speed
	@$(BIN)/python $(BENCH)

docs: $(DOCS) ## build the documentation as a site, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The site is in site/. To read it with search: $(BIN)/python -m http.server -d site"

format: $(DEV) ## format the code and fix what ruff can fix
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean: ## remove the virtual environment and what tools left behind
	@rm -rf $(VENV) $(WEB) build dist site src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,what,requirement): one line on the screen, everything else in a log that is shown on failure. The pip
# that comes with Python may be years old, and takes twice as long to find the packages.
define install
	@command -v $(PYTHON) > /dev/null || { \
	  echo "Meijin needs Python 3.11 or later, and there is no '$(PYTHON)' here." \
	       "Install it, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Meijin needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)." \
	       "Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) ($(1)), once; this takes a minute ..."
	@mkdir -p $(VENV)
	@{ test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV); } > $(VENV)/setup.log 2>&1 && \
	  { $(PIP) pip && $(PIP) --editable '$(2)'; } >> $(VENV)/setup.log 2>&1 || { \
	  cat $(VENV)/setup.log >&2; \
	  echo "The set-up failed; its log is above and in $(VENV)/setup.log." \
	       "Run make again once the cause is fixed." >&2; exit 1; }
endef

$(CORE): $(INPUTS)
	$(call install,to play,.)
	@touch $@

$(DEV): $(INPUTS)
	$(call install,to develop,.[dev$(LINKER)])
	@touch $@ $(CORE)

# The first to import a package writes its bytecode. Three processes that collect tests at the same time would each do so.
$(READ): $(DEV)
	@$(BIN)/pytest --collect-only > /dev/null 2>&1 || true
	@touch $@

$(SOAKING): $(INPUTS)
	$(call install,for the long tests,.[dev$(LINKER)$(comma)soak])
	@touch $@ $(DEV) $(CORE)

$(WEB): tools/web/package-lock.json
	npm ci --prefix tools/web --no-audit --no-fund --silent
	@touch $@

$(DOCS): $(INPUTS)
	$(call install,to build the documentation,.[docs])
	@touch $@ $(CORE)
