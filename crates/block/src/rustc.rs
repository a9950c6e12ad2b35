// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has rustc put hooks where this crate expects them.

/// Options that go behind the user's, the last of a kind being the one that counts:
/// - LLVM's passes that put the hooks in, after all others, with the options of [`crate::clang::HOOKS`];
/// - one codegen unit for each crate: of several, rustc optimises them together again, and vectorises loops only then,
///   behind our passes.
pub const HOOKS: &[&str] = &[
    "-C",
    "passes=forceattrs function(tsan) sancov-module",
    "-C",
    "llvm-args=-force-attribute=sanitize_thread -tsan-instrument-read-before-write \
     -sanitizer-coverage-level=2 -sanitizer-coverage-trace-pc -sanitizer-coverage-prune-blocks=0",
    "-C",
    "codegen-units=1",
];
