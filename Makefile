# Weft: what to run. `make help` lists it.
#
# Needed: Rust 1.95 or newer (cargo), a C compiler, make. Nothing is downloaded but crates, by cargo itself;
# `make test` and `make screenshots` install Chromium by apt where that is allowed.

CARGO ?= cargo
export CARGO_TARGET_DIR ?= $(CURDIR)/target
WEFT = $(CARGO_TARGET_DIR)/release/weft
SHARED_DATA = $(or $(WEFT_SHARED_DATA),$(wildcard ../shared/data))

.PHONY: help demo test test-absences bench screenshots lint lint-format lint-code need-cargo need-chromium

help:
	@echo 'make demo         build, load a small real web, serve it, say what to try'
	@echo 'make test         all tests'
	@echo 'make bench        measurements, beside peers and published figures'
	@echo 'make screenshots  pictures of every page of the web interface'
	@echo 'make lint         format and lints'

demo: need-cargo
	$(CARGO) build --release -p weft
	$(WEFT) demo $(DEMO_FLAGS)

# The benchmarks are not tests: they are built by `make bench` and `make lint`.
test: need-cargo need-chromium test-absences
	@if [ -n "$(SHARED_DATA)" ]; then echo 'test data: $(SHARED_DATA)'; \
	else echo 'test data: ../shared/data is missing; tests of real files are skipped'; fi
	$(CARGO) test --release --workspace --exclude bench

# What crates deliberately do not know (ARCHITECTURE.md).
test-absences: need-cargo
	CARGO="$(CARGO)" .ci/absences

# Modest sizes, some minutes; each program says with --help how to measure at full size.
bench: need-cargo
	$(CARGO) build --release -p weft -p bench
	@for program in read load search; do \
	    echo; echo "== bench/$$program"; $(CARGO_TARGET_DIR)/release/$$program || exit 1; \
	done

screenshots: need-cargo need-chromium
	$(CARGO) test --release -p server --test server -- --ignored --nocapture screenshots

lint: lint-format lint-code

lint-format: need-cargo
	$(CARGO) fmt --check

lint-code: need-cargo
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

need-cargo:
	@command -v $(CARGO) >/dev/null || { \
	    echo 'cargo is missing. Weft needs Rust 1.95 or newer; distributions often have an older one.'; \
	    echo 'Install it as https://rustup.rs says, then run make again.'; exit 1; }

# The browser tests skip, each with a line, where there is no Chromium.
need-chromium:
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo 'browser: Chromium is missing and there is no apt-get; browser tests are skipped'; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; \
	else echo 'browser: Chromium is missing and may not be installed by this user; browser tests are skipped'; exit 0; fi; \
	echo 'browser: installing chromium and chromium-driver'; \
	$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null \
	    || echo 'browser: Chromium could not be installed; browser tests are skipped'
