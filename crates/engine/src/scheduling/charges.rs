// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits and transfers are charged to the places in the code that caused them.
use crate::counts::sites::SITES;
use crate::engine::{running_cpu, sim};
use crate::scheduling::fiber::current;
use crate::storage::relayout::tag_of;
use corefold_model::Blame;
use corefold_sim::{Retry, parts};

/// Charges waits for accesses that the CPU had run ahead of to the places that made them.
pub fn charge_waits() {
    while let Some(wait) = sim(|sim| sim.take_wait()) {
        charge(&wait.blame, wait.record);
    }
}

/// The same for what the model itself has been asked for.
pub fn charge_late(cpu: u32) {
    while let Some(blame) = sim(|sim| sim.model.take_blame(cpu)) {
        charge(&blame, tag_of(blame.address).record_index());
    }
}

/// Charges a wait.
pub fn charge(blame: &Blame, record: Option<u32>) {
    let cpu = running_cpu();
    current().stalled(blame.stall);
    let (pc, kind, size) = parts(blame.origin);
    SITES.with(|sites| match record {
        Some(index) => sites.at(index, pc, kind, blame.address, size, cpu).stall += blame.stall,
        None => sites.region_at(pc, kind, blame.address, size, cpu).counts.stall += blame.stall,
    });
}

/// Counts the transfers of lines that stores have asked for once more.
#[cold]
pub fn charge_retries(most: usize) {
    for _ in 0..most {
        let Some(Retry { access, record, outcome }) = sim(|sim| sim.take_retry()) else { return };
        if let Some(index) = record {
            let (pc, kind, _) = parts(access.origin);
            SITES.with(|sites| sites.touched(index, pc, kind, &access, &outcome));
        }
    }
}
