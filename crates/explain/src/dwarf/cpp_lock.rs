// SPDX-License-Identifier: MIT OR Apache-2.0
//! What C++20 has beside mutexes.

/// In namespace std, which is called as Rust's library is.
pub const CPP_TYPES: &[&str] = &["barrier", "counting_semaphore", "latch"];

/// `std::barrier` of `std::barrier<…>::arrive_and_wait`, or of the type's whole name.
pub fn cpp_type(name: &str) -> Option<String> {
    let own = name.strip_prefix("std::")?.split(['<', ':']).next()?;
    CPP_TYPES.contains(&own).then(|| format!("std::{own}"))
}
