// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads' stacks: where they lie, and which are in use; one that was given back is used again.
use crate::layout::{STACKS, STACKS_BYTES};
use crate::sys;
use alloc::collections::BTreeSet;

/// Bytes of address space for a thread: its stack of return addresses below, its stack above.
const SLOT: u64 = 32 << 20;
const FRAMES: u64 = 4 << 20;
pub const STACK: u64 = 8 << 20;
const GUARD: u64 = 1 << 20;
pub const LARGEST_STACK: u64 = SLOT - FRAMES - GUARD;
const MARGIN: u64 = 64 << 10;
/// Slots are a power of two apart: without a shift, the stacks of return addresses of all threads would be in one set of
/// the host's TLB and in one set of its first-level cache, which have room for a few.
const SHIFT: u64 = (4 << 10) + 64;
const SHIFTS: u64 = 16;

pub struct Stacks {
    used: usize,
    mapped: usize,
    free: BTreeSet<usize>,
}

impl Stacks {
    pub const NONE: Stacks = Stacks { used: 0, mapped: 0, free: BTreeSet::new() };

    /// Base of the return addresses and end of the stack in `slot`; `None` if there is no room for it.
    /// A slot that was used before is mapped already.
    pub fn map(&mut self, slot: usize) -> Option<(*mut u64, u64)> {
        let at = STACKS + slot as u64 * SLOT;
        let stack = at + SLOT - LARGEST_STACK;
        let is_new = slot >= self.mapped;
        if is_new && !(at + SLOT <= STACKS + STACKS_BYTES && sys::map_at(at, FRAMES)) {
            return None;
        }
        if is_new && !sys::map_at(stack, LARGEST_STACK) {
            // SAFETY: what was just mapped.
            unsafe { sys::syscall!(libc::SYS_munmap, at, FRAMES; 0, 0, 0, 0) };
            return None;
        }
        if is_new && wants_code_on_stacks() {
            sys::make_executable(stack, LARGEST_STACK);
        }
        self.mapped = self.mapped.max(slot + 1);
        // A margin below: calls and returns may not match, where a program switches stacks by itself.
        Some(((at + MARGIN + (slot as u64 % SHIFTS) * SHIFT) as *mut u64, at + SLOT))
    }

    /// The next stack, counted from 0.
    pub fn take(&mut self) -> usize {
        if let Some(slot) = self.free.pop_first() {
            return slot;
        }
        self.used += 1;
        self.used - 1
    }

    pub fn give_back(&mut self, slot: usize) {
        self.free.insert(slot);
    }
}

/// Does the program have code on stacks, as gcc's nested functions whose address is taken need it?
fn wants_code_on_stacks() -> bool {
    // SAFETY: the kernel says where the program's headers lie.
    unsafe {
        let first = libc::getauxval(libc::AT_PHDR) as *const libc::Elf64_Phdr;
        let count = libc::getauxval(libc::AT_PHNUM) as usize;
        let headers = core::slice::from_raw_parts(first, count);
        let stack = headers.iter().find(|h| h.p_type == libc::PT_GNU_STACK);
        stack.is_none_or(|h| h.p_flags & libc::PF_X != 0)
    }
}

/// The slot that the address is in, if that is on a thread's stack.
pub fn slot_of(address: u64) -> u64 {
    address.wrapping_sub(STACKS) / SLOT
}

/// The end of the stack that the address is on.
pub fn stack_end(address: u64) -> u64 {
    STACKS + ((address - STACKS) / SLOT + 1) * SLOT
}

/// Was the stack in `slot` used up, when its thread came to memory that is not there with this stack pointer? Of stacks
/// that the program made itself, such as coroutines', only their pointer is known.
pub fn overflowed(slot: usize, address: u64, sp: u64) -> bool {
    /// Frames that are larger are rare but for one at a time, which the next test is for.
    const NEAR: u64 = 64 << 10;
    const LARGEST_FRAME: u64 = 1 << 30;
    let at = STACKS + slot as u64 * SLOT;
    // Return addresses come to it from below, if calls are many and small.
    let guard = at + FRAMES..at + SLOT - LARGEST_STACK;
    let below = guard.end - LARGEST_FRAME..guard.end;
    guard.contains(&address) || address.abs_diff(sp) <= NEAR || below.contains(&sp)
}

/// Where the main thread's stack begins, as the program knows it: it is in this slot.
pub fn main_begin(slot: usize) -> u64 {
    STACKS + (slot as u64 + 1) * SLOT - STACK
}
