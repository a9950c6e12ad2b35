// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syscall()`: C++ and Rust wait with it. What the simulation has to answer goes to the stand-in of that
//! name, all else to the kernel.
use crate::account::host;
use crate::calls::membarrier::membarrier;
use crate::calls::memory_policy;
use crate::engine::{active, engine, note};
use crate::entry::Call;
use crate::scheduling::sched;
use crate::stand_in::failed;
use crate::sys;
use crate::threads::futex_call;
use crate::threads::processes;
use crate::threads::robust_list;
use crate::threads::signals;
use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// Six arguments, as the kernel takes at most; the sixth and the return address stand on the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn syscall(_number: c_long) -> c_long {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, [rsp]",
        "mov r10, [rsp + 8]",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "push r10",
        ".cfi_adjust_cfa_offset 8",
        "call {body}",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        body = sym simulated,
    )
}

type Arguments = [u64; 6];

extern "C" fn simulated(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, pc: u64) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if !active() {
        return kernel(number, &arguments);
    }
    match number {
        libc::SYS_futex => result(futex_call::futex(&arguments, Call { name: "futex", pc })),
        libc::SYS_getcpu => getcpu(a as *mut c_uint, b as *mut c_uint),
        libc::SYS_sched_getaffinity => affinity(a as c_int, b as usize, c),
        libc::SYS_membarrier => result(membarrier(a as c_int, b as u32, c as c_int)),
        libc::SYS_set_mempolicy => answer(memory_policy::set(a, b, c, pc)),
        libc::SYS_mbind => answer(memory_policy::bind(c, d, e, pc)),
        libc::SYS_get_mempolicy => answer(memory_policy::get(a, b, c, d, e)),
        libc::SYS_move_pages => answer(memory_policy::move_pages(b, c, d, e, pc)),
        libc::SYS_set_robust_list => result(robust_list::set(a, b as usize)),
        libc::SYS_get_robust_list => result(robust_list::get(a as c_int, b, c)),
        libc::SYS_clock_nanosleep => clock_nanosleep(a as c_int, b as c_int, c, d),
        libc::SYS_vfork | libc::SYS_execve | libc::SYS_execveat => crate::ending::unsupported(
            "the program starts another process or program by a system call: only one process can be simulated",
            pc,
        ),
        libc::SYS_clone | libc::SYS_clone3 => {
            crate::ending::unsupported("the program creates threads by direct system calls", pc)
        }
        libc::SYS_exit => crate::ending::unsupported("a thread exits by a direct system call", pc),
        // SAFETY: ends the process, as it is asked to.
        libc::SYS_exit_group => unsafe { libc::_exit(a as c_int) },
        libc::SYS_tgkill => signals::by_number(b as c_int, c as c_int, pc).into(),
        libc::SYS_tkill => signals::by_number(a as c_int, b as c_int, pc).into(),
        _ if let Some(name) = not_there(number) => {
            note(&alloc::format!("the system call {name} is not simulated: it fails with ENOSYS"), pc);
            failed(libc::ENOSYS).into()
        }
        _ => by_stand_in(number, &arguments).unwrap_or_else(|| {
            if let Some(name) = past_simulation(number) {
                note(
                    &alloc::format!(
                        "the system call {name} goes to the host's kernel; libc's function would be simulated"
                    ),
                    pc,
                );
            }
            sched::enter_kernel();
            host::count("syscall");
            kernel(number, &of_kernels_process(number, arguments))
        }),
    }
}

/// A call that code made by an instruction of its own, at `pc`: errors are numbers below zero, and `errno`
/// stays as it is.
pub fn by_instruction(number: c_long, arguments: &Arguments, pc: u64) -> c_long {
    let [a, b, c, d, e, f] = *arguments;
    // SAFETY: the running thread's own; the thread is the same after a wait.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let result = match simulated(number, a, b, c, d, e, f, pc) {
            -1 => -c_long::from(*errno),
            result => result,
        };
        *errno = before;
        result
    }
}

/// Calls that would wait, or run, beside the simulation; programs that make them know how to do without,
/// as older kernels have none of them. A sandbox would shut in the runtime too, which has to write the
/// recording.
fn not_there(number: c_long) -> Option<&'static str> {
    const NOT_THERE: [(c_long, &str); 10] = [
        (libc::SYS_futex_waitv, "futex_waitv"),
        (454, "futex_wake"),
        (455, "futex_wait"),
        (456, "futex_requeue"),
        (libc::SYS_io_uring_setup, "io_uring_setup"),
        (libc::SYS_io_setup, "io_setup"),
        (libc::SYS_userfaultfd, "userfaultfd"),
        (libc::SYS_landlock_create_ruleset, "landlock_create_ruleset"),
        (libc::SYS_landlock_restrict_self, "landlock_restrict_self"),
        (libc::SYS_seccomp, "seccomp"),
    ];
    NOT_THERE.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Calls about signals and timers, which are the simulation's own: the kernel's would be others, in real time.
fn past_simulation(number: c_long) -> Option<&'static str> {
    const CALLS: [(c_long, &str); 9] = [
        (libc::SYS_rt_sigaction, "rt_sigaction"),
        (libc::SYS_rt_sigprocmask, "rt_sigprocmask"),
        (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
        (libc::SYS_rt_sigsuspend, "rt_sigsuspend"),
        (libc::SYS_rt_sigqueueinfo, "rt_sigqueueinfo"),
        (libc::SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo"),
        (libc::SYS_sigaltstack, "sigaltstack"),
        (libc::SYS_setitimer, "setitimer"),
        (libc::SYS_timer_create, "timer_create"),
    ];
    CALLS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Unlike libc's function, the call sets errno.
fn clock_nanosleep(clock: c_int, flags: c_int, time: u64, left: u64) -> c_long {
    // SAFETY: the program's variables.
    match unsafe { libc::clock_nanosleep(clock, flags, time as *const libc::timespec, left as *mut libc::timespec) } {
        0 => 0,
        error => failed(error).into(),
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
                Some(unsafe { libc::$function($(arguments.next().unwrap_or(0) as $type),*) } as c_long)
            })*
            _ => None,
        }
    };
}

/// What blocks, tells the time or the CPUs, is random, or ends the process.
fn by_stand_in(number: c_long, arguments: &Arguments) -> Option<c_long> {
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
        SYS_clock_nanosleep => clock_nanosleep(c_int, c_int, *const libc::timespec, *mut libc::timespec);
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
        SYS_open => open(*const c_char, c_int, c_uint);
        SYS_openat => openat(c_int, *const c_char, c_int, c_uint);
        SYS_fstat => fstat(c_int, *mut libc::stat);
        SYS_lstat => lstat(*const c_char, *mut libc::stat);
        SYS_statx => statx(c_int, *const c_char, c_int, c_uint, *mut libc::statx);
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
        SYS_fcntl => fcntl(c_int, c_int, c_ulong);
        SYS_semop => semop(c_int, *mut libc::sembuf, usize);
        SYS_msgsnd => msgsnd(c_int, *const c_void, usize, c_int);
        SYS_msgrcv => msgrcv(c_int, *mut c_void, usize, c_long, c_int);
        SYS_eventfd2 => eventfd(c_uint, c_int);
        SYS_poll => poll(*mut libc::pollfd, c_ulong, c_int);
        SYS_ppoll => ppoll(*mut libc::pollfd, c_ulong, *const libc::timespec, *const libc::sigset_t);
        SYS_select => select(c_int, *mut libc::fd_set, *mut libc::fd_set, *mut libc::fd_set, *mut libc::timeval);
        SYS_pselect6 => pselect(c_int, *mut libc::fd_set, *mut libc::fd_set, *mut libc::fd_set, *const libc::timespec, *const libc::sigset_t);
        SYS_epoll_create1 => epoll_create1(c_int);
        SYS_epoll_ctl => epoll_ctl(c_int, c_int, c_int, *mut libc::epoll_event);
        SYS_epoll_wait => epoll_wait(c_int, *mut libc::epoll_event, c_int, c_int);
        SYS_epoll_pwait => epoll_pwait(c_int, *mut libc::epoll_event, c_int, c_int, *const libc::sigset_t);
        SYS_connect => connect(c_int, *const libc::sockaddr, u32);
        SYS_accept => accept(c_int, *mut libc::sockaddr, *mut u32);
        SYS_accept4 => accept4(c_int, *mut libc::sockaddr, *mut u32, c_int);
        SYS_recvfrom => recvfrom(c_int, *mut c_void, usize, c_int, *mut libc::sockaddr, *mut u32);
        SYS_recvmsg => recvmsg(c_int, *mut libc::msghdr, c_int);
        SYS_sendto => sendto(c_int, *const c_void, usize, c_int, *const libc::sockaddr, u32);
        SYS_sendmsg => sendmsg(c_int, *const libc::msghdr, c_int);
        SYS_fork => fork();
    }
}

/// With the kernel's ID of a process in place of the program's, in calls that take one first.
fn of_kernels_process(number: c_long, mut arguments: Arguments) -> Arguments {
    const CALLS: [c_long; 4] = [
        libc::SYS_sched_rr_get_interval,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_open,
    ];
    if CALLS.contains(&number) {
        arguments[0] = processes::to_kernel(arguments[0] as libc::pid_t) as u64;
    }
    arguments
}

fn answer(result: Result<c_long, c_int>) -> c_long {
    result.unwrap_or_else(|error| failed(error).into())
}

fn kernel(number: c_long, arguments: &Arguments) -> c_long {
    let [a, b, c, d, e, f] = *arguments;
    // SAFETY: the program's own call.
    result(unsafe { sys::syscall6(number, a, b, c, d, e, f) })
}

fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_long {
    let here = engine().sim.cpu as u32;
    // SAFETY: the program's variables, or null.
    unsafe {
        if let Some(cpu) = cpu.as_mut() {
            *cpu = here;
        }
        if let Some(node) = node.as_mut() {
            *node = engine().launch.machine.socket_of(here);
        }
    }
    0
}

/// Unlike libc's function, the call returns how many bytes of the set it wrote.
fn affinity(thread: c_int, bytes: usize, set: u64) -> c_long {
    // SAFETY: the program's set.
    match unsafe { libc::sched_getaffinity(thread, bytes, set as *mut libc::cpu_set_t) } {
        0 => bytes as c_long,
        code => code.into(),
    }
}

/// What the kernel returned as libc's `syscall` has it.
fn result(kernel: i64) -> c_long {
    if (-4095..0).contains(&kernel) {
        return failed(-kernel as c_int).into();
    }
    kernel
}
