// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an attribute object asks of a new thread, and the attributes that a thread has.
use crate::account::sample;
use crate::counts::samples::What;
use crate::engine::launch;
use crate::mappings::mapping;
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::lookup::{find, main_stack};
use crate::scheduling::sched;
use crate::stacks::{LARGEST_STACK, STACK};
use crate::stand_in::{calls, stand_ins};
use crate::state::pthread::Stack;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

type Attr = libc::pthread_attr_t;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const Attr, state: *mut c_int) -> c_int;
    fn pthread_attr_getstackaddr(attr: *const Attr, end: *mut *mut c_void) -> c_int;
    fn pthread_attr_setaffinity_np(attr: *mut Attr, bytes: usize, set: *const u64) -> c_int;
    fn pthread_attr_setinheritsched(attr: *mut Attr, inherit: c_int) -> c_int;
    fn pthread_attr_setschedpolicy(attr: *mut Attr, policy: c_int) -> c_int;
    fn pthread_attr_setschedparam(attr: *mut Attr, param: *const libc::sched_param) -> c_int;
    fn pthread_getattr_default_np(attr: *mut Attr) -> c_int;
}

/// Has the program changed the defaults? They come from the host's limits otherwise.
static OWN_DEFAULTS: AtomicBool = AtomicBool::new(false);

/// The stack of a new thread whose slot ends at `end`; `None` if there is no memory for it.
pub fn stack_of_new(attr: *const Attr, end: u64) -> Option<Stack> {
    if attr.is_null() {
        if !OWN_DEFAULTS.load(Ordering::Relaxed) {
            return of_size(end, STACK.max(least_default()), GUARD);
        }
        return with_defaults(|attr| stack_of_new(attr, end));
    }
    let (mut bytes, mut guard, mut user_end) = (0usize, 0usize, core::ptr::null_mut());
    // SAFETY: an attribute object of the program's.
    unsafe {
        libc::pthread_attr_getstacksize(attr, &mut bytes);
        libc::pthread_attr_getguardsize(attr, &mut guard);
        pthread_attr_getstackaddr(attr, &mut user_end);
    }
    let (bytes, guard) = ((bytes as u64).next_multiple_of(4096), guard as u64);
    if !user_end.is_null() {
        return Some(Stack { begin: user_end as u64 - bytes, bytes, guard: 0, mapped: false });
    }
    of_size(end, bytes, guard)
}

fn of_size(end: u64, bytes: u64, guard: u64) -> Option<Stack> {
    if bytes <= LARGEST_STACK { Some(in_slot(end, bytes.max(LEAST), guard)) } else { map(bytes, guard) }
}

const GUARD: u64 = 4096;

/// Below this, no stack of the default size is made: thread-local storage lies on it, too, and glibc raises its default
/// where that takes more.
fn least_default() -> u64 {
    type Least = extern "C" fn(*const Attr) -> usize;
    // SAFETY: a terminated string; glibc has had the function since 2.15, for the few that need it.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
    if found.is_null() {
        return 0;
    }
    // SAFETY: the function's type.
    let least = unsafe { core::mem::transmute::<*mut c_void, Least>(found) };
    let attr = MaybeUninit::<Attr>::zeroed();
    (least(attr.as_ptr()) as u64).next_multiple_of(4096) + LEAST
}

/// Our own work on the thread's stack needs some of it too.
const LEAST: u64 = 64 << 10;

fn in_slot(end: u64, bytes: u64, guard: u64) -> Stack {
    Stack { begin: end - bytes, bytes, guard, mapped: false }
}

fn map(bytes: u64, guard: u64) -> Option<Stack> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    let all = (bytes + guard).next_multiple_of(4096) as usize;
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(core::ptr::null_mut(), all, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: its lowest pages.
    unsafe { libc::mprotect(at, guard as usize, libc::PROT_NONE) };
    let begin = at as u64 + all as u64 - bytes;
    Some(Stack { begin, bytes, guard, mapped: true })
}

/// The thread is gone, and nobody asks for it any more: so is a stack that was mapped for it alone.
pub fn give_back(stack: &Stack) {
    if stack.mapped {
        let all = (stack.bytes + stack.guard).next_multiple_of(4096);
        mapping::unmap(stack.begin + stack.bytes - all, all);
    }
}

fn with_defaults<T>(use_it: impl FnOnce(*const Attr) -> T) -> T {
    let mut attr = MaybeUninit::<Attr>::uninit();
    // SAFETY: libc fills the object, and it is not used after its end.
    unsafe {
        pthread_getattr_default_np(attr.as_mut_ptr());
        let result = use_it(attr.as_ptr());
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        result
    }
}

pub fn is_detached(attr: *const Attr) -> bool {
    if attr.is_null() {
        return OWN_DEFAULTS.load(Ordering::Relaxed) && with_defaults(is_detached);
    }
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    // SAFETY: an attribute object of the program's.
    unsafe { pthread_attr_getdetachstate(attr, &mut state) == 0 && state == libc::PTHREAD_CREATE_DETACHED }
}

/// Fills `attr` with what the thread has.
fn describe(fiber: usize, attr: *mut Attr) -> c_int {
    let thread = &FIBERS[fiber].thread;
    let stack = if fiber == 0 { main_stack() } else { thread.stack.get() };
    let state = if thread.detached.get() { libc::PTHREAD_CREATE_DETACHED } else { libc::PTHREAD_CREATE_JOINABLE };
    let priority = &thread.priority.get();
    let param = libc::sched_param { sched_priority: priority.value };
    // SAFETY: the caller's object, initialised first.
    unsafe {
        libc::pthread_attr_init(attr);
        libc::pthread_attr_setstack(attr, stack.begin as *mut c_void, stack.bytes as usize);
        libc::pthread_attr_setguardsize(attr, stack.guard as usize);
        libc::pthread_attr_setdetachstate(attr, state);
        pthread_attr_setinheritsched(attr, priority.explicit);
        pthread_attr_setschedpolicy(attr, priority.policy);
        pthread_attr_setschedparam(attr, &param);
    }
    let count = launch().cpus as usize;
    let mut cpus = alloc::vec![0u64; count.div_ceil(64)];
    for cpu in (0..count).filter(|cpu| FIBERS[fiber].may_run_on(*cpu)) {
        cpus[cpu / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: as above; the set is as long as is said.
    unsafe { pthread_attr_setaffinity_np(attr, cpus.len() * 8, cpus.as_ptr()) }
}

calls! {
    fn pthread_getattr_np(thread: libc::pthread_t, attr: *mut Attr; call) -> c_int {
        let Some(fiber) = find(thread) else { return libc::ESRCH };
        sched::enter_kernel();
        // What is due now is not of libc's own allocation, which comes next.
        sample::take_due(call.pc, What::Compute);
        describe(fiber, attr)
    }
}

stand_ins! {
    fn pthread_setattr_default_np(attr: *const Attr) -> c_int {
        OWN_DEFAULTS.store(true, Ordering::Relaxed);
        own(attr)
    }
}
