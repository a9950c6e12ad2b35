# SPDX-License-Identifier: MIT OR Apache-2.0
# Every target does its own set-up (scripts/setup.sh), so that a fresh clone needs one command.
.PHONY: build demo test stress bench install clean

CARGO ?= cargo
PREFIX ?= /usr/local
BUILT = $(or $(CARGO_TARGET_DIR),target)/release
# The engine is no_std: built together with the rest, it would get std through features of shared dependencies.
ENGINE = -p corefold-engine
E2E = COREFOLD_TEST_BIN=$(abspath $(BUILT)) $(CARGO) test --locked -p corefold-tests

build:
	@scripts/setup.sh build
	$(CARGO) build --locked --release
	$(CARGO) build --locked --release $(ENGINE)

demo: build
	@demo/run.sh $(BUILT)/corefold

# The tiers, fastest first; their times are in README.md.
test:
	@scripts/setup.sh test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked -p corefold-tests --all-targets -- -D warnings
	$(CARGO) clippy --locked --release $(ENGINE) -- -D warnings
	$(CARGO) test --locked
	$(MAKE) build
	$(E2E)

# What `make test` does a few times, many times.
stress:
	@scripts/setup.sh test
	$(MAKE) build
	COREFOLD_STRESS=1 $(E2E)

# Simulation speed, as ratios and rates from one run on this host.
bench:
	@scripts/setup.sh bench
	$(MAKE) build
	COREFOLD=$(abspath $(BUILT))/corefold bench/run

install: build
	install -D -m 755 $(BUILT)/corefold $(DESTDIR)$(PREFIX)/bin/corefold
	install -D -m 644 $(BUILT)/libcorefold_rt.so $(DESTDIR)$(PREFIX)/lib/corefold/libcorefold_rt.so
	install -D -m 644 crates/driver/include/corefold.h $(DESTDIR)$(PREFIX)/include/corefold.h

clean:
	$(CARGO) clean
