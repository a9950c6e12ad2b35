// SPDX-License-Identifier: MIT OR Apache-2.0
//! L1 refill: plain accesses to lines that the running CPU has alone, and that were evicted from its first-level cache: see
//! [`corefold_sim::Sim::refill`].
use crate::engine::{running_cpu, sim, slot_of};
use crate::hooks::settle::settle;
use crate::hot::hot;
use crate::scheduling::program_memory::ProgramMemory;
use crate::storage::relayout::{self, simulated};
use corefold_model::{Access, Kind};
use corefold_recording::AccessKind;
use corefold_sim::{Effects, origin};

/// Serves the access if it is one of these.
#[inline]
pub fn fetched(address: u64, pc: u64, size: u64, kind: Kind, what: AccessKind) -> bool {
    let slot = slot_of(simulated(address, 1));
    if !hot().evicted(slot.get()) {
        return kind == Kind::Store && hot().modifies_again(slot) || relayout::is_leased(address, slot.get(), kind);
    }
    let address = simulated(address, size);
    let (cpu, size) = (running_cpu(), size as u32);
    let access = Access { cpu, address, size, kind, origin: origin(pc, what as u8, size) };
    let mut effects = Effects::default();
    let served = sim(|sim| sim.refill(hot(), &mut ProgramMemory, &access, &mut effects));
    if served {
        settle(&effects, &access);
    }
    served
}
