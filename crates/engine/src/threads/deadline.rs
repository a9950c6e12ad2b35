// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines of calls.
use crate::threads::clock;
use core::ffi::c_int;
use corefold_model::Ticks;

#[derive(Clone, Copy)]
pub enum Deadline {
    Never,
    /// A time on one of the program's clocks. Not looked at before there is something to wait for.
    At(c_int, *const libc::timespec),
}

impl Deadline {
    /// When that is; EINVAL if it is no time.
    pub fn ticks(self) -> Result<Option<Ticks>, c_int> {
        let Deadline::At(clock, time) = self else { return Ok(None) };
        // SAFETY: the program passes its own variable.
        let shown = clock::nanoseconds_in(unsafe { &*time }).ok_or(libc::EINVAL)?;
        clock::ticks_when(clock, shown).map(Some).ok_or(libc::EINVAL)
    }
}

/// Is it a clock that pthread objects can wait by?
pub fn is_clock(clock: c_int) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}
