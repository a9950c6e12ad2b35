// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several messages by one call: each is received or sent as by a call of its own, until one fails.
use super::parts::{parts, total, will_read};
use super::sockets::{receive_message, send_message};
use crate::engine::now;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins_at};
use crate::threads::clock;
use core::ffi::{c_int, c_uint};
use corefold_model::Ticks;

/// The most messages that the kernel sends at once.
const MOST_SENT: c_uint = 1024;

/// Tells the program how much of the time is left; whether any is. The kernel looks at the time after a message alone.
fn is_left(time: *mut libc::timespec, deadline: Option<Ticks>) -> bool {
    let Some(deadline) = deadline else { return true };
    let left = deadline.saturating_sub(now());
    // SAFETY: the caller's variable, as there is a deadline.
    unsafe { *time = clock::timespec(clock::nanoseconds_of(left)) };
    left > 0
}

/// When the time will be over; `None`: it is no valid one.
fn deadline_of(time: *const libc::timespec) -> Option<Option<Ticks>> {
    // SAFETY: the caller's variable, or null.
    let Some(time) = (unsafe { time.as_ref() }) else { return Some(None) };
    let nanoseconds = clock::nanoseconds_in(time).filter(|_| time.tv_sec >= 0)?;
    Some(Some(now().saturating_add(clock::ticks_of(nanoseconds))))
}

/// What a call returns that has come so far, when one of its messages gives `code`.
fn so_far(done: c_uint, code: isize) -> c_int {
    if done > 0 { done as c_int } else { code as c_int }
}

stand_ins_at! {
    "r9" fn recvmmsg(
        fd: c_int, list: *mut libc::mmsghdr, count: c_uint, flags: c_int, time: *mut libc::timespec; pc
    ) -> c_int {
        sched::enter_kernel();
        let Some(deadline) = deadline_of(time) else { return failed(libc::EINVAL) };
        if count == 0 {
            return own(fd, list, count, flags, core::ptr::null_mut());
        }
        let waits_for_one = flags & libc::MSG_WAITFORONE != 0;
        let mut flags = flags & !libc::MSG_WAITFORONE;
        for done in 0..count {
            // SAFETY: the caller's list has so many.
            let entry = unsafe { &mut *list.add(done as usize) };
            let got = receive_message(fd, &mut entry.msg_hdr, flags, "recvmmsg", pc);
            if got < 0 {
                return so_far(done, got);
            }
            entry.msg_len = got as c_uint;
            if !is_left(time, deadline) || entry.msg_hdr.msg_flags & libc::MSG_OOB != 0 {
                return done as c_int + 1;
            }
            if waits_for_one {
                flags |= libc::MSG_DONTWAIT;
            }
        }
        count as c_int
    }

    "r8" fn sendmmsg(fd: c_int, list: *mut libc::mmsghdr, count: c_uint, flags: c_int; pc) -> c_int {
        sched::enter_kernel();
        let count = count.min(MOST_SENT);
        if count == 0 {
            return own(fd, list, count, flags);
        }
        for done in 0..count {
            // SAFETY: the caller's list has so many.
            let entry = unsafe { &mut *list.add(done as usize) };
            let pieces = parts(entry.msg_hdr.msg_iov, entry.msg_hdr.msg_iovlen);
            will_read(&pieces, pc);
            let wanted = total(&pieces);
            let put = send_message(fd, entry.msg_hdr, pieces, flags, "sendmmsg");
            if put < 0 {
                return so_far(done, put);
            }
            entry.msg_len = put as c_uint;
            if (put as u64) < wanted {
                return done as c_int + 1;
            }
        }
        count as c_int
    }
}
