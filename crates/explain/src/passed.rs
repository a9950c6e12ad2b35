// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncontended transfers: first touch, read-only, single hand-off.
use crate::functions::percent;
use crate::memory::Memory;
use crate::space::Space;
use crate::types::PassedUse;
use corefold_recording::Run;

/// One entry for each object and place in the code, the most expensive first.
pub(crate) fn passed<'a>(run: &Run, space: &Space<'a>, memory: &Memory<'a>) -> Vec<PassedUse> {
    let waited = run.time.stall + run.time.spin;
    let mut all: Vec<PassedUse> = Vec::new();
    for entry in &run.passed {
        let objects: Vec<_> = entry.object.iter().cloned().collect();
        let object = memory.at(entry.address, u64::from(entry.size), &objects).object.name;
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
            });
            all.len() - 1
        });
        let known = &mut all[number];
        known.transfers_by_class.iter_mut().zip(entry.transfers).for_each(|(sum, more)| *sum += more);
        known.stall += entry.stall;
        known.stall_percent = percent(known.stall, waited);
    }
    all.sort_by_key(|entry| std::cmp::Reverse(entry.stall));
    all
}
