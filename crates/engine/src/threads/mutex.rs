// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread mutexes, with glibc's layout and its way of locking: a word that is 0 when free, 1 when held
//! and 2 when held with threads waiting for it.
use crate::account::locks;
use crate::engine::now;
use crate::entry::Call;
use crate::hooks::access::range_update;
use crate::scheduling::fiber::current;
use crate::stand_in::calls;
use crate::threads::deadline::{self, Deadline};
use crate::threads::futex::Waited;
use crate::threads::mutex_kind::{self, KIND, Kind, OWNER, kind_of};
use crate::threads::object::{Object, Path, me};
use crate::threads::robust;
use alloc::vec::Vec;
use core::ffi::c_int;
use corefold_recording::LockKind;

const WORD: u64 = 0;
const COUNT: u64 = 4;

/// Threads that use the mutex; written with the owner, as lies beside it.
const USERS: u64 = 12;
const SPINS: u64 = 20;
const BYTES: u64 = 40;

/// The uncontended paths through the functions, in glibc 2.36.
const LOCK: Path = &[31];
const LOCK_ALONE: Path = &[17, 5, 10];
/// More for a recursive, error-checking or adaptive one.
const LOCK_BY_KIND: Path = &[9, 9];
const TRY_LOCK: Path = &[14, 6, 20];
const UNLOCK: Path = &[2, 17, 7];
const UNLOCK_ALONE: Path = &[2, 21];

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

/// Pauses of an adaptive mutex before it blocks, and between two attempts, at most.
const MOST_SPINS: u32 = 100;
const LONGEST_PAUSE: u32 = 16;

calls! {
    fn pthread_mutex_lock(mutex: u64; call) -> c_int { lock(Object::called(mutex, call), Deadline::Never) }
    fn pthread_mutex_timedlock(mutex: u64, until: *const libc::timespec; call) -> c_int {
        lock(Object::called(mutex, call), Deadline::At(libc::CLOCK_REALTIME, until))
    }
    fn pthread_mutex_clocklock(mutex: u64, clock: c_int, until: *const libc::timespec; call) -> c_int {
        match deadline::is_clock(clock) {
            true => lock(Object::called(mutex, call), Deadline::At(clock, until)),
            false => libc::EINVAL,
        }
    }
    fn pthread_mutex_trylock(mutex: u64; call) -> c_int { try_lock(Object::called(mutex, call)) }
    fn pthread_mutex_unlock(mutex: u64; call) -> c_int { unlock(Object::called(mutex, call)) }
    fn pthread_mutex_init(mutex: u64, attr: *const libc::pthread_mutexattr_t; call) -> c_int {
        init_by(Object::called(mutex, call), attr)
    }
    fn pthread_mutex_destroy(mutex: u64; call) -> c_int { destroy(Object::called(mutex, call)) }
    fn pthread_mutex_consistent(mutex: u64; call) -> c_int { robust::make_consistent(Object::called(mutex, call)) }
}

/// Takes the mutex, or gives up at the deadline.
pub fn lock(mutex: Object, until: Deadline) -> c_int {
    let kind = Kind::of(mutex);
    let alone = kind.needs_no_atomics() && !kind.is_adaptive();
    mutex.goes(if alone { LOCK_ALONE } else { LOCK });
    if kind.0 & 3 != 0 {
        mutex.goes(LOCK_BY_KIND);
    }
    if let Some(result) = lock_again(mutex, kind) {
        return if result == libc::EBUSY { libc::EDEADLK } else { result };
    }
    let begin = now();
    let free = if alone { take_alone(mutex) } else { take_if_free(mutex) };
    if !free {
        let taken = (kind.is_adaptive() && spin(mutex)).then_some(0);
        let code = taken.unwrap_or_else(|| wait(mutex, until));
        if code == libc::ETIMEDOUT {
            mutex.gave_up(LockKind::Mutex, begin);
        }
        if code != 0 {
            return code;
        }
    }
    taken(mutex, kind, (!free).then_some(begin))
}

pub fn try_lock(mutex: Object) -> c_int {
    let kind = Kind::of(mutex);
    mutex.goes(TRY_LOCK);
    if let Some(result) = lock_again(mutex, kind) {
        return result;
    }
    if mutex.read(WORD) == FREE && take_if_free(mutex) { taken(mutex, kind, None) } else { libc::EBUSY }
}

/// Where the mutex records its owner: the result of a second lock by the running thread.
fn lock_again(mutex: Object, kind: Kind) -> Option<c_int> {
    if !(kind.is_recursive() || kind.is_error_checking()) || mutex.read(OWNER) & !robust::INCONSISTENT != me() {
        return None;
    }
    if kind.is_error_checking() {
        return Some(libc::EBUSY);
    }
    let Some(count) = mutex.read(COUNT).checked_add(1) else { return Some(libc::EAGAIN) };
    mutex.write(COUNT, count);
    Some(0)
}

fn take_if_free(mutex: Object) -> bool {
    mutex.update(WORD, |old| (old == FREE).then_some(HELD)) == FREE
}

/// The same, where nobody could come between.
fn take_alone(mutex: Object) -> bool {
    let free = mutex.read(WORD) == FREE;
    if free {
        mutex.write(WORD, HELD);
    }
    free || take_if_free(mutex)
}

/// Tries for a while, as adaptive mutexes do, with longer and longer pauses; they learn how long it pays.
fn spin(mutex: Object) -> bool {
    let learnt = mutex.read(SPINS) as i16;
    let most = MOST_SPINS.min(u32::from(learnt.max(0) as u16) * 2 + 10);
    let jitter = now() as u32;
    let (mut pauses, mut longest) = (0, 1);
    let mut taken = false;
    while !taken {
        let next = longest + (jitter & (longest - 1));
        pauses += next;
        if pauses >= most {
            break;
        }
        (0..next).for_each(|_| mutex.pause());
        longest = LONGEST_PAUSE.min(2 * longest);
        taken = mutex.load(WORD) == FREE && take_if_free(mutex);
    }
    taken = taken || take_if_free(mutex);
    let learnt = learnt.wrapping_add((pauses as i16 - learnt) / 8);
    let other_half = mutex.peek(SPINS) & 0xffff_0000;
    mutex.write(SPINS, other_half | u32::from(learnt as u16));
    taken
}

/// Blocks until the mutex is the running thread's.
fn wait(mutex: Object, until: Deadline) -> c_int {
    while mutex.load(WORD) == WAITED_FOR || mutex.update(WORD, |_| Some(WAITED_FOR)) != FREE {
        let deadline = match until.ticks() {
            Ok(deadline) => deadline,
            Err(code) => return code,
        };
        if mutex.wait(WORD, WAITED_FOR, deadline) == Waited::TimedOut {
            return libc::ETIMEDOUT;
        }
    }
    0
}

/// The running thread has just got the mutex.
fn taken(mutex: Object, kind: Kind, since: Option<corefold_model::Ticks>) -> c_int {
    let code = if kind.is_robust() { robust::taken(mutex) } else { 0 };
    if code == libc::ENOTRECOVERABLE {
        release(mutex);
        return code;
    }
    if code == 0 {
        note_owner(mutex, me(), 1);
    }
    if kind.is_recursive() {
        mutex.write(COUNT, 1);
    }
    mutex.acquired(LockKind::Mutex, since);
    code
}

/// The owner's field and the users' are looked at and written together.
fn note_owner(mutex: Object, owner: u32, users: u32) {
    range_update(mutex.address + OWNER, mutex.call.pc, USERS + 4 - OWNER);
    mutex.poke(OWNER, owner);
    mutex.poke(USERS, mutex.peek(USERS).wrapping_add(users));
}

pub fn unlock(mutex: Object) -> c_int {
    let kind = Kind::of(mutex);
    let alone = kind.needs_no_atomics();
    mutex.goes(if alone { UNLOCK_ALONE } else { UNLOCK });
    if kind.knows_owner() && mutex.read(OWNER) & !robust::INCONSISTENT != me() {
        return libc::EPERM;
    }
    if kind.is_recursive() {
        let count = mutex.read(COUNT).saturating_sub(1);
        mutex.write(COUNT, count);
        if count > 0 {
            return 0;
        }
    }
    note_owner(mutex, if kind.is_robust() { robust::owner_after(mutex) } else { 0 }, u32::MAX);
    if alone {
        mutex.write(WORD, FREE);
        locks::released(mutex.address);
    } else {
        release(mutex);
    }
    0
}

/// Releases the mutex and wakes one waiter. It is held until the update takes effect, which
/// waits for the outstanding accesses of the critical section.
pub fn release(mutex: Object) {
    let old = mutex.update(WORD, |_| Some(FREE));
    locks::released(mutex.address);
    if old == WAITED_FOR {
        mutex.wake(WORD, 1);
    }
}

pub fn init(mutex: Object, kind: u32) -> c_int {
    mutex.clear(BYTES);
    locks::forgotten(mutex.address);
    mutex.write(KIND, kind);
    0
}

fn init_by(mutex: Object, attr: *const libc::pthread_mutexattr_t) -> c_int {
    if attr.is_null() {
        return init(mutex, 0);
    }
    let (protocol, ceiling) = mutex_kind::asked(attr, mutex.call.pc);
    init(mutex, kind_of(attr) | protocol);
    mutex_kind::keep_ceiling(mutex, ceiling);
    0
}

pub fn destroy(mutex: Object) -> c_int {
    if mutex.read(WORD) != FREE {
        return libc::EBUSY;
    }
    locks::forgotten(mutex.address);
    0
}

/// The running thread ends: lets go of the robust mutexes that it still holds, as the kernel does.
pub fn thread_ends() {
    while let Some(address) = current().thread.robust.with(Vec::pop) {
        let mutex = Object { address, call: Call { name: "the end of a thread", pc: current().thread.end() } };
        mutex.poke(OWNER, robust::ENDED);
        release(mutex);
    }
}
