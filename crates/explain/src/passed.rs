// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncontended transfers: first touch, read-only, single hand-off.
use crate::memory::{Field, Memory};
use crate::share::{on_cpu, percent};
use crate::space::Space;
use crate::types::{FieldUse, PassedUse, Place};
use corefold_recording::{Passed, Run};

/// What costs less than this share of CPU time is in no text.
pub const LEAST_PASSED: f64 = 0.005;
/// An object whose uncontended lines cost this share of all stall and spin is named by the finding.
pub const MOSTLY_PASSED: f64 = 0.5;

/// One entry for each object and place in the code, the most expensive first. Where only text is wanted, `for_text`, and those
/// in the distribution's libraries cost too little for it even together, they are named by symbol: to read the debug
/// information of the C library takes longer than the rest of a short run's report.
pub(crate) fn passed<'a>(run: &Run, space: &Space<'a>, memory: &Memory<'a>, for_text: bool) -> Vec<PassedUse> {
    let waited = run.time.stall + run.time.spin;
    let by_symbol = for_text && are_minor(run, space);
    let mut all: Vec<PassedUse> = Vec::new();
    for entry in &run.passed {
        let objects: Vec<_> = entry.object.iter().cloned().collect();
        let found = memory.named(entry.address, u64::from(entry.size), &objects);
        let object = found.object.name.clone();
        let place = match by_symbol.then(|| in_library(space, entry.pc)).flatten() {
            Some(function) => Some(Place { function, ..Place::default() }),
            None => space.call_place(entry.pc),
        };
        let same = |known: &PassedUse| known.object == object && known.at == place && known.kind == entry.kind;
        let number = all.iter().position(same).unwrap_or_else(|| {
            all.push(PassedUse {
                object,
                at: place,
                kind: entry.kind,
                transfers_by_class: Default::default(),
                stall: 0,
                stall_percent: 0.0,
                fields: Vec::new(),
            });
            all.len() - 1
        });
        let known = &mut all[number];
        known.transfers_by_class.iter_mut().zip(entry.transfers).for_each(|(sum, more)| *sum += more);
        known.stall += entry.stall;
        known.stall_percent = percent(known.stall, waited);
        known.fields.push((found.object, used(found.field, entry)));
    }
    all.sort_by_key(|entry| std::cmp::Reverse(entry.stall));
    all
}

/// The function of a distribution's library that calls there.
fn in_library(space: &Space<'_>, pc: u64) -> Option<String> {
    space.library_function(pc.checked_sub(1)?)
}

/// Whether the transfers in such functions cost less, in all, than what text tells of one object and place.
fn are_minor(run: &Run, space: &Space<'_>) -> bool {
    let of_libraries = run.passed.iter().filter(|entry| in_library(space, entry.pc).is_some());
    let stall: u64 = of_libraries.map(|entry| entry.stall).sum();
    let is_below = |share: f64, whole: u64| whole == 0 || (stall as f64 / whole as f64) < share;
    is_below(LEAST_PASSED, on_cpu(&run.time)) && is_below(MOSTLY_PASSED, run.time.stall + run.time.spin)
}

fn used(field: Field, entry: &Passed) -> FieldUse {
    FieldUse {
        name: field.name,
        type_name: field.type_name,
        offset_in_object: field.offset,
        size: field.size,
        elements: field.elements,
        transfers: entry.transfers.iter().sum(),
        stall: entry.stall,
        ..FieldUse::default()
    }
}
