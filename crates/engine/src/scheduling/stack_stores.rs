// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spins that store to their thread's own stack: the expected value of a compare-and-swap, the operand of a fence.
//!
//! Such stores are inline, and only leave the note that the thread has stored. A loop that looks at the same word from the
//! same place again and again, and stores in between, is suspected: its stores are shown. Those that change nothing but the
//! words above the stack pointer which are compared with the registers ([`crate::scheduling::alike`]), on lines that its CPU
//! has alone, then count as none. Not those to thread-local variables or to large arrays: a loop that counts there works.
use crate::hot::Captured;
use crate::scheduling::alike::COMPARED_BYTES;

/// So many looks of a loop that stores are no coincidence.
const SUSPECTED: u8 = 32;
/// Looks from other places in between, at most.
const OTHERS: u8 = 16;
/// So many looks that continue no spin: the loop computes.
const FUTILE: u8 = 64;

#[derive(Default)]
pub struct StackStores {
    /// The place and the word of the suspected loop's look.
    place: u64,
    address: u64,
    times: u8,
    others: u8,
    futile: u8,
    on: bool,
    /// The stack pointer at the loop's look; 0: not known. It is asked for.
    stack: u64,
    asked: bool,
    /// A place whose loop stores to its stack only, and one whose loop does not.
    known: u64,
    refused: u64,
}

impl StackStores {
    /// Are the thread's stores shown? Those so far were to its stack, then.
    #[inline]
    pub fn on(&self) -> bool {
        self.on
    }

    /// The thread looks at `address`, and has stored before. Are its stores to be shown from now on?
    pub fn looks_again(&mut self, place: u64, address: u64, captured: &mut Captured) -> bool {
        if place == self.refused {
            return false;
        }
        if (place, address) != (self.place, self.address) {
            self.others += 1;
            if self.others > OTHERS || place == self.known {
                *self = StackStores { place, address, known: self.known, refused: self.refused, ..Self::default() };
            }
            return false;
        }
        (self.times, self.others) = (self.times.saturating_add(1), 0);
        if self.times < SUSPECTED && place != self.known {
            return false;
        }
        if self.stack == 0 && self.asked && captured.state == Captured::DONE {
            self.stack = captured.registers[Captured::STACK_POINTER] & !7;
        } else if self.stack == 0 {
            (captured.state, self.asked) = (Captured::WANTED, true);
        }
        self.on = self.stack != 0;
        self.on
    }

    /// Is what is stored there compared?
    pub fn compares(&self, address: u64) -> bool {
        self.on && address.wrapping_sub(self.stack) < COMPARED_BYTES
    }

    /// Its stores are shown, and it looks from `place`. Are they still to be?
    #[inline]
    pub fn looks(&mut self, place: u64, spins: bool) -> bool {
        if place == self.place {
            self.known = place;
            self.futile = if spins { 0 } else { self.futile + 1 };
            if self.futile > FUTILE {
                self.known = 0;
                self.elsewhere();
            }
        }
        self.on
    }

    /// It stores something else.
    #[cold]
    pub fn elsewhere(&mut self) {
        if !self.on {
            return;
        }
        if self.known != self.place {
            self.refused = self.place;
        }
        *self = StackStores { known: self.known, refused: self.refused, ..Self::default() };
    }
}
