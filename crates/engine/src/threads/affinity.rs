// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs a thread may run on.
use crate::engine::{active, launch, sim};
use crate::process_id;
use crate::real::real;
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::sched;
use crate::stand_in::{as_errno, stand_ins};
use crate::state::scheduler::running_fiber;
use crate::threads::cpus;
use alloc::vec::Vec;
use core::ffi::c_int;

/// A thread's own number, as `gettid` says it: the process's for the first, as on Linux. All threads run
/// on one kernel thread, whose number they would otherwise share.
pub fn number(fiber: usize) -> libc::pid_t {
    process_id::OWN + fiber as libc::pid_t
}

/// The running thread's.
pub fn own_number() -> libc::pid_t {
    number(running_fiber())
}

/// The fiber of a thread number, 0 for the caller's.
pub fn numbered(thread: libc::pid_t) -> Option<usize> {
    if thread == 0 {
        return Some(running_fiber());
    }
    let fiber = usize::try_from(thread - number(0)).ok()?;
    (fiber < FIBERS.len()).then_some(fiber)
}

/// The simulated CPUs among those in a set of `bytes` bytes; `None` if there are none.
fn words(set: *const u8, bytes: usize) -> Option<Vec<u64>> {
    let count = launch().cpus as usize;
    let mut words = alloc::vec![0u64; count.div_ceil(64)];
    for cpu in 0..count.min(bytes * 8) {
        // SAFETY: within the caller's set.
        if unsafe { *set.add(cpu / 8) } >> (cpu % 8) & 1 != 0 {
            words[cpu / 64] |= 1 << (cpu % 64);
        }
    }
    words.iter().any(|w| *w != 0).then_some(words)
}

fn set(fiber: usize, bytes: usize, from: *const u8) -> c_int {
    let Some(words) = words(from, bytes) else { return libc::EINVAL };
    sched::enter_kernel();
    sim(|sim| sim.threads[fiber].affinity = words);
    sched::obey_affinity(fiber);
    0
}

fn get(fiber: usize, bytes: usize, into: *mut u8) -> c_int {
    let count = launch().cpus as usize;
    if bytes * 8 < count || !bytes.is_multiple_of(8) {
        return libc::EINVAL;
    }
    sched::enter_kernel();
    crate::bytes::fill(into as u64, 0, bytes as u64);
    for cpu in (0..count).filter(|cpu| FIBERS[fiber].may_run_on(*cpu)) {
        // SAFETY: within the caller's set.
        unsafe { *into.add(cpu / 8) |= 1 << (cpu % 8) };
    }
    0
}

/// What a new thread with this attribute object may run on: the set in it, or its creator's. `Err` if
/// the machine has none of the set's CPUs.
pub fn of_new(attr: *const libc::pthread_attr_t) -> Result<Vec<u64>, c_int> {
    unsafe extern "C" {
        fn pthread_attr_getaffinity_np(attr: *const libc::pthread_attr_t, bytes: usize, set: *mut u8) -> c_int;
    }
    let mut set = [0xffu8; 1024];
    // SAFETY: the program's attribute object; the set is as long as is said. All ones: none was set.
    let found = !attr.is_null() && unsafe { pthread_attr_getaffinity_np(attr, set.len(), set.as_mut_ptr()) } == 0;
    if !found || set.iter().all(|byte| *byte == 0xff) {
        return Ok(sim(|sim| sim.threads[running_fiber()].affinity.clone()));
    }
    words(set.as_ptr(), set.len()).ok_or(libc::EINVAL)
}

/// Before the run begins: the first CPUs, as many as there will be. Returns the error.
fn get_all(count: u32, bytes: usize, into: *mut u8) -> c_int {
    let count = count as usize;
    if bytes * 8 < count || !bytes.is_multiple_of(8) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's set.
    let set = unsafe { core::slice::from_raw_parts_mut(into, bytes) };
    set.fill(0);
    (0..count).for_each(|cpu| set[cpu / 8] |= 1 << (cpu % 8));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn sched_getaffinity(thread: libc::pid_t, bytes: usize, into: *mut u8) -> c_int {
    real! { fn sched_getaffinity(thread: libc::pid_t, bytes: usize, into: *mut u8) -> c_int; }
    match cpus::count() {
        None => sched_getaffinity(thread, bytes, into),
        Some(_) if active() => as_errno(numbered(thread).map_or(libc::ESRCH, |fiber| get(fiber, bytes, into))),
        Some(count) => as_errno(get_all(count, bytes, into)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_getaffinity_np(thread: libc::pthread_t, bytes: usize, into: *mut u8) -> c_int {
    real! { fn pthread_getaffinity_np(thread: libc::pthread_t, bytes: usize, into: *mut u8) -> c_int; }
    match cpus::count() {
        None => pthread_getaffinity_np(thread, bytes, into),
        Some(_) if active() => {
            crate::scheduling::lookup::find(thread).map_or(libc::ESRCH, |fiber| get(fiber, bytes, into))
        }
        Some(count) => get_all(count, bytes, into),
    }
}

stand_ins! {
    fn sched_setaffinity(thread: libc::pid_t, bytes: usize, from: *const u8) -> c_int => {
        own(process_id::to_kernel(thread), bytes, from)
    } {
        as_errno(numbered(thread).map_or(libc::ESRCH, |fiber| set(fiber, bytes, from)))
    }

    fn pthread_setaffinity_np(thread: libc::pthread_t, bytes: usize, from: *const u8) -> c_int {
        crate::scheduling::lookup::find(thread).map_or(libc::ESRCH, |fiber| set(fiber, bytes, from))
    }
}
