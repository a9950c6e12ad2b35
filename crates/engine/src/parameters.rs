// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the runner has told this process.
use crate::sys;
use core::ffi::CStr;
use corefold_launch::CONFIG_VARIABLE;

/// What the runner wants; none where nothing is to be simulated.
pub fn launch() -> Option<corefold_launch::Launch> {
    let bytes = sys::read_file(launch_path()?.to_bytes_with_nul()).unwrap_or_default();
    corefold_launch::decode(&bytes).or_else(|| {
        sys::engine_fault("cannot read the launch parameters: are `corefold` and the runtime of the same version?")
    })
}

/// Path of the launch file; none where nothing is to be simulated. Then threads are real ones: nothing is allocated here.
pub fn launch_path() -> Option<&'static CStr> {
    // SAFETY: the environment does not change here.
    let value = unsafe { libc::getenv(CONFIG_VARIABLE.as_ptr()) };
    // SAFETY: getenv's result is a terminated string.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}
