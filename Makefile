# SPDX-License-Identifier: MIT OR Apache-2.0
# Every target does its own set-up (scripts/setup.sh), so that a fresh clone needs one command.
.PHONY: build wrappers demo test test-properties test-all corefold-fs kit-test kit-mutants kit-bench grid stress stress-e2e stress-kit crates accuracy ablation sensitivity bench install clean

CARGO ?= cargo
PREFIX ?= /usr/local
BUILT = $(or $(CARGO_TARGET_DIR),target)/release
# The engine is no_std: built together with the rest, it would get std through features of shared dependencies.
ENGINE = -p corefold-engine
# Tests are compiled by clippy, whose lints so cost no compilation of their own; in cargo's configuration, as programs that tests
# start would inherit the environment.
LINTED = --locked --config 'build.rustc-workspace-wrapper="clippy-driver"' --config 'build.rustflags=["-Dwarnings"]'
# One test more than cores at a time: some wait for programs that sleep.
TEST = RUST_TEST_THREADS=$$(($$(nproc) + 1)) $(CARGO) test $(LINTED)
E2E = COREFOLD_TEST_BIN=$(abspath $(BUILT)) $(TEST) -p corefold-tests

build:
	@scripts/setup.sh build
	+$(CARGO) build --locked --release
	+$(CARGO) build --locked --release $(ENGINE)
	@$(MAKE) --no-print-directory wrappers

# `corefold cc`, `corefold c++` and cargo's subcommand: the command by other names. No symbolic links: some build systems
# resolve these.
WRAPPERS = corefold-cc corefold-c++ cargo-corefold
wrappers:
	@cd "$(BUILT)" && for name in $(WRAPPERS); do ln -f corefold $$name || exit 1; done

demo: build
	@demo/run.sh $(BUILT)/corefold

# The tiers, fastest first; their times are in README.md. Each ends with what was skipped.
test test-all test-properties stress stress-e2e stress-kit kit-test kit-mutants:
	+@scripts/skipped $(MAKE) --no-print-directory run-$@
.PHONY: $(addprefix run-,test test-all test-properties stress stress-e2e stress-kit kit-test kit-mutants)

run-test: export CARGO_INCREMENTAL ?= 0
run-test:
	@scripts/setup.sh test
	$(CARGO) fmt --all --check
	@$(MAKE) --no-print-directory -j4 unit-tests e2e-programs release kit-programs
	$(E2E)
	$(MAKE) kit-test

# At once, as none keeps two cores busy all the time: cargo locks the folders of the two profiles apart, and a folder while it
# builds. Make's job server (+) shares the cores between the compilers.
.PHONY: unit-tests e2e-programs release kit-programs
# Tests of a program with none in a folder `tests` do not compile the program itself: all targets first.
unit-tests:
	+$(CARGO) build $(LINTED) --all-targets
	+$(TEST)
e2e-programs:
	+$(E2E) --no-run
release:
	+$(CARGO) clippy --locked --release $(ENGINE) -- -D warnings
	$(MAKE) build

# The C library: its own tests, built in every way that it is used.
KIT = $(MAKE) --no-print-directory -C kit OUT=$(abspath $(or $(CARGO_TARGET_DIR),target))/kit
run-kit-test:
	@scripts/setup.sh test
	$(KIT) -j$$(nproc) test-programs
	$(KIT) test
kit-programs:
	+$(KIT) test-programs

# The kit's file system as a mount: docs/corefold-fs.md. Needs libfuse3; without it the target says so.
corefold-fs:
	@scripts/setup.sh test-all
	$(KIT) corefold-fs

# What needs more than `make test` does: compilers for other processors (1 minute), /dev/fuse for ordinary programs and
# stress-ng on mounts of corefold-fs (6 minutes), and time for the mutants (2 hours on two cores). Browsers have nothing to
# show: reports are text and JSON.
run-test-all:
	@scripts/setup.sh test-all
	$(KIT) cross
	$(KIT) fuse-test
	@echo "SKIPPED browsers: no output is made for one" | tee -a "$${COREFOLD_SKIPPED:-/dev/null}"
	$(MAKE) kit-mutants

# Takes away, one at a time, what the counters' exactness rests on, and says which test notices. About 2 hours on two cores.
run-kit-mutants:
	@scripts/setup.sh test
	$(MAKE) build
	COREFOLD=$(abspath $(BUILT))/corefold $(KIT) mutants

# The native table of counters and their peers.
kit-bench:
	@scripts/setup.sh build
	$(KIT) bench

# The table of docs/counters.md: about a quarter of an hour on two cores.
grid: build
	$(BUILT)/corefold case grid --page docs/counters.md

# The property tests with ten times the cases, and new ones at each run; PROPTEST_RNG_SEED repeats a run.
run-test-properties:
	@scripts/setup.sh test
	@export PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-$$(date +%s)} PROPTEST_CASES=$${PROPTEST_CASES:-2560}; \
		again="make test-properties PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED PROPTEST_CASES=$$PROPTEST_CASES"; echo "$$again"; \
		$(TEST) && $(TEST) -p corefold-tests --test heap || { echo "failed; again: $$again"; exit 1; }

# What `make test` does a few times, many times. Each part can be run by itself.
run-stress:
	$(MAKE) test-properties
	$(MAKE) stress-e2e
	$(MAKE) stress-kit

run-stress-e2e: build
	@scripts/setup.sh test
	COREFOLD_STRESS=1 $(E2E) -- --include-ignored

run-stress-kit:
	@scripts/setup.sh test
	$(KIT) stress

# Public crates' own tests and benchmarks: the rows of docs/programs.md. Downloads them.
crates: build
	PATH="$(abspath $(BUILT)):$$PATH" tests/crates/run

# How far simulated results are from native and published ones: docs/accuracy.md. Nothing else should run.
accuracy: build
	@scripts/setup.sh test
	$(BUILT)/corefold-accuracy --corefold $(BUILT)/corefold

# What each mechanism of the model is worth: a table of docs/accuracy.md.
ablation: build
	$(BUILT)/corefold-accuracy --corefold $(BUILT)/corefold --suite ablation --accept

# By how much results move when an estimated number of a profile is wrong: what `corefold machine show --sensitivity` prints.
sensitivity: build
	$(BUILT)/corefold-accuracy --corefold $(BUILT)/corefold --suite sensitivity --accept

# Simulation speed, as ratios and rates from one run on this host.
bench:
	@scripts/setup.sh bench
	$(MAKE) build
	COREFOLD=$(abspath $(BUILT))/corefold bench/run
	COREFOLD=$(abspath $(BUILT))/corefold bench/mechanisms

KIT_BUILD = $(abspath $(or $(CARGO_TARGET_DIR),target))/kit-install
install: build
	@scripts/setup.sh install
	install -D -m 755 $(BUILT)/corefold $(DESTDIR)$(PREFIX)/bin/corefold
	@$(MAKE) --no-print-directory wrappers BUILT="$(DESTDIR)$(PREFIX)/bin"
	install -D -m 644 $(BUILT)/libcorefold_rt.so $(DESTDIR)$(PREFIX)/lib/corefold/libcorefold_rt.so
	install -D -m 644 crates/driver/include/corefold.h $(DESTDIR)$(PREFIX)/include/corefold.h
	for f in $$(find cases kit/include kit/src kit/bench tests/suites/fetch tests/suites/liburcu.toml -type f); do \
		install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/corefold/$$f || exit 1; done
	cmake -S kit -B $(KIT_BUILD) -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DCF_KIT_TESTS=OFF
	cmake --build $(KIT_BUILD)
	DESTDIR=$(DESTDIR) cmake --install $(KIT_BUILD)
	@grep -q /libcorefold_vfs $(KIT_BUILD)/install_manifest.txt || \
		echo "install: without libcorefold_vfs, which needs liburcu (liburcu-dev)"
	@grep -q /corefold-fs$$ $(KIT_BUILD)/install_manifest.txt || \
		echo "install: without corefold-fs, which needs liburcu (liburcu-dev), libfuse3 of 3.12 or later (libfuse3-dev) and pkg-config"

clean:
	$(CARGO) clean
