// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread barriers.
use crate::account::locks;
use crate::engine::now;
use crate::hooks::access::range_write;
use crate::stand_in::calls;
use crate::threads::object::Object;
use core::ffi::c_int;
use corefold_recording::LockKind;

/// Threads that have arrived in this round.
const ARRIVED: u64 = 0;
/// Rounds completed; those who wait, wait for it to change.
const ROUND: u64 = 4;
/// Threads a round.
const COUNT: u64 = 8;
/// Set by who waits in pthread_barrier_destroy.
const DESTROYED: u64 = 12;
/// Threads that have left, over all rounds.
const LEFT: u64 = 16;
const BYTES: u64 = 32;

/// glibc's limit.
const MOST_THREADS: u32 = 0x7fff_ffff;

calls! {
    fn pthread_barrier_init(barrier: u64, attr: u64, count: u32; call) -> c_int {
        let _ = attr;
        if count == 0 || count > MOST_THREADS {
            return libc::EINVAL;
        }
        let barrier = Object::called(barrier, call);
        barrier.clear(BYTES);
        barrier.poke(COUNT, count);
        0
    }
    fn pthread_barrier_wait(barrier: u64; call) -> c_int { wait(Object::called(barrier, call)) }
    fn pthread_barrier_destroy(barrier: u64; call) -> c_int { destroy(Object::called(barrier, call)) }
}

fn wait(barrier: Object) -> c_int {
    let begin = now();
    let count = barrier.read(COUNT);
    let mut round = 0;
    let arrived = 1 + barrier.update(ARRIVED, |arrived| {
        round = barrier.peek(ROUND);
        if arrived + 1 == count {
            // The next round may begin from here on.
            barrier.poke(ROUND, round.wrapping_add(1));
            return Some(0);
        }
        Some(arrived + 1)
    });
    let is_last = arrived == count;
    if is_last {
        locks::woke(barrier.address, LockKind::Barrier, begin, count - 1, true);
        // The word has changed already: where more threads use the barrier than a round has, others may complete the next
        // round meanwhile.
        range_write(barrier.address + ROUND, barrier.call.pc, 4);
        barrier.wake(ROUND, u32::MAX);
    } else {
        locks::waits(barrier.address, LockKind::Barrier, begin);
        while barrier.load(ROUND) == round {
            barrier.wait(ROUND, round, None);
        }
    }
    barrier.acquired(LockKind::Barrier, (!is_last).then_some(begin));
    leave(barrier);
    if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

fn leave(barrier: Object) {
    barrier.add(LEFT, 1);
    if barrier.peek(DESTROYED) != 0 {
        barrier.wake(LEFT, 1);
    }
}

/// Waits until all threads of the last round have left.
fn destroy(barrier: Object) -> c_int {
    barrier.write(DESTROYED, 1);
    loop {
        let left = barrier.load(LEFT);
        if left == barrier.read(ROUND).wrapping_mul(barrier.read(COUNT)) {
            return 0;
        }
        barrier.wait(LEFT, left, None);
    }
}
