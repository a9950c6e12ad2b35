// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPU a thread goes to when it can run, and when it gets it.
use crate::engine::{launch, sim};
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::State;
use crate::scheduling::lease::set_limit;
use crate::scheduling::outside;
use crate::scheduling::store_buffer;
use crate::scheduling::{perturb, spin_skip};
use crate::state::scheduler::SCHED;
use core::cmp::Reverse;
use corefold_model::{Ticks, ticks};
use corefold_sim::Sim;

/// How far a thread moves between two CPUs: within what shares a last-level cache, a socket, a group of sockets, or
/// farther. Linux looks for a CPU, and for a thread, in this order too (its scheduling domains).
fn distance(a: usize, b: usize) -> u32 {
    let machine = &launch().machine;
    let place = |cpu: usize| {
        let (core, socket) = (machine.core_of(cpu as u32), machine.socket_of(cpu as u32));
        let within = core % u32::from(machine.cores_per_socket);
        let group = socket / u32::from(machine.sockets_per_group.max(1));
        [group, socket, within / u32::from(machine.cores_per_cluster.max(1))]
    };
    let (a, b) = (place(a), place(b));
    (0..3).find(|level| a[*level] != b[*level]).map_or(0, |level| 3 - level as u32)
}

/// Takes a fiber from another CPU's run queue that may run on this one: of the nearest such CPUs, from the longest queue.
fn steal(sim: &mut Sim, cpu: usize) -> Option<usize> {
    let first = |c: usize| sim.cpus[c].ready.iter().position(|f| FIBERS[*f].may_run_on(cpu));
    let some = (0..sim.cpus.len()).filter_map(|c| Some((c, first(c)?)));
    let (from, at) = some.min_by_key(|(c, _)| (distance(cpu, *c), Reverse(sim.cpus[*c].ready.len()), *c))?;
    sim.cpus[from].ready.remove(at)
}

/// The CPU that a woken fiber goes to, of those that are idle: its own, or the nearest, on a core with nothing to do
/// if there is one as near.
fn nearest_idle(sim: &Sim, fiber: usize) -> Option<usize> {
    let idle = |c: &usize| sim.cpus[*c].thread.is_none() && sim.cpus[*c].ready.is_empty();
    let (home, count) = (FIBERS[fiber].cpu.get(), sim.cpus.len());
    let allowed = |c: &usize| FIBERS[fiber].may_run_on(*c);
    if allowed(&home) && idle(&home) {
        return Some(home);
    }
    let around = (home + 1..count).chain(0..home).filter(|c| idle(c) && allowed(c));
    let thread = |c: usize| launch().machine.thread_of(c as u32);
    around.min_by_key(|c| (distance(home, *c), sim.sibling_busy(*c), thread(*c)))
}

/// Gives the idle CPU `cpu` a fiber to run from `clock` on.
pub fn place(fiber: usize, cpu: usize, clock: Ticks) {
    put(fiber, cpu, clock, false);
}

/// Gives the CPU, whose fiber has left it at `clock`, to the next one that waits, or leaves it idle.
pub fn go_on(cpu: usize, clock: Ticks) {
    let next = sim(|sim| {
        sim.cpus[cpu].thread = None;
        sim.cpus[cpu].clock = clock;
        sim.cpus[cpu].ready.pop_front().or_else(|| steal(sim, cpu))
    });
    match next {
        Some(next) => put(next, cpu, clock + ticks(launch().machine.system.context_switch), true),
        None => spin_skip::sibling_changes(cpu, clock),
    }
}

fn put(fiber: usize, cpu: usize, clock: Ticks, busy: bool) {
    let (since, first) = sim(|sim| {
        sim.join(fiber, cpu);
        let timeslice = sim.timeslice();
        let slot = &mut sim.cpus[cpu];
        let idle = clock.saturating_sub(slot.clock);
        slot.clock += idle;
        // The time to the next sample carries on: a thread that runs for moments at a time
        // would be charged a whole period for each otherwise.
        slot.next_sample += idle;
        slot.counted += idle;
        slot.thread = Some(fiber);
        slot.slice_end = slot.clock + timeslice;
        slot.preempted_at = Ticks::MAX;
        let since = slot.clock;
        sim.clocks.push(since, cpu as u32);
        (since, sim.threads[fiber].begin(since))
    });
    FIBERS[fiber].comes_back(cpu, since, first);
    if !busy {
        sim(|sim| sim.cpus[cpu].busy_from = since);
        spin_skip::sibling_changes(cpu, since);
    }
}

/// Makes a blocked (or new) fiber run: at once on an idle CPU, its own if that is idle; else in a run queue.
pub fn wake(fiber: usize, at: Ticks, latency: Ticks) {
    // The woken thread sees all earlier stores of the waker, on whatever CPU and by whatever call.
    store_buffer::commit_own();
    perturb::worked();
    let latency = latency + perturb::late(fiber, at + latency);
    let home = FIBERS[fiber].cpu.get();
    FIBERS[fiber].state.set(State::Ready);
    match sim(|sim| nearest_idle(sim, fiber)) {
        Some(cpu) => place(fiber, cpu, at + latency),
        None => {
            let allowed = (0..launch().cpus as usize).filter(|c| FIBERS[fiber].may_run_on(*c));
            let cpu = allowed.min_by_key(|c| (*c != home, distance(home, *c))).unwrap_or(home);
            line_up(fiber, cpu, at, latency);
            spin_skip::disturbed(cpu, at);
        }
    }
    if SCHED.asleep.get() {
        outside::resume(at);
    }
    set_limit();
}

/// Puts a woken fiber into a busy CPU's run queue: first, and soon, if it preempts the running one.
fn line_up(fiber: usize, cpu: usize, at: Ticks, latency: Ticks) {
    sim(|sim| {
        sim.advance(cpu, at);
        sim.join(fiber, cpu);
        if sim.cpus[cpu].preempted_at != Ticks::MAX {
            sim.queue(fiber, cpu, 1);
        } else if sim.preempts(fiber, cpu, at) {
            sim.cpus[cpu].ready.push_front(fiber);
            sim.cpus[cpu].preempted_at = at + latency;
        } else {
            sim.queue(fiber, cpu, 0);
        }
    });
}

/// Delays other CPUs that run a thread, in ascending order: `until` says until when, if their outstanding accesses and
/// stores are complete at a time.
pub fn delay(targets: &[usize], mut until: impl FnMut(Ticks) -> Ticks) {
    sim(|Sim { clocks, cpus, model, stores, .. }| {
        clocks.delay(|cpu, clock| {
            let clock = match targets.binary_search(&(cpu as usize)) {
                Ok(_) => until(stores.make_certain(cpu, model.drain(cpu, clock))),
                Err(_) => clock,
            };
            cpus[cpu as usize].clock = clock;
            clock
        });
    });
    set_limit();
}
