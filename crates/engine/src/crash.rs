// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that end badly: what happened is recorded and said, and the process ends with a code of its own.

use crate::carrier;
use crate::code;
use crate::code::innermost;
use crate::code::unwind::Registers;
use crate::ending::{self, End, STOP};
use crate::engine::{self, active, sim};
use crate::hot::hot;
use crate::memory;
use crate::recorder::region;
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::stack_here;
use crate::scheduling::fiber::{State, Wait};
use crate::scheduling::peek;
use crate::stacks;
use crate::state::scheduler::running_fiber;
use crate::sys;
use crate::threads::signals;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};
use corefold_launch::{
    EXIT_CRASHED, EXIT_DEADLOCK, EXIT_LIVELOCK, EXIT_OUT_OF_MEMORY, EXIT_TIMED_OUT, EXIT_UNSUPPORTED,
    EXIT_USE_AFTER_FREE,
};
use corefold_recording::{Running, Status, Unseen, Waiter};

/// The clock at that time.
static ASKED_AT: AtomicU64 = AtomicU64::new(0);

/// The return addresses between a thread's place and its innermost function with hooks, whose own is `outer`.
fn calls_between(fiber: usize, pc: u64, outer: Option<u64>) -> Vec<u64> {
    let Some(outer) = outer else { return Vec::new() };
    let registers =
        if fiber == running_fiber() { Registers::here() } else { Registers::saved(FIBERS[fiber].saved_sp()) };
    registers.between(pc, outer)
}

/// Records how the run ended and ends the process.
fn end_with(status: Status, code: i32) -> ! {
    region::finish(status);
    sys::exit_group(code)
}

fn end(why: End) -> ! {
    carrier::reclaim();
    match why {
        End::Unsupported { what, pc } => {
            end_with(Status::Unsupported { what: what.to_string(), stack: stack_here(pc) }, EXIT_UNSUPPORTED)
        }
        End::OutOfMemory { bytes, pc } => {
            end_with(Status::OutOfMemory { bytes, stack: stack_here(pc) }, EXIT_OUT_OF_MEMORY)
        }
        End::Deadlock => end_with(Status::Deadlock { waiters: waiters() }, EXIT_DEADLOCK),
        End::Livelock { pc, spin } => {
            end_with(Status::Livelock { spin, running: running(pc), waiters: waiters() }, EXIT_LIVELOCK)
        }
        End::UseAfterFree(misuse) => end_with(Status::UseAfterFree(*misuse), EXIT_USE_AFTER_FREE),
        End::Killed { signal, pc, sp } => crashed(signal, None, pc, sp),
        End::KilledThere { signal, fiber } => {
            let (thread, stack) = (fiber as u32, stack_of(fiber));
            end_with(Status::Crashed { signal, address: None, thread, stack, overflow: false }, EXIT_CRASHED)
        }
        End::Stopped { pc } => timed_out(pc),
    }
}

fn stack_of(fiber: usize) -> Vec<u64> {
    let top = if fiber == running_fiber() { hot().frames.get() } else { FIBERS[fiber].frames.get() };
    FIBERS[fiber].calls(top).take(64).collect()
}

/// Is it blocked, or polling in a spin?
fn waits(fiber: usize) -> bool {
    let f = &FIBERS[fiber];
    f.state.get() == State::Blocked
        || f.state.get() == State::Running && matches!(f.wait.get(), Wait::Retry { .. } | Wait::Io { .. })
}

fn waiters() -> Vec<Waiter> {
    (0..FIBERS.len()).filter(|f| waits(*f)).map(waiter).collect()
}

fn waiter(fiber: usize) -> Waiter {
    let f = &FIBERS[fiber];
    let (call, on, held_by): (&str, u64, Vec<u32>) = match f.wait.get() {
        Wait::Futex { object, call, .. } => (call, object, crate::account::locks::holders(object)),
        Wait::Join { thread } => ("pthread_join", thread as u64, alloc::vec![thread as u32]),
        Wait::Io { fd, call, .. } => (call, fd as u64, Vec::new()),
        Wait::Retry { id, call, .. } => (call, id as u64, Vec::new()),
        Wait::Sleep => ("sleep", 0, Vec::new()),
        Wait::Signal { call } => (call, 0, Vec::new()),
        Wait::Nothing => ("nothing", 0, Vec::new()),
    };
    let mut stack = stack_of(fiber);
    let called_at = match f.blocked_at.get() {
        // A sleep does not note where it was called.
        0 if fiber != running_fiber() => innermost::calling_from(f.saved_sp(), stack.first().copied()).unwrap_or(0),
        at => at,
    };
    if called_at != 0 {
        let within = calls_between(fiber, called_at, stack.first().copied());
        let is_unknown = within.is_empty();
        stack.splice(..0, core::iter::once(called_at).chain(within));
        if is_unknown {
            innermost::complete(&mut stack, f.saved_sp());
        }
    }
    Waiter { thread: fiber as u32, call: String::from(call), on, held_by, stack }
}

fn timed_out(pc: u64) -> ! {
    let (running, waiters) = (running(pc), waiters());
    // If all wait and no timer is set, they wait for outside input.
    let advances = !running.is_empty() || !sim(|sim| sim.timers.is_empty());
    end_with(Status::TimedOut { running, waiters, advances, unseen: None }, EXIT_TIMED_OUT)
}

/// The running thread reaches no hook: it is in uninstrumented code, before `pc`.
fn unseen(pc: u64, sp: u64) -> ! {
    if innermost::is_in_library(pc) && !innermost::is_after_call(pc - 1) {
        engine::note("an uninstrumented library does not return: no other thread can run meanwhile", pc);
    }
    let me = running_fiber();
    let mut running = running(pc);
    for one in running.iter_mut().filter(|one| one.thread as usize == me) {
        innermost::complete(&mut one.stack, sp);
    }
    let unseen = Some(Unseen { thread: me as u32, pc, since: crate::hooks::estimate::last_hook(pc) });
    end_with(Status::TimedOut { running, waiters: waiters(), advances: false, unseen }, EXIT_TIMED_OUT)
}

/// The threads that are on a CPU; the running one is at `pc`.
fn running(pc: u64) -> Vec<Running> {
    let runs = |f: &usize| FIBERS[*f].state.get() == State::Running && !waits(*f);
    let mut running: Vec<Running> =
        (0..FIBERS.len()).filter(runs).map(|f| Running { thread: f as u32, stack: stack_of(f) }).collect();
    for r in &mut running {
        let fiber = &FIBERS[r.thread as usize];
        let place = match r.thread as usize == running_fiber() {
            true => Some(pc),
            // It has left its CPU's turn in a hook that the program called.
            false => innermost::calling_from(fiber.saved_sp(), r.stack.first().copied()).map(innermost::in_line),
        };
        if let Some(place) = place {
            r.stack.insert(0, place);
        }
    }
    running
}

extern "C" fn on_stop(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let clock = hot().clock.get();
    // SAFETY: the kernel passes it for SA_SIGINFO handlers.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize] as u64;
    if STOP.swap(true, Ordering::Relaxed) {
        if interrupts_runtime(at) {
            return ask_again(LITTLE_LATER_US);
        }
        carrier::reclaim();
        // Asked twice: the program reaches no hook. Is it in a system call, or computing?
        if clock != ASKED_AT.swap(clock, Ordering::Relaxed) {
            timed_out(0);
        }
        // As in `on_fault`: past the instruction's first byte.
        unseen(at + 1, registers[libc::REG_RSP as usize] as u64);
    }
    ASKED_AT.store(clock, Ordering::Relaxed);
    hot().end();
    ask_again(A_SECOND_US);
}

const A_SECOND_US: i64 = 1_000_000;
const LITTLE_LATER_US: i64 = 1000;
/// Successive signals that found the runtime at work, and the most there may be before it is taken for stuck.
static IN_RUNTIME: AtomicU64 = AtomicU64::new(0);
const MOST_IN_RUNTIME: u64 = 5000;

/// Was the runtime changing what a recording is made of? In a system call of its own it is not.
fn interrupts_runtime(at: u64) -> bool {
    let safe = !memory::is_at_work() && (!code::is_own(at) || innermost::is_after_call(at));
    if safe {
        return false;
    }
    if IN_RUNTIME.fetch_add(1, Ordering::Relaxed) > MOST_IN_RUNTIME {
        sys::exit_group(EXIT_TIMED_OUT);
    }
    true
}

/// SIGALRM comes in so many microseconds of the host.
fn ask_again(microseconds: i64) {
    let (seconds, rest) = (microseconds / A_SECOND_US, microseconds % A_SECOND_US);
    let once: [i64; 4] = [0, 0, seconds, rest];
    // SAFETY: a `struct itimerval`. Not libc's call, which is the program's, in virtual time.
    unsafe { sys::syscall!(libc::SYS_setitimer, libc::ITIMER_REAL, once.as_ptr(), 0; 0, 0, 0) };
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both for SA_SIGINFO handlers.
    let (address, registers) =
        unsafe { (fault_address(&*info), &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs) };
    if peek::gives_up(signal, registers) || signal == libc::SIGSEGV && crate::threads::clock::emulate_rdtsc(registers) {
        return;
    }
    if !active() {
        sys::exit_group(EXIT_CRASHED);
    }
    if memory::is_at_work() {
        sys::engine_fault("its own memory is damaged");
    }
    // Reports take an address as a return address and look one byte before it, so point past the instruction's first byte.
    let (pc, sp) = (registers[libc::REG_RIP as usize] as u64 + 1, registers[libc::REG_RSP as usize] as u64);
    if signal == libc::SIGPIPE && signals::holds_back(signal, info) {
        return;
    }
    signals::hand_over(signal, info, context.cast());
    carrier::reclaim();
    crashed(signal, address, pc, sp)
}

/// Where the fault was; none if the signal was sent.
fn fault_address(info: &libc::siginfo_t) -> Option<u64> {
    const FROM_KERNEL: c_int = 0;
    let has_one = info.si_code > FROM_KERNEL && info.si_signo != libc::SIGPIPE;
    // SAFETY: faults have an address.
    has_one.then(|| unsafe { info.si_addr() as u64 })
}

fn crashed(signal: c_int, address: Option<u64>, pc: u64, sp: u64) -> ! {
    let thread = running_fiber() as u32;
    let mut stack = stack_here(pc);
    innermost::complete(&mut stack, sp);
    let overflow = signal == libc::SIGSEGV
        && address.is_some_and(|at| stacks::overflowed(FIBERS[thread as usize].thread.slot.get(), at, sp));
    end_with(Status::Crashed { signal, address, thread, stack, overflow }, EXIT_CRASHED)
}

const HANDLER_STACK: usize = 64 << 10;

/// Takes over the signals that end a process, and what the runtime itself ends the run for.
pub fn install() {
    ending::handle(end);
    let stack = alloc::vec![0u8; HANDLER_STACK].leak();
    let ss = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: HANDLER_STACK };
    // SAFETY: the stack lives for ever.
    unsafe { libc::sigaltstack(&ss, core::ptr::null_mut()) };
    crate::threads::signals::actions::FAULTS.into_iter().for_each(take_over);
    if !is_ignored(libc::SIGPIPE) {
        take_over(libc::SIGPIPE);
    }
    handle(libc::SIGTERM, on_stop);
    handle(libc::SIGINT, on_stop);
    handle(libc::SIGALRM, on_stop);
}

/// A signal that ends the program is recorded first.
pub fn take_over(signal: c_int) {
    handle(signal, on_fault);
}

fn is_ignored(signal: c_int) -> bool {
    // SAFETY: asks only; a zeroed sigaction is valid.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal, core::ptr::null(), &mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}

fn handle(signal: c_int, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    // SAFETY: a zeroed sigaction is valid; handlers have the SA_SIGINFO type.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(signal, &action, core::ptr::null_mut());
    }
}
