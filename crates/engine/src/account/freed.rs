// SPDX-License-Identifier: MIT OR Apache-2.0
//! Freed heap memory, in schedules drawn from a seed: accesses to it are reported, it is filled with a pattern,
//! and it is not reused for a while.
use crate::carrier::Carrier;
use crate::engine::sim;
use crate::layout::{HEAP, HEAP_BYTES, HEAP_FREED};
use crate::scheduling::fiber::stack_here;
use crate::scheduling::shown;
use crate::state::scheduler::running_fiber;
use crate::storage::objects;
use crate::sys;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::cell::Cell;
use corefold_recording::{AccessKind, Misuse, Object};

const GRAIN: u64 = 16;
const PATTERN: u8 = 0xdf;

/// An object that was freed.
struct Grave {
    object: Object,
    thread: u32,
    stack: Vec<u64>,
}

struct Freed {
    graves: BTreeMap<u64, Grave>,
    /// Not to be reused yet, the oldest first.
    waiting: VecDeque<u64>,
    bytes: u64,
}

static FREED: Carrier<Freed> = Carrier::new(Freed { graves: BTreeMap::new(), waiting: VecDeque::new(), bytes: 0 });

/// Maps a bit for every 16 bytes of the heap: was it freed?
pub fn map() -> bool {
    sys::map_at(HEAP_FREED, HEAP_BYTES / GRAIN / 8)
}

fn bit(address: u64) -> (&'static Cell<u64>, u64) {
    let grain = (address - HEAP) / GRAIN;
    // SAFETY: the bitmap covers the heap, and only the carrier uses it.
    (unsafe { &*((HEAP_FREED + grain / 64 * 8) as *const Cell<u64>) }, 1 << (grain % 64))
}

fn grains(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    (address / GRAIN * GRAIN..address + bytes.max(1)).step_by(GRAIN as usize)
}

/// The object is freed now, in a call from `pc`.
pub fn bury(object: Object, pc: u64) {
    let Object { address, bytes, .. } = object;
    grains(address, bytes).map(bit).for_each(|(word, bit)| word.set(word.get() | bit));
    let thread = running_fiber() as u32;
    let grave = Grave { object, thread, stack: stack_here(pc) };
    FREED.with(|freed| freed.graves.insert(address, grave));
}

/// Freed memory is not to be used again yet. Returns what is now instead.
pub fn put_off(address: u64, bytes: u64) -> Vec<u64> {
    let quarantine = sim(|sim| sim.delays.as_ref().map_or(0, |delays| delays.quarantine));
    FREED.with(|freed| {
        freed.waiting.push_back(address);
        freed.bytes += bytes;
        let mut usable = Vec::new();
        while freed.bytes > quarantine {
            let Some(oldest) = freed.waiting.pop_front() else { break };
            freed.bytes -= freed.graves.get(&oldest).map_or(0, |grave| grave.object.bytes);
            usable.push(oldest);
        }
        usable
    })
}

/// Overwrites the object, for uninstrumented readers.
pub fn spoil(address: u64, bytes: u64) {
    crate::bytes::fill(address, PATTERN, bytes);
}

/// The memory is reused.
pub fn dig_out(address: u64, bytes: u64) {
    grains(address, bytes).map(bit).for_each(|(word, bit)| word.set(word.get() & !bit));
    FREED.with(|freed| freed.graves.remove(&address));
}

/// Ends the run if an access is to freed memory.
pub fn check(address: u64, size: u64, pc: u64, what: AccessKind) {
    if !objects::is_ours(address) {
        return;
    }
    let (word, bit) = bit(address);
    if word.get() & bit != 0 {
        misused(address, pc, Some(what));
    }
    let last = address + size.max(1) - 1;
    if last / GRAIN != address / GRAIN && objects::is_ours(last) {
        check(last, 1, pc, what);
    }
}

/// Ends the run if an object is freed that was freed before.
pub fn check_free(address: u64, pc: u64) {
    if shown::all_accesses() && FREED.with(|freed| freed.graves.contains_key(&address)) {
        misused(address, pc, None);
    }
}

fn misused(address: u64, pc: u64, access: Option<AccessKind>) {
    let thread = running_fiber() as u32;
    let misuse = FREED.with(|freed| {
        let (_, grave) = freed.graves.range(..=address).next_back()?;
        Some(Misuse {
            access,
            address,
            object: grave.object.clone(),
            thread,
            stack: stack_here(pc),
            freed_by: grave.thread,
            freed: grave.stack.clone(),
        })
    });
    if let Some(misuse) = misuse {
        crate::ending::use_after_free(misuse)
    }
}
