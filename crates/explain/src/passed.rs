// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncontended transfers: first touch, read-only, single hand-off.
use crate::functions::percent;
use crate::memory::{Field, Memory};
use crate::space::Space;
use crate::types::{FieldUse, PassedUse};
use corefold_recording::{Passed, Run};

/// One entry for each object and place in the code, the most expensive first.
pub(crate) fn passed<'a>(run: &Run, space: &Space<'a>, memory: &Memory<'a>) -> Vec<PassedUse> {
    let waited = run.time.stall + run.time.spin;
    let mut all: Vec<PassedUse> = Vec::new();
    for entry in &run.passed {
        let objects: Vec<_> = entry.object.iter().cloned().collect();
        let found = memory.named(entry.address, u64::from(entry.size), &objects);
        let object = found.object.name.clone();
        let place = space.call_place(entry.pc);
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
