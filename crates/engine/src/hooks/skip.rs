// SPDX-License-Identifier: MIT OR Apache-2.0
//! The running fiber skips iterations of its spin: see [`corefold_sim::Sim::skip`].
use crate::account::sample;
use crate::counts::samples::What;
use crate::engine::engine;
use crate::engine::ticks_of;
use crate::hooks::delays;
use crate::hot::hot;
use crate::scheduling::fiber::{current, fibers};
use crate::scheduling::program_memory::ProgramMemory;
use crate::scheduling::spin_skip::end;
use crate::scheduling::{lease, sched};
use corefold_sim::Spin;

/// The first skip of a spin; each that follows is twice as long, up to [`DOUBLINGS`]. A write that no access shows
/// (by a system call, or through another mapping) may be seen that late.
const FIRST_NS: u64 = 5_000;

const DOUBLINGS: u32 = 5;

/// The running fiber has just repeated its read: it begins to skip, if no store to the lines it watches is pending.
/// Returns whether it did; then it has to read again.
pub fn skip() -> bool {
    let e = engine();
    // With signals pending, it continues to where a handler may run.
    if e.sched.signalled != 0 && current().signals.is_due() {
        return false;
    }
    let cpu = e.sim.cpu;
    let spins = &fibers()[e.sched.fiber].spins;
    let spin = Spin { period: spins.period(), lines: spins.lines(), read: spins.read() };
    let longest = ticks_of(FIRST_NS << spins.skips().min(DOUBLINGS));
    let from = hot!().clock;
    if !e.sim.skip(hot!(), &mut ProgramMemory, spin, longest) {
        return false;
    }
    current().samples.skips(from);
    sched::sync();
    end(cpu, hot!().clock);
    let place = current().spins.place();
    sample::take_due(place, What::Stall);
    lease::set_limit();
    delays::look_around(place);
    true
}
