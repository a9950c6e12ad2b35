// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the carrier spends its user time: a timer sends it a signal for each millisecond, or clock tick of the kernel
//! if that is longer.
//!
//! The timer runs by user time only, so it fires in user code and interrupts no system call. Its signal is one that
//! glibc keeps for itself (and has no use for, as cancellation is ours), so programs cannot see, block or handle it.
use crate::code;
use crate::sys;
use alloc::format;
use alloc::string::String;
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

const SIGNAL: c_int = 32;
const PERIOD: i64 = 1_000_000;
/// The user time of the calling thread, as Linux numbers the clocks of threads.
const USER_TIME: i32 = !0 << 3 | 4 | 1;

/// Instructions that samples fell on, and how many. Where there are more, the rest goes uncounted.
const SLOTS: usize = 16384;
/// The longest probe sequence of the hash table.
const MOST_STEPS: usize = 64;
static PLACES: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
static COUNTS: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
/// All samples, those in the runtime included.
static ALL: AtomicU64 = AtomicU64::new(0);
/// The return address of the last call that the runtime charged and left to libc.
pub static ACCOUNTED: AtomicU64 = AtomicU64::new(0);
/// The kernel's number of the timer; below zero: the error of making it.
static TIMER: AtomicI64 = AtomicI64::new(-1);

#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

#[repr(C)]
struct KernelEvent {
    value: u64,
    signal: c_int,
    notify: c_int,
    thread: c_int,
    padding: [c_int; 11],
}

pub fn begin() {
    const SA_RESTORER: u64 = 0x0400_0000;
    const MASK_BYTES: u64 = 8;
    let flags = (libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK) as u64 | SA_RESTORER;
    let handler = on_tick as *const () as usize;
    let action = KernelAction { handler, flags, restorer: restore as *const () as usize, mask: 0 };
    let period = libc::timespec { tv_sec: 0, tv_nsec: PERIOD };
    let setting = libc::itimerspec { it_interval: period, it_value: period };
    // SAFETY: structures as the kernel has them; libc's functions refuse the signal, or are the program's.
    unsafe {
        let thread = sys::syscall!(libc::SYS_gettid, 0; 0, 0, 0, 0, 0) as c_int;
        let event = KernelEvent { value: 0, signal: SIGNAL, notify: libc::SIGEV_THREAD_ID, thread, padding: [0; 11] };
        let (mut timer, none): (c_int, *const c_void) = (0, core::ptr::null());
        let mut code = sys::syscall!(libc::SYS_rt_sigaction, SIGNAL, &raw const action, none, MASK_BYTES; 0, 0);
        if code == 0 {
            code = sys::syscall!(libc::SYS_timer_create, USER_TIME, &raw const event, &raw mut timer; 0, 0, 0);
        }
        if code == 0 {
            code = sys::syscall!(libc::SYS_timer_settime, timer, 0, &raw const setting, none; 0, 0);
        }
        TIMER.store(if code == 0 { timer.into() } else { code }, Relaxed);
    }
}

pub fn end() {
    let timer = TIMER.load(Relaxed);
    if timer >= 0 {
        // SAFETY: our own timer.
        unsafe { sys::syscall!(libc::SYS_timer_delete, timer; 0, 0, 0, 0, 0) };
    }
}

/// Why there are no samples; empty if there are.
pub fn refused() -> String {
    match TIMER.load(Relaxed) {
        timer if timer >= 0 => String::new(),
        error => format!("the kernel refuses a timer for the thread's CPU time (error {})", -error),
    }
}

pub fn all() -> u64 {
    ALL.load(Relaxed)
}

pub fn forget() {
    // Words that are 0 already are not touched, as their pages need not be there.
    let used = PLACES.iter().chain(&COUNTS).filter(|word| word.load(Relaxed) != 0);
    used.chain([&ALL]).for_each(|word| word.store(0, Relaxed));
}

/// The instructions outside the runtime that samples fell on, and how many.
pub fn places() -> impl Iterator<Item = (u64, u64)> {
    let pair = |at: usize| (PLACES[at].load(Relaxed), COUNTS[at].load(Relaxed));
    (0..SLOTS).map(pair).filter(|(_, count)| *count > 0)
}

#[unsafe(naked)]
extern "C" fn restore() {
    naked_asm!("mov eax, {number}", "syscall", number = const libc::SYS_rt_sigreturn)
}

/// Only counts. It may come at any instruction of user code.
extern "C" fn on_tick(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes it for SA_SIGINFO handlers.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let (pc, sp) = (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64);
    ALL.fetch_add(1, Relaxed);
    if code::is_own(pc) || code::is_libc(pc) && is_accounted(sp) {
        return;
    }
    let first = (pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    let slots = (0..MOST_STEPS).map(|step| first.wrapping_add(step) % SLOTS);
    for slot in slots {
        if [0, pc].contains(&PLACES[slot].load(Relaxed)) {
            PLACES[slot].store(pc, Relaxed);
            COUNTS[slot].fetch_add(1, Relaxed);
            return;
        }
    }
}

/// Does libc copy, compare or search memory for the runtime, or for the program in a call whose time is accounted for?
/// These functions call no others and save nothing: the stack pointer points to where they return.
fn is_accounted(sp: u64) -> bool {
    // SAFETY: the running thread's stack.
    let returns_to = unsafe { (sp as *const u64).read_unaligned() };
    code::is_own(returns_to) || returns_to == ACCOUNTED.load(Relaxed)
}
