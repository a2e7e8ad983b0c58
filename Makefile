# One word for each thing that is done often. `make` lists them.
# Everything is built below $CARGO_TARGET_DIR where it is set, else below target/.

CARGO ?= cargo

# What `make demo` hands to the command line.
DEMO ?= simulate --drive hp-c2247 --random --requests 5000000 --outstanding 64 --policy sptf

.DEFAULT_GOAL := help
.PHONY: help demo test bench docs

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 8

demo: ## build the command line and run an example
	$(CARGO) run --release --quiet --bin diskarm -- $(DEMO)

test: ## everything that must hold before a merge
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy
	$(CARGO) test --workspace
	$(CARGO) xtask counts

bench: ## measure speed
	$(CARGO) xtask bench

docs: ## docs/validation.md from the reference data; the reference of every crate
	$(CARGO) xtask docs
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps
