// SPDX-License-Identifier: MIT OR Apache-2.0
//! Is each iteration of a spin like the last, as far as its thread goes?
use crate::hot::{Captured, hot};
use crate::scheduling::program_memory::read_value;
use crate::scheduling::shown::{show_reads, shows_reads};
use crate::stacks;
use core::hash::Hasher;
use corefold_model::Ticks;
use corefold_sim::{LOOKS, Watched};
use rustc_hash::FxHasher;

/// The iterations of a spin, counted at the place of its first read.
#[derive(Default)]
#[repr(C)]
pub struct Turns {
    pub pc: u64,
    /// The same, once there were enough equal iterations to check whether the spin is steady.
    pub steady: u64,
    pub period: Ticks,
    /// A place whose iterations do change something.
    pub impure: u64,
    /// A hash of the thread's registers and stack some iterations ago; 0: not known.
    image: u64,
    /// It was another in the iteration before. Once, what the runtime has left on the stack is a reason.
    differed: bool,
    /// Successive iterations that took as long as the one before, and did nothing else.
    pub same: u16,
    pub skips: u8,
    /// Nothing in the thread changes from iteration to iteration.
    pub pure: bool,
    /// They are known from their code, and have no other look.
    pub decoded: bool,
    /// The lines that are read in this iteration are being collected.
    pub watching: bool,
}

impl Turns {
    pub const TRIED: u16 = 48;

    pub fn begin(&mut self, pc: u64) {
        *self = Turns { pc, impure: self.impure, ..Turns::default() };
        hot().called.set(0);
    }

    #[inline]
    pub fn end(&mut self) {
        self.pc = 0;
        self.steady = 0;
        self.watching = false;
    }

    pub fn is_impure(&mut self) {
        self.impure = self.pc;
        self.end();
    }

    #[inline]
    pub fn another(&mut self, time: Ticks, stall: Ticks) {
        let same = time == self.period && stall == 0 && hot().called.get() == 0;
        hot().called.set(0);
        self.period = time;
        self.same = if same { self.same.saturating_add(1) } else { 0 };
        self.watching &= same;
        self.steady = if self.same >= Turns::TRIED { self.pc } else { 0 };
    }

    /// Compares the thread's registers and stack with those an iteration ago, in which all its plain reads were seen. The
    /// first times it only requests that the next read saves the registers.
    #[cold]
    pub fn are_pure(
        &mut self,
        captured: &mut Captured,
        read: &mut [Watched; LOOKS],
        polls: bool,
        frames_base: *const u64,
    ) -> bool {
        if self.pure {
            return true;
        }
        if core::mem::replace(&mut captured.state, Captured::WANTED) != Captured::DONE {
            return false;
        }
        let Some(image) = image(captured, frames_base) else { return false };
        let seen = core::mem::take(&mut self.watching) && shows_reads();
        show_reads(polls);
        let differs = self.image != 0 && self.image != image;
        if differs && core::mem::replace(&mut self.differed, true) {
            self.is_impure();
        } else if self.image == image && seen {
            self.pure = true;
        } else {
            self.image = image;
            (self.watching, captured.watched) = (true, 1);
            *read = Default::default();
            show_reads(true);
            hot().end();
        }
        self.pure
    }
}

/// Bytes of stack that are compared at most.
const STACK: u64 = 1 << 20;

/// The captured registers and the stack above them, in one word that is not 0; `None` on a stack that is
/// not the thread's, or too deep: a loop may have its counter anywhere.
fn image(captured: &Captured, frames_base: *const u64) -> Option<u64> {
    let stack = captured.registers[Captured::STACK_POINTER];
    if stacks::slot_of(stack) != stacks::slot_of(frames_base as u64) {
        return None;
    }
    let mut hash = FxHasher::default();
    captured.registers.iter().chain([&captured.others]).for_each(|r| hash.write_u64(*r));
    let from = stack & !7;
    let end = stacks::stack_end(from);
    if end - from > STACK {
        return None;
    }
    for address in (from..end).step_by(8) {
        hash.write_u64(read_value(address, 8));
    }
    Some(hash.finish() | 1)
}
