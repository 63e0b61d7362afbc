# make demo    install the core and run the main job
# make serve   install what the page needs and open it in a browser
# make test    install core and test tools; format, lint, types, docs and all tests (EXTRAS=all: every extra too)
# make check   format, lint and types only
# make bench   benchmarks beside the peers, which live in an environment of their own

PYTHON ?= python3
EXTRAS ?=
TREEBANKS ?= ../shared/treebanks

BIN := .venv/bin
BENCH := .venv-bench/bin
# The last release of PyTorch's CPU build known to work; a bare `torch` pulls gigabytes.
TORCH := torch==2.13.0
ALL_EXTRAS := torch,transformers,spacy,ray,web,plots,images

.PHONY: demo serve test check docs bench clean

demo: .venv/core
	$(BIN)/crossarc demo

serve: .venv/web
	$(BIN)/crossarc serve --open

test: .venv/test $(if $(filter all,$(EXTRAS)),.venv/extras)
	$(MAKE) --no-print-directory -j2 check docs
	$(BIN)/crossarc warmup
	CROSSARC_REQUIRE_EXTRAS=$(EXTRAS) $(BIN)/python -m pytest -n auto --dist worksteal

check: .venv/test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

docs: .venv/test
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

bench: .venv-bench/ready
	$(BENCH)/crossarc warmup
	for benchmark in $(sort $(wildcard benchmarks/*.py)); do \
		echo "== $$benchmark"; \
		OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BENCH)/python $$benchmark $(TREEBANKS) || exit 1; \
	done

.venv/core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/web: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[web]"
	touch $@

.venv/test: .venv/core
	$(BIN)/python -m pip install --quiet --group test --group check --group docs
	touch $@

.venv/extras: .venv/test
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable ".[$(ALL_EXTRAS)]"
	touch $@

.venv-bench/ready: pyproject.toml
	test -x $(BENCH)/python || $(PYTHON) -m venv .venv-bench
	$(BENCH)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BENCH)/python -m pip install --quiet "$(TORCH)"
	$(BENCH)/python -m pip install --quiet --editable . --group bench
	# SuPar asks for packages that its tree algorithms do not use; nltk and dill are what they do.
	$(BENCH)/python -m pip install --quiet --no-deps supar==1.1.4 torch-struct==0.5
	touch $@

# Compiled kernels lie in __pycache__, too.
clean:
	rm -rf .venv .venv-bench docs/_build dist build
	find . -name __pycache__ -prune -exec rm -rf {} +
