// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which function's frame an address on a stack lies in, so that a report can name the variable.
use crate::carrier::Carrier;
use crate::code::innermost::call_of_library;
use crate::code::instrumented::is_programs;
use crate::code::unwind::Registers;
use crate::hot::hot;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::scheduling::fiber::FIBERS;
use crate::stacks;
use crate::state::scheduler::running_fiber;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use corefold_recording::Frame;

/// Frames of threads' stacks that something shared lies in.
struct Frames {
    known: BTreeSet<Frame>,
    /// Addresses that were looked up, with the frame that was there.
    noted: BTreeSet<(u64, Found)>,
    /// Frames of threads that were about to run: resolved when the thread next stops.
    awaited: BTreeSet<Found>,
}

static FRAMES: Carrier<Frames> =
    Carrier::new(Frames { known: BTreeSet::new(), noted: BTreeSet::new(), awaited: BTreeSet::new() });

pub fn list() -> Vec<Frame> {
    FRAMES.with(|frames| frames.known.iter().cloned().collect())
}

/// A frame on a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    thread: usize,
    cfa: u64,
    /// Where its function returns to; stands in the frame's last word.
    returns_to: u64,
}

/// Something on this address is shared, or waited for; the access comes from `pc`. Takes note of the frame, if the
/// address is on a stack: later the frame may be gone.
pub fn note(address: u64, pc: u64) {
    if address.wrapping_sub(STACKS) < STACKS_BYTES
        && let Some(found) = frame_of(address, pc)
        && FRAMES.with(|frames| frames.noted.insert((address, found)))
        && !add(found, pc)
    {
        FRAMES.with(|frames| frames.awaited.insert(found));
    }
    stops_at(pc);
}

/// The running thread is at `pc`: resolves its frames that were not known before.
pub fn stops_at(pc: u64) {
    let thread = running_fiber();
    let is_mine = |found: &&Found| found.thread == thread;
    let mine: Vec<Found> = FRAMES.with(|frames| frames.awaited.iter().filter(is_mine).copied().collect());
    for found in mine {
        FRAMES.with(|frames| frames.awaited.remove(&found));
        // If the function has returned meanwhile, the frame stays unknown.
        add(found, pc);
    }
}

/// Adds a frame, if it is there and the place of its function is known. The running thread is at `pc`.
fn add(found: Found, pc: u64) -> bool {
    // SAFETY: a word of the stack that the frame was found on; stacks stay mapped.
    let is_there = unsafe { ((found.cfa - 8) as *const u64).read() } == found.returns_to;
    let calls = calls(found.thread, pc);
    let place = calls.windows(2).find(|pair| pair[1] == found.returns_to).map_or(0, |pair| pair[0]);
    let place = match (is_there, place) {
        (false, _) => 0,
        // Its turn ended in a hook: where that was called is on its stack.
        (_, 0) if !runs(found.thread) => saved(found.thread).before(found.returns_to).unwrap_or(0),
        (_, 0) => 0,
        _ => own_place(place, &found),
    };
    if place != 0 {
        let frame = Frame { cfa: found.cfa, pc: place, thread: found.thread as u32 };
        FRAMES.with(|frames| frames.known.insert(frame));
    }
    place != 0
}

/// Where the frame's function is in its own code. Libraries without hooks keep no list of calls, so what it
/// called may be all that is known: `std::thread::join`, which calls `pthread_join`, or `qsort`. Then its place
/// stands on the stack between that one's and its own frame; 0 if it does not. Rust's library without hooks is in the
/// program's own file: the tables for unwinding tell them apart.
fn own_place(place: u64, found: &Found) -> u64 {
    let registers = if runs(found.thread) { Registers::here() } else { saved(found.thread) };
    let low = registers.sp();
    if let Some(own) = registers.between(place, found.returns_to).last() {
        return *own;
    }
    if is_programs(place) {
        return place;
    }
    if stacks::stack_end(low) != stacks::stack_end(found.cfa) {
        return 0;
    }
    // SAFETY: a word of a stack between its pointer and a frame on it.
    let word = |at: u64| unsafe { (at as *const u64).read() };
    let words = (low.next_multiple_of(8)..found.cfa - 8).step_by(8);
    // Copies of it may stand further down, where the runtime's own frames are.
    let inner = words.clone().filter(|at| word(*at) == place).last().unwrap_or(low);
    call_of_library(words.filter(|at| *at > inner).map(word)).unwrap_or(0)
}

fn runs(thread: usize) -> bool {
    thread == running_fiber()
}

/// The registers of a thread that does not run.
fn saved(thread: usize) -> Registers {
    Registers::saved(FIBERS[thread].saved_sp())
}

/// Where the thread is, or 0 if that is not known; then the return addresses of its calls, innermost first.
fn calls(thread: usize, pc: u64) -> Vec<u64> {
    let fiber = &FIBERS[thread];
    let (innermost, top) = if thread == running_fiber() {
        (pc, hot().frames.get().cast_const())
    } else {
        (fiber.blocked_at.get(), fiber.frames.get().cast_const())
    };
    core::iter::once(innermost).chain(fiber.calls(top)).collect()
}

/// Return addresses of a thread's calls are known; the one that stands nearest above the address in the
/// stack itself is where the frame that holds the address ends.
fn frame_of(address: u64, pc: u64) -> Option<Found> {
    let thread = crate::scheduling::lookup::on_stack(address)?;
    let calls = calls(thread, pc);
    let words = (address.next_multiple_of(8)..stacks::stack_end(address)).step_by(8);
    for at in words {
        // SAFETY: between an address that the program uses and the end of the same stack.
        let word = unsafe { (at as *const u64).read() };
        if calls[1..].contains(&word) {
            return Some(Found { thread, cfa: at + 8, returns_to: word });
        }
    }
    None
}
