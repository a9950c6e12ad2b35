// SPDX-License-Identifier: MIT OR Apache-2.0
//! Split locks: locked operations on bytes of two cache lines. The processor cannot hold both lines, so it locks the bus,
//! which takes microseconds and keeps every other CPU from all that is not in its own caches.
use crate::engine::{line_bytes, line_start, note, running_cpu, sim};
use crate::hooks::access::timed;
use crate::hot::hot;
use crate::layout::SHADOW_SHIFT;
use crate::scheduling::charges::charge;
use crate::scheduling::run_ahead;
use crate::scheduling::sched;
use crate::storage::relayout::tag_of;
use corefold_model::{Blame, Kind};
use corefold_recording::AccessKind;
use corefold_sim::origin;

/// Do these bytes lie on two lines?
#[inline]
pub fn is_split(address: u64, size: u8) -> bool {
    // No line is shorter than this.
    let shortest = 1 << SHADOW_SHIFT;
    address % shortest + u64::from(size) > shortest && address % line_bytes() + u64::from(size) > line_bytes()
}

/// Both lines arrive, and the bus is locked.
#[cold]
pub fn arrive(address: u64, size: u8, pc: u64) {
    note("split lock: an atomic operation across two cache lines locks the bus and stalls all CPUs", pc);
    let (cpu, size) = (running_cpu(), u32::from(size));
    let second = line_start(address + u64::from(size) - 1);
    let first_bytes = (second - address) as u32;
    run_ahead::end(cpu);
    for (address, size) in [(address, first_bytes), (second, size - first_bytes)] {
        timed(address, pc, size, Kind::Rmw, AccessKind::SplitLock);
        run_ahead::end(cpu);
    }
    sched::sync();
    let begun = hot().clock.get();
    hot().clock.set(sim(|sim| sim.model.lock_bus(begun)));
    let origin = origin(pc, AccessKind::SplitLock as u8, first_bytes);
    let record = tag_of(address).record_index();
    charge(&Blame { address, origin, stall: hot().clock.get() - begun }, record);
    sched::sync();
}
