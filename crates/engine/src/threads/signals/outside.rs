// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel has to do with it: signals from other processes, and faults.
use super::actions::{self, Action, FAULTS, RUNNERS, bit};
use super::frame;
use super::pending::COUNT;
use super::sending::send;
use crate::code::is_own;
use crate::engine::{note, now};
use crate::hot::hot;
use crate::registers;
use crate::scheduling::fiber::current;
use crate::scheduling::outside;
use crate::scheduling::store_buffer;
use crate::scheduling::{peek, sched};
use crate::state::signals::{CAME, Information, Target};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

/// What the kernel said of the last signal of each kind that came.
struct Said(UnsafeCell<[Option<Information>; COUNT]>);
// SAFETY: only the carrier and its signal handler use it; an entry is written before its bit is set, and a
// handler that comes while it is read brings the same signal's newer words.
unsafe impl Sync for Said {}
static SAID: Said = Said(UnsafeCell::new([None; COUNT]));

/// The kernel's view of every handler of the program's but those of faults.
extern "C" fn on_signal(signal: c_int, information: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes it; see [`Said`].
    registers::interrupted(|| unsafe { (*SAID.0.get())[signal as usize] = Some(Information::of(&*information)) });
    CAME.fetch_or(bit(signal), Ordering::Release); // pairs with Acquire in `send_all`
    hot().end();
}

/// Keeps a signal of the kernel's that the running thread blocks. False: it does not.
pub fn holds_back(signal: c_int, information: *mut libc::siginfo_t) -> bool {
    let blocks = current().signals.mask.get() & bit(signal) != 0;
    if blocks {
        on_signal(signal, information, core::ptr::null_mut());
    }
    blocks
}

/// What came from outside is sent to the process. False: nothing came.
#[inline]
pub fn take_in() -> bool {
    CAME.load(Ordering::Relaxed) != 0 && send_all()
}

#[cold]
fn send_all() -> bool {
    let came = CAME.swap(0, Ordering::Acquire); // pairs with Release in `on_signal`
    for signal in (1..COUNT as c_int).filter(|s| came & bit(*s) != 0) {
        // SAFETY: see [`Said`].
        if let Some(said) = unsafe { (*SAID.0.get())[signal as usize] } {
            send(Target::Process, said, now());
        }
    }
    true
}

/// The program has set an action: the kernel's follows. Faults and what the runner says stay the runtime's.
pub fn follow(signal: c_int, new: &libc::sigaction, pc: u64) {
    let handled = matches!(actions::action(signal), Action::Handler(_));
    match signal {
        _ if FAULTS.contains(&signal) => {}
        _ if RUNNERS.contains(&signal) => {
            if handled && signal != libc::SIGALRM {
                note("handles a signal that ends the run if another process sends it", pc);
            }
        }
        // The runtime catches system calls by it.
        libc::SIGSYS => {}
        libc::SIGPIPE if new.sa_sigaction == libc::SIG_DFL => outside::take_over(signal),
        _ => {
            let mut heard = *new;
            if handled {
                heard.sa_sigaction = on_signal as *const () as usize;
                heard.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            }
            // SAFETY: the program's own choice, or our handler; the call is libc's, as it comes from us.
            unsafe { libc::sigaction(signal, &heard, core::ptr::null_mut()) };
        }
    }
}

/// A fault that the program has a handler for is the handler's. Returns if it has none, or blocks it.
pub fn hand_over(signal: c_int, information: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel passes it.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let Action::Handler(action) = actions::action(signal) else { return };
    let mine = &current().signals;
    let is_ours = is_own(registers[libc::REG_RIP as usize] as u64);
    if mine.mask.get() & bit(signal) != 0 || is_ours && !peek::tries_again(registers) {
        return;
    }
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        actions::reset(signal);
    }
    // SAFETY: the kernel's frame, and the program's set.
    unsafe {
        actions::set_bits(&mut (*context).uc_sigmask, mine.mask.get());
        let itself = if action.sa_flags & libc::SA_NODEFER != 0 { 0 } else { bit(signal) };
        let added = actions::bits(&action.sa_mask) | itself;
        mine.mask.update(|mask| mask | added);
    }
    // What came before the fault is complete; what faulted delivers nothing, and stores nothing where nobody may write.
    sched::drain();
    store_buffer::commit_own();
    let stack = mine.stack.get().filter(|_| action.sa_flags & libc::SA_ONSTACK != 0);
    // SAFETY: the kernel's frame, and the program's stack and handler.
    unsafe { frame::go_on_in(action.sa_sigaction, signal, information, context, stack) }
}
