// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that block on what the kernel says no readiness of, file locks and System V's messages and
//! semaphores: they are made without blocking, now and then, until they succeed.
use super::descriptors;
use super::waiting::{TRY_AGAIN_NS, changed};
use crate::calls::sleep;
use crate::engine::now;
use crate::process_id::{self, of_either};
use crate::scheduling::fiber::Wait;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::{peek, sched, timers};
use crate::stand_in::{result, stand_ins_at};
use crate::state::scheduler::running_fiber;
use crate::sys;
use crate::threads::clock;
use crate::threads::processes;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use corefold_model::Ticks;

/// How long a call is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    Once,
    Until(Ticks),
    Forever,
}

fn tries(waits: bool) -> Tries {
    if waits { Tries::Forever } else { Tries::Once }
}

/// What a call waits for.
#[derive(Clone, Copy)]
pub struct Object {
    call: &'static str,
    id: c_int,
    /// Where the program calls it.
    pc: u64,
    /// Whether nobody outside of the program can end the wait, as far as can be told.
    is_own: fn(c_int) -> bool,
    /// The call goes on after a handler with `SA_RESTART`: signal(7).
    restarts: bool,
}

impl Object {
    fn lock(call: &'static str, fd: c_int, pc: u64) -> Object {
        // Another process may have opened the file.
        Object { call, id: fd, pc, is_own: |_| false, restarts: true }
    }

    /// A server that has more connections to accept than it has room for.
    pub fn backlog(call: &'static str, fd: c_int, pc: u64, restarts: bool) -> Object {
        Object { call, id: fd, pc, is_own: |_| false, restarts }
    }

    fn messages(call: &'static str, id: c_int, pc: u64) -> Object {
        let is_own = |id| is_private(libc::SYS_msgctl, &[id as u64, libc::IPC_STAT as u64]);
        Object { call, id, pc, is_own, restarts: false }
    }

    fn semaphores(call: &'static str, id: c_int, pc: u64) -> Object {
        let is_own = |id| is_private(libc::SYS_semctl, &[id as u64, 0, libc::IPC_STAT as u64]);
        Object { call, id, pc, is_own, restarts: false }
    }
}

/// Has the object no key by which others find it?
fn is_private(call: c_long, arguments: &[u64]) -> bool {
    const LARGEST: usize = 32;
    let mut status = [0u64; LARGEST];
    let mut all = [0; 4];
    all[..arguments.len()].copy_from_slice(arguments);
    all[arguments.len()] = status.as_mut_ptr() as u64;
    // SAFETY: the kernel fills in a structure that has room; the key is its first word.
    let code = unsafe { sys::syscall6(call, all[0], all[1], all[2], all[3], 0, 0) };
    code == 0 && status[0] as u32 == libc::IPC_PRIVATE as u32
}

/// Tries in a row that failed while every other thread of the program waited too.
static TRIES: AtomicUsize = AtomicUsize::new(0);

/// A try failed. Where all threads wait, and none of them gives up, only other processes can change that: whether they
/// cannot, as far as can be told. If they can, they get real time.
fn nothing_can_end(object: Object) -> bool {
    const A_MILLISECOND: c_int = 1;
    let for_ever = |fiber: usize| matches!(FIBERS[fiber].wait.get(), Wait::Retry { gives_up: false, .. });
    if !sched::all_wait_but(for_ever) || super::waiting::awaits_world() {
        TRIES.store(0, Ordering::Relaxed);
        return false;
    }
    let in_a_row = TRIES.load(Ordering::Relaxed) + 1;
    TRIES.store(if (object.is_own)(object.id) { in_a_row } else { 0 }, Ordering::Relaxed);
    // Each thread that tries has done so.
    if in_a_row > FIBERS.len() {
        return true;
    }
    sys::poll(&mut [], A_MILLISECOND);
    false
}

/// When a call that gives up at `limit` is tried again: soon, or then, if until then nobody can do anything about it.
fn next_try(object: Object, limit: Ticks) -> Ticks {
    let is_last = sched::all_wait_but(|_| false) && !super::waiting::awaits_world() && (object.is_own)(object.id);
    if is_last { limit } else { limit.min(now() + clock::ticks_of(TRY_AGAIN_NS)) }
}

/// Makes a call until it does not fail with `busy`, or as long as is said.
pub fn retry(tries: Tries, object: Object, busy: c_int, attempt: impl Fn() -> i64) -> i64 {
    sched::enter_kernel();
    loop {
        let code = attempt();
        let is_over = match tries {
            Tries::Once => true,
            Tries::Until(limit) => limit <= now(),
            Tries::Forever => false,
        };
        if is_over || code != -i64::from(busy) {
            TRIES.store(0, Ordering::Relaxed);
            return code;
        }
        let wait = Wait::Retry { id: object.id, call: object.call, gives_up: tries != Tries::Forever };
        current().wait.set(wait);
        current().blocked_at.set(object.pc);
        crate::ending::stop_if_asked(0);
        crate::threads::signals::take_in();
        let next = match tries {
            Tries::Until(limit) => next_try(object, limit),
            _ if nothing_can_end(object) => crate::ending::deadlock(),
            _ => now() + clock::ticks_of(TRY_AGAIN_NS),
        };
        if let Err(error) = sleep::until_next_try(next, wait, object.restarts) {
            return -i64::from(error);
        }
    }
}

/// When a call that begins now and may take so long gives up.
fn gives_up(nanoseconds: u64) -> Ticks {
    let deadline = now().saturating_add(clock::ticks_of(nanoseconds));
    if nanoseconds == 0 { deadline } else { timers::late(running_fiber(), deadline, 0) }
}

fn may_wait(operation: &libc::sembuf) -> bool {
    c_int::from(operation.sem_flg) & libc::IPC_NOWAIT == 0
}

/// The operations cannot be made now: does the call wait? The first that cannot be made says so, as on Linux.
fn waits_now(set: c_int, operations: &[libc::sembuf]) -> bool {
    let mut values: BTreeMap<u16, i64> = BTreeMap::new();
    let value_of = |number| {
        // SAFETY: reads a value.
        unsafe { sys::syscall!(libc::SYS_semctl, set, number, libc::GETVAL; 0, 0, 0) }
    };
    let mut blocks = |operation: &&libc::sembuf| {
        let (number, change) = (operation.sem_num, i64::from(operation.sem_op));
        let value = values.entry(number).or_insert_with(|| value_of(number));
        let is_busy = *value + change < 0 || change == 0 && *value != 0;
        *value += change;
        is_busy
    };
    operations.iter().all(may_wait) || operations.iter().find(|o| blocks(o)).is_none_or(may_wait)
}

/// `time`: how long it waits at most; null: for ever.
fn change_semaphores(
    set: c_int,
    operations: *const libc::sembuf,
    count: usize,
    time: *const libc::timespec,
    call: &'static str,
    pc: u64,
) -> i64 {
    let fetched = (0..count).map(|i| peek::fetch(operations.wrapping_add(i))).collect();
    let Some(wanted): Option<Vec<libc::sembuf>> = fetched else { return -i64::from(libc::EFAULT) };
    let at_once = |o: &libc::sembuf| libc::sembuf { sem_flg: o.sem_flg | libc::IPC_NOWAIT as i16, ..*o };
    let list: Vec<libc::sembuf> = wanted.iter().map(at_once).collect();
    let tries = match clock::nanoseconds_at(time) {
        _ if time.is_null() => Tries::Forever,
        Err(error) => return -i64::from(error),
        Ok(nanoseconds) => Tries::Until(gives_up(nanoseconds)),
    };
    let code = retry(tries, Object::semaphores(call, set, pc), WOULD_WAIT, || {
        // SAFETY: the program's own call, on a copy.
        match unsafe { sys::syscall!(libc::SYS_semop, set, list.as_ptr(), list.len(); 0, 0, 0) } {
            AGAIN if waits_now(set, &wanted) => -i64::from(WOULD_WAIT),
            code => code,
        }
    });
    if code == -i64::from(WOULD_WAIT) { AGAIN } else { code }
}

const AGAIN: i64 = -(libc::EAGAIN as i64);
/// No error of the kernel's.
const WOULD_WAIT: c_int = 4096;

/// With a `struct f_owner_ex`: of two words, what kind of ID, and the ID.
const F_SETOWN_EX: c_int = 15;
const F_GETOWN_EX: c_int = 16;

/// Makes a call with the kernel's IDs in place of the program's. `call` gets the argument.
fn with_ids(command: c_int, argument: u64, call: impl FnOnce(u64) -> i64) -> i64 {
    let takes_owner = command == F_SETOWN_EX && processes::are_virtual();
    let owner = if takes_owner { peek::fetch(argument as *const [i32; 2]) } else { None };
    let kernels = owner.map(|[kind, id]| [kind, processes::to_kernel(id)]);
    let code = call(match (command, &kernels) {
        (_, Some(owner)) => owner.as_ptr() as u64,
        (libc::F_SETOWN, _) => of_either(argument as i32, process_id::to_kernel) as u64,
        _ => argument,
    });
    let told_at = match command {
        libc::F_GETOWN => return of_either(code as i32, processes::seen).into(),
        F_GETOWN_EX => 4,
        libc::F_GETLK | libc::F_OFD_GETLK => core::mem::offset_of!(libc::flock, l_pid) as u64,
        _ => return code,
    };
    if code == 0 {
        processes::see((argument + told_at) as *mut i32);
    }
    code
}

/// Locks of an open file: what another thread of the program holds keeps this one waiting.
fn control(fd: c_int, command: c_int, argument: u64, pc: u64) -> c_int {
    let (attempt, waits) = match command {
        libc::F_OFD_SETLKW => (libc::F_OFD_SETLK, true),
        _ => (command, false),
    };
    let code = with_ids(command, argument, |argument| {
        retry(tries(waits), Object::lock("fcntl", fd, pc), libc::EAGAIN, || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_fcntl, fd, attempt, argument; 0, 0, 0) }
        })
    });
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        descriptors::copied(fd, code as c_int);
    }
    changed();
    result(code) as c_int
}

stand_ins_at! {
    "rdx" fn flock(fd: c_int, operation: c_int; pc) -> c_int {
        let waits = operation & libc::LOCK_NB == 0;
        result(retry(tries(waits), Object::lock("flock", fd, pc), libc::EWOULDBLOCK, || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_flock, fd, operation | libc::LOCK_NB; 0, 0, 0, 0) }
        })) as c_int
    }

    "rcx" fn fcntl(fd: c_int, command: c_int, argument: u64; pc) -> c_int => {
        with_ids(command, argument, |argument| own(fd, command, argument).into()) as c_int
    } {
        control(fd, command, argument, pc)
    }

    "rcx" fn fcntl64(fd: c_int, command: c_int, argument: u64; pc) -> c_int => {
        with_ids(command, argument, |argument| own(fd, command, argument).into()) as c_int
    } {
        control(fd, command, argument, pc)
    }

    "r8" fn msgsnd(queue: c_int, message: *const c_void, bytes: usize, flags: c_int; pc) -> c_int {
        result(retry(tries(flags & libc::IPC_NOWAIT == 0), Object::messages("msgsnd", queue, pc), libc::EAGAIN, || {
            let flags = flags | libc::IPC_NOWAIT;
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_msgsnd, queue, message, bytes, flags; 0, 0) }
        })) as c_int
    }

    "r9" fn msgrcv(queue: c_int, message: *mut c_void, bytes: usize, kind: c_long, flags: c_int; pc) -> isize {
        result(retry(tries(flags & libc::IPC_NOWAIT == 0), Object::messages("msgrcv", queue, pc), libc::ENOMSG, || {
            let flags = flags | libc::IPC_NOWAIT;
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_msgrcv, queue, message, bytes, kind, flags; 0) }
        }))
    }

    "rcx" fn semop(set: c_int, operations: *const libc::sembuf, count: usize; pc) -> c_int {
        result(change_semaphores(set, operations, count, core::ptr::null(), "semop", pc)) as c_int
    }

    "r8" fn semtimedop(
        set: c_int, operations: *const libc::sembuf, count: usize, time: *const libc::timespec; pc
    ) -> c_int {
        result(change_semaphores(set, operations, count, time, "semtimedop", pc)) as c_int
    }
}
