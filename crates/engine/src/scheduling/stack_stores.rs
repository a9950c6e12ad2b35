// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spins that store to their thread's own stack: the expected value of a compare-and-swap, the operand of a fence.
//!
//! Such stores are inline, and only leave the note that the thread has stored. A loop that looks at the same word from the
//! same place again and again, and stores in between, is suspected: its stores are shown. Those to lines of the
//! thread's stack that its CPU has alone then count as none: what they change is compared with the registers
//! ([`crate::scheduling::turns`], [`crate::scheduling::alike`]).

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
    pub fn looks_again(&mut self, place: u64, address: u64) -> bool {
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
        self.on = self.times >= SUSPECTED || place == self.known;
        self.on
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
