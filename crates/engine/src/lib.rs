// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime inside the simulated program. It is preloaded, supplies the hooks that gcc's
//! `-fsanitize=thread -fsanitize-coverage=trace-pc` calls and stand-ins for pthread and libc, runs all
//! threads as fibers on the carrier thread in virtual time, and leaves a recording.
//!
//! No `std`: thread-local storage follows the running fiber, so the runtime must use none. Without the
//! launch variable every hook and stand-in does nothing of its own, and the program runs natively.
#![no_std]
// The stand-ins have the names of the functions that they stand for.
#![allow(non_snake_case)]
extern crate alloc;

mod account;
mod arguments;
mod bytes;
mod calls;
mod carrier;
mod code;
mod counts;
mod crash;
mod ending;
mod engine;
mod entry;
mod frees;
mod fs_base;
mod hooks;
mod hot;
mod layout;
mod mappings;
mod memory;
mod neutral_stack;
mod parameters;
mod personality;
mod process_id;
mod real;
mod recorder;
mod registers;
mod scheduling;
mod stacks;
mod stand_in;
mod start;
mod state;
mod storage;
mod sys;
mod threads;
mod trampoline;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    sys::engine_fault(&alloc::format!("{info}"))
}

/// The personality routine of the runtime's frames: nothing to clean up, continue. (pthread_exit
/// unwinds past the frames of its own that called the unwinder.)
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> core::ffi::c_int {
    personality::CONTINUE
}
