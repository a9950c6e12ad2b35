// SPDX-License-Identifier: MIT OR Apache-2.0
//! POSIX message queues, which are descriptors that can be polled.
use super::waiting::{await_ready_restarting, changed};
use crate::scheduling::{peek, sched};
use crate::stand_in::{failed, stand_ins};
use crate::threads::deadline::Deadline;
use core::ffi::{c_int, c_uint, c_void};

/// Waits until the queue is ready, up to a time on the wall clock unless that is null; then makes libc's call, which does not
/// wait. If the time is none, libc's call says so. With a time, too, it goes on after a handler with `SA_RESTART`.
fn exchange(
    queue: c_int,
    events: i16,
    time: *const libc::timespec,
    call: &'static str,
    own: impl FnOnce() -> isize,
) -> isize {
    sched::enter_kernel();
    let limit = match peek::fetch(time) {
        None => Ok(None),
        Some(time) if time.tv_sec < 0 => Err(libc::EINVAL),
        Some(time) => Deadline::At(libc::CLOCK_REALTIME, &raw const time).ticks(),
    };
    match limit.map(|limit| await_ready_restarting(queue, events, limit, call, true)) {
        Ok(Err(libc::EAGAIN)) => return failed(libc::ETIMEDOUT) as isize,
        Ok(Err(error)) => return failed(error) as isize,
        Ok(Ok(())) | Err(_) => {}
    }
    let code = own();
    changed();
    code
}

stand_ins! {
    fn mq_receive(queue: c_int, into: *mut c_void, bytes: usize, priority: *mut c_uint) -> isize {
        exchange(queue, libc::POLLIN, core::ptr::null(), "mq_receive", || own(queue, into, bytes, priority))
    }

    fn mq_send(queue: c_int, from: *const c_void, bytes: usize, priority: c_uint) -> c_int {
        let own = || own(queue, from, bytes, priority) as isize;
        exchange(queue, libc::POLLOUT, core::ptr::null(), "mq_send", own) as c_int
    }

    fn mq_timedreceive(
        queue: c_int, into: *mut c_void, bytes: usize, priority: *mut c_uint, time: *const libc::timespec,
    ) -> isize {
        exchange(queue, libc::POLLIN, time, "mq_timedreceive", || own(queue, into, bytes, priority, time))
    }

    fn mq_timedsend(
        queue: c_int, from: *const c_void, bytes: usize, priority: c_uint, time: *const libc::timespec,
    ) -> c_int {
        let own = || own(queue, from, bytes, priority, time) as isize;
        exchange(queue, libc::POLLOUT, time, "mq_timedsend", own) as c_int
    }
}
