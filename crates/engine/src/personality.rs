// SPDX-License-Identifier: MIT OR Apache-2.0
//! For the personality routines of frames of ours that hold something.
use crate::engine::active;
use core::ffi::{c_int, c_void};

/// What a personality routine answers: the unwinder goes on.
pub const CONTINUE: c_int = 8;

/// DWARF's numbers of the registers that frames of ours keep something in.
pub const RBX: c_int = 3;
pub const RBP: c_int = 6;

/// For personality routines: the register as it was in a frame of ours, if the unwinder goes past it to clean up.
pub fn passed(actions: c_int, context: *mut c_void, register: c_int) -> Option<u64> {
    unsafe extern "C" {
        fn _Unwind_GetGR(context: *mut c_void, register: c_int) -> u64;
    }
    const CLEANUP_PHASE: c_int = 2;
    // SAFETY: the unwinder's own context.
    (actions & CLEANUP_PHASE != 0 && active()).then(|| unsafe { _Unwind_GetGR(context, register) })
}
