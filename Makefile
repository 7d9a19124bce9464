# Thin aliases for nox; `make help` lists them. Everything happens in .venv, which the first call makes.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
NOX := $(VENV)/bin/nox
# Words after `--` for the session: make smoke-metaworld ARGS="--backend docker"
ARGS ?=

.PHONY: help venv system test test-benchmarks smoke report lint types layers unit integration workflows lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z% -]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.complete ## make .venv with nox, uv and robosmoke

$(VENV)/.complete: pyproject.toml scripts/bootstrap.py
	$(PYTHON) scripts/bootstrap.py venv $(VENV)

system: venv ## install the system libraries that rendering needs, or say how
	$(VENV)/bin/python scripts/bootstrap.py system

test-benchmarks: system ## the main job: every benchmark's default smoke, then the report
	$(NOX) $(if $(ARGS),-- $(ARGS))

smoke-%: system ## the smoke of one benchmark: make smoke-metaworld
	$(NOX) -s $*_smoke $(if $(ARGS),-- $(ARGS))

report: venv ## the report of the latest invocation
	$(NOX) -s report $(if $(ARGS),-- $(ARGS))

test: system ## robosmoke's own tests: gates, unit, integration
	$(NOX) -s lint types layers unit-3.11 unit_guest workflows integration

lint: ## check style and formatting
types: ## check types
layers: ## check that imports go down only
unit: ## run the unit tests
integration: ## run the integration tests
workflows: ## check the GitHub workflows
lock: ## resolve every environment into its lock
lint types layers unit integration workflows lock: venv
	$(NOX) -s $@ $(if $(ARGS),-- $(ARGS))

clean: venv ## remove environments, images, containers and volumes that robosmoke made
	$(VENV)/bin/robosmoke clean
