// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling policies and priorities: stored and returned, without effect, which a note says.
//!
//! The kernel's own calls would change the one thread that runs all of ours, or be refused, as the host's
//! rights have it.
use crate::engine::note;
use crate::process_id;
use crate::scheduling::fiber::current;
use crate::scheduling::fiber::fibers;
use crate::scheduling::sched;
use crate::stand_in::{as_errno, failed, stand_ins_at};
use crate::state::pthread::Priority;
use crate::threads::affinity;
use core::ffi::c_int;

const OTHER: c_int = libc::SCHED_OTHER;
const HIGHEST: c_int = 99;

type Attr = libc::pthread_attr_t;
type Param = libc::sched_param;

/// The attribute's own policy and priority, or the creator's.
pub fn of_new(attr: *const Attr, pc: u64) -> Priority {
    unsafe extern "C" {
        fn pthread_attr_getinheritsched(attr: *const Attr, inherit: *mut c_int) -> c_int;
        fn pthread_attr_getschedpolicy(attr: *const Attr, policy: *mut c_int) -> c_int;
        fn pthread_attr_getschedparam(attr: *const Attr, param: *mut Param) -> c_int;
    }
    let inherited = Priority { explicit: 0, ..current().thread.priority };
    if attr.is_null() {
        return inherited;
    }
    let (mut explicit, mut policy, mut param) = (0, 0, Param { sched_priority: 0 });
    // SAFETY: the program's attribute object.
    unsafe {
        pthread_attr_getinheritsched(attr, &mut explicit);
        pthread_attr_getschedpolicy(attr, &mut policy);
        pthread_attr_getschedparam(attr, &mut param);
    }
    if explicit != libc::PTHREAD_EXPLICIT_SCHED {
        return inherited;
    }
    say(policy, pc);
    Priority { policy, value: param.sched_priority, explicit }
}

fn say(policy: c_int, pc: u64) {
    if policy != OTHER {
        note("scheduling policies and priorities have no effect in the simulation", pc);
    }
}

/// Is it a pair that Linux takes?
fn is_valid(policy: c_int, value: c_int) -> bool {
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO | libc::SCHED_RR => (1..=HIGHEST).contains(&value),
        OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => value == 0,
        _ => false,
    }
}

fn set(fiber: Option<usize>, policy: Option<c_int>, value: c_int, pc: u64) -> c_int {
    let Some(fiber) = fiber else { return libc::ESRCH };
    let policy = policy.unwrap_or(fibers()[fiber].thread.priority.policy);
    if !is_valid(policy, value) {
        return libc::EINVAL;
    }
    sched::enter_kernel();
    say(policy, pc);
    let priority = &mut fibers()[fiber].thread.priority;
    (priority.policy, priority.value) = (policy, value);
    0
}

/// The priority that the caller's variable holds.
fn wanted(param: *const Param) -> c_int {
    // SAFETY: the caller's variable.
    unsafe { (*param).sched_priority }
}

fn give(fiber: Option<usize>, policy: Option<*mut c_int>, param: Option<*mut Param>) -> c_int {
    let Some(fiber) = fiber else { return libc::ESRCH };
    sched::enter_kernel();
    let priority = fibers()[fiber].thread.priority;
    // SAFETY: the caller's variables.
    unsafe {
        if let Some(into) = policy {
            *into = priority.policy;
        }
        if let Some(into) = param {
            (*into).sched_priority = priority.value;
        }
    }
    0
}

stand_ins_at! {
    "rcx" fn pthread_setschedparam(thread: libc::pthread_t, policy: c_int, param: *const Param; pc) -> c_int {
        set(crate::scheduling::lookup::find(thread), Some(policy), wanted(param), pc)
    }

    "rdx" fn pthread_setschedprio(thread: libc::pthread_t, value: c_int; pc) -> c_int {
        set(crate::scheduling::lookup::find(thread), None, value, pc)
    }

    "rcx" fn pthread_getschedparam(thread: libc::pthread_t, policy: *mut c_int, param: *mut Param; pc) -> c_int {
        let _ = pc;
        give(crate::scheduling::lookup::find(thread), Some(policy), Some(param))
    }

    "rcx" fn sched_setscheduler(number: libc::pid_t, policy: c_int, param: *const Param; pc) -> c_int => {
        own(process_id::to_kernel(number), policy, param)
    } {
        as_errno(set(affinity::numbered(number), Some(policy), wanted(param), pc))
    }

    "rdx" fn sched_setparam(number: libc::pid_t, param: *const Param; pc) -> c_int => {
        own(process_id::to_kernel(number), param)
    } {
        as_errno(set(affinity::numbered(number), None, wanted(param), pc))
    }

    "rsi" fn sched_getscheduler(number: libc::pid_t; pc) -> c_int => {
        own(process_id::to_kernel(number))
    } {
        let _ = pc;
        let mut policy = 0;
        match give(affinity::numbered(number), Some(&mut policy), None) {
            0 => policy,
            error => failed(error),
        }
    }

    "rdx" fn sched_getparam(number: libc::pid_t, param: *mut Param; pc) -> c_int => {
        own(process_id::to_kernel(number), param)
    } {
        let _ = pc;
        if param.is_null() {
            return as_errno(libc::EINVAL);
        }
        as_errno(give(affinity::numbered(number), None, Some(param)))
    }

    // The one thread that runs all of ours would become slower by these two.
    "rsi" fn nice(by: c_int; pc) -> c_int {
        let _ = by;
        note("scheduling policies and priorities have no effect in the simulation", pc);
        0
    }

    "rcx" fn setpriority(which: u32, who: u32, value: c_int; pc) -> c_int {
        let _ = (which, who, value);
        note("scheduling policies and priorities have no effect in the simulation", pc);
        0
    }
}
