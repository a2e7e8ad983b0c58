# One word for each thing that is done often. `make` lists them.
# Everything is built below $CARGO_TARGET_DIR where it is set, else below target/.

CARGO ?= cargo

# What `make demo` does: the model against a trace that ships with the project, and the short form
# of a study, with its report.
DEMO_TRACE := examples/synthetic-hp-c2247.csv
DEMO_STUDY ?= worthington94-fig3
RESULTS := $(or $(CARGO_TARGET_DIR),target)/results
# The model must build where there is no operating system.
WASM := wasm32-unknown-unknown
DISKARM := $(CARGO) run --release --quiet --bin diskarm --
# The module for Python is built and tested in an environment of its own.
PYTHON ?= python3
VENV := $(abspath $(or $(CARGO_TARGET_DIR),target)/venv)

.DEFAULT_GOAL := help
.PHONY: help demo test studies python bench python-bench docs book

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: ## build, set a model against a trace, run a small study, name its report
	@echo "building diskarm ..."
	@$(CARGO) build --release --bin diskarm
	@echo
	@echo "A model against $(DEMO_TRACE), which is synthetic (examples/README.md):"
	$(DISKARM) validate --drive hp-c2247 $(DEMO_TRACE)
	@echo
	@echo "A paper's figure, in its short form:"
	$(DISKARM) study run $(DEMO_STUDY) --quick -o $(RESULTS)
	@echo
	@echo "Open $(RESULTS)/$(DEMO_STUDY)-quick/report.html"

test: ## everything that must hold before a merge
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy --package diskarm-trace --features parquet --all-targets -- -D warnings
	$(CARGO) xtask tidy
	$(CARGO) test --workspace
	$(CARGO) test --package diskarm-trace --features parquet --lib --tests
	@if [ -d "$$(rustc --print target-libdir --target $(WASM))" ]; then \
		echo "$(CARGO) check --package diskarm-core --target $(WASM)"; \
		$(CARGO) check --quiet --package diskarm-core --target $(WASM); \
	else \
		echo "skipped: the model on $(WASM), as that target is not installed"; \
	fi
	$(CARGO) xtask counts
	$(CARGO) xtask digests

studies: ## the short form of every study; a claim that fails without a known reason is an error
	$(DISKARM) study check --all --quick --output $(RESULTS)

python: ## build the module for Python; its tests, and its stubs against it
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --requirement python/requirements-test.txt
	# With what the tests of the crates have built already. What is shipped is quicker to run.
	cd python && VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin develop --profile dev --quiet
	cd python && $(VENV)/bin/python -m pytest --doctest-modules src tests
	cd python && $(VENV)/bin/python -m mypy src
	cd python && $(VENV)/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml diskarm

bench: ## measure speed
	$(CARGO) xtask bench

python-bench: ## measure what the module for Python costs, built as it is shipped; after make python
	$(CARGO) build --release --bin diskarm
	cd python && VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin develop --quiet
	$(VENV)/bin/python python/bench.py $(or $(CARGO_TARGET_DIR),target)/release/diskarm

docs: ## the generated pages of the book; the reference of every crate
	$(CARGO) xtask docs
	$(CARGO) run --quiet --example reference
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

book: ## the book below target/book, where mdBook is installed
	@if command -v mdbook >/dev/null; then \
		mdbook build docs && echo "Open target/book/index.html"; \
	else \
		echo "skipped: mdbook is not installed (cargo install mdbook --locked)"; \
		echo "Its pages are to be read in docs/ as well, from docs/introduction.md on."; \
	fi
