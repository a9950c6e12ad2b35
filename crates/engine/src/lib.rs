//! The runtime inside the simulated program. It is preloaded, supplies the hooks that gcc's
//! `-fsanitize=thread -fsanitize-coverage=trace-pc` calls and stand-ins for pthread and libc, runs all
//! threads as fibers on the carrier thread in virtual time, and leaves a recording.
//!
//! No `std`: thread-local storage follows the running fiber, so the runtime must use none. Without the
//! launch variable it only passes through, and the program runs natively.
#![no_std]
extern crate alloc;

mod access;
mod affinity;
mod atomics;
mod blocks;
mod futex;
mod io;
mod spin;
mod clock;
mod clocks;
mod cpus;
mod crash;
mod engine;
mod fiber;
mod heap;
mod hot;
mod keys;
mod layout;
mod locks;
mod malloc;
mod mapped;
mod mapping;
mod memory;
mod modules;
mod mutex;
mod passing;
mod pending;
mod progress;
mod random;
mod real;
mod record;
mod sample;
mod sched;
mod sites;
mod sleep;
mod stacks;
mod stand_in;
mod start;
mod string;
mod sys;
mod thread;
mod time;
mod unwind;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    crash::engine_fault(&alloc::format!("{info}"))
}

/// The precompiled `core` and `alloc` refer to it in tables that nothing reads: panics abort.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
