// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that do not end by themselves: whoever finds that the run is over says why, and [`crate::crash`] records it.
use crate::carrier::AtStart;
use alloc::boxed::Box;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use corefold_recording::Misuse;

/// Why the run is over. `pc` is where the running thread is.
pub enum End<'a> {
    /// The program does what cannot be simulated.
    Unsupported {
        what: &'a str,
        pc: u64,
    },
    OutOfMemory {
        bytes: u64,
        pc: u64,
    },
    /// Nothing can run any more.
    Deadlock,
    /// Threads run without progress: they poll memory (`spin`), or have used up their time.
    Livelock {
        pc: u64,
        spin: bool,
    },
    UseAfterFree(Box<Misuse>),
    /// The program sends itself a signal that ends it.
    Killed {
        signal: c_int,
        pc: u64,
        sp: u64,
    },
    /// It sends such a signal to another thread.
    KilledThere {
        signal: c_int,
        fiber: usize,
    },
    /// The runner has asked for it.
    Stopped {
        pc: u64,
    },
}

type Handler = fn(End) -> !;

static HANDLER: AtStart<Handler> = AtStart::unset();

/// Set by SIGTERM or SIGINT: the runner wants a recording of what has run so far.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Who records how the run ends.
pub fn handle(handler: Handler) {
    HANDLER.set(handler);
}

fn end(why: End) -> ! {
    match HANDLER.get() {
        Some(handler) => handler(why),
        None => crate::sys::engine_fault("a run is over that has not begun"),
    }
}

pub fn unsupported(what: &str, pc: u64) -> ! {
    end(End::Unsupported { what, pc })
}

pub fn out_of_memory(bytes: u64, pc: u64) -> ! {
    end(End::OutOfMemory { bytes, pc })
}

pub fn deadlock() -> ! {
    end(End::Deadlock)
}

pub fn livelock(pc: u64, spin: bool) -> ! {
    end(End::Livelock { pc, spin })
}

pub fn use_after_free(misuse: Misuse) -> ! {
    end(End::UseAfterFree(Box::new(misuse)))
}

pub fn killed(signal: c_int, pc: u64) -> ! {
    let here = 0u8;
    end(End::Killed { signal, pc, sp: &raw const here as u64 })
}

pub fn killed_there(signal: c_int, fiber: usize) -> ! {
    end(End::KilledThere { signal, fiber })
}

/// Ends the run if the runner has asked for it.
#[inline]
pub fn stop_if_asked(pc: u64) {
    if STOP.load(Ordering::Relaxed) {
        end(End::Stopped { pc });
    }
}
