// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time: which CPU runs next, and which fiber on it.
//!
//! Every CPU that has something to run has a clock; the CPU with the smallest clock runs. The running
//! one may get ahead of the others by the slack while it does what no other CPU can observe; before anything that
//! others can observe, the CPUs that are behind run first ([`sync`]).
use crate::counts::pace::PACE;
use crate::engine::{launch, running_cpu, sim};
use crate::hot::hot;
use crate::neutral_stack;
use crate::scheduling::charges;
use crate::scheduling::fiber::Woken;
use crate::scheduling::fiber::goes_away;
use crate::scheduling::fiber::{self, State, Wait};
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::foreign_stack;
use crate::scheduling::lease::set_limit;
use crate::scheduling::outside;
use crate::scheduling::placing;
use crate::scheduling::placing::go_on;
use crate::scheduling::run_ahead;
use crate::scheduling::spin_skip;
use crate::scheduling::store_buffer;
use crate::scheduling::trace;
use crate::scheduling::unhooked;
use crate::state::scheduler::{SCHED, running_fiber};
use corefold_model::Ticks;
use corefold_model::ticks;
use corefold_sim::Due;
use corefold_sim::{Runtime, Turn};

/// Returns when no other CPU is behind the running one.
#[inline]
pub fn sync() {
    match sim(|sim| sim.next(hot().clock.get())) {
        Turn::Same => {}
        Turn::Of(cpu, clock) => run_cpu(cpu, clock),
        Turn::Timer => run_next(),
    }
}

/// Is the running thread the only one that can run, now or at a known time?
pub fn alone() -> bool {
    sim(|sim| sim.others() == Ticks::MAX && sim.timers.is_empty() && sim.cpus[sim.cpu].ready.is_empty())
}

/// Does every other thread wait, and nothing come at a known time but the ends of these threads' timers?
pub fn all_wait_but(these: impl Fn(usize) -> bool) -> bool {
    let mut others = FIBERS.iter().filter(|f| f.id.get() != running_fiber());
    others.all(|f| matches!(f.state.get(), State::Blocked | State::Finished)) && sim(|sim| sim.timers.are_of(these))
}

/// Runs the CPU with the smallest clock; the running one is in the heap already or has nothing to run.
fn run_next() {
    loop {
        fire_due();
        let (next, waits) = sim(|sim| (sim.clocks.pop(), sim.timers.is_empty()));
        if let Some((clock, cpu)) = next {
            return run_cpu(cpu as usize, clock);
        }
        if waits && !outside::wait_for_input() {
            crate::ending::deadlock();
        }
    }
}

/// Makes `cpu` the running one, at `clock`.
fn run_cpu(cpu: usize, clock: Ticks) {
    let (to, waits) = sim(|sim| (sim.cpus[cpu].thread, sim.stores.any_of(sim.cpu as u32)));
    let to = to.expect("a CPU in the heap has a fiber");
    if waits {
        unhooked::others_run(running_cpu());
    }
    let hot = hot();
    let from = current();
    from.frames.set(hot.frames.get());
    from.wrote.set(hot.wrote.get());
    FIBERS.run(to);
    let changes = sim(|sim| {
        sim.run(cpu, clock, hot);
        sim.stores.view_changes(cpu as u32)
    });
    trace::runs(to);
    fetch_next();
    let to = current();
    hot.frames.set(to.frames.get());
    hot.wrote.set(to.wrote.get());
    hot.captured.set(to.captured());
    if core::ptr::eq(from, to) {
        return if changes { neutral_stack::apart(|| arrive()) } else { arrive() };
    }
    if !changes {
        arrive();
    }
    fiber::switch(from, to, changes.then_some(arrive));
}

/// Whoever runs next, if the running fiber soon waits, is fetched meanwhile: with hundreds of fibers, each of its lines is a
/// cache miss on the host.
#[inline]
fn fetch_next() {
    let next = sim(|sim| sim.clocks.first().and_then(|cpu| sim.cpus[cpu as usize].thread));
    if let Some(fiber) = next.and_then(|number| FIBERS.get(number)) {
        fiber.fetch();
    }
}

/// Memory shows the view of the CPU that runs from now on. Stores that are due commit before anything that it does: it may
/// reuse bytes that another has freed.
extern "C" fn arrive() {
    store_buffer::change_view(running_cpu() as usize);
    store_buffer::flush(hot().clock.get());
    set_limit();
}

/// Puts the running fiber into its CPU's run queue, where its virtual runtime says, but `after` so many.
pub fn give_way(after: usize) {
    let me = running_fiber();
    if sim(|sim| sim.cpus[sim.cpu].ready.is_empty()) {
        return;
    }
    quiesce();
    let clock = hot().clock.get();
    current().state.set(State::Ready);
    goes_away(me, clock);
    sim(|sim| sim.queue(me, sim.cpu, after));
    leave_cpu();
}

/// Takes the running fiber off its CPU until [`wake`]. `wait` says what for. Nobody else runs before it
/// is off: the caller has just put it where wakers look, and one that came now would wake it too early.
pub fn block(wait: Wait) {
    drain();
    foreign_stack::notice();
    if current().signals.is_due() || current().forbids(&wait) {
        return is_kept();
    }
    goes_away(running_fiber(), hot().clock.get());
    let fiber = current();
    fiber.state.set(State::Blocked);
    fiber.wait.set(wait);
    fiber.woken.set(crate::scheduling::fiber::Woken::Thread);
    leave_cpu();
    fiber::place_sleeps();
}

/// The running fiber has a pending signal before it waits: as if it had been woken by it.
fn is_kept() {
    fiber::forget_wait(running_fiber());
    current().woken.set(crate::scheduling::fiber::Woken::Signal);
}

/// The running thread makes a system call: its outstanding accesses complete, CPUs that are behind run.
pub fn enter_kernel() {
    quiesce();
    crate::engine::charge(launch().machine.system.syscall);
}

/// The thread's outstanding accesses complete, and CPUs that are behind run.
pub fn quiesce() {
    hot().called.set(1);
    drain();
    sync();
    store_buffer::flush(hot().clock.get());
}

/// The thread's outstanding accesses complete before it leaves its CPU.
pub fn drain() {
    let cpu = running_cpu();
    run_ahead::end(cpu);
    let before = hot().clock.get();
    let drained = sim(|sim| sim.model.drain(cpu, before));
    hot().clock.set(store_buffer::make_certain(cpu, drained));
    charges::charge_late(cpu);
}

/// Gives the running CPU to the next fiber that waits for it, or leaves it idle.
pub fn leave_cpu() {
    let cpu = running_cpu() as usize;
    let clock = hot().clock.get();
    sim(|sim| sim.advance(cpu, clock));
    go_on(cpu, clock);
    run_next();
}

/// Starts the first fiber on CPU 0.
pub fn adopt_first() {
    sim(|sim| {
        sim.cpus[0].thread = Some(0);
        sim.threads[0] = Runtime::first(0);
        sim.use_tags(hot());
    });
    FIBERS[0].state.set(State::Running);
    crate::fs_base::write_cpu_id(FIBERS[0].fs.get(), 0);
    hot().frames.set(FIBERS[0].frames.get());
    hot().frame_step.set(8);
    hot().captured.set(FIBERS[0].captured());
    set_limit();
}

/// The running fiber has ended: its CPU goes to others. Returns on the fiber's own kernel thread. As in
/// [`block`], nobody else runs first: whoever joins it may already be awake, and gives its stack away.
pub fn finish_current() {
    drain();
    // Its stack may be unmapped before their time.
    store_buffer::commit_own();
    SCHED.leaving.set(Some(running_fiber()));
    current().state.set(State::Finished);
    goes_away(running_fiber(), hot().clock.get());
    leave_cpu();
}

/// Fires timers, and runs this CPU's other fibers when their turn has come, and CPUs that are behind.
pub fn look_up() {
    let clock = hot().clock.get();
    let cpu = running_cpu() as usize;
    if sim(|sim| clock >= sim.cpus[cpu].turn_ends()) {
        if sim(|sim| sim.turn_passes(clock)) {
            give_way(1);
        }
    } else if sim(|sim| sim.too_far_ahead(clock)) {
        sync();
    }
    set_limit();
}

/// Wakes the sleepers whose time comes before any CPU's clock.
fn fire_due() {
    loop {
        match sim(|sim| sim.timers.pop(sim.clocks.smallest())) {
            Some((time, Due::Alarm(timer))) => {
                // Timers that come again and again may be all that there is.
                crate::ending::stop_if_asked(0);
                // It takes effect now, whatever the clock of the CPU that processes it.
                let clock = hot().clock.get();
                hot().clock.set(time);
                PACE.with(|pace| pace.alarms += 1);
                outside::fire(timer, time);
                hot().clock.set(clock);
            }
            Some((time, Due::Thread(fiber))) => timer_fired(fiber, time),
            None => return,
        }
    }
}

/// The fiber's timer has come: a sleep is over, or a wait has timed out.
fn timer_fired(fiber: usize, time: Ticks) {
    let f = &FIBERS[fiber];
    if f.state.get() != State::Blocked {
        return;
    }
    f.woken.set(Woken::Timer);
    f.slept.with(|slept| slept.asked += time.saturating_sub(f.off_cpu_since.get()));
    sim(|sim| sim.futexes.forget(fiber));
    placing::wake(fiber, time);
}

/// The fiber's affinity has changed: if its CPU is not in it, it leaves that CPU.
pub fn obey_affinity(fiber: usize) {
    let (state, cpu) = (FIBERS[fiber].state.get(), FIBERS[fiber].cpu.get());
    let now = hot().clock.get();
    let latency = ticks(launch().machine.system.context_switch);
    match state {
        State::Running if FIBERS[fiber].may_run_on(cpu) => {}
        State::Running if fiber == running_fiber() => {
            drain();
            goes_away(fiber, hot().clock.get());
            placing::wake_after(fiber, hot().clock.get(), latency);
            leave_cpu();
        }
        State::Running => {
            spin_skip::disturbed(cpu, now);
            let clock = sim(|sim| sim.model.drain(cpu as u32, sim.cpus[cpu].clock));
            let clock = store_buffer::make_certain(cpu as u32, clock);
            sim(|sim| sim.clocks.remove(cpu as u32));
            goes_away(fiber, clock);
            go_on(cpu, clock);
            placing::wake_after(fiber, clock.max(now), latency);
        }
        State::Ready => {
            sim(|sim| sim.unqueue(fiber));
            placing::wake_after(fiber, now, latency);
        }
        State::Blocked | State::Finished => {}
    }
}
