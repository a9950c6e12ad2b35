// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![cfg_attr(not(corefold), forbid(unsafe_code))]

#[cfg_attr(corefold, path = "simulated.rs")]
#[cfg_attr(not(corefold), path = "native.rs")]
mod marks;
mod scaling;

pub use marks::label;
pub use scaling::{scaling, Scaling};

/// One unit of work is done: a report's throughput is the number of visits for each second of virtual time.
///
/// The name is a literal. Points of one name are one point; all points are added up.
#[macro_export]
macro_rules! progress {
    ($name:literal) => {{
        const NAME: &::core::ffi::CStr = $crate::__private::terminated(::core::concat!($name, "\0"));
        $crate::__private::progress(NAME)
    }};
}

/// The region of interest begins: what came before counts for nothing in the report.
///
/// The region lasts from the first `begin!()` to the [`end!`] that no later `begin!()` follows.
#[macro_export]
macro_rules! begin {
    () => {
        $crate::__private::begin()
    };
}

/// The region of interest ends.
#[macro_export]
macro_rules! end {
    () => {
        $crate::__private::end()
    };
}

/// What the macros call.
#[doc(hidden)]
pub mod __private {
    pub use crate::marks::{begin, end, progress};
    use core::ffi::CStr;

    pub const fn terminated(name: &'static str) -> &'static CStr {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name has no NUL"),
        }
    }
}
