// SPDX-License-Identifier: MIT OR Apache-2.0
//! `set_robust_list`: a thread's own list of futexes that it holds, which the kernel goes through when the
//! thread ends. (Robust pthread mutexes have their own, see [`robust`](super::robust).)
use crate::hooks::atomics;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::program_memory::read_value;
use crate::state::scheduler::running_fiber;
use crate::threads::affinity;
use crate::threads::futex;

/// The kernel's bound on the length of a list.
const MOST: usize = 2048;
const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;
const THREAD: u32 = 0x3fff_ffff;
/// Bytes of the list's head: the first entry, the offset of the futex in an entry, the entry under way.
const HEAD: usize = 24;

pub fn set(head: u64, bytes: usize) -> i64 {
    if bytes != HEAD {
        return -i64::from(libc::EINVAL);
    }
    current().thread.robust_list.set(head);
    0
}

pub fn get(thread: libc::pid_t, head: u64, bytes: u64) -> i64 {
    let Some(fiber) = affinity::numbered(thread) else { return -i64::from(libc::ESRCH) };
    // SAFETY: the caller's variables.
    unsafe {
        *(head as *mut u64) = FIBERS[fiber].thread.robust_list.get();
        *(bytes as *mut usize) = HEAD;
    }
    0
}

/// The running thread ends: marks the futexes that it holds, and wakes one waiter of each.
pub fn thread_ends() {
    let head = current().thread.robust_list.take();
    if head == 0 {
        return;
    }
    let word = |address: u64| read_value(address, 8);
    let offset = word(head + 8);
    let pending = word(head + 16);
    let mut entry = word(head);
    for _ in 0..MOST {
        if entry == head || entry == 0 {
            break;
        }
        let next = word(entry);
        if entry != pending {
            let_go(entry.wrapping_add(offset));
        }
        entry = next;
    }
    if pending != 0 {
        let_go(pending.wrapping_add(offset));
    }
}

fn let_go(address: u64) {
    let me = affinity::number(running_fiber()) as u32;
    let died = |old: u64| (old as u32 & THREAD == me).then_some(u64::from(old as u32 & WAITERS | OWNER_DIED));
    let old = atomics::update(address, 4, current().thread.end(), died) as u32;
    if old & THREAD == me && old & WAITERS != 0 {
        futex::wake(address, 1, futex::ANY);
    }
}
