// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code without hooks between the program's own: a library, or a part of the program that another compiler made.
//!
//! What it stores is in memory at once, so what its CPU has stored before must have taken effect by then: a store buffer
//! may drain as early as it likes. Nothing tells when it runs, but only code with hooks runs others; so it is enough to
//! know, before others run, whether it has run since the CPU's oldest waiting store:
//! - It was called. Blocks that do so are known, and are never off the slow path ([`calls`]); so are the hooks before such a
//!   call in its block ([`stored`]). Of a call by a pointer,
//!   the callee tells: one with hooks leaves its return address in the next slot of the thread's stack of calls.
//! - A function that it had called returned to it. The slot of that function's return address is marked when the thread
//!   stores; the mark is gone once the function has returned and another has been called.
use crate::carrier::Carrier;
use crate::code;
use crate::code::mapped::Mapped;
use crate::code::system_calls;
use crate::engine::running_cpu;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::store_buffer;
use crate::state::hooks::{self as state, HOOKED, UNHOOKED, return_address};
use alloc::vec::Vec;
use corefold_block::{Unhooked, comes_by_a_hook, unhooked_calls};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What is known of the program's code.
struct Known {
    /// There is code without hooks that a call by a pointer may lead to.
    by_pointer: bool,
    /// Return addresses, and whether the code there has hooks.
    hooked: HashMap<u64, bool, FxBuildHasher>,
    /// Hooks, by their return addresses, that code without hooks may be called after in the same block.
    before: HashMap<u64, Unhooked, FxBuildHasher>,
}

impl Known {
    const fn nothing(by_pointer: bool) -> Known {
        Known { by_pointer, hooked: HashMap::with_hasher(FxBuildHasher), before: HashMap::with_hasher(FxBuildHasher) }
    }
}

static KNOWN: Carrier<Known> = Carrier::new(Known::nothing(false));

fn has_hooks(pc: u64) -> bool {
    let find = || comes_by_a_hook(&Mapped, pc);
    is_known(pc) || KNOWN.with(|known| *known.hooked.entry(pc).or_insert_with(find))
}

fn is_known(pc: u64) -> bool {
    code::is_own(pc) || system_calls::is_system(pc)
}

/// Code has been unmapped: other code may come to lie there.
pub fn forget(gone: impl Fn(u64) -> bool) {
    KNOWN.with(|known| {
        known.hooked.retain(|pc, _| !gone(*pc));
        known.before.retain(|pc, _| !gone(*pc));
    });
}

/// Files have come or gone; is there one without hooks, besides the libraries of the language? Returns whether what is known
/// of blocks is to be learnt again.
pub fn files_changed(any_without: bool) -> bool {
    KNOWN.with(|known| {
        let changed = known.by_pointer != any_without;
        if changed {
            *known = Known::nothing(any_without);
        }
        changed
    })
}

/// How the block at `pc` may call code without hooks.
pub fn learn(pc: u64) -> Unhooked {
    let mut before = Vec::new();
    let by_pointer = KNOWN.with(|known| known.by_pointer);
    let found = unhooked_calls(&Mapped, pc, has_hooks, by_pointer, &mut before);
    KNOWN.with(|known| known.before.extend(before.into_iter().map(|hook| (hook, found))));
    found
}

/// May the block at `pc` call code without hooks, also that of the language's library by a pointer?
pub fn may_call(pc: u64) -> bool {
    unhooked_calls(&Mapped, pc, has_hooks, true, &mut Vec::new()) != Unhooked::Never
}

/// The running thread is about to call so.
#[inline]
pub fn calls(how: Unhooked) {
    let cpu = running_cpu();
    if store_buffer::any_of(cpu) {
        others_run(cpu);
        may_leave(cpu, how);
    }
}

#[cold]
fn may_leave(cpu: u32, how: Unhooked) {
    match how {
        Unhooked::Never => {}
        Unhooked::Surely => store_buffer::commit_all(cpu),
        Unhooked::ByPointer(returns_to) => {
            let slot = hot().frames.get();
            // SAFETY: the slot above the top, which the next function's entry overwrites.
            unsafe { slot.write(0) };
            current().unhooked.with(|own| (own.called, own.returns_to) = (slot, returns_to));
        }
    }
}

/// The running thread has stored at the hook that returns to `pc`, what others on `cpu` do not see yet.
#[cold]
fn stored(cpu: u32, pc: u64) {
    match store_buffer::is_alone(cpu) {
        true => current().unhooked.with(|own| *own = state::Unhooked::default()),
        false => others_run(cpu),
    }
    let callback = callback();
    current().unhooked.with(|own| own.callback = callback);
    if let Some(how) = KNOWN.with(|known| known.before.get(&pc).copied()) {
        may_leave(cpu, how);
    }
}

/// The slot of the innermost function that returns to code without hooks; null if there is none.
fn callback() -> *mut u64 {
    let (mut slot, base) = (hot().frames.get(), current().frames_base);
    while slot > base {
        // SAFETY: a slot that a function's entry has written.
        let value = unsafe {
            slot = slot.sub(1);
            &mut *slot
        };
        if *value & (HOOKED | UNHOOKED) == 0 {
            *value |= if has_hooks(*value) { HOOKED } else { UNHOOKED };
        }
        if *value & UNHOOKED != 0 {
            return slot;
        }
    }
    core::ptr::null_mut()
}

/// Others are about to run, while stores of `cpu`, which the running thread is on, may wait.
pub fn others_run(cpu: u32) {
    let own = current().unhooked.with(core::mem::take);
    let top = hot().frames.get();
    // SAFETY: a slot of the thread's stack of calls, which stays mapped.
    let read = |slot: *mut u64| unsafe { slot.read() };
    let returned = !own.callback.is_null() && (top <= own.callback || read(own.callback) & UNHOOKED == 0);
    let left = !own.called.is_null() && return_address(read(own.called)) != own.returns_to;
    if returned || left {
        return store_buffer::commit_all(cpu);
    }
    current().unhooked.with(|kept| kept.callback = own.callback);
}

/// The running thread has stored at `pc`.
#[inline]
pub fn note_store(pc: u64) {
    let cpu = running_cpu();
    if store_buffer::any_of(cpu) {
        stored(cpu, pc);
    }
}
