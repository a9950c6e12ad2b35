// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the hooks keep of each thread.
use corefold_block::History;
use corefold_block::turn::{Look, Saved, Spin};
use corefold_model::Ticks;

/// Does it poll a word on a line of its own?
#[derive(Default)]
pub struct Polls {
    pub next: Ticks,
    /// Its reads are shown.
    pub on: bool,
    pub others: u8,
}

impl Polls {
    #[inline]
    pub fn on(&self) -> bool {
        self.on
    }
}

/// What is known of the turns of the spin that a thread is in, from its code.
#[derive(Default)]
pub struct Decoded(Option<(Look, Spin)>);

impl Decoded {
    /// For this look, made with these registers; `find` is asked if it is not the same as last.
    #[inline]
    pub fn of(&mut self, look: &Look, from: &Saved, find: impl FnOnce(&Look, &Saved) -> Option<Spin>) -> Option<&Spin> {
        let is_last = self.0.as_ref().is_some_and(|(last, spin)| last == look && spin.holds_from(from));
        if !is_last {
            self.0 = find(look, from).map(|spin| (*look, spin));
        }
        self.0.as_ref().map(|(_, spin)| spin)
    }
}

/// Blocks of a thread whose branch it has not yet reached: it is in functions that they call.
pub const DEEPEST: usize = 8;

/// Its branch history.
#[derive(Default)]
pub struct Branching {
    pub history: History,
    /// Blocks whose branch it has not yet reached, the latest last.
    pub pending: [u32; DEEPEST],
    pub count: usize,
}

/// In a slot of a stack of calls: it returns to code with hooks; it returns to code without.
pub const HOOKED: u64 = 1 << 62;

pub const UNHOOKED: u64 = 1 << 63;

/// Return addresses on a stack of calls that begins at `base` and ends at `top`, innermost first.
pub fn calls(base: *const u64, top: *const u64) -> impl Iterator<Item = u64> {
    let depth = (top as usize).saturating_sub(base as usize) / 8;
    // SAFETY: the slots between base and top were written by the function-entry hook.
    (0..depth).rev().map(move |i| return_address(unsafe { *base.add(i) }))
}

/// The return address in a slot of a stack of calls.
#[inline]
pub fn return_address(slot: u64) -> u64 {
    slot & !(HOOKED | UNHOOKED)
}

/// Of one thread, while stores of its CPU wait.
pub struct Unhooked {
    /// The innermost function that returns to code without hooks, as of the last store: its slot.
    pub callback: *mut u64,
    /// The slot of a function that was called by a pointer, and what it returns to if it has hooks.
    pub called: *mut u64,
    pub returns_to: u64,
}

impl Default for Unhooked {
    fn default() -> Unhooked {
        Unhooked { callback: core::ptr::null_mut(), called: core::ptr::null_mut(), returns_to: 0 }
    }
}
