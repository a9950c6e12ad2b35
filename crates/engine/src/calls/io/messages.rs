// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several messages by one call: each is received or sent as by a call of its own, until one fails.
use super::parts::{total, will_read};
use super::sockets::{pieces, receive_message, send_message};
use crate::engine::now;
use crate::scheduling::{peek, sched};
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
    peek::put(time, clock::timespec(clock::nanoseconds_of(left)));
    left > 0
}

/// When the time will be over, if there is one.
fn deadline_of(time: *const libc::timespec) -> Result<Option<Ticks>, c_int> {
    if time.is_null() {
        return Ok(None);
    }
    Ok(Some(now().saturating_add(clock::ticks_of(clock::nanoseconds_at(time)?))))
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
        let deadline = match deadline_of(time) {
            Ok(deadline) => deadline,
            Err(error) => return failed(error),
        };
        if count == 0 {
            return own(fd, list, count, flags, core::ptr::null_mut());
        }
        let waits_for_one = flags & libc::MSG_WAITFORONE != 0;
        let mut flags = flags & !libc::MSG_WAITFORONE;
        for done in 0..count {
            let at = list.wrapping_add(done as usize);
            let Some(mut entry) = peek::fetch(at) else { return so_far(done, failed(libc::EFAULT) as isize) };
            let got = receive_message(fd, &mut entry.msg_hdr, flags, "recvmmsg", pc);
            if got < 0 {
                return so_far(done, got);
            }
            entry.msg_len = got as c_uint;
            if !peek::put(at, entry) {
                return so_far(done, failed(libc::EFAULT) as isize);
            }
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
            let at = list.wrapping_add(done as usize);
            let fetched = peek::fetch(at).ok_or(libc::EFAULT).and_then(|entry| Ok((entry, pieces(&entry.msg_hdr)?)));
            let (mut entry, pieces) = match fetched {
                Ok(fetched) => fetched,
                Err(error) => return so_far(done, failed(error) as isize),
            };
            will_read(&pieces, pc);
            let wanted = total(&pieces);
            let put = send_message(fd, entry.msg_hdr, pieces, flags, "sendmmsg");
            if put < 0 {
                return so_far(done, put);
            }
            entry.msg_len = put as c_uint;
            peek::put(at, entry);
            if (put as u64) < wanted {
                return done as c_int + 1;
            }
        }
        count as c_int
    }
}
