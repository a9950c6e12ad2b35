// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time: which CPU runs next, and which fiber on it.
//!
//! Every CPU that has something to run has a clock; the CPU with the smallest clock runs. The running
//! one may get ahead of the others by the slack while it does what no other CPU can observe; before anything that
//! others can observe, the CPUs that are behind run first ([`sync`]).
use crate::account::{sample, trace};
use crate::calls::signals;
use crate::crash;
use crate::engine::{current, engine};
use crate::hooks::branches;
use crate::hooks::front::{self, Front};
use crate::hooks::hot::hot;
use crate::hooks::pending;
use crate::scheduling::clocks::Clocks;
use crate::scheduling::doze::Dozes;
use crate::scheduling::fair::{self, Share};
use crate::scheduling::fiber::{self, State, Wait};
use crate::scheduling::perturb;
use crate::scheduling::placing::go_on;
use crate::scheduling::timers::{self, Timers};
use crate::threads::{cancel, contexts};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use corefold_launch::Launch;
use corefold_model::{Model, Tag, Ticks, ticks};

/// A tag that no line has: with it in place of the CPU's own, every read takes the slow path.
pub const READS_SHOWN: u32 = perturb::NO_TAG - 1;

pub struct Cpu {
    /// Valid while the CPU is not the running one.
    pub clock: Ticks,
    pub fiber: Option<usize>,
    pub ready: VecDeque<usize>,
    /// From when on it has something to run, or had. Without a fiber, it had until `clock`.
    pub busy_from: Ticks,
    pub next_sample: Ticks,
    /// Until when its cycles are counted in [`branches`].
    pub counted: Ticks,
    pub slice_end: Ticks,
    /// The least virtual runtime of its fibers, which never falls ([`fair`]).
    pub least_vruntime: i64,
    /// When a woken thread preempts the running one, if ever.
    pub preempted_at: Ticks,
    pub front: Front,
    /// What the hooks compare with while it runs.
    tags: (u32, u32),
}

impl Cpu {
    /// When the running fiber's time slice ends, if another waits for the CPU.
    pub fn turn_ends(&self) -> Ticks {
        if self.ready.is_empty() { Ticks::MAX } else { self.slice_end.min(self.preempted_at) }
    }
}

pub struct Scheduler {
    pub cpus: Vec<Cpu>,
    /// The running CPU and fiber.
    pub cpu: usize,
    pub fiber: usize,
    /// CPUs that have a fiber to run, except the running one.
    pub clocks: Clocks,
    pub dozes: Dozes,
    pub timers: Timers,
    /// The clock at which the running fiber has something to do besides sampling.
    looks_up: Ticks,
    /// When a sibling of the running CPU begins or ends to run something, as far as is known.
    sibling_changes: Ticks,
    slack: Ticks,
    lookahead: Ticks,
    /// The longest time between two reads of one spin.
    pub longest_spin: Ticks,
    cores: usize,
    pub stacks: crate::scheduling::stacks::Stacks,
    pub queues: crate::threads::futex::Queues,
    /// A fiber that has ended and whose kernel thread is to be released.
    pub leaving: Option<usize>,
    /// Detached fibers that have ended and are not reaped yet.
    pub detached: Vec<usize>,
    /// Fibers that have pending signals.
    pub signalled: usize,
    /// Timers of the program wait for a thread to run.
    pub asleep: bool,
}

impl Scheduler {
    pub fn new(launch: &Launch, model: &Model) -> Self {
        let cpu = |number| Cpu {
            clock: 0,
            fiber: None,
            ready: VecDeque::new(),
            busy_from: 0,
            next_sample: 0,
            counted: 0,
            slice_end: 0,
            least_vruntime: 0,
            preempted_at: Ticks::MAX,
            front: Front::default(),
            tags: perturb::tags(launch, number),
        };
        Scheduler {
            cpus: (0..launch.cpus).map(cpu).collect(),
            cpu: 0,
            fiber: 0,
            clocks: Clocks::default(),
            dozes: Dozes::new(launch.cpus),
            timers: Timers::default(),
            sibling_changes: Ticks::MAX,
            looks_up: 0,
            slack: ticks(launch.slack as u32),
            lookahead: if launch.step_by_step { 0 } else { model.lookahead() },
            longest_spin: ticks(4 * launch.machine.core.pause + 200),
            cores: launch.machine.cores() as usize,
            stacks: crate::scheduling::stacks::Stacks::default(),
            queues: crate::threads::futex::Queues::default(),
            leaving: None,
            detached: Vec::new(),
            signalled: 0,
            asleep: false,
        }
    }

    /// The smallest clock among the other CPUs.
    #[inline]
    pub fn others(&self) -> Ticks {
        self.clocks.smallest()
    }

    fn next_timer(&self) -> Ticks {
        self.timers.next()
    }

    pub fn clock_of(&self, cpu: usize) -> Ticks {
        let slot = &self.cpus[cpu];
        if cpu == self.cpu { hot!().clock } else { self.dozes.since(cpu).unwrap_or(slot.clock) }
    }

    pub fn has_timers(&self) -> bool {
        !self.timers.is_empty()
    }

    /// What the hooks compare with from now on: the running CPU's own tags, unless the running thread is traced.
    #[inline]
    pub fn use_tags(&self) {
        (hot!().tag, hot!().tag_dirty) = self.cpus[self.cpu].tags;
        trace::runs(self.fiber);
    }

    /// The latest clock of any CPU.
    pub fn latest_clock(&self) -> Ticks {
        (0..self.cpus.len()).map(|c| self.clock_of(c)).max().unwrap_or(0)
    }

    /// No other hardware thread of the running CPU's core is behind `clock`, or would be if another CPU's store ended
    /// its spin.
    fn siblings_are_ahead(&self, clock: Ticks) -> bool {
        let behind = |c: usize| self.cpus[c].fiber.is_some() && self.clock_of(c) <= clock;
        self.cpus.len() <= self.cores || !self.siblings(self.cpu).any(behind)
    }

    pub fn sibling_busy(&self, cpu: usize) -> bool {
        self.siblings(cpu).any(|c| self.cpus[c].fiber.is_some())
    }

    /// Whether a sibling of the running CPU runs something at `clock`, and the next time at which it is known to change.
    fn beside(&self, clock: Ticks) -> (bool, Ticks) {
        let (mut busy, mut change) = (false, Ticks::MAX);
        for c in self.siblings(self.cpu) {
            let c = &self.cpus[c];
            let ends = if c.fiber.is_some() { Ticks::MAX } else { c.clock };
            busy |= (c.busy_from..ends).contains(&clock);
            change = [c.busy_from, ends, change].into_iter().filter(|time| *time > clock).min().unwrap_or(Ticks::MAX);
        }
        (busy, change)
    }

    /// The next time at which a sibling of the running CPU is known to begin or end to run something.
    pub fn sibling_changes(&self) -> Ticks {
        self.sibling_changes
    }

    /// The other hardware threads of the CPU's core.
    pub fn siblings(&self, cpu: usize) -> impl Iterator<Item = usize> + use<> {
        (cpu % self.cores..self.cpus.len()).step_by(self.cores).filter(move |c| *c != cpu)
    }
}

/// Makes every plain read of the running CPU take the slow path, or not any more. In a seed's schedule all do anyway.
pub fn show_reads(all: bool) {
    let s = &mut engine().sched;
    if !perturb::on() && hot!().traced == 0 {
        let own = Tag::private_clean(s.cpu as u32).bits();
        hot!().tag = if all { READS_SHOWN } else { own };
        s.cpus[s.cpu].tags.0 = hot!().tag;
    }
}

/// Has it since [`show_reads`]?
pub fn shows_reads() -> bool {
    hot!().tag == READS_SHOWN || perturb::on()
}

/// Recomputes when the running fiber's next slow path is due.
pub fn set_limit() {
    let s = &mut engine().sched;
    let (busy, change) = s.beside(hot!().clock);
    hot!().cost_half = if busy { 2 } else { 0 };
    s.sibling_changes = change;
    let cpu = &s.cpus[s.cpu];
    let ahead = s.others().min(s.next_timer()).saturating_add(s.slack);
    s.looks_up = ahead.min(change).min(cpu.counted + branches::COUNTED_AT_ONCE).min(cpu.turn_ends());
    if s.signalled != 0 && signals::is_due() {
        s.looks_up = 0;
    }
    sampled();
}

/// A sample was taken: the next one may be due before anything else.
pub fn sampled() {
    let s = &engine().sched;
    hot!().limit = s.looks_up.min(s.cpus[s.cpu].next_sample);
}

/// The running CPU's clock has reached its limit, in the basic block that returns to `pc`.
pub extern "C" fn at_limit(pc: u64) {
    if !crate::engine::active() {
        return;
    }
    let cpu = engine().sched.cpu as u32;
    // Others have been scheduled by this clock: it must not go back.
    front::catch_up(cpu);
    crash::check_stop(pc);
    perturb::look_around(pc);
    sample::take_due(pc, sample::What::Compute);
    if hot!().clock < engine().sched.looks_up {
        // Only a sample was due. It does not touch outstanding accesses: profiling changes no time.
        return sampled();
    }
    hot!().clock = engine().model.retire(cpu, hot!().clock);
    front::passed(cpu);
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
    let s = &mut engine().sched;
    let clock = hot!().clock;
    if clock >= s.cpus[s.cpu].turn_ends() {
        match fair::is_least(s.cpu, clock) {
            true => s.cpus[s.cpu].slice_end = clock + fair::timeslice(),
            false => give_way(1),
        }
    } else if s.others().min(s.next_timer()).saturating_add(s.slack) <= clock {
        sync();
    }
    set_limit();
}

/// Returns when no other CPU is behind the running one.
pub fn sync() {
    let s = &mut engine().sched;
    let clock = hot!().clock;
    if s.others() > clock && s.next_timer() > clock {
        return;
    }
    s.cpus[s.cpu].clock = clock;
    if s.next_timer() <= clock {
        s.clocks.push(clock, s.cpu as u32);
        return run_next();
    }
    let (clock, cpu) = s.clocks.exchange(clock, s.cpu as u32);
    run_cpu(cpu as usize, clock);
}

/// May the running CPU access a line now that it `has`, though other CPUs are behind it? Only if none of them can still
/// change what it reads, or see too early what it writes. Others act at the smallest clock or later, so three things
/// must hold:
/// - no other core gets the line before now: one that asks at the smallest clock gets it a lookahead later;
/// - who had the line before had lost it by the smallest clock: until the snoop comes, its core reads and writes it;
/// - no other hardware thread of the CPU's own core is behind: it has the line as well, and need not ask.
#[inline]
pub fn may_run_ahead(tag: Tag, has: impl FnOnce(&mut Model) -> bool) -> bool {
    let e = engine();
    let (s, clock) = (&e.sched, hot!().clock);
    let others = s.others();
    others.saturating_add(s.lookahead) > clock
        && s.next_timer() > clock
        && (others > clock || e.model.since(tag) <= others && s.siblings_are_ahead(clock))
        && has(&mut e.model)
}

/// May the running CPU do what other CPUs cannot observe?
#[inline]
pub fn within_slack() -> bool {
    let s = &engine().sched;
    s.others().saturating_add(s.slack) > hot!().clock
}

/// Up to when stores have taken effect that the running CPU may see: one that is ahead of others must not show them what
/// comes later. It has the lines that it runs ahead on, so no store to them is due.
#[inline]
pub fn shown() -> Ticks {
    hot!().clock.min(engine().sched.others())
}

/// No other CPU and no timer is behind the running CPU.
#[inline]
pub fn is_last() -> bool {
    let s = &engine().sched;
    let clock = hot!().clock;
    s.others() > clock && s.next_timer() > clock
}

/// Is the running thread the only one that can run, now or at a known time?
pub fn alone() -> bool {
    let s = &engine().sched;
    s.others() == Ticks::MAX && s.timers.is_empty() && s.cpus[s.cpu].ready.is_empty()
}

/// Does every other thread wait, and nothing come at a known time but the ends of these threads' timers?
pub fn all_wait_but(fibers: impl Fn(usize) -> bool) -> bool {
    let s = &engine().sched;
    let mut others = engine().fibers.iter().filter(|f| f.id != s.fiber);
    others.all(|f| matches!(f.state, State::Blocked | State::Finished)) && s.timers.are_of(fibers)
}

/// Runs the CPU with the smallest clock; the running one is in the heap already or has nothing to run.
fn run_next() {
    loop {
        timers::fire_due();
        let s = &mut engine().sched;
        if let Some((clock, cpu)) = s.clocks.pop() {
            return run_cpu(cpu as usize, clock);
        }
        if s.timers.is_empty() && !fiber::wait_for_world() {
            crash::deadlock();
        }
    }
}

/// Makes `cpu` the running one, at `clock`.
fn run_cpu(cpu: usize, clock: Ticks) {
    let e = engine();
    let from = e.sched.fiber;
    let to = e.sched.cpus[cpu].fiber.expect("a CPU in the heap has a fiber");
    let hot = hot!();
    e.fibers[from].frames = hot.frames;
    e.fibers[from].wrote = hot.wrote;
    e.sched.cpu = cpu;
    e.sched.fiber = to;
    e.sched.use_tags();
    hot.clock = clock;
    hot.frames = e.fibers[to].frames;
    hot.wrote = e.fibers[to].wrote;
    hot.captured = &raw mut e.fibers[to].spins.captured;
    let changes = pending::view_changes(cpu);
    if from == to {
        return if changes { pending::apart(|| arrive()) } else { arrive() };
    }
    if !changes {
        arrive();
    }
    fiber::switch(from, to, changes.then_some(arrive));
}

/// Memory shows the view of the CPU that runs from now on. Stores that are due commit before anything that it does: it may
/// reuse bytes that another has freed.
extern "C" fn arrive() {
    pending::change_view(engine().sched.cpu);
    pending::flush(hot!().clock);
    set_limit();
}

/// Puts the running fiber into its CPU's run queue, where its virtual runtime says, but `after` so many.
pub fn give_way(after: usize) {
    let (s, me) = (&mut engine().sched, engine().sched.fiber);
    if s.cpus[s.cpu].ready.is_empty() {
        return;
    }
    quiesce();
    let clock = hot!().clock;
    let fiber = current();
    fiber.state = State::Ready;
    fiber.goes_away(clock);
    fair::queue(me, s.cpu, after);
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
    let fiber = current();
    fiber.state = State::Blocked;
    fiber.goes_away(hot!().clock);
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
    pending::flush(hot!().clock);
}

/// The thread's outstanding accesses complete before it leaves its CPU.
pub fn drain() {
    let cpu = engine().sched.cpu as u32;
    front::end(cpu);
    let before = hot!().clock;
    hot!().clock = pending::make_certain(cpu, engine().model.drain(cpu, before));
    crate::hooks::access::charge_late(cpu);
}

/// Gives the running CPU to the next fiber that waits for it, or leaves it idle.
pub fn leave_cpu() {
    let e = engine();
    let cpu = e.sched.cpu;
    let clock = hot!().clock;
    fair::advance(cpu, clock);
    go_on(cpu, clock);
    run_next();
}

/// Starts the first fiber on CPU 0.
pub fn adopt_first() {
    let e = engine();
    e.sched.cpus[0].fiber = Some(0);
    e.fibers[0].state = State::Running;
    e.fibers[0].share = Share::first(0);
    fiber::write_cpu_id(e.fibers[0].fs, 0);
    (hot!().tag, hot!().tag_dirty) = e.sched.cpus[0].tags;
    hot!().frames = e.fibers[0].frames;
    hot!().frame_step = 8;
    hot!().captured = &raw mut e.fibers[0].spins.captured;
    set_limit();
}

/// The running fiber has ended: its CPU goes to others. Returns on the fiber's own kernel thread. As in
/// [`block`], nobody else runs first: whoever joins it may already be awake, and gives its stack away.
pub fn finish_current() {
    drain();
    // Its stack may be unmapped before their time.
    pending::commit_all(engine().sched.cpu as u32);
    let e = engine();
    e.sched.leaving = Some(e.sched.fiber);
    current().state = State::Finished;
    current().goes_away(hot!().clock);
    leave_cpu();
}
