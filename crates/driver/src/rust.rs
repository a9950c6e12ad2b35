// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program shows of the Rust compiler.
use crate::cargo::versions;
use crate::exit::bad_input;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};

/// Imported by programs whose Rust code calls hooks: of C, `corefold cc` writes them as inline code.
pub const HOOK: &str = "__sanitizer_cov_trace_pc";

/// What `.comment` says where Rust code has hooks as inline code.
pub const INLINE: &str = "corefold: hooks of rustc inline";

/// What compilers note in a program.
pub fn comment(elf: &ElfFile64<Endianness>) -> String {
    let data = elf.section_by_name(".comment").and_then(|section| section.data().ok());
    String::from_utf8_lossy(data.unwrap_or_default()).into_owned()
}

/// The version of rustc that compiled a part of the program, of its comment.
pub fn version(comment: &str) -> Option<&str> {
    comment.split_once("rustc version ")?.1.split([' ', '\0']).next()
}

/// Why a program of Rust cannot be simulated.
pub fn without_hooks(shown: &str, rustc: &str, by_cargo: bool) -> anyhow::Error {
    let tested = versions::TESTED.join(", ");
    match by_cargo {
        false => bad_input!(
            "{shown} is a Rust program without instrumentation, so its memory accesses cannot be seen: build it with `cargo corefold`"
        ),
        true if versions::is_tested(rustc) => bad_input!(
            "rustc {rustc} has put no hooks into {shown}: it must generate code by LLVM, and do so itself (no other \
             codegen-backend, no linker-plugin-lto)"
        ),
        true => bad_input!(
            "rustc {rustc} has put no hooks into {shown}, and has not been tested with corefold: try one that has \
             (`cargo +VERSION corefold …`; tested: {tested})"
        ),
    }
}
