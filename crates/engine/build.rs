// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime is found by its SONAME however it was linked or preloaded.
fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcorefold_rt.so");
    println!("cargo::rustc-cdylib-link-arg=-lgcc_s");
}
