# `make demo` and `make test` do all the set-up they need; the others are for developers.
PYTHON ?= python3
BIN = .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

.PHONY: help setup demo test lint bench docs wheel clean

help:
	@echo "make demo    fit on the bundled data, print metrics and predictions"
	@echo "make test    lint, type-check and test"
	@echo "make setup   only create .venv and install zipfel into it"
	@echo "make lint    ruff, mypy, codespell"
	@echo "make bench   the speed ratios that the docs state"
	@echo "make docs    build the site into build/site; warnings are errors"
	@echo "make wheel   build dist/*.whl and try it in an environment of its own"

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "python3 lacks venv: apt-get install python3-venv"; exit 1; }
	@echo "installing zipfel into .venv (the first time takes a minute or two)"
	@$(PIP) -e .
	@touch $@

.venv/installed-dev: .venv/installed
	@echo "installing the test tools into .venv"
	@$(PIP) -e '.[dev]'
	@touch $@

demo: .venv/installed
	@$(BIN)/zipfel demo

lint: .venv/installed-dev
	$(BIN)/ruff check zipfel tests benchmarks scripts
	$(BIN)/ruff format --check zipfel tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/codespell zipfel tests benchmarks scripts docs README.md CHANGELOG.md CONTRIBUTING.md

# The browser and the load generator of the service's tests; without them those tests are skipped.
.venv/browser: .venv/installed-dev
	@command -v chromium > /dev/null && command -v wrk > /dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium wrk > /dev/null; } \
	  || echo "tests of the page and of load are skipped: apt-get install chromium wrk"
	@touch $@

test: lint .venv/browser
	$(BIN)/python -m pytest -n 2 -m "not slow"

bench: .venv/installed-dev
	$(BIN)/python -m benchmarks

docs: .venv/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open build/site/index.html"

wheel: .venv/installed-dev
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist . > /dev/null
	$(BIN)/python scripts/check_wheel.py dist

clean:
	rm -rf .venv dist build *.egg-info
