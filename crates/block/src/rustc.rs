// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has rustc put hooks where this crate expects them.

/// Called with the address of the atomic object that the next locked instruction accesses: memprof's name for it, behind
/// our prefix.
pub const ANNOUNCES: &str = "__corefold_atomic_store";

/// Options that go behind the user's, the last of a kind being the one that counts:
/// - LLVM's passes that put the hooks in, after all others, with the options of [`crate::clang::HOOKS`];
/// - for `fetch_max` and `fetch_min`, which tsan leaves out: atomic-expand makes loops of compare-and-swap of them, as x86
///   has no such instruction, and memprof puts a call of [`ANNOUNCES`] before each compare-and-swap;
/// - one codegen unit for each crate: of several, rustc optimises them together again, and vectorises loops only then,
///   behind our passes.
pub const HOOKS: &[&str] = &[
    "-C",
    "passes=forceattrs function(tsan,atomic-expand,memprof) sancov-module",
    "-C",
    "llvm-args=-force-attribute=sanitize_thread -tsan-instrument-read-before-write \
     -sanitizer-coverage-level=2 -sanitizer-coverage-trace-pc -sanitizer-coverage-prune-blocks=0 \
     -memprof-instrument-reads=0 -memprof-instrument-writes=0 -memprof-use-callbacks \
     -memprof-memory-access-callback-prefix=__corefold_atomic_",
    "-C",
    "codegen-units=1",
];
