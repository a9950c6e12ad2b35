// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a simulation, and the one way to reach it.
use crate::carrier::{Carrier, Lent};
use crate::hot::hot;
use crate::layout::{SHADOW, SHADOW_SHIFT};
use crate::state::scheduler;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, Ordering};
use corefold_launch::Launch;
use corefold_model::{TICKS_PER_CYCLE, Tag, Ticks, ticks};
use corefold_recording::Note;
use corefold_sim::{Options, Sim};

struct Slot<T>(UnsafeCell<Option<T>>);
// SAFETY: only the carrier thread touches what is in it; all others are parked or not simulated.
unsafe impl<T> Sync for Slot<T> {}
static SIM: Carrier<Option<Sim>> = Carrier::new(None);
static LAUNCH: Slot<Launch> = Slot(UnsafeCell::new(None));
static NOTES: Carrier<Vec<Note>> = Carrier::new(Vec::new());
/// Read by threads that are not simulated, too: Relaxed, as it changes only while there is one thread.
pub static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Is a simulation running?
#[inline]
pub fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Lends the simulator to `work`, which must not ask for it again, nor switch fibers.
#[inline(always)]
pub fn sim<R>(work: impl FnOnce(&mut Sim) -> R) -> R {
    work(&mut lend_sim())
}

/// The same for the length of one statement: see [`Carrier::lend`].
#[inline(always)]
pub fn lend_sim() -> Lent<'static, Sim> {
    match SIM.lend().some() {
        Some(sim) => sim,
        None => uninitialised(),
    }
}

/// The running CPU.
#[inline]
pub fn running_cpu() -> u32 {
    sim(|sim| sim.cpu as u32)
}

/// What the simulation was asked for: it does not change.
#[inline]
pub fn launch() -> &'static Launch {
    // SAFETY: written once, before anybody reads it.
    match unsafe { &*LAUNCH.0.get() } {
        Some(launch) => launch,
        None => uninitialised(),
    }
}

/// The seed of all randomness; the plain schedule has one, too.
pub fn seed() -> u64 {
    launch().seed.max(1)
}

#[cold]
fn uninitialised() -> ! {
    crate::sys::engine_fault("the simulation was used before it was initialised")
}

/// Begins the simulation with the calling thread as its first fiber.
pub fn begin(launch: Launch) {
    let (slack, step_by_step, seed) = (launch.slack as u32, launch.step_by_step, launch.seed);
    let options = Options { slack, step_by_step, seed, ..Options::new(launch.cpus) };
    let sim = Sim::new(&launch.machine, options);
    scheduler::begin(&launch);
    // SAFETY: the process has one thread as yet, and nobody has read it.
    unsafe { *LAUNCH.0.get() = Some(launch) };
    SIM.with(|begun| *begun = Some(sim));
    ACTIVE.store(true, Ordering::Relaxed);
}

/// Nothing is simulated from here on: the process is about to end.
pub fn end() {
    ACTIVE.store(false, Ordering::Relaxed);
    hot().unlimited();
}

/// The running CPU's clock.
#[inline]
pub fn now() -> Ticks {
    hot().clock.get()
}

/// Charges the running fiber so many cycles of compute, as on a core without a busy SMT sibling.
#[inline]
pub fn charge(cycles: u32) {
    hot().spend(computed(cycles));
    hot().called.set(1);
}

/// How long that takes now: longer beside a busy SMT sibling, as for basic blocks.
#[inline]
pub fn computed(cycles: u32) -> Ticks {
    if hot().cost_half.get() == 0 { ticks(cycles) } else { beside_sibling(ticks(cycles)) }
}

/// The same where all hardware threads of the core are busy.
pub fn beside_sibling(alone: Ticks) -> Ticks {
    let machine = &launch().machine;
    let shared = alone * u64::from(machine.threads_per_core) * 100 / u64::from(machine.core.smt_percent.max(1));
    shared.max(alone)
}

/// The same for where `address` itself lies.
#[inline]
pub fn slot_of(address: u64) -> &'static Cell<Tag> {
    let first = line_start(address) >> SHADOW_SHIFT;
    // SAFETY: the shadow covers every user address, and only the carrier touches it.
    unsafe { &*((SHADOW + first * 4) as *const Cell<Tag>) }
}

/// Prints a note, once for each place, that something is not simulated as it behaves natively.
pub fn note(text: &str, pc: u64) {
    NOTES.with(|notes| match notes.iter_mut().find(|n| n.text == text && n.pc == pc) {
        Some(note) => note.count += 1,
        None => notes.push(Note { text: String::from(text), pc, count: 1 }),
    });
}

/// All notes of the run.
pub fn notes() -> Vec<Note> {
    NOTES.with(|notes| notes.clone())
}

/// The first byte of the line that `address` lies on.
#[inline]
pub fn line_start(address: u64) -> u64 {
    address & !(line_bytes() - 1)
}

#[inline]
pub fn line_bytes() -> u64 {
    u64::from(launch().machine.line_bytes)
}

/// Nanoseconds that so many ticks last.
pub fn nanoseconds_of(ticks: Ticks) -> u64 {
    let cycles = u128::from(ticks / TICKS_PER_CYCLE);
    (cycles * 1_000_000_000 / u128::from(launch().machine.clock_hz.max(1))) as u64
}

/// Ticks that last so many nanoseconds.
pub fn ticks_of(nanoseconds: u64) -> Ticks {
    let ticks = u128::from(nanoseconds) * u128::from(launch().machine.clock_hz) * u128::from(TICKS_PER_CYCLE);
    (ticks / 1_000_000_000).min(u128::from(u64::MAX / 4)) as u64
}
