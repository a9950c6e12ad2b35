// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program shows of the Rust compiler.
use crate::cargo;
use crate::exit::bad_input;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};

/// Imported by programs whose Rust code has hooks: of C, `corefold cc` writes them as code.
pub const HOOK: &str = "__sanitizer_cov_trace_pc";

/// The version of rustc that compiled a part of the program, as it notes it in `.comment`.
pub fn version(elf: &ElfFile64<Endianness>) -> Option<String> {
    let section = elf.section_by_name(".comment")?;
    let text = String::from_utf8_lossy(section.data().ok()?).into_owned();
    let rest = text.split_once("rustc version ")?.1;
    Some(rest.split([' ', '\0']).next().unwrap_or("").to_owned())
}

/// Why a program of Rust cannot be simulated.
pub fn without_hooks(shown: &str, rustc: &str, by_cargo: bool) -> anyhow::Error {
    let tested = cargo::TESTED.join(", ");
    match by_cargo {
        false => bad_input!(
            "{shown} is a Rust program without instrumentation, so its memory accesses cannot be seen: build it with `cargo corefold`"
        ),
        true if cargo::is_tested(rustc) => bad_input!(
            "rustc {rustc} has put no hooks into {shown}: it must generate code by LLVM, and do so itself (no other \
             codegen-backend, no linker-plugin-lto)"
        ),
        true => bad_input!(
            "rustc {rustc} has put no hooks into {shown}, and has not been tested with corefold: try one that has \
             (`cargo +VERSION corefold …`; tested: {tested})"
        ),
    }
}
