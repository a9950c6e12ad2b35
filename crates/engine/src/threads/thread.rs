// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads: pthread_create, join, detach, exit and identity.
use crate::calls::signals;
use crate::calls::within::allocator;
use crate::engine::{active, charge, current, engine};
use crate::hooks::hot::hot;
use crate::hooks::store_buffer;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::real::{self, Start};
use crate::scheduling::fiber::{self, Fiber, State, Wait};
use crate::scheduling::{placing, sched, timers};
use crate::threads::attributes::{self, Stack};
use crate::threads::priority::Priority;
use crate::threads::{cancel, keys, names};
use crate::{crash, sys};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use corefold_model::ticks;
use corefold_sim::Runtime;

/// The pthread side of a fiber.
#[derive(Default)]
pub struct Thread {
    start: Option<Start>,
    argument: usize,
    pub value: usize,
    pub detached: bool,
    /// The thread that waits for its end.
    pub joiner: Option<usize>,
    joined: bool,
    /// What libc would have freed as its kernel thread ended.
    pub unfreed: Vec<usize>,
    slot: usize,
    pub stack: Stack,
    pub name: Option<[u8; names::BYTES]>,
    pub priority: Priority,
    pub keys: Vec<usize>,
    pub at_exit: Vec<keys::AtExit>,
    /// Robust mutexes that it holds.
    pub robust: Vec<u64>,
    /// The list that it has told the kernel of by itself.
    pub robust_list: u64,
    /// Innermost pthread_cleanup_push buffer that glibc's macros registered.
    pub cleanup: usize,
}

/// Bytes of address space for a thread: its stack of return addresses below, its stack above.
const SLOT: u64 = 32 << 20;
const FRAMES: u64 = 4 << 20;
pub const STACK: u64 = 8 << 20;
const GUARD: u64 = 1 << 20;
pub const LARGEST_STACK: u64 = SLOT - FRAMES - GUARD;
const MARGIN: u64 = 64 << 10;
/// Slots are a power of two apart: without a shift, the stacks of return addresses of all threads would be in one set of
/// the host's TLB and in one set of its first-level cache, which have room for a few.
const SHIFT: u64 = (4 << 10) + 64;
const SHIFTS: u64 = 16;

/// Does the program have code on stacks, as gcc's nested functions whose address is taken need it?
fn wants_code_on_stacks() -> bool {
    // SAFETY: the kernel says where the program's headers lie.
    unsafe {
        let first = libc::getauxval(libc::AT_PHDR) as *const libc::Elf64_Phdr;
        let count = libc::getauxval(libc::AT_PHNUM) as usize;
        let headers = core::slice::from_raw_parts(first, count);
        let stack = headers.iter().find(|h| h.p_type == libc::PT_GNU_STACK);
        stack.is_none_or(|h| h.p_flags & libc::PF_X != 0)
    }
}

/// Base of the return addresses and end of the stack in `slot`; `None` if there is no room for it.
/// A slot that was used before is mapped already.
fn map_stack(slot: usize) -> Option<(*mut u64, u64)> {
    let at = STACKS + slot as u64 * SLOT;
    let stack = at + SLOT - LARGEST_STACK;
    let is_new = engine().sched.stacks.is_new(slot);
    if is_new && !(at + SLOT <= STACKS + STACKS_BYTES && sys::map_at(at, FRAMES)) {
        return None;
    }
    if is_new && !sys::map_at(stack, LARGEST_STACK) {
        // SAFETY: what was just mapped.
        unsafe { sys::syscall!(libc::SYS_munmap, at, FRAMES; 0, 0, 0, 0) };
        return None;
    }
    if is_new && wants_code_on_stacks() {
        sys::make_executable(stack, LARGEST_STACK);
    }
    engine().sched.stacks.is_mapped(slot);
    // A margin below: calls and returns may not match, where a program switches stacks by itself.
    Some(((at + MARGIN + (slot as u64 % SHIFTS) * SHIFT) as *mut u64, at + SLOT))
}

/// Makes the calling thread the first fiber; returns the top of the stack it is to use.
pub fn adopt_main() -> u64 {
    let slot = engine().sched.stacks.take();
    let (frames, end) = map_stack(slot).unwrap_or_else(|| crash::engine_fault("no memory for a stack"));
    let mut main = Box::new(Fiber::new(0, 0, frames));
    main.fs = fiber::read_fs();
    // SAFETY: no arguments.
    main.real = unsafe { libc::pthread_self() };
    engine().fibers.push(main);
    engine().sim.threads.push(Runtime::default());
    end
}

/// The main thread's stack.
pub fn main_stack() -> Stack {
    let slot = engine().fibers[0].thread.slot as u64;
    Stack { begin: STACKS + (slot + 1) * SLOT - STACK, bytes: STACK, ..Stack::default() }
}

/// The signals that a new thread is to block, if its attributes say so.
fn mask_of(attr: *const libc::pthread_attr_t) -> Option<u64> {
    unsafe extern "C" {
        fn pthread_attr_getsigmask_np(attr: *const libc::pthread_attr_t, into: *mut libc::sigset_t) -> c_int;
    }
    // SAFETY: an attribute object of the program's; a zeroed set is valid.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        (!attr.is_null() && pthread_attr_getsigmask_np(attr, &mut set) == 0).then(|| signals::bits(&set))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attr: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    if !active() {
        return real::pthread_create(thread, attr, start, argument);
    }
    let affinity = match crate::threads::affinity::of_new(attr) {
        Ok(affinity) => affinity,
        Err(error) => return error,
    };
    sched::quiesce();
    reap_detached();
    let slot = engine().sched.stacks.take();
    let created = create(slot, attr, affinity, (start, argument as usize));
    // libc has asked the allocator for the thread's block before.
    sched::enter_kernel();
    match created {
        Ok(id) => {
            // SAFETY: the caller's variable.
            unsafe { *thread = engine().fibers[id].real };
            charge(engine().launch.machine.system.thread_create);
            placing::wake(id, hot!().clock, ticks(engine().launch.machine.system.wake));
            0
        }
        Err(error) => {
            engine().sched.stacks.give_back(slot);
            error
        }
    }
}

/// A fiber with that slot's stack, and its kernel thread, which parks. Returns its number, or the error.
fn create(
    slot: usize,
    attr: *const libc::pthread_attr_t,
    affinity: Vec<u64>,
    (start, argument): (Start, usize),
) -> Result<usize, c_int> {
    let (frames, end) = map_stack(slot).ok_or(libc::EAGAIN)?;
    let stack = attributes::stack_of_new(attr, end).ok_or(libc::EAGAIN)?;
    let mut fiber = Box::new(Fiber::new(0, 0, frames));
    fiber.affinity = affinity;
    fiber.signals = signals::Own::inherited(mask_of(attr).unwrap_or(current().signals.mask));
    fiber.thread = Thread {
        start: Some(start),
        argument,
        slot,
        stack,
        detached: attributes::is_detached(attr),
        priority: crate::threads::priority::of_new(attr, 0),
        ..Thread::default()
    };
    names::inherit(&mut fiber.thread);
    let code = start_kernel_thread(&mut fiber, stack.begin, stack.bytes);
    if code != 0 {
        attributes::give_back(&stack);
        return Err(code);
    }
    fiber::await_parked(&fiber);
    // Only now: libc may have asked the program's own allocator for memory, and others have run.
    let id = engine().fibers.len();
    (fiber.id, fiber.cpu) = (id, id % engine().sim.cpus.len());
    fiber.off_cpu_since = hot!().clock;
    engine().fibers.push(fiber);
    engine().sim.threads.push(Runtime::default());
    Ok(id)
}

/// Starts the kernel thread whose stack and thread block the fiber uses.
fn start_kernel_thread(fiber: &mut Fiber, stack: u64, bytes: u64) -> c_int {
    // SAFETY: attributes are initialised before use; the stack was just mapped; signals are blocked so
    // that the kernel delivers them to the carrier alone.
    unsafe {
        let mut attr: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attr);
        libc::pthread_attr_setstack(&mut attr, stack as *mut c_void, bytes as usize);
        let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let create = || real::pthread_create(&mut fiber.real, &attr, thread_main, (fiber as *mut Fiber).cast());
        let code = crate::account::host::own(create);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, core::ptr::null_mut());
        libc::pthread_attr_destroy(&mut attr);
        code
    }
}

/// The start routine of every kernel thread. Parks; what follows runs on the carrier, until the fiber
/// has ended; then back on the kernel thread, which returns.
extern "C" fn thread_main(fiber: *mut c_void) -> *mut c_void {
    // SAFETY: the fiber is boxed and lives until the process ends.
    let fiber = unsafe { &mut *fiber.cast::<Fiber>() };
    crate::start::unregister_rseq();
    fiber::park(fiber);
    let (start, argument) = (fiber.thread.start, fiber.thread.argument);
    let value = start.map_or(0, |f| run_until_exit(f, argument));
    finish(value);
    core::ptr::null_mut()
}

/// The value that the start routine returns, or that pthread_exit was given below it.
fn run_until_exit(start: Start, argument: usize) -> usize {
    crate::threads::unwind::call(start, argument)
}

/// The thread's work is done: its destructors run, and whoever joins it goes on.
fn finish(value: usize) {
    // It leaves its CPU, but not to wait.
    current().ends_spin();
    cancel::thread_ends();
    keys::run_destructors();
    crate::threads::robust::thread_ends();
    crate::threads::robust_list::thread_ends();
    crate::storage::heap::places().thread_ends(engine().sched.fiber);
    sched::enter_kernel();
    crate::calls::signals::thread_ends();
    let me = engine().sched.fiber;
    current().thread.value = value;
    let thread = &current().thread;
    // One that a signal or its time-out has woken already must not be woken once more.
    let waits = |f: &usize| {
        let joiner = &engine().fibers[*f];
        joiner.state == State::Blocked && matches!(joiner.wait, Wait::Join { thread } if thread == me)
    };
    if let Some(joiner) = thread.joiner.filter(waits) {
        timers::cancel(joiner);
        placing::wake(joiner, hot!().clock, ticks(engine().launch.machine.system.wake));
    }
    if thread.detached {
        engine().sched.detached.push(me);
    }
    if engine().fibers.iter().all(|f| f.id == me || f.state == State::Finished) {
        // SAFETY: the last thread is gone: POSIX has the process exit with 0.
        unsafe { libc::exit(0) };
    }
    sched::finish_current();
}

/// Gives back what a thread had that has ended: libc frees the thread's block, in the program's own `free` where it has
/// one. So others may run before this returns.
pub fn reap(fiber: usize) {
    let thread = &mut engine().fibers[fiber].thread;
    thread.joined = true;
    let unfreed = core::mem::take(&mut thread.unfreed);
    if fiber != 0 {
        unfreed.into_iter().for_each(allocator::free);
        real::pthread_join(engine().fibers[fiber].real);
    }
    let stack = engine().fibers[fiber].thread.stack;
    // Whoever gets the stack next writes to it without a word to us.
    store_buffer::flush_range(stack.begin, stack.bytes);
    attributes::give_back(&stack);
    let slot = engine().fibers[fiber].thread.slot;
    engine().sched.stacks.give_back(slot);
}

/// Detached threads that have ended cannot reap themselves: whoever needs their stacks does.
fn reap_detached() {
    while let Some(fiber) = engine().sched.detached.pop() {
        reap(fiber);
    }
}

/// The thread whose stack the address is on.
pub fn on_stack(address: u64) -> Option<usize> {
    let slot = ((address - STACKS) / SLOT) as usize;
    engine().fibers.iter().rposition(|f| f.thread.slot == slot && f.state != State::Finished)
}

impl Thread {
    /// The function that it was started with; 0 for the main thread's.
    pub fn routine(&self) -> u64 {
        self.start.map_or(0, |start| start as usize as u64)
    }

    /// A place in that function, as return addresses are, for what is done when the thread ends.
    pub fn end(&self) -> u64 {
        self.start.map_or(0, |start| start as usize as u64 + 1)
    }

    pub fn has_stack(&self, address: u64) -> bool {
        address.wrapping_sub(STACKS) / SLOT == self.slot as u64
    }
}

/// Was the running thread's stack used up, when it came to memory that is not there with this stack pointer? Of stacks
/// that the program made itself, such as coroutines', only their pointer is known.
pub fn overflowed(address: u64, sp: u64) -> bool {
    /// Frames that are larger are rare but for one at a time, which the next test is for.
    const NEAR: u64 = 64 << 10;
    const LARGEST_FRAME: u64 = 1 << 30;
    let e = engine();
    let at = STACKS + e.fibers[e.sched.fiber].thread.slot as u64 * SLOT;
    // Return addresses come to it from below, if calls are many and small.
    let guard = at + FRAMES..at + SLOT - LARGEST_STACK;
    let below = guard.end - LARGEST_FRAME..guard.end;
    guard.contains(&address) || address.abs_diff(sp) <= NEAR || below.contains(&sp)
}

/// The end of the stack that the address is on.
pub fn stack_end(address: u64) -> u64 {
    STACKS + ((address - STACKS) / SLOT + 1) * SLOT
}

/// The fiber behind a pthread_t; the youngest, as a joined thread's may be used again.
pub fn find(thread: libc::pthread_t) -> Option<usize> {
    engine().fibers.iter().rposition(|f| f.real == thread && !f.thread.joined)
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_detach(thread: libc::pthread_t) -> c_int {
    if !active() {
        real::real! { fn pthread_detach(thread: libc::pthread_t) -> c_int; }
        return pthread_detach(thread);
    }
    let Some(target) = find(thread) else { return libc::ESRCH };
    let other = &mut engine().fibers[target];
    if other.thread.detached {
        return libc::EINVAL;
    }
    other.thread.detached = true;
    if other.state == State::Finished {
        reap(target);
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn pthread_exit(value: *mut c_void) -> ! {
    if !active() {
        real::real! { fn pthread_exit(value: *mut c_void) -> !; }
        pthread_exit(value)
    }
    crate::threads::unwind::exit(value as usize)
}

/// What the main thread does in place of returning, when it calls pthread_exit.
pub fn finish_main(value: usize) -> ! {
    finish(value);
    crash::engine_fault("the main thread was resumed after its end")
}
