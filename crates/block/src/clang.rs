// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has clang put hooks where this crate expects them.

/// Options that go before the user's:
/// - hooks of memory accesses, as `-fsanitize=thread` has them;
/// - hooks at the head of each basic block: 2 is that level. 3, which splits edges, adds blocks that the
///   program does not have, and without the last one clang leaves out those that others imply;
/// - a hook for a read that a write to the same place follows. TSan can do without; but it is what waits
///   for the line, while the write goes through the store buffer.
pub const HOOKS: &[&str] = &[
    "-Xclang",
    "-fsanitize=thread",
    "-Xclang",
    "-fsanitize-coverage-type=2",
    "-Xclang",
    "-fsanitize-coverage-trace-pc",
    "-Xclang",
    "-fsanitize-coverage-no-prune",
    "-mllvm",
    "-tsan-instrument-read-before-write",
];
