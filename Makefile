# Two commands: `make demo` shows the main job, `make test` checks everything.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
DEV_READY := .venv/dev-ready
BENCH_READY := .venv/bench-ready
DOCS_READY := .venv/docs-ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: demo test lint gate lab html docs evals bench clean

demo: $(READY)
	$(BIN)/nousmem demo --out out

test: lint $(DEV_READY)
	sh tests/browser/install_chromium.sh
	$(BIN)/pytest --numprocesses 3 --dist loadfile tests
	$(BIN)/pytest --numprocesses 3 --nbmake --nbmake-timeout=300 notebooks
	$(BIN)/nousmem gate evals/gate.toml --baseline evals/baselines/gate.json

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/nbstripout --verify notebooks/*.ipynb

gate: $(READY)
	$(BIN)/nousmem gate evals/gate.toml --baseline evals/baselines/gate.json

evals: $(READY)
	for file in evals/*.toml; do \
		name=$$(basename $$file .toml); \
		$(BIN)/nousmem sweep $$file --out out/evals/$$name || exit 1; \
		cp out/evals/$$name/settings.csv evals/results/$$name.csv; \
	done
	$(BIN)/python evals/freshness.py
	$(BIN)/python evals/injection.py
	$(BIN)/python evals/pictures.py

html: $(DEV_READY)
	$(BIN)/jupyter nbconvert --execute --to html --output-dir out/notebooks notebooks/*.ipynb

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lab: $(DEV_READY)
	$(BIN)/nousmem lab notebooks

bench: $(BENCH_READY)
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/stores.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nousmem needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing about 2.5 GB into .venv: some minutes without a word'
	$(PIP) --editable '.[all]'
	touch $@

# What tests and all notebooks need beside it; one installation, not two.
$(DEV_READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing about 3 GB into .venv: some minutes without a word'
	$(PIP) --editable '.[all,dev]'
	touch $(READY) $@

$(BENCH_READY): $(DEV_READY)
	$(PIP) --editable '.[bench]'
	touch $@

$(DOCS_READY): $(DEV_READY)
	$(PIP) --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv out dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
