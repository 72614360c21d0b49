# Daily work. Needs make and Python 3.11 or newer with venv, nothing else: the
# environment is made in .venv from the exact versions of constraints.txt.

PYTHON ?=
VENV ?= .venv
JOBS ?= auto
ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --no-build-isolation --no-compile --constraint constraints.txt
# pip would compile on one core, and the tests of all packages, too.
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '/tests?/' $(VENV)/lib >/dev/null 2>&1 || true
JAVA := $(shell java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
SPARK := $(shell test "$(or $(JAVA),0)" -ge 17 && echo yes)
R := $(shell command -v Rscript)
BROWSER := $(shell command -v chromium)
SERVER := $(shell command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | head -n 1)
WITHOUT := $(if $(SPARK),, and not spark)$(if $(R),, and not r)$(if $(SERVER),, and not postgresql)$(if $(BROWSER),, and not browser)
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_USER := 0
export PYTHONNOUSERSITE := 1
export NO_MKDOCS_2_WARNING := 1
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

# Without Java the tests of Spark cannot run: told to people, an error for machines.
define tell-spark
$(if $(SPARK),true,if test -n "$$CI"; then \
    echo "No Java 17 or newer: the Spark tests cannot run" >&2; exit 1; fi; \
    echo "No Java 17 or newer: the Spark tests are left out; install a JRE to run them too")
endef

define tell-r
$(if $(R),true,if test -n "$$CI"; then \
    echo "No R: the tests of the R package cannot run" >&2; exit 1; fi; \
    echo "No R: the tests of the R package are left out; install R to run them too")
endef

define tell-postgresql
$(if $(SERVER),true,if test -n "$$CI"; then \
    echo "No PostgreSQL: its tests cannot run" >&2; exit 1; fi; \
    echo "No PostgreSQL: its tests are left out; install the server to run them too")
endef

define tell-browser
$(if $(BROWSER),true,if test -n "$$CI"; then \
    echo "No Chromium: the tests of the pages in a browser cannot run" >&2; exit 1; fi; \
    echo "No Chromium: the tests of the pages in a browser are left out; install chromium to run them too")
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:
.PHONY: help demo serve test test-more test-all check bench bench-smoke mutate docs picture
.PHONY: dist audit lock format clean distclean
.PHONY: check-lint check-types check-imports check-sizes check-words check-docs

help: ## list what make can do
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 18

demo: $(VENV)/.stamp-run ## protect a synthetic census and a survey of firms; results in demo-output/
	$(BIN)/python -m discreet demo $(ARGS)

serve: $(VENV)/.stamp-serve ## serve a synthetic census over HTTP, with keys to try it; ends with Ctrl-C
	$(BIN)/python -m discreet serve --demo $(ARGS)

test: $(VENV)/.stamp-dev ## run the tests that matter for every change (JOBS=1: one by one, ARGS="-k word": some)
	$(PYTEST) -m "not exhaustive and not spark and not r and not postgresql and not browser" $(ARGS)

test-more: $(VENV)/.stamp-dev $(if $(SPARK),$(VENV)/.stamp-spark) ## run only the tests that `make test` leaves out
	@$(call tell-spark)
	@$(call tell-r)
	@$(call tell-postgresql)
	@$(call tell-browser)
	$(PYTEST) --dist loadfile --hypothesis-profile exhaustive -m "(exhaustive or spark or r or postgresql or browser)$(WITHOUT)" $(ARGS)

test-all: test test-more bench-smoke ## run every test: also Spark, R, PostgreSQL, Chromium, kills at every call, long searches, benchmarks

check: check-lint check-types check-imports check-sizes check-words check-docs ## style, types, layers, sizes, words, documentation

check-lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types: $(VENV)/.stamp-dev
	$(BIN)/mypy
	$(BIN)/mypy scripts

check-imports: $(VENV)/.stamp-dev
	$(BIN)/lint-imports --no-logo

check-sizes: $(VENV)/.stamp-dev
	$(BIN)/python scripts/check_sizes.py

check-words: $(VENV)/.stamp-dev
	$(BIN)/python scripts/check_words.py

check-docs: $(VENV)/.stamp-dev
	$(BIN)/python scripts/architecture_picture.py --check
	$(BIN)/mkdocs build --strict --site-dir build/site

docs: check-docs ## build the documentation in build/site/
	@echo "build/site/index.html"

picture: $(VENV)/.stamp-venv ## draw the picture of the architecture anew from the code
	$(BIN)/python scripts/architecture_picture.py

bench: $(VENV)/.stamp-bench ## measure speed and memory (ARGS=--smoke: every task, small)
	$(BIN)/python bench/run.py $(ARGS)

bench-smoke: $(VENV)/.stamp-bench
	$(BIN)/python bench/run.py --smoke
	$(BIN)/python bench/method_comparison.py build/method-comparison --persons 3000

mutate: $(VENV)/.stamp-dev ## change the code in small ways and see whether a test notices
	$(BIN)/python scripts/mutate.py $(ARGS)

dist: $(VENV)/.stamp-run ## build wheel, source archive, bill of materials and checksums in dist/
	$(BIN)/python scripts/packages.py dist $(ARGS)

audit: $(VENV)/.stamp-run ## look up known holes in the pinned versions (needs the network)
	@$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip

lock: $(VENV)/.stamp-venv ## pin the newest versions that fit together
	$(BIN)/python scripts/lock.py constraints.txt

format: $(VENV)/.stamp-dev ## format and sort imports
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

clean: ## remove everything made, except the environment
	rm -rf build dist demo-output demo-service src/*.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the environment too
	rm -rf "$(VENV)"

# The environment. Each stamp stands for one finished step and is written last,
# so that an interrupted step is done again.

$(VENV)/.stamp-venv: constraints.txt
	@if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    python=$$(sh scripts/find_python.sh $(PYTHON)) || exit 1; \
	    if test -e "$(VENV)/pyvenv.cfg"; then rm -rf "$(VENV)"; fi; \
	    echo "Making $(VENV) with $$python"; "$$python" -m venv "$(VENV)" || exit 1; \
	fi
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade >/dev/null
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip setuptools packaging
	@touch $@

$(VENV)/.stamp-run: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing what discreet needs"
	@$(PIP) --editable .
	@$(COMPILE)
	@touch $@

$(VENV)/.stamp-serve: $(VENV)/.stamp-run
	@echo "Installing what the service needs"
	@$(PIP) --editable ".[service]"
	@$(COMPILE)
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-venv pyproject.toml
	@echo "Installing what discreet, its tests and checks need"
	@$(PIP) --editable ".[assistants,duckdb,pandas,service,stat,sas,sql]" --group dev
	@$(COMPILE)
	@touch $(VENV)/.stamp-run $@

$(VENV)/.stamp-spark: $(VENV)/.stamp-dev
	@echo "Installing PySpark (1.7 GB)"
	@$(PIP) --editable ".[spark]"
	@touch $@

$(VENV)/.stamp-bench: $(VENV)/.stamp-run
	@echo "Installing what the benchmark compares with"
	@$(PIP) --group bench
	@touch $@
