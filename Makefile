# Weft: what to run. `make help` lists it.
#
# Needed: Rust 1.95 or newer (cargo), a C compiler, make. Nothing is downloaded but crates, by cargo itself;
# `make test` and `make screenshots` install Chromium by apt where that is allowed; `make test` also s3cmd, and boto3
# by pip into an environment of its own below ~/.cache.

CARGO ?= cargo
export CARGO_TARGET_DIR ?= $(CURDIR)/target
WEFT = $(CARGO_TARGET_DIR)/release/weft
SHARED_DATA = $(or $(WEFT_SHARED_DATA),$(wildcard ../shared/data))

.PHONY: help demo test test-absences bench screenshots lint lint-format lint-code \
    need-cargo need-chromium need-boto3 need-s3cmd

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
test: need-cargo need-chromium need-boto3 need-s3cmd test-absences
	@if [ -n "$(SHARED_DATA)" ]; then echo 'test data: $(SHARED_DATA)'; \
	else echo 'test data: ../shared/data is missing; tests of real files are skipped'; fi
	$(CARGO) test --release --workspace --exclude bench

# What crates deliberately do not know (ARCHITECTURE.md).
test-absences: need-cargo
	CARGO="$(CARGO)" .ci/absences

# Modest sizes, some minutes; each program says with --help how to measure at full size.
bench: need-cargo
	$(CARGO) build --release -p weft -p bench
	@for program in read load search store 'webdfs --upload-bytes 200000000 --size-divisor 800'; do \
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

# The tests with boto3 skip, each with a line, where there is none. awscrt is what boto3 computes CRC32C and CRC64NVME with.
VENV = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weft/venv
need-boto3:
	@if $(VENV)/bin/python -c 'import boto3, awscrt' 2>/dev/null; then exit 0; fi; \
	if ! command -v python3 >/dev/null; then echo 'boto3: there is no python3; its tests are skipped'; exit 0; fi; \
	echo 'boto3: installing into $(VENV)'; \
	python3 -m venv $(VENV) && $(VENV)/bin/pip install -q --disable-pip-version-check boto3 \
	    || { echo 'boto3: it could not be installed; its tests are skipped'; exit 0; }; \
	$(VENV)/bin/pip install -q --disable-pip-version-check awscrt \
	    || echo 'boto3: awscrt could not be installed; CRC32C and CRC64NVME are skipped'

# The test with s3cmd skips, with a line, where there is none.
need-s3cmd:
	@if command -v s3cmd >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo 's3cmd: it is missing and there is no apt-get; its test is skipped'; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; \
	else echo 's3cmd: it is missing and may not be installed by this user; its test is skipped'; exit 0; fi; \
	echo 's3cmd: installing it'; \
	$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends s3cmd >/dev/null \
	    || echo 's3cmd: it could not be installed; its test is skipped'
