// SPDX-License-Identifier: MIT OR Apache-2.0
//! libc's generators of random numbers that take no lock: each call changes a state, which the program has made or is libc's one
//! for all threads. (`rand` and its kin take a lock: `library.rs`.)
use crate::counts::labels;
use crate::engine::charge;
use crate::hooks::access::range_update;
use crate::trampoline::{Arguments, before};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use corefold_recording::Label;

/// Cycles of a call: 15 to 17 of the time-stamp counter at 2.45 GHz on AMD's Zen 3 (glibc 2.36), whose clock is faster.
const NEXT_NUMBER: u32 = 20;

/// In place of `__libc_drand48_data`, whose address libc does not tell.
#[repr(align(128))]
struct State([AtomicU64; 16]);
static STATE: State = State([const { AtomicU64::new(0) }; 16]);
const STATE_BYTES: u64 = 24;
static NAMED: AtomicBool = AtomicBool::new(false);

pub extern "C" fn of_all(_: &Arguments, pc: u64) {
    let address = STATE.0.as_ptr() as u64;
    // Relaxed: only the carrier comes here.
    if !NAMED.swap(true, Ordering::Relaxed) {
        labels::add_once(Label { address, bytes: STATE_BYTES, name: "state of drand48()".into(), stride: 0 });
    }
    changes(address, STATE_BYTES, pc);
}

macro_rules! states {
    ($($(#[$about:meta])* $name:ident $bytes:literal;)*) => {$(
        $(#[$about])*
        pub extern "C" fn $name(a: &Arguments, pc: u64) {
            changes(a.rdi, $bytes, pc);
        }
    )*};
}

// The first argument leads to so many bytes.
states! {
    word 4;
    three_shorts 6;
    /// `struct drand48_data`, and the beginning of `struct random_data`.
    buffer 24;
}

fn changes(address: u64, bytes: u64, pc: u64) {
    range_update(address, pc, bytes);
    charge(NEXT_NUMBER);
}

before! {
    crate::calls::generators::of_all => drand48 lrand48 mrand48 srand48 seed48 lcong48;
    crate::calls::generators::word => rand_r;
    crate::calls::generators::three_shorts => erand48 nrand48 jrand48;
    crate::calls::generators::buffer => drand48_r lrand48_r mrand48_r random_r;
}
