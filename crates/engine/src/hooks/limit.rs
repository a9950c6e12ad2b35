// SPDX-License-Identifier: MIT OR Apache-2.0
//! The running CPU's clock has reached its limit: what was put off until then is done.
use crate::account::sample;
use crate::counts::samples::What;
use crate::engine::{active, running_cpu, sim};
use crate::hooks::awaited;
use crate::hooks::branches;
use crate::hooks::delays;
use crate::hooks::polls;
use crate::hot::hot;
use crate::scheduling::charges;
use crate::scheduling::fiber::current;
use crate::scheduling::outside;
use crate::scheduling::run_ahead;
use crate::scheduling::{lease, sched};
use crate::state::scheduler::SCHED;

/// The running CPU's clock has reached its limit, in the basic block that returns to `pc`.
pub extern "C" fn at_limit(pc: u64) {
    if !active() {
        return;
    }
    let cpu = running_cpu();
    current().spins.with(|spins| spins.enters(pc));
    // Others have been scheduled by this clock: it must not go back.
    awaited::computed(cpu, pc);
    crate::ending::stop_if_asked(pc);
    outside::take_signals();
    delays::look_around(pc);
    sample::take_due(pc, What::Compute);
    if !sim(|sim| sim.is_due(hot().clock.get())) {
        // Only a sample was due. It does not touch outstanding accesses: profiling changes no time.
        return lease::sampled();
    }
    hot().clock.set(sim(|sim| sim.model.retire(cpu, hot().clock.get())));
    run_ahead::passed(cpu);
    charges::charge_late(cpu);
    sample::take_due(pc, What::Stall);
    branches::count_cycles();
    outside::look_at_input();
    polls::check();
    sched::look_up();
}

/// The same at a place where a handler may run, or the thread end. `return_to` is where the hook's return
/// address stands: what the compiler knows of the place, an unwinder finds by `pc`.
pub extern "C" fn at_block(pc: u64, return_to: *mut u64) {
    at_limit(pc);
    if active() && SCHED.signalled.get() != 0 && current().signals.is_due() {
        // SAFETY: the hook's own return address; code out of line would go on at `pc` anyway.
        unsafe { *return_to = pc };
        outside::look(pc);
    }
}
