// SPDX-License-Identifier: MIT OR Apache-2.0
//! C that is linked into a build script.
include!("src/compile.rs");

fn main() {
    compile("c/answer.c", "answer");
}
