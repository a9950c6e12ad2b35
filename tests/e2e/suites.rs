// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test suites of public lock-free libraries pass with hooks: natively, many times, and at 32 simulated CPUs, in `make stress` at 2 and 8, too.
use crate::harness::run_suite;

#[test]
fn concurrency_kit() {
    run_suite("ck");
}

#[test]
fn liburcu() {
    run_suite("liburcu");
}

#[test]
fn mimalloc() {
    run_suite("mimalloc");
}
