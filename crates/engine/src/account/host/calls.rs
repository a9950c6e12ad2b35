// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that the program made and the kernel carried out, by name.
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::UnsafeCell;

/// More names than the runtime has stand-ins for such calls; those beyond are not counted.
const MOST: usize = 160;

struct Counts(UnsafeCell<[(&'static str, u64); MOST]>);
// SAFETY: only the carrier uses them.
unsafe impl Sync for Counts {}
static COUNTS: Counts = Counts(UnsafeCell::new([("", 0); MOST]));

fn counts() -> &'static mut [(&'static str, u64); MOST] {
    // SAFETY: as above; no reference outlives its function.
    unsafe { &mut *COUNTS.0.get() }
}

/// The kernel carries out a call of the program's.
pub fn count(name: &'static str) {
    // The same name may stand at several addresses, and then has several counts until the end.
    let is_its = |(known, _): &&mut (&'static str, u64)| known.is_empty() || core::ptr::eq(*known, name);
    if let Some(place) = counts().iter_mut().find(is_its) {
        *place = (name, place.1 + 1);
    }
}

pub fn forget() {
    counts().iter_mut().for_each(|(_, count)| *count = 0);
}

pub fn all() -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for (name, count) in counts().iter().filter(|(_, count)| *count > 0) {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => all.push((String::from(*name), *count)),
        }
    }
    all.sort();
    all
}
