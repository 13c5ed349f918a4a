# `make demo` and `make test` make their own .venv and install what they need; `make help` lists the rest.
# Variables: PYTHON (the interpreter the .venv is made with), ARGS (passed on to pytest), WORKERS (pytest processes).

PYTHON ?= python3
WORKERS ?= 2
ARGS ?=

VENV := .venv
OLDEST := .venv-oldest
PY := $(VENV)/bin/python
# A python3 that is too old is passed over for a newer one; a PYTHON that the user names is not.
CANDIDATES := $(PYTHON) $(if $(filter file,$(origin PYTHON)),python3.13 python3.12 python3.11)

# Threads that wait at a barrier sleep instead of spinning: on a busy machine that is ten times faster.
export OMP_WAIT_POLICY := passive
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-quick test-all test-other-machine test-no-jit test-oldest lint format bench reproduce reproduce-full docs dist try-dist frontend check-frontend
.DEFAULT_GOAL := help

help:
	@echo "make demo      a complete run on bundled data; its page is demo/map.html"
	@echo "make test      the tests, without the slow ones"
	@echo "make test-quick  kernels, stages and contracts on tiny data: under two minutes"
	@echo "make test-all  every test with a random seed, as another processor would run them, kernels without the JIT,"
	@echo "               and the oldest dependencies"
	@echo "make lint      ruff, mypy, import contracts, spelling"
	@echo "make format    let ruff rewrite what it can"
	@echo "make bench     speed and memory against peers"
	@echo "make reproduce the papers' tables beside ours, quickly, in reproduced/; reproduce-full: whole sets, in docs/results"
	@echo "make docs      the site, in docs/_build/html"
	@echo "make dist      the wheel and the source archive, checked, in dist/"
	@echo "make try-dist  the same, installed into empty environments of every Python here, with a map in each"
	@echo "make frontend  rebuild the page's script and style (needs Node); check-frontend compares with what is committed"
	@echo "Options: PYTHON=python3.12  ARGS='-k forest -x'  WORKERS=4"

demo: $(VENV)/.installed-demo
	$(VENV)/bin/manifolia demo

test: $(VENV)/.installed-test
	$(PY) -m pytest -m "not slow" -n $(WORKERS) --dist worksteal $(ARGS)

test-quick: $(VENV)/.installed-test
	$(PY) -m pytest -m quick -n $(WORKERS) --dist worksteal $(ARGS)

test-all: $(VENV)/.installed-peers
	MANIFOLIA_TEST_SEED=$$($(PY) -c 'import secrets; print(secrets.randbelow(2**32))') \
		$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)
	$(MAKE) test-other-machine
	$(MAKE) test-no-jit
	$(MAKE) test-oldest

# An older x86 processor, played by the libraries: other kernels of BLAS, numba and NumPy, other roundings.
OLDER := OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=x86-64-v2 NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4"

test-other-machine: $(VENV)/.installed-test
	@if $(PY) -c 'import platform, sys; sys.exit(platform.machine() not in ("x86_64", "AMD64"))'; then \
		$(OLDER) NUMBA_CACHE_DIR=$(CURDIR)/.pytest_cache/numba-older \
			$(PY) -m pytest -m "not slow" -n $(WORKERS) --dist worksteal $(ARGS); \
	else \
		echo "test-other-machine: left out, because only x86 processors can play an older one."; \
	fi

test-no-jit: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 $(PY) -m pytest -m "not slow" tests/kernels $(ARGS)

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -m "not slow" -n $(WORKERS) --dist worksteal $(ARGS)

lint: $(VENV)/.installed-test
	@failed=; \
	check() { echo "== $$*"; "$$@" || failed="$$failed $$(basename $$1)"; }; \
	check $(VENV)/bin/ruff check .; \
	check $(VENV)/bin/ruff format --check .; \
	check $(VENV)/bin/mypy; \
	check $(VENV)/bin/lint-imports --no-logo; \
	check $(VENV)/bin/codespell src tests docs *.md; \
	if [ -n "$$failed" ]; then echo "make lint: not clean:$$failed" >&2; exit 1; fi

format: $(VENV)/.installed-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	@if [ -d frontend/node_modules ]; then cd frontend && npm run --silent format; fi

bench: $(VENV)/.installed-test
	@for script in $(sort $(wildcard benchmarks/[a-z]*.py)); do \
		echo "== $$script"; $(PY) $$script || exit 1; \
	done

reproduce: $(VENV)/.installed-reproduce
	$(PY) -m reproduce.all $(ARGS)

reproduce-full: $(VENV)/.installed-reproduce
	$(PY) -m reproduce.all --full $(ARGS)

docs: $(VENV)/.installed-docs
	$(PY) docs/run_pages.py
	$(PY) docs/live_pages.py docs/_extra/live
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html
	$(PY) docs/check_offline.py docs/_build/html
	$(PY) docs/check_links.py docs/_build/html

dist: $(VENV)/.installed-dist
	rm -rf dist
	$(PY) -m build --outdir dist
	$(PY) -m twine check --strict dist/*

# Into empty environments of every Python that is found, with a map in each: some minutes.
try-dist: dist
	$(PY) tools/try_dist.py dist

# The page's script and style are committed: only who changes frontend/ needs Node.
STATIC := src/manifolia/explorer/static

frontend:
	cd frontend && npm ci --silent --no-audit --no-fund && npx --no-install tsc && node build.mjs

check-frontend:
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		echo "check-frontend: left out, because Node is not installed."; \
	elif ! (cd frontend && npm ci --silent --no-audit --no-fund --fetch-retries=0 --fetch-timeout=20000); then \
		echo "check-frontend: left out, because the build tools could not be installed."; \
	else \
		(cd frontend && npm run --silent check && node build.mjs) && git diff --exit-code --stat -- $(STATIC) || \
			{ echo "check-frontend: $(STATIC) is not what frontend/ builds: run make frontend and commit." >&2; exit 1; }; \
	fi

# --- environments -------------------------------------------------------------------------------------------------

# $(call make-venv,folder,interpreters to try,condition on sys.version_info,the same in words)
define make-venv
	@found=; \
	for candidate in $(2); do \
		if $$candidate -c 'import sys; sys.exit(not ($(3)))' 2>/dev/null; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "manifolia needs $(4), and none of these is one: $(strip $(2))." >&2; \
		echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv; Fedora: dnf install python3;" >&2; \
		echo "macOS: brew install python) or name it: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	if ! $$found -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$found has no ensurepip, so it cannot make a virtual environment." >&2; \
		echo "Install it (Debian, Ubuntu: apt-get install python3-venv) or name another interpreter:" >&2; \
		echo "make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	echo "making $(1) with $$($$found --version)"; \
	$$found -m venv $(1)
endef

$(PY):
	$(call make-venv,$(VENV),$(CANDIDATES),sys.version_info >= (3$(comma) 11),Python 3.11 or later)

# The oldest dependencies have wheels for these two only. The oldest matplotlib warns with pyparsing 3.3.
$(OLDEST)/bin/python:
	$(call make-venv,$(OLDEST),python3.11 python3.12 $(PYTHON),sys.version_info[:2] in ((3$(comma) 11)$(comma) (3$(comma) 12)),Python 3.11 or 3.12 for the oldest dependencies)

comma := ,

$(VENV)/.installed-demo: pyproject.toml src/manifolia/_version.py | $(PY)
	@echo "installing what the demo needs into $(VENV) (once)"
	@$(PY) -m pip install --quiet --editable '.[plot]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml src/manifolia/_version.py | $(PY)
	@echo "installing what the tests need into $(VENV) (once)"
	@$(PY) -m pip install --quiet --editable '.[test]'
	@touch $@

# One by one: a package that cannot be installed here (trimap needs a compiler) is left out of the tables, not the rest.
LISTED := import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]

$(VENV)/.installed-reproduce: $(VENV)/.installed-test
	@echo "installing the packages whose maps stand beside ours into $(VENV) (once)"
	@$(PY) -c '$(LISTED); print(*extras["reproduce"], sep="\n")' | while read -r package; do \
		$(PY) -m pip install --quiet "$$package" || echo "left out, because it could not be installed: $$package"; \
	done
	@touch $@

$(VENV)/.installed-peers: $(VENV)/.installed-reproduce
	@echo "installing the packages that tests compare with into $(VENV) (once)"
	@$(PY) -c '$(LISTED); print(*extras["peers"], sep="\n")' | grep -v '^manifolia' | while read -r package; do \
		$(PY) -m pip install --quiet "$$package" || echo "left out, because it could not be installed: $$package"; \
	done
	@touch $@

$(VENV)/.installed-docs: pyproject.toml src/manifolia/_version.py | $(PY)
	@echo "installing what the documentation needs into $(VENV) (once)"
	@$(PY) -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.installed-dist: pyproject.toml | $(PY)
	@$(PY) -m pip install --quiet build twine
	@touch $@

$(OLDEST)/.installed: pyproject.toml src/manifolia/_version.py tests/oldest.txt | $(OLDEST)/bin/python
	@echo "installing the oldest dependencies into $(OLDEST) (once)"
	@$(OLDEST)/bin/python -m pip install --quiet --requirement tests/oldest.txt 'pyparsing<3.3' --editable '.[test]'
	@touch $@
