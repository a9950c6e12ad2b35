// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling policies, priorities and nice values: stored and returned, without effect, which a note says.
//!
//! The kernel's own calls would change the one thread that runs all of ours, or be refused, as the host's
//! rights have it.
use crate::engine::note;
use crate::process_id;
use crate::scheduling::fiber::{FIBERS, State, current};
use crate::scheduling::sched;
use crate::stand_in::{as_errno, failed, stand_ins_at};
use crate::state::pthread::Priority;
use crate::sys;
use crate::threads::affinity;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ops::RangeInclusive;

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
    let inherited = Priority { explicit: 0, ..current().thread.priority.get() };
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
    Priority { policy, value: param.sched_priority, explicit, ..inherited }
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

/// The threads that the arguments of `setpriority` name; those of other processes are none of ours: `None`.
fn niced(which: u32, who: libc::id_t) -> Option<Vec<usize>> {
    let all = || (0..FIBERS.len()).collect();
    // SAFETY: no arguments.
    let (group, user) = unsafe { (libc::getpgrp() as libc::id_t, libc::getuid()) };
    match which {
        libc::PRIO_PROCESS => {
            let is_there = |fiber: &usize| FIBERS[*fiber].state.get() != State::Finished;
            affinity::numbered(who as libc::pid_t).filter(is_there).map(|fiber| alloc::vec![fiber])
        }
        libc::PRIO_PGRP if who == 0 || who == group => Some(all()),
        libc::PRIO_USER if who == 0 || who == user => Some(all()),
        _ => None,
    }
}

/// As `getpriority` returns it, or its error: of several threads, what the most favoured has.
pub fn nice_of(which: u32, who: libc::id_t) -> Result<c_int, c_int> {
    sched::enter_kernel();
    match niced(which, who) {
        Some(threads) => Ok(threads.iter().map(|fiber| FIBERS[*fiber].thread.priority.get().nice).min().unwrap_or(0)),
        None => others_nice(which, who),
    }
}

/// Of another process, as the kernel has it.
fn others_nice(which: u32, who: libc::id_t) -> Result<c_int, c_int> {
    const KERNELS: i64 = 20;
    let kernels = process_id::to_kernel(who as libc::pid_t);
    // SAFETY: reads a priority.
    match unsafe { sys::syscall!(libc::SYS_getpriority, which, kernels; 0, 0, 0, 0) } {
        error if error < 0 => Err(-error as c_int),
        nice => Ok((KERNELS - nice) as c_int),
    }
}

/// Returns the error. Other processes keep theirs.
fn set_nice(which: u32, who: libc::id_t, value: c_int, pc: u64) -> c_int {
    sched::enter_kernel();
    let Some(threads) = niced(which, who) else { return others_nice(which, who).err().unwrap_or(0) };
    note("scheduling policies and priorities have no effect in the simulation", pc);
    let value = value.clamp(*NICE.start(), *NICE.end());
    for fiber in threads {
        FIBERS[fiber].thread.priority.update(|priority| Priority { nice: value, ..priority });
    }
    0
}

const NICE: RangeInclusive<c_int> = -20..=19;

fn set(fiber: Option<usize>, policy: Option<c_int>, value: c_int, pc: u64) -> c_int {
    let Some(fiber) = fiber else { return libc::ESRCH };
    let policy = policy.unwrap_or(FIBERS[fiber].thread.priority.get().policy);
    if !is_valid(policy, value) {
        return libc::EINVAL;
    }
    sched::enter_kernel();
    say(policy, pc);
    FIBERS[fiber].thread.priority.update(|priority| Priority { policy, value, ..priority });
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
    let priority = FIBERS[fiber].thread.priority.get();
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
        let value = current().thread.priority.get().nice.saturating_add(by);
        set_nice(libc::PRIO_PROCESS, 0, value, pc);
        current().thread.priority.get().nice
    }

    "rcx" fn setpriority(which: u32, who: libc::id_t, value: c_int; pc) -> c_int {
        as_errno(set_nice(which, who, value, pc))
    }

    "rdx" fn getpriority(which: u32, who: libc::id_t; pc) -> c_int => {
        own(which, process_id::to_kernel(who as libc::pid_t) as libc::id_t)
    } {
        let _ = pc;
        nice_of(which, who).unwrap_or_else(failed)
    }
}
