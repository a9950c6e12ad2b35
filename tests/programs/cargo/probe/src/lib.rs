// SPDX-License-Identifier: MIT OR Apache-2.0
//! A build dependency, with C of its own.
include!("compile.rs");

unsafe extern "C" {
    #[link_name = "answer"]
    fn answer_of_c() -> i32;
}

pub fn answer() -> i32 {
    // SAFETY: it only reads.
    unsafe { answer_of_c() }
}
