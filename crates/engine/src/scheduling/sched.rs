// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time: which CPU runs next, and which fiber on it.
//!
//! Every CPU that has something to run has a clock; the CPU with the smallest clock runs. The running
//! one may get ahead of the others by the slack while it does what no other CPU can observe; before anything that
//! others can observe, the CPUs that are behind run first ([`sync`]).
use crate::account::{sample, trace};
use crate::calls::signals;
use crate::engine::engine;
use crate::hooks::branches;
use crate::hooks::run_ahead;
use crate::hooks::{store_buffer, unhooked};
use crate::hot::hot;
use crate::scheduling::fiber::{self, State, Wait};
use crate::scheduling::fiber::{current, fibers};
use crate::scheduling::neutral_stack;
use crate::scheduling::perturb;
use crate::scheduling::placing::go_on;
use crate::scheduling::timers;
use crate::threads::{cancel, contexts};
use corefold_model::Ticks;
use corefold_sim::{Lease, Runtime, Turn};

/// What the hooks compare with from now on: the running CPU's own tags, unless the running thread is traced.
#[inline]
pub fn use_tags() {
    engine().sim.use_tags(hot!());
    trace::runs(engine().sched.fiber);
}

/// Makes every plain read of the running CPU take the slow path, or not any more. In a seed's schedule all do anyway.
pub fn show_reads(all: bool) {
    if !perturb::on() && hot!().traced == 0 {
        engine().sim.show_reads(all, hot!());
    }
}

/// Has it since [`show_reads`]?
pub fn shows_reads() -> bool {
    hot!().tag == Lease::READS_SHOWN || perturb::on()
}

/// Recomputes when the running fiber's next slow path is due.
pub fn set_limit() {
    let e = engine();
    e.sim.set_limit(hot!(), e.sched.signalled != 0 && signals::is_due());
    watch();
}

/// Where the running thread's spin is looked into, each block is an event.
#[inline]
fn watch() {
    if current().spins.watches() {
        hot!().limit = 0;
    }
}

/// A sample was taken: the next one may be due before anything else.
pub fn sampled() {
    engine().sim.sampled(hot!());
    watch();
}

/// The running CPU's clock has reached its limit, in the basic block that returns to `pc`.
pub extern "C" fn at_limit(pc: u64) {
    if !crate::engine::active() {
        return;
    }
    let cpu = engine().sim.cpu as u32;
    current().spins.enters(pc);
    // Others have been scheduled by this clock: it must not go back.
    run_ahead::catch_up(cpu);
    crate::ending::stop_if_asked(pc);
    signals::take_in();
    perturb::look_around(pc);
    sample::take_due(pc, sample::What::Compute);
    if !engine().sim.is_due(hot!().clock) {
        // Only a sample was due. It does not touch outstanding accesses: profiling changes no time.
        return sampled();
    }
    hot!().clock = engine().sim.model.retire(cpu, hot!().clock);
    run_ahead::passed(cpu);
    crate::hooks::access::charge_late(cpu);
    sample::take_due(pc, sample::What::Stall);
    branches::count_cycles();
    crate::calls::io::glance();
    crate::hooks::polls::check();
    look_up();
}

/// The same at a place where a handler may run, or the thread end. `return_to` is where the hook's return
/// address stands: what the compiler knows of the place, an unwinder finds by `pc`.
pub extern "C" fn at_block(pc: u64, return_to: *mut u64) {
    at_limit(pc);
    if crate::engine::active() && engine().sched.signalled != 0 && signals::is_due() {
        // SAFETY: the hook's own return address; code out of line would go on at `pc` anyway.
        unsafe { *return_to = pc };
        signals::look(pc);
    }
}

/// Fires timers, and runs this CPU's other fibers when their turn has come, and CPUs that are behind.
pub fn look_up() {
    let s = &mut engine().sim;
    let clock = hot!().clock;
    if clock >= s.cpus[s.cpu].turn_ends() {
        match s.is_least(s.cpu, clock) {
            true => s.cpus[s.cpu].slice_end = clock + s.timeslice(),
            false => give_way(1),
        }
    } else if s.too_far_ahead(clock) {
        sync();
    }
    set_limit();
}

/// Returns when no other CPU is behind the running one.
#[inline]
pub fn sync() {
    match engine().sim.next(hot!().clock) {
        Turn::Same => {}
        Turn::Of(cpu, clock) => run_cpu(cpu, clock),
        Turn::Timer => run_next(),
    }
}

/// Is the running thread the only one that can run, now or at a known time?
pub fn alone() -> bool {
    let s = &engine().sim;
    s.others() == Ticks::MAX && s.timers.is_empty() && s.cpus[s.cpu].ready.is_empty()
}

/// Does every other thread wait, and nothing come at a known time but the ends of these threads' timers?
pub fn all_wait_but(these: impl Fn(usize) -> bool) -> bool {
    let e = engine();
    let mut others = fibers().iter().filter(|f| f.id != e.sched.fiber);
    others.all(|f| matches!(f.state, State::Blocked | State::Finished)) && e.sim.timers.are_of(these)
}

/// Runs the CPU with the smallest clock; the running one is in the heap already or has nothing to run.
fn run_next() {
    loop {
        timers::fire_due();
        let s = &mut engine().sim;
        if let Some((clock, cpu)) = s.clocks.pop() {
            return run_cpu(cpu as usize, clock);
        }
        if s.timers.is_empty() && !fiber::wait_for_world() {
            crate::ending::deadlock();
        }
    }
}

/// Makes `cpu` the running one, at `clock`.
fn run_cpu(cpu: usize, clock: Ticks) {
    let e = engine();
    let from = e.sched.fiber;
    let to = e.sim.cpus[cpu].thread.expect("a CPU in the heap has a fiber");
    let hot = hot!();
    let left = e.sim.cpu as u32;
    if store_buffer::any_of(left) {
        unhooked::others_run(left);
    }
    fibers()[from].frames = hot.frames;
    fibers()[from].wrote = hot.wrote;
    e.sched.fiber = to;
    e.sim.run(cpu, clock, hot);
    trace::runs(to);
    hot.frames = fibers()[to].frames;
    hot.wrote = fibers()[to].wrote;
    hot.captured = &raw mut fibers()[to].spins.captured;
    let changes = store_buffer::view_changes(cpu);
    if from == to {
        return if changes { neutral_stack::apart(|| arrive()) } else { arrive() };
    }
    if !changes {
        arrive();
    }
    fiber::switch(from, to, changes.then_some(arrive));
}

/// Memory shows the view of the CPU that runs from now on. Stores that are due commit before anything that it does: it may
/// reuse bytes that another has freed.
extern "C" fn arrive() {
    store_buffer::change_view(engine().sim.cpu);
    store_buffer::flush(hot!().clock);
    set_limit();
}

/// Puts the running fiber into its CPU's run queue, where its virtual runtime says, but `after` so many.
pub fn give_way(after: usize) {
    let (s, me) = (&mut engine().sim, engine().sched.fiber);
    if s.cpus[s.cpu].ready.is_empty() {
        return;
    }
    quiesce();
    let clock = hot!().clock;
    current().state = State::Ready;
    goes_away(me, clock);
    s.queue(me, s.cpu, after);
    leave_cpu();
}

/// Takes the running fiber off its CPU until [`wake`]. `wait` says what for. Nobody else runs before it
/// is off: the caller has just put it where wakers look, and one that came now would wake it too early.
pub fn block(wait: Wait) {
    drain();
    contexts::notice_stack();
    if signals::is_due() || cancel::forbids(&wait) {
        return is_kept(wait);
    }
    goes_away(engine().sched.fiber, hot!().clock);
    let fiber = current();
    fiber.state = State::Blocked;
    fiber.wait = wait;
    fiber.woken = crate::scheduling::fiber::Woken::Thread;
    leave_cpu();
}

/// The running fiber has a pending signal before it waits: as if it had been woken by it.
fn is_kept(wait: Wait) {
    let me = engine().sched.fiber;
    timers::cancel(me);
    current().wait = wait;
    crate::threads::futex::forget(me);
    current().wait = Wait::Nothing;
    current().woken = crate::scheduling::fiber::Woken::Signal;
}

/// The running thread makes a system call: its outstanding accesses complete, CPUs that are behind run.
pub fn enter_kernel() {
    quiesce();
    crate::engine::charge(engine().launch.machine.system.syscall);
}

/// The thread's outstanding accesses complete, and CPUs that are behind run.
pub fn quiesce() {
    hot!().called = 1;
    drain();
    sync();
    store_buffer::flush(hot!().clock);
}

/// The thread's outstanding accesses complete before it leaves its CPU.
pub fn drain() {
    let cpu = engine().sim.cpu as u32;
    run_ahead::end(cpu);
    let before = hot!().clock;
    hot!().clock = store_buffer::make_certain(cpu, engine().sim.model.drain(cpu, before));
    crate::hooks::access::charge_late(cpu);
}

/// The fiber leaves its CPU.
pub fn goes_away(fiber: usize, clock: Ticks) {
    let e = engine();
    fibers()[fiber].goes_away(clock);
    e.sim.threads[fiber].end(clock);
}

/// Gives the running CPU to the next fiber that waits for it, or leaves it idle.
pub fn leave_cpu() {
    let e = engine();
    let cpu = e.sim.cpu;
    let clock = hot!().clock;
    e.sim.advance(cpu, clock);
    go_on(cpu, clock);
    run_next();
}

/// Starts the first fiber on CPU 0.
pub fn adopt_first() {
    let e = engine();
    e.sim.cpus[0].thread = Some(0);
    fibers()[0].state = State::Running;
    e.sim.threads[0] = Runtime::first(0);
    crate::fs_base::write_cpu_id(fibers()[0].fs, 0);
    e.sim.use_tags(hot!());
    hot!().frames = fibers()[0].frames;
    hot!().frame_step = 8;
    hot!().captured = &raw mut fibers()[0].spins.captured;
    set_limit();
}

/// The running fiber has ended: its CPU goes to others. Returns on the fiber's own kernel thread. As in
/// [`block`], nobody else runs first: whoever joins it may already be awake, and gives its stack away.
pub fn finish_current() {
    drain();
    // Its stack may be unmapped before their time.
    store_buffer::commit_own();
    let e = engine();
    e.sched.leaving = Some(e.sched.fiber);
    current().state = State::Finished;
    goes_away(e.sched.fiber, hot!().clock);
    leave_cpu();
}
