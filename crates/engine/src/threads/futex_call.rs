// SPDX-License-Identifier: MIT OR Apache-2.0
//! The futex system call, as programs make it themselves.
use crate::engine::{launch, note, now};
use crate::entry::Call;
use crate::hooks::atomics;
use crate::scheduling::fiber::current;
use crate::scheduling::program_memory::read_value;
use crate::threads::clock;
use crate::threads::deadline::Deadline;
use crate::threads::futex::{self, Waited};
use crate::threads::object::Object;
use core::ffi::c_int;
use corefold_launch::Parking;
use corefold_model::Ticks;
use corefold_recording::LockKind;

/// Carries the call out on its six arguments. Returns what the kernel would: errors below zero.
pub fn futex(arguments: &[u64; 6], call: Call) -> i64 {
    let [address, operation, value, fourth, second, third_value] = *arguments;
    let (value, bits) = (value as u32, third_value as u32);
    let object = Object { address, call };
    if address % 4 != 0 {
        return error(libc::EINVAL);
    }
    match operation as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT => wait(object, known_by(address), value, futex::ANY, after(fourth)),
        libc::FUTEX_WAIT_BITSET => wait(object, known_by(address), value, bits, at(operation as c_int, fourth)),
        libc::FUTEX_WAKE => futex::wake(address, or_one(value), futex::ANY).into(),
        libc::FUTEX_WAKE_BITSET if bits != 0 => futex::wake(address, or_one(value), bits).into(),
        libc::FUTEX_WAKE_BITSET => error(libc::EINVAL),
        libc::FUTEX_REQUEUE => requeue(object, second, value, fourth as u32, None),
        libc::FUTEX_CMP_REQUEUE => requeue(object, second, value, fourth as u32, Some(bits)),
        libc::FUTEX_WAKE_OP => wake_op(object, second, value, fourth as u32, bits),
        _ => {
            note(
                "a futex operation that is not simulated (such as priority inheritance): it fails with ENOSYS",
                call.pc,
            );
            error(libc::ENOSYS)
        }
    }
}

/// Linux counts whom it wakes after it has woken him: never none.
fn or_one(count: u32) -> u32 {
    (count as i32).max(1) as u32
}

fn error(code: c_int) -> i64 {
    -i64::from(code)
}

/// The deadline of a time-out that counts from now.
fn after(timeout: u64) -> Result<Option<Ticks>, c_int> {
    // SAFETY: the program's variable, or null.
    let Some(time) = (unsafe { (timeout as *const libc::timespec).as_ref() }) else { return Ok(None) };
    let span = clock::nanoseconds_in(time).filter(|_| time.tv_sec >= 0).ok_or(libc::EINVAL)?;
    Ok(Some(now() + clock::ticks_of(span)))
}

/// The deadline of a time-out that is a time on a clock.
fn at(operation: c_int, timeout: u64) -> Result<Option<Ticks>, c_int> {
    let realtime = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let clock = if realtime { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    match timeout {
        0 => Ok(None),
        time => Deadline::At(clock, time as *const libc::timespec).ticks(),
    }
}

/// `lock` is what is waited for.
fn wait(object: Object, lock: u64, expected: u32, bits: u32, deadline: Result<Option<Ticks>, c_int>) -> i64 {
    let deadline = match deadline {
        Ok(deadline) if bits != 0 => deadline,
        Ok(_) => return error(libc::EINVAL),
        Err(code) => return error(code),
    };
    let begin = now();
    match futex::wait(object.call, lock, object.address, expected, bits, deadline) {
        Waited::Changed => error(libc::EAGAIN),
        Waited::TimedOut => {
            Object { address: lock, ..object }.gave_up(LockKind::Futex, begin);
            error(libc::ETIMEDOUT)
        }
        // As on Linux: a wait with a time-out never goes on.
        Waited::Interrupted(true) if deadline.is_none() => wait(object, lock, expected, bits, Ok(None)),
        Waited::Interrupted(_) => error(libc::EINTR),
        Waited::Woken => {
            Object { address: lock, ..object }.acquired(LockKind::Futex, Some(begin));
            0
        }
    }
}

/// The lock that is waited for at this word: another, where the running thread has parked, or queued for it.
fn known_by(word: u64) -> u64 {
    let is_own = |parking: &&Parking| current().fs.get().wrapping_add_signed(parking.word) == word;
    let parking = launch().parking.iter().find(is_own);
    let parked = parking.map(|parking| read_value(word.wrapping_add_signed(parking.lock), 8));
    parked.or_else(|| current().spins.with(|spins| spins.waits.lock_of_sleeper(word))).unwrap_or(word)
}

fn requeue(object: Object, to: u64, wake: u32, moved: u32, expected: Option<u32>) -> i64 {
    if (wake as i32) < 0 || (moved as i32) < 0 {
        return error(libc::EINVAL);
    }
    match futex::requeue(object.address, to, wake, moved, expected) {
        None => error(libc::EAGAIN),
        Some((woken, moved)) => i64::from(woken + moved),
    }
}

/// Changes the word at `second` as `operation` says, wakes `most` waiters of the first word and, if the
/// old value compares as `operation` says, `more` of the second.
fn wake_op(object: Object, second: u64, most: u32, more: u32, operation: u32) -> i64 {
    let sign_extended = |shift: u32| ((operation << (20 - shift)) as i32 >> 20) as u32;
    let (mut operand, compared) = (sign_extended(12), sign_extended(0) as i32);
    let (change, compare) = (operation >> 28 & 0xf, operation >> 24 & 0xf);
    if change & 8 != 0 {
        operand = 1 << (operand & 31);
    }
    let changed = |old: u32| match change & 7 {
        0 => operand,
        1 => old.wrapping_add(operand),
        2 => old | operand,
        3 => old & !operand,
        _ => old ^ operand,
    };
    let old = atomics::update(second, 4, object.call.pc, |old| Some(changed(old as u32).into())) as i32;
    let matches = [old == compared, old != compared, old < compared, old <= compared, old > compared, old >= compared];
    let woken = futex::wake(object.address, or_one(most), futex::ANY);
    match matches.get(compare as usize) {
        Some(true) => i64::from(woken + futex::wake(second, or_one(more), futex::ANY)),
        _ => woken.into(),
    }
}
