// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime is found by its SONAME however it was linked or preloaded, and its constructor is the first.
fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcorefold_rt.so");
    println!("cargo::rustc-cdylib-link-arg=-lgcc_s");
    // The hooks need their tables before any code of the program runs. Constructors of libraries call some, as the C++
    // library's calls the program's own `malloc`; so do functions in `.preinit_array`.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,initfirst");
}
