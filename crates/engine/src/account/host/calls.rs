// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that the program made and the kernel carried out, by name.
use crate::carrier::Carrier;
use alloc::string::String;
use alloc::vec::Vec;

/// More names than the runtime has stand-ins for such calls; those beyond are not counted.
const MOST: usize = 160;

static COUNTS: Carrier<[(&str, u64); MOST]> = Carrier::new([("", 0); MOST]);

/// The kernel carries out a call of the program's.
pub fn count(name: &'static str) {
    // The same name may stand at several addresses, and then has several counts until the end.
    let is_its = |(known, _): &&mut (&'static str, u64)| known.is_empty() || core::ptr::eq(*known, name);
    COUNTS.with(|counts| {
        if let Some(place) = counts.iter_mut().find(is_its) {
            *place = (name, place.1 + 1);
        }
    });
}

pub fn forget() {
    COUNTS.with(|counts| counts.iter_mut().for_each(|(_, count)| *count = 0));
}

pub fn all() -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    COUNTS.with(|counts| {
        for (name, count) in counts.iter().filter(|(_, count)| *count > 0) {
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => all.push((String::from(*name), *count)),
            }
        }
    });
    all.sort();
    all
}
