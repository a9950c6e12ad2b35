// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start-up waits: those of a thread before it had done any work. That it had work still to do is known only when the run
//! is over: a thread that never gets any, and ends, has waited for nothing to begin.
use alloc::vec::Vec;
use corefold_model::Ticks;

/// A thread that has waited as often has begun.
const MOST: usize = 16;
/// At a start-up wait the thread has done less than this part of its work.
const PART: Ticks = 10;

/// A wait that may be one.
#[derive(Clone, Copy)]
pub struct Wait {
    /// What was waited for, and how many objects had been replaced by others at their addresses by then.
    pub address: u64,
    pub past: usize,
    pub ticks: Ticks,
    /// What the thread had done before: ticks of computing and sleeping.
    done: Ticks,
}

#[derive(Default)]
pub struct Early {
    waits: Vec<Wait>,
}

impl Early {
    /// The thread, of this age, has waited; it had done so much before.
    pub fn waited(&mut self, address: u64, past: usize, ticks: Ticks, lived: Ticks, done: Ticks) {
        if self.waits.len() < MOST && ticks >= lived / 2 {
            self.waits.push(Wait { address, past, ticks, done });
        }
    }

    /// Those that were start-up waits, now that the thread has done so much.
    pub fn found(&self, done: Ticks) -> impl Iterator<Item = Wait> {
        self.waits.iter().copied().filter(move |wait| wait.done * PART < done)
    }
}
