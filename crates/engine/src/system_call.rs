// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syscall()`: C++ and Rust wait with it. What the simulation has to answer goes to the stand-in of that
//! name, all else to the kernel.
use crate::engine::active;
use crate::entry::Call;
use crate::stand_in::failed;
use crate::{futex_call, sched, sys};
use core::arch::naked_asm;
use core::ffi::{c_long, c_uint, c_void};

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

extern "C" fn simulated(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, pc: u64) -> c_long {
    if !active() {
        // SAFETY: the program's own call.
        return result(unsafe { sys::syscall6(number, a, b, c, d, e, f) });
    }
    // SAFETY: the program's own arguments, of the types that these calls have. The functions are our
    // stand-ins where we have any, or else libc's.
    unsafe {
        match number {
            libc::SYS_futex => result(futex_call::futex(&[a, b, c, d, e, f], Call { name: "futex", pc })),
            libc::SYS_gettid => libc::gettid().into(),
            libc::SYS_sched_yield => libc::sched_yield().into(),
            libc::SYS_getcpu => getcpu(a as *mut c_uint, b as *mut c_uint),
            libc::SYS_getrandom => libc::getrandom(a as *mut c_void, b as usize, c as c_uint) as c_long,
            libc::SYS_clock_gettime => libc::clock_gettime(a as i32, b as *mut libc::timespec).into(),
            libc::SYS_gettimeofday => libc::gettimeofday(a as *mut libc::timeval, b as *mut libc::timezone).into(),
            libc::SYS_nanosleep => libc::nanosleep(a as *const libc::timespec, b as *mut libc::timespec).into(),
            _ => {
                sched::enter_kernel();
                result(sys::syscall6(number, a, b, c, d, e, f))
            }
        }
    }
}

fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_long {
    let machine = &crate::engine::engine().launch.machine;
    let here = crate::engine::engine().sched.cpu as u32;
    // SAFETY: the program's variables, or null.
    unsafe {
        if let Some(cpu) = cpu.as_mut() {
            *cpu = here;
        }
        if let Some(node) = node.as_mut() {
            *node = machine.socket_of(here);
        }
    }
    0
}

/// What the kernel returned as libc's `syscall` has it.
fn result(kernel: i64) -> c_long {
    if (-4095..0).contains(&kernel) {
        return failed(-kernel as i32).into();
    }
    kernel
}
