// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls by their number that stand-ins of ours answer.
use crate::calls::files;
use crate::calls::io;
use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// libc's functions, and those that the crate of that name lacks.
mod functions {
    pub use libc::*;

    unsafe extern "C" {
        pub fn epoll_pwait2(
            epoll: c_int,
            into: *mut epoll_event,
            most: c_int,
            time: *const timespec,
            mask: *const sigset_t,
        ) -> c_int;
        pub fn capget(header: *mut c_void, data: *mut c_void) -> c_int;
        pub fn capset(header: *mut c_void, data: *mut c_void) -> c_int;
        pub fn semtimedop(set: c_int, operations: *mut sembuf, count: usize, time: *const timespec) -> c_int;
    }

    /// The older call, with one argument.
    pub unsafe fn eventfd_without_flags(value: c_uint) -> c_int {
        // SAFETY: no preconditions.
        unsafe { eventfd(value, 0) }
    }
}

/// Calls of functions that are stand-ins of ours where we have any, or else libc's.
macro_rules! stand_ins_of {
    ($number:ident, $arguments:ident; $($call:ident => $function:ident($($type:ty),*);)*) => {
        match $number {
            $(libc::$call => {
                let mut arguments = $arguments.iter().copied();
                let _ = &mut arguments;
                // SAFETY: the program's own arguments, of the types that the call has.
                Some(unsafe { functions::$function($(arguments.next().unwrap_or(0) as $type),*) } as c_long)
            })*
            _ => None,
        }
    };
}

/// Is it answered before the run begins, too? What tells of processes, or takes their IDs.
pub fn is_early(number: c_long) -> bool {
    [
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_getpgrp,
        libc::SYS_getpgid,
        libc::SYS_setpgid,
        libc::SYS_getsid,
        libc::SYS_prlimit64,
        libc::SYS_getsockopt,
        libc::SYS_kill,
        libc::SYS_fcntl,
        libc::SYS_ioctl,
        libc::SYS_capget,
        libc::SYS_capset,
    ]
    .contains(&number)
}

/// What blocks, tells the time or the CPUs, is random, or ends the process.
pub fn call(number: c_long, arguments: &[u64; 6]) -> Option<c_long> {
    let [a, b, c, d, e, f] = *arguments;
    // SAFETY: the program's own arguments, of the types that the call has.
    unsafe {
        match number {
            libc::SYS_ppoll => return Some(io::ppoll_by_number(a, b, c, d).into()),
            libc::SYS_pselect6 => return Some(io::pselect_by_number(a as c_int, [b, c, d], e, f).into()),
            // The place in the file is two arguments, of which the first has all of it.
            libc::SYS_preadv2 => {
                return Some(
                    libc::preadv2(a as c_int, b as *const libc::iovec, c as c_int, d as i64, f as c_int) as c_long
                );
            }
            libc::SYS_pwritev2 => {
                return Some(
                    libc::pwritev2(a as c_int, b as *const libc::iovec, c as c_int, d as i64, f as c_int) as c_long
                );
            }
            libc::SYS_openat2 => {
                return Some(files::open_by_how(a as c_int, b as *const c_char, c as *const _, d as usize).into());
            }
            _ => {}
        }
    }
    stand_ins_of! { number, arguments;
        SYS_gettid => gettid();
        SYS_getpid => getpid();
        SYS_sysinfo => sysinfo(*mut libc::sysinfo);
        SYS_prlimit64 => prlimit64(libc::pid_t, c_uint, *const libc::rlimit64, *mut libc::rlimit64);
        SYS_getrlimit => getrlimit(c_uint, *mut libc::rlimit);
        SYS_setrlimit => setrlimit(c_uint, *const libc::rlimit);
        SYS_mlockall => mlockall(c_int);
        SYS_munlockall => munlockall();
        SYS_getppid => getppid();
        SYS_getpgrp => getpgrp();
        SYS_getpgid => getpgid(libc::pid_t);
        SYS_setpgid => setpgid(libc::pid_t, libc::pid_t);
        SYS_getsid => getsid(libc::pid_t);
        SYS_setpriority => setpriority(c_uint, c_uint, c_int);
        SYS_getsockopt => getsockopt(c_int, c_int, c_int, *mut c_void, *mut u32);
        SYS_sched_yield => sched_yield();
        SYS_sched_setaffinity => sched_setaffinity(c_int, usize, *const libc::cpu_set_t);
        SYS_sched_setscheduler => sched_setscheduler(c_int, c_int, *const libc::sched_param);
        SYS_sched_getscheduler => sched_getscheduler(c_int);
        SYS_sched_setparam => sched_setparam(c_int, *const libc::sched_param);
        SYS_sched_getparam => sched_getparam(c_int, *mut libc::sched_param);
        SYS_prctl => prctl(c_int, c_ulong, c_ulong, c_ulong, c_ulong);
        SYS_getrandom => getrandom(*mut c_void, usize, c_uint);
        SYS_time => time(*mut i64);
        SYS_times => times(*mut libc::tms);
        SYS_gettimeofday => gettimeofday(*mut libc::timeval, *mut libc::timezone);
        SYS_clock_gettime => clock_gettime(c_int, *mut libc::timespec);
        SYS_clock_getres => clock_getres(c_int, *mut libc::timespec);
        SYS_kill => kill(libc::pid_t, c_int);
        SYS_pause => pause();
        SYS_alarm => alarm(c_uint);
        SYS_dup => dup(c_int);
        SYS_timerfd_create => timerfd_create(c_int, c_int);
        SYS_timerfd_settime => timerfd_settime(c_int, c_int, *const libc::itimerspec, *mut libc::itimerspec);
        SYS_timerfd_gettime => timerfd_gettime(c_int, *mut libc::itimerspec);
        SYS_nanosleep => nanosleep(*const libc::timespec, *mut libc::timespec);
        SYS_getrusage => getrusage(c_int, *mut libc::rusage);
        SYS_mmap => mmap(*mut c_void, usize, c_int, c_int, c_int, i64);
        SYS_munmap => munmap(*mut c_void, usize);
        SYS_mprotect => mprotect(*mut c_void, usize, c_int);
        SYS_madvise => madvise(*mut c_void, usize, c_int);
        SYS_creat => creat(*const c_char, c_uint);
        SYS_open => open(*const c_char, c_int, c_uint);
        SYS_openat => openat(c_int, *const c_char, c_int, c_uint);
        SYS_stat => stat(*const c_char, *mut libc::stat);
        SYS_newfstatat => fstatat(c_int, *const c_char, *mut libc::stat, c_int);
        SYS_access => access(*const c_char, c_int);
        SYS_faccessat => faccessat(c_int, *const c_char, c_int, c_int);
        SYS_readlink => readlink(*const c_char, *mut c_char, usize);
        SYS_readlinkat => readlinkat(c_int, *const c_char, *mut c_char, usize);
        SYS_read => read(c_int, *mut c_void, usize);
        SYS_readv => readv(c_int, *const libc::iovec, c_int);
        SYS_write => write(c_int, *const c_void, usize);
        SYS_writev => writev(c_int, *const libc::iovec, c_int);
        SYS_close => close(c_int);
        SYS_pipe2 => pipe2(*mut c_int, c_int);
        SYS_pipe => pipe(*mut c_int);
        SYS_dup2 => dup2(c_int, c_int);
        SYS_dup3 => dup3(c_int, c_int, c_int);
        SYS_flock => flock(c_int, c_int);
        SYS_ioctl => ioctl(c_int, c_ulong, c_ulong);
        SYS_capget => capget(*mut c_void, *mut c_void);
        SYS_capset => capset(*mut c_void, *mut c_void);
        SYS_fcntl => fcntl(c_int, c_int, c_ulong);
        SYS_sendfile => sendfile(c_int, c_int, *mut i64, usize);
        SYS_splice => splice(c_int, *mut i64, c_int, *mut i64, usize, c_uint);
        SYS_tee => tee(c_int, c_int, usize, c_uint);
        SYS_vmsplice => vmsplice(c_int, *const libc::iovec, usize, c_uint);
        SYS_semtimedop => semtimedop(c_int, *mut libc::sembuf, usize, *const libc::timespec);
        SYS_semop => semop(c_int, *mut libc::sembuf, usize);
        SYS_msgsnd => msgsnd(c_int, *const c_void, usize, c_int);
        SYS_msgrcv => msgrcv(c_int, *mut c_void, usize, c_long, c_int);
        SYS_mq_timedreceive => mq_timedreceive(c_int, *mut c_char, usize, *mut c_uint, *const libc::timespec);
        SYS_mq_timedsend => mq_timedsend(c_int, *const c_char, usize, c_uint, *const libc::timespec);
        SYS_eventfd => eventfd_without_flags(c_uint);
        SYS_eventfd2 => eventfd(c_uint, c_int);
        SYS_poll => poll(*mut libc::pollfd, c_ulong, c_int);
        SYS_select => select(c_int, *mut libc::fd_set, *mut libc::fd_set, *mut libc::fd_set, *mut libc::timeval);
        SYS_epoll_create => epoll_create(c_int);
        SYS_epoll_create1 => epoll_create1(c_int);
        SYS_epoll_ctl => epoll_ctl(c_int, c_int, c_int, *mut libc::epoll_event);
        SYS_epoll_wait => epoll_wait(c_int, *mut libc::epoll_event, c_int, c_int);
        SYS_epoll_pwait => epoll_pwait(c_int, *mut libc::epoll_event, c_int, c_int, *const libc::sigset_t);
        SYS_epoll_pwait2 => epoll_pwait2(c_int, *mut libc::epoll_event, c_int, *const libc::timespec, *const libc::sigset_t);
        SYS_socket => socket(c_int, c_int, c_int);
        SYS_socketpair => socketpair(c_int, c_int, c_int, *mut c_int);
        SYS_listen => listen(c_int, c_int);
        SYS_shutdown => shutdown(c_int, c_int);
        SYS_connect => connect(c_int, *const libc::sockaddr, u32);
        SYS_accept => accept(c_int, *mut libc::sockaddr, *mut u32);
        SYS_accept4 => accept4(c_int, *mut libc::sockaddr, *mut u32, c_int);
        SYS_recvfrom => recvfrom(c_int, *mut c_void, usize, c_int, *mut libc::sockaddr, *mut u32);
        SYS_recvmsg => recvmsg(c_int, *mut libc::msghdr, c_int);
        SYS_sendto => sendto(c_int, *const c_void, usize, c_int, *const libc::sockaddr, u32);
        SYS_sendmsg => sendmsg(c_int, *const libc::msghdr, c_int);
        SYS_recvmmsg => recvmmsg(c_int, *mut libc::mmsghdr, c_uint, c_int, *mut libc::timespec);
        SYS_sendmmsg => sendmmsg(c_int, *mut libc::mmsghdr, c_uint, c_int);
        SYS_fork => fork();
    }
}
