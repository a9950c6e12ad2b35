// SPDX-License-Identifier: MIT OR Apache-2.0
//! A macro that computes a constant.
use proc_macro::TokenStream;

#[proc_macro]
pub fn named(name: TokenStream) -> TokenStream {
    format!("pub const {name}: u64 = {};", (0..5).map(|_| 2000).sum::<u64>()).parse().unwrap()
}
