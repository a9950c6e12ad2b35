// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syscall()`: C++ and Rust wait with it. What the simulation has to answer goes to the stand-in of that
//! name, all else to the kernel.
use crate::calls::membarrier::membarrier;
use crate::engine::{active, engine};
use crate::entry::Call;
use crate::scheduling::sched;
use crate::stand_in::failed;
use crate::threads::futex_call;
use crate::{crash, sys};
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

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
        libc::SYS_clone | libc::SYS_clone3 => crash::unsupported("the program makes threads by system calls", pc),
        libc::SYS_exit => crash::unsupported("a thread ends itself by a system call", pc),
        // SAFETY: ends the process, as it is asked to.
        libc::SYS_exit_group => unsafe { libc::_exit(a as c_int) },
        _ => by_stand_in(number, &arguments).unwrap_or_else(|| {
            sched::enter_kernel();
            kernel(number, &arguments)
        }),
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
        SYS_sched_yield => sched_yield();
        SYS_sched_setaffinity => sched_setaffinity(c_int, usize, *const libc::cpu_set_t);
        SYS_getrandom => getrandom(*mut c_void, usize, c_uint);
        SYS_time => time(*mut i64);
        SYS_times => times(*mut libc::tms);
        SYS_gettimeofday => gettimeofday(*mut libc::timeval, *mut libc::timezone);
        SYS_clock_gettime => clock_gettime(c_int, *mut libc::timespec);
        SYS_clock_getres => clock_getres(c_int, *mut libc::timespec);
        SYS_nanosleep => nanosleep(*const libc::timespec, *mut libc::timespec);
        SYS_getrusage => getrusage(c_int, *mut libc::rusage);
        SYS_mmap => mmap(*mut c_void, usize, c_int, c_int, c_int, i64);
        SYS_munmap => munmap(*mut c_void, usize);
        SYS_read => read(c_int, *mut c_void, usize);
        SYS_readv => readv(c_int, *const libc::iovec, c_int);
        SYS_write => write(c_int, *const c_void, usize);
        SYS_writev => writev(c_int, *const libc::iovec, c_int);
        SYS_close => close(c_int);
        SYS_pipe2 => pipe2(*mut c_int, c_int);
        SYS_eventfd2 => eventfd(c_uint, c_int);
        SYS_poll => poll(*mut libc::pollfd, c_ulong, c_int);
        SYS_epoll_create1 => epoll_create1(c_int);
        SYS_epoll_ctl => epoll_ctl(c_int, c_int, c_int, *mut libc::epoll_event);
        SYS_epoll_wait => epoll_wait(c_int, *mut libc::epoll_event, c_int, c_int);
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

fn kernel(number: c_long, arguments: &Arguments) -> c_long {
    let [a, b, c, d, e, f] = *arguments;
    // SAFETY: the program's own call.
    result(unsafe { sys::syscall6(number, a, b, c, d, e, f) })
}

fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_long {
    let here = engine().sched.cpu as u32;
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
