// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the C part, as a build script without the crate `cc` does.
fn main() {
    // The build dependency runs here, C and all.
    assert_eq!(probe::answer(), 42);
    probe::compile("c/mix.c", "mix");
    println!("cargo::rustc-env=BUILT_BY={}", std::env::current_exe().unwrap().display());
}
