// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which words of a program's threads are waited on for locks elsewhere: by its debug information.
use corefold_launch::Parking;
use std::ffi::OsStr;

/// None of a program that cannot be read: it is refused later, with the reason.
pub fn of(program: &OsStr) -> Vec<Parking> {
    let found = corefold_driver::program::resolve(program).and_then(|path| corefold_explain::parking(&path));
    found.unwrap_or_default().into_iter().map(|(word, lock)| Parking { word, lock }).collect()
}
