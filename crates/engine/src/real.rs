// SPDX-License-Identifier: MIT OR Apache-2.0
//! libc's own functions, where a stand-in of ours has their name.
use crate::frees;
use crate::registers;
use crate::state::pthread::Start;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The next definition of `name` after ours, looked up once, for a call of it. `name` ends in a zero byte.
pub fn find(cache: &AtomicUsize, name: &'static [u8]) -> usize {
    registers::preserve();
    let known = cache.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let found = next(name.as_ptr().cast());
    if found == 0 {
        crate::sys::engine_fault("libc lacks a function that the runtime needs");
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// The next definition of `name`, a terminated string, after ours; 0: there is none. Before it looks anything up, the
/// loader frees the text of an earlier error, perhaps by the program's own `free`; but hooks look functions up, too.
pub fn next(name: *const c_char) -> usize {
    // SAFETY: a terminated string.
    frees::leaving_unfreed(|| unsafe { libc::dlsym(libc::RTLD_NEXT, name) } as usize)
}

/// Declares `name` as a function that calls libc's.
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        #[inline]
        pub fn $name($($arg: $type),*) $(-> $result)? {
            static CACHE: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
            let address = $crate::real::find(&CACHE, concat!(stringify!($name), "\0").as_bytes());
            // SAFETY: libc's function of that name has this type.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) $(-> $result)? = core::mem::transmute(address);
                function($($arg),*)
            }
        }
    )*};
}
pub(crate) use real;

fn join_real(thread: libc::pthread_t) -> c_int {
    real! { fn pthread_join(thread: libc::pthread_t, value: *mut *mut c_void) -> c_int; }
    pthread_join(thread, core::ptr::null_mut())
}

/// Has libc give back what it keeps for a kernel thread that is gone.
pub fn pthread_join(thread: libc::pthread_t) {
    join_real(thread);
}

real! {
    fn pthread_create(thread: *mut libc::pthread_t, attr: *const libc::pthread_attr_t, start: Start, arg: *mut c_void) -> c_int;
}
