// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a thread runs, and what it waits for.
use corefold_model::Ticks;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    Running,
    Blocked,
    Finished,
}

/// What a blocked fiber waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Nothing,
    /// `object` and `call` are what its user knows it as.
    Futex {
        object: u64,
        call: &'static str,
    },
    /// Another thread's end. Not counted as blocked: a join is no contention.
    Join {
        thread: usize,
    },
    Sleep,
    Signal {
        call: &'static str,
    },
    Io {
        fd: i32,
        events: i16,
        call: &'static str,
    },
    /// Time until a call is retried, where the kernel does not tell when it can succeed.
    Retry {
        id: i32,
        call: &'static str,
        /// It gives up at some time.
        gives_up: bool,
    },
}

/// Who or what ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    Thread,
    Timer,
    /// A signal came for the fiber, or it is cancelled.
    Signal,
}

/// Waits that ended because their time was over: sleeps, and time-outs.
#[derive(Clone, Copy, Default)]
pub struct Slept {
    /// Ticks that they were to last, and did.
    pub asked: Ticks,
    pub lasted: Ticks,
    longest: Ticks,
    /// Is the place of the longest yet to be found? Its thread does that, on its own stack.
    unplaced: bool,
    /// Where a long one was called; 0 if that is not known.
    pub pc: u64,
}

impl Slept {
    pub fn ended(&mut self, lasted: Ticks) {
        self.lasted += lasted;
        // Not for every slightly longer one: finding the place takes time.
        if lasted > self.longest.saturating_mul(2) {
            self.longest = lasted;
            self.unplaced = true;
        }
    }

    pub fn is_unplaced(&self) -> bool {
        self.unplaced
    }

    pub fn place(&mut self, pc: u64) {
        if self.unplaced {
            (self.unplaced, self.pc) = (false, pc);
        }
    }
}
