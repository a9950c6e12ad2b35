// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals. Those of the program's own making are delivered at once, in virtual time; those from outside
//! when the running thread next comes to a basic block, as a handler must not find the runtime at work.
//! A signal for another thread than the caller's is not simulated.
mod calls;
mod frame;

use crate::code::is_own;
use crate::crash;
use crate::engine::{engine, note};
use crate::hooks::hot::hot;
use crate::scheduling::sched;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

const COUNT: usize = 65;

/// What the program wants done, and the stacks that its threads have set aside for handlers.
struct Wishes {
    actions: [Option<libc::sigaction>; COUNT],
    stacks: Vec<Option<(u64, u64)>>,
    /// What the kernel said of a signal that waits to be delivered.
    information: [Option<libc::siginfo_t>; COUNT],
}

struct Table(UnsafeCell<Wishes>);
// SAFETY: only the carrier uses it; a handler of ours interrupts nobody who does, but for `information`,
// which is written before the bit that says so is set.
unsafe impl Sync for Table {}
static TABLE: Table =
    Table(UnsafeCell::new(Wishes { actions: [None; COUNT], stacks: Vec::new(), information: [None; COUNT] }));

fn wishes() -> &'static mut Wishes {
    // SAFETY: as above; no reference outlives a call of the program's.
    unsafe { &mut *TABLE.0.get() }
}

/// Signals from outside that wait for a basic block, a bit each.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// Faults, which the runtime looks at first: some are the program reading the processor's clock.
pub const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// What the runner says by.
const RUNNERS: [c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGALRM];

fn is_valid(signal: c_int) -> bool {
    signal > 0 && (signal as usize) < COUNT
}

/// The program's handler, if it has one.
fn handler(signal: c_int) -> Option<libc::sigaction> {
    wishes().actions[signal as usize].filter(is_function)
}

fn is_ignored(signal: c_int) -> bool {
    wishes().actions[signal as usize].is_some_and(|a| a.sa_sigaction == libc::SIG_IGN)
}

fn is_function(action: &libc::sigaction) -> bool {
    action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
}

fn information(signal: c_int) -> libc::siginfo_t {
    // SAFETY: a zeroed one is valid.
    let mut information: libc::siginfo_t = unsafe { core::mem::zeroed() };
    information.si_signo = signal;
    information.si_code = libc::SI_TKILL;
    information
}

/// Calls the program's handler as a function.
fn call(signal: c_int, action: &libc::sigaction, information: &mut libc::siginfo_t) {
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        wishes().actions[signal as usize] = None;
    }
    // SAFETY: the program's handler has this type, or one that ignores the last two; a zeroed context is
    // valid, and says nothing.
    unsafe {
        let mut context: libc::ucontext_t = core::mem::zeroed();
        let function: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            core::mem::transmute(action.sa_sigaction);
        function(signal, information, (&raw mut context).cast());
    }
}

/// Delivers what came from outside.
#[inline]
pub fn deliver_pending() {
    if PENDING.load(Ordering::Relaxed) != 0 {
        deliver_all();
    }
}

#[cold]
fn deliver_all() {
    let pending = PENDING.swap(0, Ordering::Acquire); // pairs with Release in `on_signal`
    for signal in (1..COUNT as c_int).filter(|s| pending >> s & 1 != 0) {
        if let (Some(action), Some(mut information)) = (handler(signal), wishes().information[signal as usize]) {
            call(signal, &action, &mut information);
        }
    }
}

/// The kernel's view of every handler of the program's but those of faults.
extern "C" fn on_signal(signal: c_int, information: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes it.
    wishes().information[signal as usize] = Some(unsafe { *information });
    PENDING.fetch_or(1 << signal, Ordering::Release); // pairs with Acquire in `deliver_all`
    hot!().limit = 0;
}

/// A fault that the program has a handler for is the handler's. Returns if it has none.
pub fn hand_over(signal: c_int, information: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel passes it.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    if is_own(registers[libc::REG_RIP as usize] as u64) {
        return;
    }
    let Some(action) = handler(signal) else { return };
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        wishes().actions[signal as usize] = None;
    }
    let stack = wishes().stacks.get(engine().sched.fiber).copied().flatten();
    let stack = stack.filter(|_| action.sa_flags & libc::SA_ONSTACK != 0);
    // SAFETY: the kernel's frame, and the program's stack and handler.
    unsafe { frame::go_on_in(action.sa_sigaction, signal, information, context, stack) }
}

/// A signal that the running thread sends to itself.
fn deliver_here(signal: c_int, pc: u64) {
    const HARMLESS: [c_int; 4] = [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH, libc::SIGCONT];
    if is_ignored(signal) {
        return;
    }
    match handler(signal) {
        Some(action) => call(signal, &action, &mut information(signal)),
        None if HARMLESS.contains(&signal) => {}
        None => crash::killed(signal, pc),
    }
}

/// Is the signal held back? Then it is the kernel's to keep.
fn is_held_back(signal: c_int) -> bool {
    // SAFETY: reads the carrier's mask.
    unsafe {
        let mut mask: libc::sigset_t = core::mem::zeroed();
        own_mask(libc::SIG_BLOCK, core::ptr::null(), &mut mask);
        libc::sigismember(&mask, signal) == 1
    }
}

fn own_mask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    crate::real::real! {
        fn pthread_sigmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int;
    }
    pthread_sigmask(how, new, old)
}

const STOPS: [c_int; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// What `raise` and the like do for the calling thread; `own` is what libc does.
fn send_here(signal: c_int, pc: u64, own: impl FnOnce() -> c_int) -> c_int {
    sched::enter_kernel();
    if signal == 0 || !is_valid(signal) || STOPS.contains(&signal) || is_held_back(signal) {
        return own();
    }
    deliver_here(signal, pc);
    0
}

/// The handler of a signal is to be another: as the program says, whatever the runtime makes of it. Faults
/// and what the runner says stay the runtime's. `own` is libc's function.
fn change(signal: c_int, new: &libc::sigaction, pc: u64, own: impl FnOnce(&libc::sigaction)) {
    wishes().actions[signal as usize] = Some(*new);
    match signal {
        _ if FAULTS.contains(&signal) => {}
        _ if RUNNERS.contains(&signal) => {
            if is_function(new) {
                note("handles a signal that ends the run when it comes from outside", pc);
            }
        }
        libc::SIGPIPE if new.sa_sigaction == libc::SIG_DFL => crash::take_over(signal),
        _ => own(&heard(new)),
    }
}

/// The same action with our handler for the program's.
fn heard(action: &libc::sigaction) -> libc::sigaction {
    let mut ours = *action;
    if is_function(action) {
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    }
    ours
}

/// The signals of `mask` less those that the runtime has to hear of at any time.
fn without_ours(mask: &libc::sigset_t) -> libc::sigset_t {
    let mut mask = *mask;
    for signal in FAULTS.into_iter().chain(RUNNERS) {
        // SAFETY: a valid set and signal.
        unsafe { libc::sigdelset(&mut mask, signal) };
    }
    mask
}
