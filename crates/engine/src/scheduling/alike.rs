// SPDX-License-Identifier: MIT OR Apache-2.0
//! Are the iterations of a loop that looks at memory alike, as those of a spin are, or does it compute in registers?
//!
//! Three reads from one place are compared: the registers that outlive a call, and the words above the stack pointer,
//! where compilers keep what has no register. A spin may count its iterations: one word that changes by the same
//! amount. One that backs off for longer and longer, or for a time that it draws, changes one word more, and its iterations
//! differ in length: such a loop is a spin if a word that it reads changes in the end. Others compute.
use crate::hot::Captured;
use crate::scheduling::program_memory::read_value;
use crate::stacks;
use corefold_model::Ticks;

const REGISTERS: usize = 7;
const WORDS: usize = 64;
/// Of the stack, from its pointer on.
pub const COMPARED_BYTES: u64 = (WORDS - REGISTERS) as u64 * 8;
/// Iterations of a spin before they are compared.
const FIRST: u32 = 8;
/// Reads compared.
const COMPARED: u32 = 3;
/// So many successive iterations are no coincidence.
const OFTEN: u32 = 8;

type Words = [u64; WORDS];

/// What is known of the spin under way.
pub struct Alike {
    pc: u64,
    iterations: u32,
    /// When the last read was, and how long the iteration before it took.
    at: Ticks,
    took: Ticks,
    /// Successive iterations that took as long as the one before.
    equal: u32,
    /// Successive iterations that changed several words, each by another amount than the iteration before.
    several: u32,
    /// A place whose iterations are not alike, and differ in length.
    doubtful: u64,
    words: Words,
    changes: Words,
    /// A place whose iterations were found alike: it is not compared again.
    pub known: u64,
}

impl Default for Alike {
    fn default() -> Alike {
        Alike {
            pc: 0,
            iterations: 0,
            at: 0,
            took: 0,
            equal: 0,
            several: 0,
            doubtful: 0,
            words: [0; WORDS],
            changes: [0; WORDS],
            known: 0,
        }
    }
}

impl Alike {
    /// Another read of a spin from its place. Returns whether the iterations have turned out not to be alike.
    #[inline]
    pub fn computes(&mut self, pc: u64, at: Ticks, captured: &mut Captured, frames_base: *const u64) -> bool {
        if pc == self.known {
            return false;
        }
        if pc != self.pc {
            (self.pc, self.iterations) = (pc, 0);
        }
        self.iterations += 1;
        self.iterations >= FIRST && self.looked_into(at, captured, frames_base)
    }

    #[cold]
    fn looked_into(&mut self, at: Ticks, captured: &mut Captured, frames_base: *const u64) -> bool {
        let known = core::mem::replace(&mut captured.state, Captured::WANTED) == Captured::DONE;
        let words = if known && self.iterations > FIRST { words(&captured.registers, frames_base) } else { None };
        let Some(words) = words else {
            self.iterations = FIRST;
            return false;
        };
        let mut changes = [0; WORDS];
        changes.iter_mut().zip(words.iter().zip(&self.words)).for_each(|(c, (new, old))| *c = new.wrapping_sub(*old));
        let (before, took) = (core::mem::replace(&mut self.changes, changes), at.saturating_sub(self.at));
        self.equal = if core::mem::replace(&mut self.took, took) == took { self.equal + 1 } else { 0 };
        (self.at, self.words) = (at, words);
        if self.iterations < FIRST + COMPARED {
            return false;
        }
        // Judged now, or with a later iteration.
        self.iterations = FIRST + COMPARED - 1;
        let changed = changes.iter().filter(|change| **change != 0).count();
        let irregular = changes.iter().zip(&before).filter(|(change, before)| change != before).count();
        self.several = if irregular > 1 { self.several + 1 } else { 0 };
        if changed <= 1 && irregular == 0 {
            self.known = self.pc;
            return false;
        }
        self.doubtful = self.pc;
        self.equal >= OFTEN || self.several >= OFTEN
    }

    /// The loop has ended. Were its iterations, at one of these places, not alike?
    pub fn takes_doubt(&mut self, mut places: impl Iterator<Item = u64>) -> bool {
        let doubtful = core::mem::take(&mut self.doubtful);
        doubtful != 0 && places.any(|pc| pc == doubtful)
    }
}

/// The captured registers and the stack above them; `None` on a stack that is not the thread's.
fn words(registers: &[u64; REGISTERS], frames_base: *const u64) -> Option<Words> {
    let from = registers[Captured::STACK_POINTER] & !7;
    if stacks::slot_of(from) != stacks::slot_of(frames_base as u64) {
        return None;
    }
    let end = stacks::stack_end(from);
    let mut words = [0; WORDS];
    words[..REGISTERS].copy_from_slice(registers);
    for (word, address) in words[REGISTERS..].iter_mut().zip((from..end).step_by(8)) {
        *word = read_value(address, 8);
    }
    Some(words)
}
