# The one front door. `make help` lists what there is; everything else is set up on the way.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
GO ?= go
VENV ?= .venv
DATA ?=
N ?= 20000
SEED ?= $(shell date +%s)
ARGS ?=
BASE ?= HEAD

GOLANGCI := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
PY := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
NATIVE := python/libsparse/_libsparse.so
HELPER := python/libsparse/_libsparse_go
SHORTCUTS := $(wildcard python/libsparse/*/*.c python/libsparse/*/*.h)
GO_FILES := $(shell find capi cmd command codegen cache libsparse -name '*.go' -o -name '*.h' -o -name '*.c' -o -name '*.json' -o -name '*.bin' 2>/dev/null)
RUFF := $(VENV)/bin/ruff
LINTED := python pack tests benchmarks docs examples setup.py

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  Variables: PYTHON=python3  DATA=folder with a Planetoid graph (demo) or matrices (bench)  ARGS='more options of demo, bench or pytest'"

.PHONY: build
build: $(NATIVE) $(STAMPS)/installed ## the compiler, the Python package and its environment

.PHONY: pack
pack: build ## compile kernels of common calls into the package, as a wheel has them: for machines without a C compiler
	@LIBSPARSE_PACK=1 $(PY) setup.py --quiet build_ext --inplace

.PHONY: wheel
wheel: $(STAMPS)/wheel-tools ## an sdist, and from it a wheel with the pack, in dist/ (some minutes)
	@rm -rf dist && $(PY) -m build --outdir dist .
	@tag=$$($(PY) -m auditwheel show dist/*.whl | grep -o 'manylinux_[0-9_]*_$(shell uname -m)' | head -1) && \
	$(PY) -m wheel tags --remove --platform-tag "$$tag" dist/*.whl
	@ls -l dist

.PHONY: test-install
test-install: ## install what `make wheel` made in clean environments (ARGS="--python python3.13 --torch 2.4.1 ''")
	@$(PYTHON) tests/install/environments.py dist $(ARGS)

.PHONY: test-notebooks
test-notebooks: build build/jupyter/installed ## notebooks in Jupyter, by a headless browser; screenshots in build/screenshots (apt install chromium)
	@build/jupyter/bin/python -m pytest tests/jupyter/look.py $(ARGS)

.PHONY: test-aarch64
test-aarch64: $(STAMPS)/tools ## cross-build for aarch64, and run its kernels under qemu (apt install gcc-aarch64-linux-gnu qemu-user)
	@mkdir -p build/aarch64
	GOARCH=arm64 CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc $(GO) build -buildmode=c-shared -o build/aarch64/_libsparse.so ./capi
	GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o build/aarch64/libsparse ./cmd/libsparse
	PATH="$(CURDIR)/tests/aarch64:$$PATH" qemu-aarch64 build/aarch64/libsparse run "y(i,k) = A(i,j) * x(j,k)" -f=A:csr -d=A:300x200 -d=k:16 -threads=2 -check
	PATH="$(CURDIR)/tests/aarch64:$$PATH" CGO_ENABLED=0 $(GO) test -timeout=30m ./codegen/... ./libsparse ./tests/conformance  # under emulation

.PHONY: demo
demo: build $(STAMPS)/demo ## train the graph network and write gcn-report.html (DATA=folder, ARGS="--quick")
	@$(PY) -m libsparse demo $(if $(DATA),--data "$(DATA)") $(ARGS)

.PHONY: test
test: build ## everything that has to pass
	@$(PY) -m compileall -q python/libsparse  # programs of tests read it, also where Python writes none
	@TMPDIR=$$(mktemp -d) && export TMPDIR && trap 'rm -rf "$$TMPDIR"' EXIT && export LIBSPARSE_TEST_CACHE="$$TMPDIR/kernels" && \
	$(MAKE) --no-print-directory --jobs=3 test-api-first test-api-second lint test-go test-rest  # three at a time: while one waits or sleeps, two keep the cores busy

.PHONY: test-go
test-go: $(STAMPS)/tools ## the compiler's tests
	CGO_ENABLED=0 GOGC=400 OMP_WAIT_POLICY=passive $(GO) test -timeout=30m $$(CGO_ENABLED=0 $(GO) list ./... | grep -v '/capi$$')
	CGO_ENABLED=1 $(GO) test ./capi/...

.PHONY: test-py
test-py: test-api-first test-api-second test-rest ## the package's tests

.PHONY: test-api-first test-api-second test-rest
# with ARGS="-k ..." a run may find nothing, which is status 5
test-api-first: build
	$(PY) -m pytest tests/python --ignore-glob='*/test_[m-z]*' $(ARGS) $(if $(ARGS),|| [ $$? -eq 5 ])
test-api-second: build
	$(PY) -m pytest tests/python --ignore-glob='*/test_[a-l]*' $(ARGS) $(if $(ARGS),|| [ $$? -eq 5 ])
test-rest: build
	$(PY) -m pytest tests --ignore=tests/python $(ARGS) $(if $(ARGS),|| [ $$? -eq 5 ])

.PHONY: lint
lint: $(STAMPS)/dev ## formatting, vet, staticcheck, ruff, mypy
	$(GO) vet ./...
	$(GOLANGCI) run
	$(RUFF) check --quiet $(LINTED)
	$(RUFF) format --quiet --check $(LINTED)
	$(PY) -m mypy

.PHONY: format
format: $(STAMPS)/dev ## rewrite the sources in the project's format
	$(GOLANGCI) fmt
	$(RUFF) check --quiet --fix $(LINTED)
	$(RUFF) format --quiet $(LINTED)

.PHONY: fuzz
fuzz: $(STAMPS)/tools ## random programs and schedules: all their meanings have to agree (N=20000, SEED=the time)
	CGO_ENABLED=0 LIBSPARSE_FUZZ=$(N) LIBSPARSE_SEED=$(SEED) $(GO) test ./libsparse -count=1 -timeout=0 -run 'TestRandomPrograms'

.PHONY: corpus
corpus: $(STAMPS)/tools ## compare the C of thousands of requests with that of another version (BASE=HEAD, or any commit)
	@rm -rf build/corpus && git worktree prune && git worktree add --quiet --detach build/corpus $(BASE)
	@cd build/corpus && CGO_ENABLED=0 $(GO) build -o ../corpus-base ./cmd/libsparse
	@git worktree remove --force build/corpus
	@CGO_ENABLED=0 $(GO) build -o build/corpus-now ./cmd/libsparse
	@$(GO) run ./tests/corpus/compare build/corpus-base build/corpus-now tests/corpus/requests.jsonl.gz

.PHONY: docs
docs: build $(STAMPS)/docs ## the documents as one site in build/docs
	@PYTHONPATH=docs $(PY) -m sphinx -W --keep-going --quiet -j auto docs build/docs
	@echo "build/docs/index.html"

.PHONY: examples
examples: build ## run all examples and write their pictures to build/examples (some minutes; ARGS=--quick)
	@for example in $(filter-out examples/options.py,$(wildcard examples/*.py)); do \
	  echo "--- $$example"; $(PY) -W ignore $$example --plots build/examples $(ARGS); done

.PHONY: bench
bench: build ## measure beside other libraries (DATA=folder of .mtx and .tns files, ARGS="latency models kernels schedules --quick")
	@$(PY) benchmarks/run.py $(if $(DATA),--data "$(DATA)") $(ARGS)

.PHONY: bench-peers
bench-peers: $(STAMPS)/installed ## install the libraries that `make bench` compares with (some 300 MB)
	@$(PY) -m pip install --disable-pip-version-check --constraint requirements-dev.txt -r requirements-bench.txt

.PHONY: train
train: build $(STAMPS)/train ## measure schedules on many patterns and train the learned model of ls.tune (DATA=folder, some 40 minutes on one core)
	@$(PY) benchmarks/run.py collect learn $(if $(DATA),--data "$(DATA)") $(ARGS)

.PHONY: clean
clean: ## remove what was built, not the kernel cache in the home folder
	rm -rf $(VENV) build dist python/*.egg-info .mypy_cache .ruff_cache .pytest_cache $(NATIVE) $(HELPER) python/libsparse/*/*.abi3.so python/libsparse/_pack
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# --- what the targets stand on -------------------------------------------------------------------------------------

# Checked whenever the environment is made anew; each missing tool is one sentence.
$(STAMPS)/tools: go.mod .ci/check-tools
	@PYTHON="$(PYTHON)" GO="$(GO)" .ci/check-tools
	@mkdir -p $(@D) && touch $@

# A torch that $(PYTHON) can import is reused: from its site-packages, or by a .pth file where $(PYTHON) is itself in an environment.
$(STAMPS)/dev: $(STAMPS)/tools requirements-dev.txt
	@echo "Setting up $(VENV) (once)"
	@if torch=$$($(PYTHON) -c 'import pathlib, torch; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4); print(pathlib.Path(torch.__file__).parents[1])' 2>/dev/null); then \
	  $(PYTHON) -m venv --system-site-packages $(VENV); \
	  $(PY) -c 'import torch' 2>/dev/null || echo "$$torch" > "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/reused-torch.pth"; \
	else $(PYTHON) -m venv $(VENV); fi
	@$(PY) -m pip install --quiet --disable-pip-version-check --ignore-installed -r requirements-dev.txt
	@$(PY) -c 'import torch' 2>/dev/null || { echo "Installing torch (a minute or more)"; $(PY) -m pip install --quiet --disable-pip-version-check 'torch>=2.4'; }
	@touch $@

$(STAMPS)/docs: $(STAMPS)/dev requirements-docs.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --ignore-installed --no-warn-conflicts -r requirements-docs.txt
	@touch $@

$(STAMPS)/train: $(STAMPS)/dev requirements-train.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-train.txt
	@touch $@

$(STAMPS)/wheel-tools: $(STAMPS)/installed requirements-wheel.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-wheel.txt
	@touch $@

# An environment of its own, some 500 MB with Jupyter; the kernel finds torch and the package in $(VENV).
build/jupyter/installed: requirements-notebooks.txt $(STAMPS)/installed
	@$(PYTHON) -m venv build/jupyter
	@build/jupyter/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-notebooks.txt
	@echo "import site; site.addsitedir('$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" > \
	  "$$(build/jupyter/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libsparse-environment.pth"
	@touch $@

# The demo alone needs these; the versions are those of the package's extra.
$(STAMPS)/demo: $(STAMPS)/installed
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[demo]'
	@touch $@

$(STAMPS)/installed: $(STAMPS)/dev pyproject.toml setup.py
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

# setup.py holds the one recipe; it makes the executable as well.
$(NATIVE): $(STAMPS)/dev setup.py pyproject.toml go.mod $(wildcard go.sum) $(GO_FILES) $(SHORTCUTS)
	@echo "Building the compiler"
	@$(PY) setup.py --quiet build_ext --inplace
	@touch $(NATIVE) $(HELPER)
