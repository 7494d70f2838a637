# Weft: what to run. `make help` lists it.
#
# Needed: Rust 1.95 or newer (cargo), a C compiler, make. Nothing is downloaded but crates, by cargo itself;
# `make test` and `make screenshots` install Chromium by apt where that is allowed; `make test` also s3cmd and rclone by
# apt, and boto3, cdx_toolkit, waybackpy, wayback, pywb, deltalake, duckdb, polars and pyarrow by pip into an environment of their own below ~/.cache,
# and pyspark with others into one more.
# What cannot be installed is named, and its tests are skipped, each with a line.

CARGO ?= cargo
export CARGO_TARGET_DIR ?= $(CURDIR)/target
WEFT = $(CARGO_TARGET_DIR)/release/weft
# Where `make install` puts things; packagers set DESTDIR too.
PREFIX ?= /usr/local
DESTDIR ?=
# Most tests wait for processes, disks or clocks: twice as many run at a time as there are processors.
export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))
SHARED_DATA = $(or $(WEFT_SHARED_DATA),$(wildcard ../shared/data))

.PHONY: help demo sql programs install install-files deb deb-files docs python test test-fast test-absences test-programs test-python bench bench-full figures likeness fuzz simulate screenshots lint lint-format lint-words lint-code \
    need-cargo need-chromium need-clients need-venv need-boto3 need-field need-readers need-peers need-replays need-s3cmd need-rclone need-python
.PHONY: dist dist-files wheel wheel-files need-maturin need-zig

help:
	@echo 'make install      both programs, manual pages and shell completions, below PREFIX=$(PREFIX); SQL=no leaves weft-sql out'
	@echo 'make deb          a Debian package below $(CARGO_TARGET_DIR)/deb; SQL=no leaves weft-sql out'
	@echo 'make dist         a tarball below $(CARGO_TARGET_DIR)/dist; SQL=no leaves weft-sql out'
	@echo 'make wheel        wheels for pip below $(WHEELS); SQL=no leaves weft-sql out; WHEEL_GLIBC=2.28 for older systems'
	@echo 'make demo         build, load a small real web, serve it, say what to try; WEFT=/usr/bin/weft builds nothing'
	@echo 'make sql          builds weft-sql, which answers SQL: about 40 minutes of processor time, once'
	@echo 'make python       the Python package weft_archive, in an environment of its own: $(PYTHON_VENV)'
	@echo 'make test-fast    units, models and the command line: some minutes, once they are compiled'
	@echo 'make test         all tests'
	@echo 'make bench        measurements, beside peers and published figures'
	@echo 'make bench-full   the same at full size: two hours, 45 GB of disk'
	@echo 'make figures      one table beside other programs, of one run: docs/figures.md; FIGURES_FLAGS=--help tells more'
	@echo 'make likeness     archived pages in a browser, beside pywb and wabac.js; LIKENESS_FLAGS=--help tells more'
	@echo 'make fuzz         changed inputs for everything that reads bytes from outside; FUZZ_FLAGS=--help tells more'
	@echo 'make simulate     the store and the index with faults and crashes, seed after seed; SIMULATE_FLAGS=--help tells more'
	@echo 'make screenshots  pictures of every page of the web interface; that of SQL where make sql has built it'
	@echo 'make docs         the pages of docs/ as a book of HTML, with mdbook'
	@echo 'make lint         format, plain English, clippy'

# A program that the command line names is not built.
demo: $(if $(filter file,$(origin WEFT)),need-cargo)
	$(if $(filter file,$(origin WEFT)),$(CARGO) build --release -p weft)
	$(WEFT) demo $(DEMO_FLAGS)

# A build of its own: with other crates in it, cargo would build DataFusion anew for features that those ask of shared crates.
sql: need-cargo
	$(CARGO) build --release -p weft-sql

# With SQL=no, without what takes long to build.
SQL ?= yes
programs: need-cargo
	$(CARGO) build --release -p weft
	@if [ '$(SQL)' != no ]; then $(MAKE) sql; fi

install deb dist: programs
	$(MAKE) $@-files

# The program without what only debuggers read, and what it says of itself.
SHARE = $(DESTDIR)$(PREFIX)/share
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd/system
install-files:
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(SHARE)/man/man1' '$(SHARE)/bash-completion/completions' \
	    '$(SHARE)/zsh/site-functions' '$(SHARE)/fish/vendor_completions.d' '$(UNITS)'
	install -s -m 755 '$(WEFT)' '$(DESTDIR)$(PREFIX)/bin/weft'
	if [ '$(SQL)' != no ]; then install -s -m 755 '$(WEFT)-sql' '$(DESTDIR)$(PREFIX)/bin/weft-sql'; fi
	'$(WEFT)' manual '$(SHARE)/man/man1'
	'$(WEFT)' completions bash >'$(SHARE)/bash-completion/completions/weft'
	'$(WEFT)' completions zsh >'$(SHARE)/zsh/site-functions/_weft'
	'$(WEFT)' completions fish >'$(SHARE)/fish/vendor_completions.d/weft.fish'
	for unit in weft weft-store; do \
	    sed 's|@BINDIR@|$(PREFIX)/bin|' packaging/systemd/$$unit.service >'$(UNITS)'/$$unit.service || exit 1; done

# The package of programs that are built.
DEB = $(CARGO_TARGET_DIR)/deb
# Level of compression, 0 to 9.
DEB_LEVEL ?= 6
deb-files:
	rm -rf '$(DEB)/root'
	$(MAKE) -s install-files PREFIX=/usr DESTDIR='$(DEB)/root'
	DEB_LEVEL='$(DEB_LEVEL)' packaging/deb/make.sh '$(DEB)/root' '$(DEB)'

# book.toml says what the book is.
docs:
	@command -v mdbook >/dev/null || { \
	    echo 'mdbook is missing. Install it: cargo install mdbook, or a program from https://github.com/rust-lang/mdBook/releases'; exit 1; }
	@mdbook build --dest-dir '$(abspath $(CARGO_TARGET_DIR))/book'
	@echo 'open $(abspath $(CARGO_TARGET_DIR))/book/index.html'

# The tarball of programs that are built. Its systemd units name the programs in PREFIX.
DIST = $(CARGO_TARGET_DIR)/dist
# Level of compression, 1 to 9.
DIST_LEVEL ?= 9
dist-files:
	rm -rf '$(DIST)/root'
	$(MAKE) -s install-files DESTDIR='$(DIST)/root'
	DIST_LEVEL='$(DIST_LEVEL)' packaging/tarball/make.sh '$(DIST)/root$(PREFIX)' '$(DIST)'

# The wheels of weft-archive and weft-archive-sql (docs/installing.md). The C library is that of this machine; with
# WHEEL_GLIBC=2.28 zig builds for that version, whose tag is manylinux_2_28.
WHEELS = $(CARGO_TARGET_DIR)/wheels
WHEEL_GLIBC ?=
ifeq ($(WHEEL_GLIBC),)
WHEEL_CARGO = $(CARGO) build --release
WHEEL_WEFT = $(WEFT)
else
WHEEL_TARGET = $(shell uname -m)-unknown-linux-gnu
# cargo finds its subcommand zigbuild on PATH, and that finds zig by python3.
WHEEL_CARGO = PATH="$(PYTHON_VENV)/bin:$$PATH" $(CARGO) zigbuild --release --target $(WHEEL_TARGET).$(WHEEL_GLIBC)
WHEEL_WEFT = $(CARGO_TARGET_DIR)/$(WHEEL_TARGET)/release/weft
WHEEL_MATURIN = PATH="$(PYTHON_VENV)/bin:$$PATH"
WHEEL_FLAGS = --zig --compatibility manylinux_$(subst .,_,$(WHEEL_GLIBC))
endif
# The extension is a crate of the workspace, built with its profile.
MATURIN = $(PYTHON_VENV)/bin/maturin build --release --manifest-path python/Cargo.toml --interpreter $(PYTHON_VENV)/bin/python
wheel: need-cargo need-maturin $(if $(WHEEL_GLIBC),need-zig)
	rm -rf '$(WHEELS)'
	$(WHEEL_CARGO) -p weft
	if [ '$(SQL)' != no ]; then $(WHEEL_CARGO) -p weft-sql; fi
	$(WHEEL_MATURIN) $(MATURIN) $(WHEEL_FLAGS) --out '$(WHEELS)/extension'
	$(MAKE) -s wheel-files WEFT='$(WHEEL_WEFT)'

# The wheels of programs that are built, and of the wheel of the extension.
EXTENSION = $(wildcard $(WHEELS)/extension/weft_archive-*.whl)
# Level of compression, 0 to 9.
WHEEL_LEVEL ?= 9
wheel-files:
	packaging/wheel/make.py '$(WHEELS)' --extension '$(EXTENSION)' --program '$(WEFT)' --level $(WHEEL_LEVEL) \
	    $(if $(filter no,$(SQL)),,--sql '$(WEFT)-sql') $(if $(WHEEL_GLIBC),--glibc $(WHEEL_GLIBC))

# The benchmarks are not tests: they are built by `make bench` and `make lint`.
# Built as the user's environment says (proxies, compilers), run without it; one failing suite does not hide the others.
# With assertions of our own state, which the program that people get leaves out.
# What answers SQL is built apart from the rest, as people build it.
TESTS = --config .ci/tests.toml --release --workspace --exclude bench --exclude contest --exclude peers --exclude sql --exclude weft-sql
TESTS_SQL = --config .ci/tests.toml --release -p sql -p weft-sql
# Parts of the command line's suite that start many processes, wait for clocks, or need other tools.
SLOW = addresses:: bombs:: cache:: gateway:: install:: new_files:: other_tools package_lists:: packages::members \
    packages::a_stale rebuild:: redact::real rights::a_rule_changed s3_inputs:: serve::a_read_only serve::files_are \
    serve_policies:: store::alone::a_command store::away:: store::served::
test-fast: need-cargo
	.ci/clean $(CARGO) test $(TESTS) --lib --bins
	.ci/clean $(CARGO) test $(TESTS) --doc
	.ci/clean $(CARGO) test $(TESTS) --test cli -- $(addprefix --skip ,$(SLOW))

test: need-cargo need-chromium need-clients test-absences
	@if [ -n "$(SHARED_DATA)" ]; then echo 'test data: $(SHARED_DATA)'; \
	else echo 'test data: ../shared/data is missing; tests of real files are skipped'; fi
	@$(MAKE) --no-print-directory -k test-programs test-python

test-programs: need-cargo
	$(CARGO) test $(TESTS) --no-run
	$(CARGO) test $(TESTS_SQL) --no-run
	.ci/clean $(CARGO) test $(TESTS) --no-fail-fast
	.ci/clean $(CARGO) test $(TESTS_SQL) --no-fail-fast

# The Python package and its loads with Spark, which need Java too, and the jars of Delta Lake through Ivy: what is not there is
# named, and its tests are skipped. `weft`, with which they compare, is built by `make test` or `cargo build --release -p weft`.
test-python: need-cargo need-python
	@if ! $(PYTHON_VENV)/bin/python -c 'import maturin, pytest, pyarrow' 2>/dev/null; then \
	    echo 'python: there is no python3 with venv, or no package index; tests of the Python package are skipped'; exit 0; fi; \
	$(MAKE) --no-print-directory python && \
	.ci/clean $(PYTHON_VENV)/bin/python -m pytest -q -rs -p no:cacheprovider python/tests

# What crates deliberately do not know (ARCHITECTURE.md).
test-absences: need-cargo
	CARGO="$(CARGO)" .ci/absences

# The package `weft-archive` in an environment of its own. Only the extension is built: the program in the wheel is a copy of
# $(WEFT), which in `make test` is the tested one; without it the wheel has no program. `make wheel` makes wheels for others.
PYTHON_VENV = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weft/python-venv
PYTHON_WHEELS = $(CARGO_TARGET_DIR)/python
python: need-cargo need-maturin
	@rm -rf '$(PYTHON_WHEELS)'
	$(MATURIN) --out '$(PYTHON_WHEELS)/extension'
	packaging/wheel/make.py '$(PYTHON_WHEELS)' --extension '$(PYTHON_WHEELS)'/extension/*.whl --level 1 \
	    $$(if [ -x '$(WEFT)' ]; then echo --program '$(WEFT)'; fi)
	@# The same version may have other contents.
	$(PYTHON_VENV)/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps '$(PYTHON_WHEELS)'/weft_archive-*.whl
	@echo 'try: $(PYTHON_VENV)/bin/python -c "import weft_archive; help(weft_archive)"'

# Modest sizes, some minutes. SQL is measured where `make sql` has built it.
bench: need-cargo need-readers
	$(CARGO) build --release -p weft -p bench
	$(CARGO) build --release -p peers
	@for program in relevance read load search cdx replay store scan cache 'webdfs --upload-bytes 200000000 --size-divisor 800'; do \
	    echo; echo "== bench/$$program"; $(CARGO_TARGET_DIR)/release/$$program || exit 1; \
	done
	@echo; echo '== bench/sql'; \
	if [ -x '$(WEFT)-sql' ]; then $(CARGO_TARGET_DIR)/release/sql --python $(VENV)/bin/python; else echo 'not measured: make sql builds weft-sql'; fi

# At the sizes of docs/performance.md, which gets a row for each load: two hours, and 45 GB of disk below TMPDIR.
bench-full: need-cargo need-readers
	$(CARGO) build --release -p weft -p bench
	$(CARGO) build --release -p peers
	@for program in relevance read 'load --full --record docs/performance.md' 'index --full' 'search --full' 'cdx --pages 1000000' replay 'scan --full' \
	    'cache --blocks 10000 --open-blocks 100000'; do \
	    echo; echo "== bench/$$program"; $(CARGO_TARGET_DIR)/release/$$program || exit 1; \
	done
	@if [ -x '$(WEFT)-sql' ]; then echo; echo '== bench/sql'; $(CARGO_TARGET_DIR)/release/sql --full --python $(VENV)/bin/python; fi

# The table for README, some minutes. It needs only python3; what is missing beside it is named in the page.
figures: need-cargo need-peers
	$(CARGO) build --release -p weft -p bench
	python3 bench/figures.py docs/figures.md --programs '$(CARGO_TARGET_DIR)/release' --python '$(VENV)/bin/python' $(FIGURES_FLAGS)

# Pages of crawls are added with LIKENESS_FLAGS='crawls/*.warc.gz'. It needs npm for its own pages.
likeness: need-cargo need-chromium need-replays
	$(CARGO) build --release -p weft
	$(VENV)/bin/python bench/replay.py --weft '$(WEFT)' --cache '$(VENV)/../replay' $(LIKENESS_FLAGS)

# Ten seconds a target; FUZZ_FLAGS='warc_reader --seconds 600' for one of them and longer.
fuzz: need-cargo
	$(CARGO) run --release -p fuzz --bin fuzz -- $(FUZZ_FLAGS)

# Without end, until a run fails; SIMULATE_FLAGS='store --seed 17' replays one.
SIMULATE_FLAGS ?= --forever
simulate: need-cargo
	$(CARGO) run --release -p simulate --bin simulate -- $(SIMULATE_FLAGS)

screenshots: need-cargo need-chromium
	.ci/clean $(CARGO) test --release -p server --test server -- --ignored --nocapture screenshots

lint: lint-format lint-words lint-code

lint-format: need-cargo
	$(CARGO) fmt --check

# Sentences that readers have to guess; `.ci/plain-english --lines` shows them.
lint-words:
	.ci/plain-english
	.ci/map

lint-code: need-cargo
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

need-cargo:
	@command -v $(CARGO) >/dev/null || { \
	    echo 'cargo is missing. Weft needs Rust 1.95 or newer; distributions often have an older one.'; \
	    echo 'Install it as https://rustup.rs says, then run make again.'; exit 1; }

# Each test that needs a program skips, with a line, where there is none.
need-clients: need-boto3 need-field need-readers need-s3cmd need-rclone

# apt-install(what, program that shows that it is there, packages)
define apt-install
	@if command -v $(2) >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo '$(1): it is missing and there is no apt-get; its tests are skipped'; exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; \
	else echo '$(1): it is missing and may not be installed by this user; its tests are skipped'; exit 0; fi; \
	echo '$(1): installing $(3)'; \
	$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(3) >/dev/null \
	    || echo '$(1): it could not be installed; its tests are skipped'
endef

# chromedriver comes last, so it shows that both are there.
need-chromium:
	$(call apt-install,browser,chromedriver,chromium chromium-driver)

need-s3cmd:
	$(call apt-install,s3cmd,s3cmd,s3cmd)

need-rclone:
	$(call apt-install,rclone,rclone,rclone)

# pip-install(what, modules that show that it is there, packages)
VENV = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weft/venv
define pip-install
	@if [ ! -x $(VENV)/bin/python ] || $(VENV)/bin/python -c 'import $(2)' 2>/dev/null; then exit 0; fi; \
	echo "$(1): installing $(3) into $(VENV)"; \
	$(VENV)/bin/pip install -q --disable-pip-version-check $(3) \
	    || echo '$(1): it could not be installed; its tests are skipped'
endef

need-venv:
	@if [ -x $(VENV)/bin/python ]; then exit 0; fi; \
	if ! command -v python3 >/dev/null; then echo 'python: there is no python3; tests with boto3 and CDX clients are skipped'; exit 0; fi; \
	python3 -m venv $(VENV) || echo 'python: $(VENV) could not be made; tests with boto3 and CDX clients are skipped'

# awscrt is what boto3 computes CRC32C and CRC64NVME with.
need-boto3: need-venv
	$(call pip-install,boto3,boto3,boto3)
	$(call pip-install,boto3,awscrt,awscrt)

# Engines that read the tables of facts.
need-readers: need-venv
	$(call pip-install,readers of facts,deltalake$(COMMA) duckdb$(COMMA) polars$(COMMA) pyarrow,deltalake duckdb polars pyarrow)

# What an index of full text is otherwise built with (bench/load_peer.py).
need-peers: need-venv
	$(call pip-install,FastWARC and others,fastwarc$(COMMA) selectolax$(COMMA) tantivy,fastwarc selectolax tantivy)

# A replay server beside Weft, and what bench/replay.py drives a browser and compares pictures with.
need-replays: need-venv
	$(call pip-install,pywb,pywb.apps.cli,pywb)
	$(call pip-install,clients of a browser,websocket$(COMMA) numpy$(COMMA) PIL$(COMMA) warcio,websocket-client numpy pillow warcio)

# What builds the package for Python, and what its tests use. It has an environment of its own: pyspark is large.
PYTHON_NEEDS = maturin pytest 'pyarrow>=15' 'pandas>=2.2' 'deltalake>=1' duckdb polars 'pyspark>=4.1,<4.2' 'delta-spark>=4.1,<4.2' 'kazoo>=2.10' adbc_driver_flightsql
need-python:
	@if $(PYTHON_VENV)/bin/python -c 'import maturin, pytest, pandas, pyarrow, deltalake, duckdb, polars, pyspark, delta, kazoo, adbc_driver_flightsql' 2>/dev/null; then exit 0; fi; \
	if ! command -v python3 >/dev/null; then echo 'python: there is no python3'; exit 0; fi; \
	echo "python: installing maturin, pyspark and others into $(PYTHON_VENV)"; \
	python3 -m venv $(PYTHON_VENV) && $(PYTHON_VENV)/bin/pip install -q --disable-pip-version-check $(PYTHON_NEEDS) \
	    || echo 'python: packages could not be installed into $(PYTHON_VENV)'

need-maturin: need-python
	@if [ ! -x $(PYTHON_VENV)/bin/maturin ]; then echo 'python: maturin is missing, and could not be installed'; exit 1; fi

need-zig: need-python
	@if [ -x $(PYTHON_VENV)/bin/cargo-zigbuild ] && $(PYTHON_VENV)/bin/python -c 'import ziglang' 2>/dev/null; then exit 0; fi; \
	echo 'python: installing cargo-zigbuild and ziglang into $(PYTHON_VENV)'; \
	$(PYTHON_VENV)/bin/pip install -q --disable-pip-version-check cargo-zigbuild ziglang \
	    || { echo 'WHEEL_GLIBC needs cargo-zigbuild and ziglang, which could not be installed'; exit 1; }

# The clients and the replay server that read CDX.
need-field: need-venv
	$(call pip-install,CDX clients,cdx_toolkit$(COMMA) waybackpy$(COMMA) wayback,cdx_toolkit waybackpy wayback)
	$(call pip-install,pywb,pywb.apps.cli,pywb)
	$(call pip-install,Memento client,memento_client,memento_client)
	$(call pip-install,py-wacz,wacz.main,wacz)
	$(call pip-install,bagit,bagit,bagit)
	$(call pip-install,networkx,networkx,networkx)
	$(call pip-install,MCP client,mcp,mcp)
COMMA = ,
