// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `membarrier` system call: a fence on every CPU that runs a thread of the process, by an interrupt.
//!
//! The caller pays for each interrupt that it sends, and waits until the slowest CPU has drained its outstanding
//! accesses; every CPU that is interrupted loses the time of the handler.
use crate::calls::sleep;
use crate::engine::{launch, now, sim};
use crate::hot::hot;
use crate::scheduling::{lease, sched, spin_skip};
use crate::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use corefold_model::ticks;

const QUERY: c_int = 0;
/// One grace period of the kernel's: every CPU has passed a fence by itself.
const GLOBAL: c_int = 1;
/// Commands by interrupt, and those that register for them.
const BY_INTERRUPT: [(c_int, c_int); 4] = [(2, 4), (8, 16), (32, 64), (128, 256)];
/// Of these, the one that needs no registration by the caller.
const GLOBAL_EXPEDITED: c_int = 2;
const GET_REGISTRATIONS: c_int = 512;
/// May go with the last of the four, for one CPU only.
const FLAG_CPU: u32 = 1;
const RSEQ: c_int = 128;

/// Commands that the process has registered by, and [`ASKED`].
static REGISTERED: AtomicU32 = AtomicU32::new(0);
/// Whether the kernel has been asked: constructors of shared libraries register with it, before the simulation begins.
const ASKED: u32 = 1 << 31;

fn registered() -> c_int {
    if REGISTERED.load(Ordering::Relaxed) & ASKED == 0 {
        // SAFETY: a fence, or an error if the process has not registered.
        let can = |go: c_int| unsafe { sys::syscall!(libc::SYS_membarrier, go, 0; 0, 0, 0, 0) } == 0;
        let before = BY_INTERRUPT.iter().filter(|(go, _)| *go != GLOBAL_EXPEDITED && can(*go));
        let before = before.fold(ASKED, |all, (_, register)| all | *register as u32);
        REGISTERED.fetch_or(before, Ordering::Relaxed);
    }
    (REGISTERED.load(Ordering::Relaxed) & !ASKED) as c_int
}

/// Carries the call out; returns what the kernel would, errors below zero.
pub fn membarrier(command: c_int, flags: u32, cpu: c_int) -> i64 {
    sched::enter_kernel();
    let error = |code: c_int| -i64::from(code);
    if flags != 0 && !(flags == FLAG_CPU && command == RSEQ) {
        return error(libc::EINVAL);
    }
    let registered = registered();
    let only = (flags == FLAG_CPU).then_some(cpu as usize);
    match command {
        QUERY => BY_INTERRUPT.iter().fold(GLOBAL | GET_REGISTRATIONS, |all, (go, register)| all | go | register).into(),
        GET_REGISTRATIONS => registered.into(),
        GLOBAL => {
            crate::threads::signals::pending::deafly(|| {
                _ = sleep::until(now() + ticks(launch().machine.system.grace_period))
            });
            0
        }
        _ => match BY_INTERRUPT.iter().find(|(go, register)| command == *go || command == *register) {
            Some((_, register)) if command == *register => {
                REGISTERED.fetch_or(*register as u32, Ordering::Relaxed);
                0
            }
            Some((go, register)) if *go == GLOBAL_EXPEDITED || registered & register != 0 => {
                interrupt(only);
                0
            }
            Some(_) => error(libc::EPERM),
            None => error(libc::EINVAL),
        },
    }
}

/// Interrupts every other CPU that runs a thread, or only this one, and waits until all have fenced.
fn interrupt(only: Option<usize>) {
    let targets: alloc::vec::Vec<usize> = sim(|sim| {
        let runs = |c: &usize| *c != sim.cpu && sim.cpus[*c].thread.is_some() && only.is_none_or(|only| only == *c);
        (0..sim.cpus.len()).filter(runs).collect()
    });
    if targets.is_empty() {
        return;
    }
    let system = &launch().machine.system;
    // Waiting for the interrupt controller: a busy SMT sibling does not slow that down.
    hot().spend(ticks(system.interrupt_send) * targets.len() as u64);
    // The clock of a CPU that skips a spin is ahead, at its next read.
    targets.iter().for_each(|cpu| spin_skip::disturbed(*cpu, now()));
    let last = sim(|sim| sim.interrupt(&targets, ticks(system.interrupt), now()));
    lease::set_limit();
    hot().clock.set(last + ticks(system.interrupt));
    sched::quiesce();
}
