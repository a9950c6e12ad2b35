// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test suites of public lock-free libraries pass with hooks: natively, many times, and at 2, 8 and 32 simulated CPUs, in `make stress`.
use crate::harness::run_suite;

#[test]
#[ignore = "a public suite: make stress runs it"]
fn concurrency_kit() {
    run_suite("ck");
}

#[test]
#[ignore = "a public suite: make stress runs it"]
fn liburcu() {
    run_suite("liburcu");
}

#[test]
#[ignore = "a public suite: make stress runs it"]
fn mimalloc() {
    run_suite("mimalloc");
}
