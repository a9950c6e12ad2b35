// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the runner has told this process.
use crate::sys;
use alloc::vec::Vec;
use core::ffi::CStr;

/// What the runner wants; none where nothing is to be simulated.
pub fn launch() -> Option<corefold_launch::Launch> {
    let bytes = sys::read_file(&launch_path()?).unwrap_or_default();
    corefold_launch::decode(&bytes).or_else(|| {
        sys::engine_fault("cannot read the launch parameters: are `corefold` and the runtime of the same version?")
    })
}

/// Path of the launch file, with its final zero byte; none where nothing is to be simulated.
pub fn launch_path() -> Option<Vec<u8>> {
    let mut name = corefold_launch::CONFIG_VARIABLE.as_bytes().to_vec();
    name.push(0);
    // SAFETY: a terminated string; the environment does not change here.
    let value = unsafe { libc::getenv(name.as_ptr().cast()) };
    // SAFETY: getenv's result is a terminated string.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes_with_nul().to_vec())
}
