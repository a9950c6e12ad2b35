// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks that compilers put into their assembly.

/// Its calls show that a compiler wrote the assembly, with hooks.
pub const BLOCK_HOOK: &str = crate::rust::HOOK;

/// Whose output it is: each leaves out other hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    Gcc,
    Clang,
}
