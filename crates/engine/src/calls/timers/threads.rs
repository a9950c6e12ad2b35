// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers that call a function in a new thread (SIGEV_THREAD). As in glibc a thread that the program does
//! not know of waits for them, and makes a thread each time one fires.
use crate::carrier::Carrier;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::fiber::{State, Wait};
use crate::scheduling::{placing, sched};
use crate::threads::thread;
use crate::threads::timers::Notice;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ffi::c_void;
use corefold_model::Ticks;

struct Helper {
    fiber: Option<usize>,
    waiting: VecDeque<Notice>,
}

static HELPER: Carrier<Helper> = Carrier::new(Helper { fiber: None, waiting: VecDeque::new() });

/// Makes the helper, if there is none. It blocks every signal.
pub fn begin() {
    if HELPER.with(|helper| helper.fiber.is_some()) {
        return;
    }
    let mask = current().signals.mask.replace(u64::MAX);
    let mut handle = 0;
    HELPER.with(|helper| helper.fiber = Some(FIBERS.len()));
    thread::begin(&mut handle, core::ptr::null(), (help, core::ptr::null_mut()), 0);
    current().signals.mask.set(mask);
}

extern "C" fn help(_: *mut c_void) -> *mut c_void {
    loop {
        while let Some(notice) = HELPER.with(|helper| helper.waiting.pop_front()) {
            start(notice);
        }
        sched::block(Wait::Signal { call: "a timer's thread" });
    }
}

/// One thread, detached, that calls the function.
fn start(notice: Notice) {
    let mut handle = 0;
    let argument = Box::into_raw(Box::new(notice)).cast();
    current().signals.mask.set(0);
    if thread::begin(&mut handle, notice.attributes as *const _, (call, argument), 0) == 0 {
        thread::pthread_detach(handle);
    }
    current().signals.mask.set(u64::MAX);
}

extern "C" fn call(notice: *mut c_void) -> *mut c_void {
    // SAFETY: made by `start` for this thread.
    let notice = unsafe { *Box::from_raw(notice.cast::<Notice>()) };
    // SAFETY: the program's function, of the type that `sigev_notify_function` has.
    let function: extern "C-unwind" fn(u64) = unsafe { core::mem::transmute(notice.function as usize) };
    function(notice.value);
    core::ptr::null_mut()
}

/// A timer has fired so many times.
pub fn notify(notice: Notice, times: u64, time: Ticks) {
    let fiber = HELPER.with(|helper| {
        (0..times).for_each(|_| helper.waiting.push_back(notice));
        helper.fiber
    });
    if let Some(fiber) = fiber
        && FIBERS.get(fiber).is_some_and(|f| f.state.get() == State::Blocked)
    {
        placing::wake(fiber, time);
    }
}
