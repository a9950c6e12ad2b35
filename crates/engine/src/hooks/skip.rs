// SPDX-License-Identifier: MIT OR Apache-2.0
//! The running fiber skips iterations of its spin: see [`corefold_sim::Sim::skip`].
use crate::account::sample;
use crate::counts::samples::What;
use crate::engine::sim;
use crate::engine::ticks_of;
use crate::engine::{line_start, running_cpu};
use crate::hooks::decoded;
use crate::hooks::delays;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::program_memory::ProgramMemory;
use crate::scheduling::shown;
use crate::scheduling::spin::Spins;
use crate::scheduling::spin_skip::end;
use crate::scheduling::{lease, sched};
use crate::state::scheduler::SCHED;
use crate::storage::relayout::simulated;
use corefold_block::turn::Look;
use corefold_model::Ticks;
use corefold_sim::Spin;

/// The first skip of a spin; each that follows is twice as long, up to [`DOUBLINGS`]. A write that no access shows
/// (by a system call, or through another mapping) may be seen that late.
const FIRST_NS: u64 = 5_000;

const DOUBLINGS: u32 = 5;

/// The running fiber has just repeated its read: it begins to skip, if no store to the lines it watches is pending.
/// Returns whether it did; then it has to read again.
pub fn skip() -> bool {
    let known =
        |spins: &mut Spins| (spins.place(), Spin { period: spins.period(), lines: spins.lines(), read: spins.read() });
    let (place, spin) = current().spins.with(known);
    skip_as(place, spin).is_some()
}

/// The same of a loop whose turns are known from its code: this look has just found its value again.
pub fn skip_turns(look: &Look) -> bool {
    if hot().traced.get() != 0 || shown::all_accesses() {
        return false;
    }
    let known = current().spins.with(|spins| {
        let registers = spins.spinning().then(|| spins.registers()).flatten()?;
        let turns = *spins.decoded.of(look, &registers, decoded::spin)?;
        spins.goes_on_from(look.pc);
        Some((registers, turns))
    });
    let Some((registers, turns)) = known else { return false };
    let Some(period) = decoded::period(look.pc) else { return false };
    let line = line_start(simulated(look.address, look.size.into()));
    let mut spin = Spin { period, lines: Default::default(), read: Default::default() };
    spin.lines[0].line = line;
    current().spins.with(|spins| spins.takes(period));
    let Some(time) = skip_as(look.pc, spin) else { return false };
    current().spins.with(|spins| spins.set_registers(&turns.after(&registers, time / period)));
    true
}

/// Returns how long the spin that looks from `place` has been skipped.
fn skip_as(place: u64, spin: Spin) -> Option<Ticks> {
    // With signals pending, it continues to where a handler may run.
    if SCHED.signalled.get() != 0 && current().signals.is_due() {
        return None;
    }
    let cpu = running_cpu() as usize;
    let longest = ticks_of(FIRST_NS << current().spins.with(|spins| spins.skips()).min(DOUBLINGS));
    let from = hot().clock.get();
    sample::take_due(place, What::Compute);
    if !sim(|sim| sim.skip(hot(), &mut ProgramMemory, spin, longest)) {
        return None;
    }
    current().samples.with(|samples| samples.skips(from));
    sched::sync();
    end(cpu, hot().clock.get());
    let skipped = hot().clock.get() - from;
    sample::take_due(place, What::Stall);
    lease::set_limit();
    delays::look_around(place);
    Some(skipped)
}
