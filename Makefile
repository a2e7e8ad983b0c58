# Common tasks. `make` lists them.
# Everything is built in $CARGO_TARGET_DIR if it is set, else in target/.

CARGO ?= cargo

# What `make demo` uses: what was measured on a drive, and a study to run in its short form.
DEMO_TRACE := data/validation/hp-c2247.csv.gz
DEMO_STUDY ?= worthington94-fig3
RESULTS := $(or $(CARGO_TARGET_DIR),target)/results
# The model must build where there is no operating system.
WASM := wasm32-unknown-unknown
# The optional features that cost little to build with the rest.
FEATURES := --features diskarm/dashboard
# The tests that need the reference data in ../shared.
IGNORED := $(CARGO) test --workspace $(FEATURES) --tests --quiet -- --ignored
DISKARM := $(CARGO) run --release --quiet --bin diskarm --
# The Python module is built and tested in a virtual environment.
PYTHON ?= python3
VENV := $(abspath $(or $(CARGO_TARGET_DIR),target)/venv)
# How long `make fuzz` runs each target.
FUZZ_SECONDS ?= 20
# How long `make simulate` runs.
SIMULATE_SECONDS ?= 60
# The stable compiler has no sanitizers.
FUZZ := $(CARGO) fuzz run --sanitizer none

.DEFAULT_GOAL := help
.PHONY: help demo test merge-checks check lint studies python links fuzz deny bench python-bench \
	simulate dist docs book

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: ## build, validate the model of a real drive, run a study, name its report
	@echo "building diskarm ..."
	@$(CARGO) build --release --bin diskarm
	@echo
	@echo "Validating the model of a drive against what was measured on it (data/README.md):"
	$(DISKARM) validate --drive hp-c2247 $(DEMO_TRACE)
	@echo
	@echo "Reproducing a figure of a paper, in its short form:"
	$(DISKARM) study run $(DEMO_STUDY) --quick -o $(RESULTS)
	@echo
	@echo "Open $(RESULTS)/$(DEMO_STUDY)-quick/report.html"

test: ## run every check that a merge requires; the last line says passed or failed
	@if $(MAKE) --no-print-directory merge-checks; then result=passed; else result=failed; fi; \
	if [ ! -d ../shared ]; then \
		skipped=$$($(IGNORED) --list 2>/dev/null | grep -c ': test$$'); \
		result="$$result, skipped $$skipped tests: no ../shared"; \
	fi; \
	echo "make test: $$result"; \
	case "$$result" in passed*) ;; *) exit 1 ;; esac

merge-checks: lint
	$(CARGO) clippy --package diskarm-trace --features parquet --all-targets -- -D warnings
	$(CARGO) test --workspace $(FEATURES) --no-fail-fast
	@if [ -d ../shared ]; then echo "$(IGNORED)"; $(IGNORED); fi
	$(CARGO) test --package diskarm-trace --features parquet --lib --tests
	# Each crate can be packaged from its own folder.
	$(CARGO) package --quiet --workspace --exclude xtask --exclude diskarm-python \
		--no-verify --allow-dirty --offline
	$(CARGO) check --package diskarm-core --no-default-features
	@if [ -d "$$(rustc --print target-libdir --target $(WASM))" ]; then \
		echo "$(CARGO) check --package diskarm-core --target $(WASM)"; \
		$(CARGO) check --quiet --package diskarm-core --target $(WASM); \
		$(CARGO) check --quiet --package diskarm-core --target $(WASM) --no-default-features; \
	else \
		echo "skipped: $(WASM) check (target not installed)"; \
	fi
	$(CARGO) xtask counts
	$(CARGO) xtask digests

check: lint ## the answer for most changes, in under three minutes if all is built
	$(CARGO) test --workspace $(FEATURES) --lib --bins

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace $(FEATURES) --all-targets -- -D warnings
	$(CARGO) xtask tidy

studies: ## run the short form of every study; fail on a claim that fails without a known reason
	$(DISKARM) study check --all --quick --output $(RESULTS)

python: ## build the Python module, run its tests, check its stubs
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --requirement python/requirements-test.txt
	# The dev profile reuses what the crates' tests have built. The shipped module is faster.
	cd python && VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin develop --profile dev --quiet
	cd python && $(VENV)/bin/python -m pytest --doctest-modules src tests
	cd python && $(VENV)/bin/python -m mypy src
	cd python && $(VENV)/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml diskarm

links: ## check that the links between documents lead to files and headings
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet "md-dead-link-check>=1.3"
	$(VENV)/bin/md-dead-link-check --config python/pyproject.toml

simulate: ## run whole servers with simulated clients, network, storage, time and power cuts
	$(CARGO) run --quiet --package diskarm-serve --example simulate -- \
		--seconds $(SIMULATE_SECONDS)

fuzz: ## feed random input to every parser; needs cargo-fuzz and a C++ compiler
	$(CARGO) fuzz build --sanitizer none
	$(CARGO) fuzz list | xargs -I TARGET -P "$$(nproc)" sh -c "mkdir -p fuzz/corpus/TARGET && \
		$(FUZZ) TARGET fuzz/corpus/TARGET fuzz/seeds/TARGET -- -verbosity=0 \
		-max_total_time=$(FUZZ_SECONDS) -timeout=20 -print_final_stats=1"

deny: ## check licences, sources and known faults of the dependencies; needs cargo-deny
	$(CARGO) deny check licenses bans sources
	$(CARGO) deny --manifest-path fuzz/Cargo.toml check licenses bans sources
	@if $(CARGO) deny fetch db >/dev/null 2>&1; then \
		$(CARGO) audit --version >/dev/null 2>&1 || $(CARGO) install --locked --debug cargo-audit; \
		set -e; $(CARGO) deny check advisories; $(CARGO) audit; \
	else \
		echo "skipped: cargo deny check advisories and cargo audit: their database is out of reach"; \
	fi

bench: ## measure speed
	$(CARGO) xtask bench

python-bench: ## measure the overhead of the Python module, built as shipped; after make python
	$(CARGO) build --profile release-lto --bin diskarm
	cd python && VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin develop --quiet
	$(VENV)/bin/python python/bench.py $(or $(CARGO_TARGET_DIR),target)/release-lto/diskarm

dist: ## build a static program and a wheel with licences and checksums, and try them
	bash dist/build

docs: ## generate pages of the book and the API reference
	$(CARGO) xtask docs
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

book: ## build the book in target/book; needs mdBook
	@if command -v mdbook >/dev/null; then \
		mdbook build docs && echo "Open target/book/index.html"; \
	else \
		echo "skipped: mdbook is not installed (cargo install mdbook --locked)"; \
		echo "You can also read its pages in docs/, starting with docs/introduction.md."; \
	fi
