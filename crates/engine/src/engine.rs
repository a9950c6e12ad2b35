// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a simulation, and the one way to reach it.
use crate::account::sample::Samples;
use crate::account::sites::Sites;
use crate::hot::hot;
use crate::layout::{SHADOW, SHADOW_SHIFT};
use crate::scheduling::neutral_stack::NeutralStack;
use crate::scheduling::sched::Scheduler;
use crate::storage::relayout;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use corefold_launch::Launch;
use corefold_model::{Tag, Ticks, ticks};
use corefold_recording::{Label, Note, Progress};
use corefold_sim::{Options, Sim};

pub struct Engine {
    pub launch: Launch,
    pub sim: Sim,
    pub sched: Scheduler,
    pub perturb: crate::scheduling::perturb::Perturb,
    pub neutral_stack: NeutralStack,
    pub samples: Samples,
    pub sites: Sites,
    pub heap: crate::storage::heap::Heap,
    pub freed: crate::storage::freed::Freed,
    pub mapped: crate::storage::mapped::Mapped,
    pub relayouts: relayout::Relayouts,
    pub locks: crate::account::locks::Locks,
    pub progress: Vec<Progress>,
    /// How often the program has read a clock, and timers of its own came due.
    pub clock_reads: u64,
    pub alarms: u64,
    /// The longest time that one of these timers was set for.
    pub longest_alarm: Ticks,
    pub labels: Vec<Label>,
    /// Frames of threads' stacks that something shared lies in.
    pub frames: crate::hooks::frames::Frames,
    pub notes: Vec<Note>,
    /// Estimated time between two hooks, in code whose blocks have none.
    pub estimates: crate::hooks::estimate::Known,
    pub unhooked: crate::hooks::unhooked::Known,
    pub rounds: crate::hooks::rounds::Rounds,
    pub branches: crate::hooks::branches::Branches,
    pub region: crate::account::progress::Region,
    /// The thread whose accesses are written down, if any.
    pub trace: Option<crate::account::trace::Trace>,
}

impl Engine {
    /// The seed of all randomness; the plain schedule has one, too.
    pub fn seed(&self) -> u64 {
        self.launch.seed.max(1)
    }
}

struct Slot(UnsafeCell<Option<Engine>>);
// SAFETY: only the carrier thread touches the engine; all others are parked or not simulated.
unsafe impl Sync for Slot {}
static ENGINE: Slot = Slot(UnsafeCell::new(None));
/// Read by threads that are not simulated, too: Relaxed, as it changes only while there is one thread.
pub static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Is a simulation running?
#[inline]
pub fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// The simulation. Take it anew after anything that may switch fibers, rather than keeping it.
#[inline]
pub fn engine() -> &'static mut Engine {
    // SAFETY: one carrier; callers do not keep the reference across a switch.
    match unsafe { &mut *ENGINE.0.get() } {
        Some(engine) => engine,
        None => crate::sys::engine_fault("the simulation was used before it was initialised"),
    }
}

/// Begins the simulation with the calling thread as its first fiber.
pub fn begin(launch: Launch) {
    let (slack, step_by_step, seed) = (launch.slack as u32, launch.step_by_step, launch.seed);
    let options = Options { slack, step_by_step, seed, ..Options::new(launch.cpus) };
    let sim = Sim::new(&launch.machine, options);
    let sched = Scheduler::new(&launch);
    let samples = Samples::new(&launch);
    let perturb = crate::scheduling::perturb::Perturb::new(&launch);
    let heap = crate::storage::heap::Heap::new(launch.cpus);
    let engine = Engine {
        sim,
        sched,
        perturb,
        samples,
        launch,
        neutral_stack: NeutralStack::new(),
        sites: Sites::default(),
        heap,
        freed: crate::storage::freed::Freed::default(),
        mapped: crate::storage::mapped::Mapped::default(),
        relayouts: relayout::Relayouts::default(),
        locks: crate::account::locks::Locks::default(),
        progress: Vec::new(),
        clock_reads: 0,
        alarms: 0,
        longest_alarm: 0,
        labels: Vec::new(),
        frames: crate::hooks::frames::Frames::default(),
        notes: Vec::new(),
        estimates: Default::default(),
        unhooked: Default::default(),
        rounds: Default::default(),
        branches: Default::default(),
        region: crate::account::progress::Region::default(),
        trace: None,
    };
    // SAFETY: the process has one thread as yet.
    unsafe { *ENGINE.0.get() = Some(engine) };
    ACTIVE.store(true, Ordering::Relaxed);
}

/// Nothing is simulated from here on: the process is about to end.
pub fn end() {
    ACTIVE.store(false, Ordering::Relaxed);
    hot!().limit = u64::MAX;
}

/// The running CPU's clock.
#[inline]
pub fn now() -> Ticks {
    hot!().clock
}

/// Charges the running fiber so many cycles of compute, as on a core without a busy SMT sibling.
#[inline]
pub fn charge(cycles: u32) {
    hot!().clock += computed(cycles);
    hot!().called = 1;
}

/// How long that takes now: longer beside a busy SMT sibling, as for basic blocks.
#[inline]
pub fn computed(cycles: u32) -> Ticks {
    if hot!().cost_half == 0 { ticks(cycles) } else { beside_sibling(ticks(cycles)) }
}

/// The same where all hardware threads of the core are busy.
pub fn beside_sibling(alone: Ticks) -> Ticks {
    let machine = &engine().launch.machine;
    let shared = alone * u64::from(machine.threads_per_core) * 100 / u64::from(machine.core.smt_percent.max(1));
    shared.max(alone)
}

/// What is known of the line that `address` lies on. The shadow has a place for every 64 bytes, as the
/// hooks index it so; of a longer line the first is used, and the others always lead to the slow path.
#[inline]
pub fn tag_of(address: u64) -> &'static mut Tag {
    slot_of(relayout::simulated(address, 1))
}

/// The same for where `address` itself lies.
#[inline]
pub fn slot_of(address: u64) -> &'static mut Tag {
    let first = line_start(address) >> SHADOW_SHIFT;
    // SAFETY: the shadow covers every user address, and only the carrier touches it.
    unsafe { &mut *((SHADOW + first * 4) as *mut Tag) }
}

/// Prints a note, once for each place, that something is not simulated as it behaves natively.
pub fn note(text: &str, pc: u64) {
    let notes = &mut engine().notes;
    match notes.iter_mut().find(|n| n.text == text && n.pc == pc) {
        Some(note) => note.count += 1,
        None => notes.push(Note { text: String::from(text), pc, count: 1 }),
    }
}

/// The first byte of the line that `address` lies on.
#[inline]
pub fn line_start(address: u64) -> u64 {
    address & !(line_bytes() - 1)
}

#[inline]
pub fn line_bytes() -> u64 {
    u64::from(engine().launch.machine.line_bytes)
}
