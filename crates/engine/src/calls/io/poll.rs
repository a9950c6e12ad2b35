// SPDX-License-Identifier: MIT OR Apache-2.0
//! poll, select and epoll: waiting for several descriptors at once.
use super::descriptors;
use super::waiting::{park, pollfd};
use crate::engine::now;
use crate::scheduling::fiber::Woken;
use crate::scheduling::{peek, sched};
use crate::stand_in::{failed, result, stand_ins};
use crate::sys;
use crate::threads::cancel;
use crate::threads::clock;
use crate::threads::signals::Borrowed;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use corefold_model::Ticks;

/// How long a call waits at most.
enum Limit {
    /// It only looks.
    None,
    Until(Ticks),
    Forever,
}

fn after(nanoseconds: u64) -> Limit {
    match nanoseconds {
        0 => Limit::None,
        _ => Limit::Until(now().saturating_add(clock::ticks_of(nanoseconds))),
    }
}

fn after_milliseconds(milliseconds: c_int) -> Limit {
    u64::try_from(milliseconds).map_or(Limit::Forever, |ms| after(ms * 1_000_000))
}

/// The limit that `time` says, or what is wrong with that.
fn after_timespec(time: *const libc::timespec) -> Result<Limit, c_int> {
    if time.is_null() {
        return Ok(Limit::Forever);
    }
    clock::nanoseconds_at(time).map(after)
}

/// libc copies the time before it makes the call: if that cannot be read, the program faults.
fn read_by_libc<T>(time: *const T) {
    if !time.is_null() {
        peek::touch_to_read(time as u64);
    }
}

/// Makes a call with that limit.
fn limited_by(time: *const libc::timespec, call: impl FnOnce(&Limit) -> c_int) -> c_int {
    match after_timespec(time) {
        Ok(limit) => call(&limit),
        Err(error) => failed(error),
    }
}

impl Limit {
    /// Nanoseconds that are left, which some calls tell the program; `None`: the call does not touch its time.
    fn left(&self) -> Option<u64> {
        match self {
            Limit::Until(deadline) => Some(clock::nanoseconds_of(deadline.saturating_sub(now()))),
            Limit::None | Limit::Forever => None,
        }
    }
}

/// Looks by `look` until something is found, an error comes, or the time is over. `fds` says what to
/// wait for between two looks.
/// `takes`: what one thread finds no other does.
fn wait(
    limit: &Limit,
    call: &'static str,
    takes: bool,
    fds: impl Fn() -> Vec<libc::pollfd>,
    mut look: impl FnMut() -> i64,
) -> c_int {
    cancel::test();
    sched::enter_kernel();
    loop {
        let found = look();
        if found != 0 {
            super::waiting::changed();
            return result(found) as c_int;
        }
        let deadline = match limit {
            Limit::None => return 0,
            Limit::Until(deadline) => Some(*deadline),
            Limit::Forever => None,
        };
        let fds = fds();
        match park(fds, takes, deadline, call) {
            Woken::Thread => {}
            Woken::Timer => return result(look()) as c_int,
            // Never goes on, whatever the handler's SA_RESTART.
            Woken::Signal if super::waiting::interrupted().is_some() => return failed(libc::EINTR),
            Woken::Signal => {}
        }
    }
}

fn poll_all(list: *mut libc::pollfd, count: u64, limit: &Limit, call: &'static str) -> c_int {
    // SAFETY: the caller's list.
    let copy = || (0..count as usize).map(|i| unsafe { *list.add(i) }).filter(|f| f.fd >= 0).collect();
    // SAFETY: the program's own call.
    wait(limit, call, false, copy, || unsafe { sys::syscall!(libc::SYS_poll, list, count, 0; 0, 0, 0) })
}

/// The three sets of a `select`: copies, and where they came from.
struct Sets {
    count: c_int,
    callers: [*mut libc::fd_set; 3],
}

/// What `poll` calls the events of the three sets.
const EVENTS: [i16; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];

impl Sets {
    /// `None`: one of them is no set of the caller's.
    fn copies(&self) -> Option<[Option<libc::fd_set>; 3]> {
        let mut sets = [None; 3];
        for (set, caller) in sets.iter_mut().zip(self.callers).filter(|(_, caller)| !caller.is_null()) {
            *set = Some(peek::fetch(caller)?);
        }
        Some(sets)
    }

    fn fds(&self) -> Vec<libc::pollfd> {
        let sets = self.copies().unwrap_or_default();
        let events = |fd: c_int| {
            // SAFETY: `fd` is below the count that the program gave for its sets.
            let has = |set: &libc::fd_set| unsafe { libc::FD_ISSET(fd, set) };
            sets.iter().zip(EVENTS).filter(|(set, _)| set.as_ref().is_some_and(has)).fold(0, |all, (_, e)| all | e)
        };
        (0..self.count).map(|fd| pollfd(fd, events(fd))).filter(|f| f.events != 0).collect()
    }

    /// One look; what it finds goes into the caller's sets only when the call is over.
    fn look(&self, ends: bool) -> i64 {
        let Some(mut sets) = self.copies() else { return -i64::from(libc::EFAULT) };
        let pointers = sets.each_mut().map(|s| s.as_mut().map_or(core::ptr::null_mut(), core::ptr::from_mut));
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let [read, write, except] = pointers;
        // SAFETY: the program's own call, on copies of its sets.
        let found = unsafe { sys::syscall!(libc::SYS_pselect6, self.count, read, write, except, &raw const zero; 0) };
        if found > 0 || found == 0 && ends {
            for (caller, set) in self.callers.iter().zip(sets) {
                if let Some(set) = set {
                    peek::put(*caller, set);
                }
            }
        }
        found
    }
}

fn select_any(sets: &Sets, limit: &Limit, call: &'static str) -> c_int {
    let only_looks = matches!(limit, Limit::None);
    let found = wait(limit, call, false, || sets.fds(), || sets.look(only_looks));
    if found == 0 && !only_looks {
        return result(sets.look(true)) as c_int;
    }
    found
}

fn epoll_any(epoll: c_int, into: *mut c_void, most: c_int, limit: &Limit, call: &'static str) -> c_int {
    // SAFETY: the program's own call.
    let look = || unsafe { sys::syscall!(libc::SYS_epoll_wait, epoll, into, most, 0; 0, 0) };
    // The kernel wakes one of those that wait, who wakes the next if something is left.
    wait(limit, call, true, || alloc::vec![pollfd(epoll, libc::POLLIN)], look)
}

/// Makes a call with another mask for its time, unless that is null.
fn under(mask: *const libc::sigset_t, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's set, or null.
    let mask = unsafe { Borrowed::new(mask) };
    let code = call();
    mask.give_back();
    code
}

/// What the system calls have, unlike libc's functions: they tell how much of the time is left.
fn tell_left(limit: &Limit, time: *mut libc::timespec) {
    if let Some(left) = limit.left() {
        peek::put(time, clock::timespec(left));
    }
}

/// The system call `ppoll`.
pub fn ppoll_by_number(list: u64, count: u64, time: u64, mask: u64) -> c_int {
    let time = time as *mut libc::timespec;
    limited_by(time, |limit| {
        let found = under(mask as *const libc::sigset_t, || poll_all(list as *mut libc::pollfd, count, limit, "ppoll"));
        tell_left(limit, time);
        found
    })
}

/// The system call `pselect6`, whose mask stands in a structure of its own.
pub fn pselect_by_number(count: c_int, sets: [u64; 3], time: u64, mask: u64) -> c_int {
    let time = time as *mut libc::timespec;
    let mask = match mask {
        0 => Some(core::ptr::null()),
        at => peek::fetch(at as *const *const libc::sigset_t),
    };
    let Some(mask) = mask else { return failed(libc::EFAULT) };
    let sets = Sets { count, callers: sets.map(|set| set as *mut libc::fd_set) };
    limited_by(time, |limit| {
        let found = under(mask, || select_any(&sets, limit, "pselect"));
        tell_left(limit, time);
        found
    })
}

stand_ins! {
    fn epoll_create(size: c_int) -> c_int {
        sched::enter_kernel();
        descriptors::remember_epoll(own(size))
    }

    fn epoll_create1(flags: c_int) -> c_int {
        sched::enter_kernel();
        descriptors::remember_epoll(own(flags))
    }

    fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int {
        sched::enter_kernel();
        let code = own(epoll, operation, fd, event);
        if code == 0 && operation != libc::EPOLL_CTL_DEL && !descriptors::is_inside(fd) {
            descriptors::forget(epoll);
        }
        super::waiting::changed();
        code
    }

    fn poll(list: *mut libc::pollfd, count: u64, timeout: c_int) -> c_int {
        poll_all(list, count, &after_milliseconds(timeout), "poll")
    }

    fn __poll_chk(list: *mut libc::pollfd, count: u64, timeout: c_int, room: usize) -> c_int {
        if room / size_of::<libc::pollfd>() < count as usize {
            return own(list, count, timeout, room);
        }
        poll_all(list, count, &after_milliseconds(timeout), "poll")
    }

    fn ppoll(list: *mut libc::pollfd, count: u64, time: *const libc::timespec, mask: *const libc::sigset_t) -> c_int {
        read_by_libc(time);
        limited_by(time, |limit| under(mask, || poll_all(list, count, limit, "ppoll")))
    }

    fn __ppoll_chk(
        list: *mut libc::pollfd, count: u64, time: *const libc::timespec, mask: *const libc::sigset_t, room: usize,
    ) -> c_int {
        if room / size_of::<libc::pollfd>() < count as usize {
            return own(list, count, time, mask, room);
        }
        ppoll(list, count, time, mask)
    }

    fn select(
        count: c_int, read: *mut libc::fd_set, write: *mut libc::fd_set, except: *mut libc::fd_set,
        time: *mut libc::timeval,
    ) -> c_int {
        let limit = if time.is_null() {
            Limit::Forever
        } else {
            read_by_libc(time);
            // SAFETY: the caller's variable.
            let time = unsafe { *time };
            if time.tv_sec < 0 || time.tv_usec < 0 {
                return failed(libc::EINVAL);
            }
            after((time.tv_sec as u64).saturating_mul(clock::NANOSECONDS) + time.tv_usec as u64 * 1000)
        };
        let found = select_any(&Sets { count, callers: [read, write, except] }, &limit, "select");
        if let Some(left) = limit.left() {
            let (seconds, rest) = (left / clock::NANOSECONDS, left % clock::NANOSECONDS);
            // SAFETY: the caller's variable, as the call has a limit.
            unsafe { *time = libc::timeval { tv_sec: seconds as i64, tv_usec: rest as i64 / 1000 } };
        }
        found
    }

    fn pselect(
        count: c_int, read: *mut libc::fd_set, write: *mut libc::fd_set, except: *mut libc::fd_set,
        time: *const libc::timespec, mask: *const libc::sigset_t,
    ) -> c_int {
        read_by_libc(time);
        let sets = Sets { count, callers: [read, write, except] };
        limited_by(time, |limit| under(mask, || select_any(&sets, limit, "pselect")))
    }

    fn epoll_wait(epoll: c_int, into: *mut c_void, most: c_int, timeout: c_int) -> c_int {
        epoll_any(epoll, into, most, &after_milliseconds(timeout), "epoll_wait")
    }

    fn epoll_pwait(
        epoll: c_int, into: *mut c_void, most: c_int, timeout: c_int, mask: *const libc::sigset_t,
    ) -> c_int {
        under(mask, || epoll_any(epoll, into, most, &after_milliseconds(timeout), "epoll_pwait"))
    }

    fn epoll_pwait2(
        epoll: c_int, into: *mut c_void, most: c_int, time: *const libc::timespec, mask: *const libc::sigset_t,
    ) -> c_int {
        limited_by(time, |limit| under(mask, || epoll_any(epoll, into, most, limit, "epoll_pwait2")))
    }
}
