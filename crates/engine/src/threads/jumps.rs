// SPDX-License-Identifier: MIT OR Apache-2.0
//! setjmp and longjmp. libc's own do the work; what it does not know of is put right here: the stack of
//! calls that the hooks keep, which a jump leaves functions of without their exit hooks, and the
//! simulation's signal masks.
use crate::carrier::Carrier;
use crate::engine::charge;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::threads::unwind;
use crate::trampoline::{Arguments, before};
use core::arch::naked_asm;
use core::ffi::c_int;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

#[derive(Clone, Copy)]
struct Place {
    frames: *mut u64,
    mask: Option<u64>,
}

/// Where jumps go, by the stack pointer there: buffers may be copied, and stacks are at places of their own.
static PLACES: Carrier<HashMap<u64, Place, FxBuildHasher>> = Carrier::new(HashMap::with_hasher(FxBuildHasher));

/// Registers to save and restore.
const CYCLES: u32 = 12;

fn remember(arguments: &Arguments, mask: Option<u64>) {
    charge(CYCLES);
    let place = Place { frames: hot().frames.get(), mask };
    PLACES.with(|places| places.insert(arguments.sp_after(), place));
}

pub extern "C" fn sets(arguments: &Arguments, _pc: u64) {
    remember(arguments, None);
}

pub extern "C" fn sets_with_mask(arguments: &Arguments, _pc: u64) {
    remember(arguments, Some(current().signals.mask.get()));
}

pub extern "C" fn sets_as_told(arguments: &Arguments, _pc: u64) {
    let keeps = arguments.rsi as c_int != 0;
    remember(arguments, keeps.then_some(current().signals.mask.get()));
}

pub extern "C" fn jumps(arguments: &Arguments, _pc: u64) {
    charge(CYCLES);
    let sp = unwind::sp_in(arguments.rdi as *const u64);
    let Some(place) = PLACES.with(|places| places.get(&sp).copied()) else { return };
    hot().frames.set(place.frames);
    if let Some(mask) = place.mask {
        crate::threads::signals::blocking::change(mask);
    }
}

before! {
    crate::threads::jumps::sets => _setjmp;
    crate::threads::jumps::sets_with_mask => setjmp;
    crate::threads::jumps::sets_as_told => __sigsetjmp;
    crate::threads::jumps::jumps => longjmp _longjmp siglongjmp;
}

/// The checked form takes a jump out of a handler on the thread's stack for one to a frame that is gone: it
/// asks the kernel, which does not know of that stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn __longjmp_chk(_buffer: *mut u64, _value: c_int) -> ! {
    naked_asm!("jmp {jump}", jump = sym siglongjmp::entry)
}
