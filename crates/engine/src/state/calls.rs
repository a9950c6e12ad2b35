// SPDX-License-Identifier: MIT OR Apache-2.0
//! What other functions of libc keep of each thread.
use core::ffi::c_int;
use corefold_model::Ticks;

/// Readings of clocks: how many, and when the first and the last were.
#[derive(Clone, Copy, Default)]
pub struct Watched {
    pub readings: u64,
    pub first: Ticks,
    pub last: Ticks,
}

impl Watched {
    pub fn at(&mut self, now: Ticks) {
        if self.readings == 0 {
            self.first = now;
        }
        self.readings += 1;
        self.last = now;
    }
}

/// A thread's policy and its nodes, as the program set them.
#[derive(Clone, Copy, Default)]
pub struct Policy {
    pub mode: c_int,
    pub nodes: u64,
}
