// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocators that are shared libraries, linked or preloaded. One that was compiled with hooks is simulated like the
//! rest of the program: our entries lead on to its own. Of one without hooks nothing would be seen, neither its time nor
//! what lies where: our heap stands in for it as it does for glibc's, and the report says so.
use crate::calls::within;
use crate::code;
use crate::crash::{self, innermost};
use crate::engine::note;
use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_void};

/// What an allocator exports. The C++ operators of most libraries call these.
const FUNCTIONS: [&CStr; 9] = [
    c"malloc",
    c"free",
    c"calloc",
    c"realloc",
    c"memalign",
    c"aligned_alloc",
    c"posix_memalign",
    c"malloc_usable_size",
    c"cfree",
];

/// The file name of the library that a function is in.
fn library_of(function: *const c_void) -> Option<String> {
    // SAFETY: a zeroed one is valid, and the call fills it; the name is the loader's.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let found = libc::dladdr(function, &mut info) != 0 && !info.dli_fname.is_null();
        let path = found.then(|| CStr::from_ptr(info.dli_fname).to_string_lossy())?;
        Some(String::from(path.rsplit('/').next().unwrap_or_default()))
    }
}

/// The run begins: looks for one behind our own functions.
pub fn find() {
    // SAFETY: terminated strings.
    let next = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    let malloc = next(c"malloc");
    if malloc.is_null() || code::is_libc(malloc as u64) {
        return;
    }
    if !innermost::is_programs(malloc as u64) {
        let library = library_of(malloc).unwrap_or_default();
        let what = format!(
            "{library} has no hooks: the runtime's heap, laid out as glibc's, stands in for its malloc (compile it with \
             corefold cc to have it simulated)"
        );
        return note(&what, 0);
    }
    for name in FUNCTIONS {
        let function = next(name) as u64;
        if innermost::is_programs(function) && !within::lead_on(name, function) {
            crash::engine_fault("cannot redirect the program's memory requests to its own allocator");
        }
    }
}
