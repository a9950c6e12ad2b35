// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syscall()`: C++ and Rust wait with it. What the simulation has to answer goes to the stand-in of that
//! name, all else to the kernel.
mod stand_ins;

use crate::account::host;
use crate::calls::membarrier::membarrier;
use crate::calls::memory_policy;
use crate::engine::{active, launch, note, running_cpu};
use crate::entry::Call;
use crate::scheduling::sched;
use crate::stand_in::failed;
use crate::sys;
use crate::threads::futex_call;
use crate::threads::priority;
use crate::threads::processes;
use crate::threads::robust_list;
use crate::threads::signals;
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_uint};

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
        let answer = if stand_ins::is_early(number) { stand_ins::call(number, &arguments) } else { None };
        return answer.unwrap_or_else(|| kernel(number, &of_kernels_process(number, arguments)));
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
        // The call's answer is never below zero.
        libc::SYS_getpriority => answer(priority::nice_of(a as u32, b as u32).map(|nice| (20 - nice).into())),
        libc::SYS_tgkill => signals::by_number(b as c_int, c as c_int, pc).into(),
        libc::SYS_tkill => signals::by_number(a as c_int, b as c_int, pc).into(),
        _ if let Some(name) = not_there(number) => {
            note(&alloc::format!("the system call {name} is not simulated: it fails with ENOSYS"), pc);
            failed(libc::ENOSYS).into()
        }
        _ => stand_ins::call(number, &arguments).unwrap_or_else(|| {
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

/// With the kernel's IDs of processes in place of the program's, in calls that take some.
fn of_kernels_process(number: c_long, mut arguments: Arguments) -> Arguments {
    let places: &[usize] = match number {
        libc::SYS_sched_rr_get_interval
        | libc::SYS_sched_getattr
        | libc::SYS_sched_setattr
        | libc::SYS_migrate_pages
        | libc::SYS_process_vm_readv
        | libc::SYS_process_vm_writev
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_tkill
        | libc::SYS_pidfd_open => &[0],
        libc::SYS_kcmp | libc::SYS_rt_tgsigqueueinfo | libc::SYS_tgkill => &[0, 1],
        libc::SYS_getpriority | libc::SYS_ioprio_get | libc::SYS_ioprio_set => &[1],
        _ => &[],
    };
    for place in places {
        arguments[*place] = processes::to_kernel(arguments[*place] as libc::pid_t) as u64;
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
    let here = running_cpu();
    // SAFETY: the program's variables, or null.
    unsafe {
        if let Some(cpu) = cpu.as_mut() {
            *cpu = here;
        }
        if let Some(node) = node.as_mut() {
            *node = launch().machine.socket_of(here);
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
