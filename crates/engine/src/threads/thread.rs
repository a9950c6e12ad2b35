// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads: pthread_create, join, detach, exit and identity.
use crate::account::sample;
use crate::carrier::Carrier;
use crate::counts::samples::What;
use crate::engine::{active, charge, launch, sim};
use crate::frees;
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::real;
use crate::scheduling::fiber::{self, Fiber, State, Wait};
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::lookup::find;
use crate::scheduling::store_buffer;
use crate::scheduling::{placing, sched, timers};
use crate::stacks::Stacks;
use crate::stand_in::calls;
use crate::state::pthread::Start;
use crate::state::pthread::{Thread, TimerSlack};
use crate::state::scheduler::{SCHED, running_fiber};
use crate::state::signals::bit;
use crate::storage::objects::places;
use crate::sys;
use crate::threads::attributes;
use crate::threads::cancel;
use crate::threads::keys;
use crate::threads::names;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use corefold_sim::Runtime;

/// Makes the calling thread the first fiber; returns the top of the stack it is to use.
pub fn adopt_main() -> u64 {
    let slot = SCHED.stacks.with(Stacks::take);
    let (frames, end) =
        SCHED.stacks.with(|stacks| stacks.map(slot)).unwrap_or_else(|| sys::engine_fault("no memory for a stack"));
    let mut main = Box::new(Fiber::new(0, 0, frames));
    main.base.finish = Some(finish_main);
    main.fs.set(crate::fs_base::read_fs());
    // SAFETY: no arguments.
    main.real.set(unsafe { libc::pthread_self() });
    FIBERS.push(main);
    FIBERS.run(0);
    sim(|sim| sim.threads.push(Runtime::default()));
    end
}

/// The signals that a new thread is to block, if its attributes say so.
fn mask_of(attr: *const libc::pthread_attr_t) -> Option<u64> {
    unsafe extern "C" {
        fn pthread_attr_getsigmask_np(attr: *const libc::pthread_attr_t, into: *mut libc::sigset_t) -> c_int;
    }
    // SAFETY: an attribute object of the program's; a zeroed set is valid.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        (!attr.is_null() && pthread_attr_getsigmask_np(attr, &mut set) == 0)
            .then(|| crate::threads::signals::actions::bits(&set))
    }
}

calls! {
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attr: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void;
        call
    ) -> c_int {
        begin(thread, attr, (start, argument), call.pc)
    }
}

/// Begins a thread for the call that returns to `pc`; 0 where no code of the program makes it.
pub fn begin(
    thread: *mut libc::pthread_t,
    attr: *const libc::pthread_attr_t,
    (start, argument): (Start, *mut c_void),
    pc: u64,
) -> c_int {
    let affinity = match crate::threads::affinity::of_new(attr) {
        Ok(affinity) => affinity,
        Err(error) => return error,
    };
    sched::quiesce();
    if pc != 0 {
        // What is due now is not of libc's own allocations, which come next.
        sample::take_due(pc, What::Compute);
    }
    reap_detached();
    let slot = SCHED.stacks.with(Stacks::take);
    let created = create(slot, attr, affinity, (start, argument as usize));
    // libc has asked the allocator for the thread's block before.
    sched::enter_kernel();
    match created {
        Ok(id) => {
            // SAFETY: the caller's variable.
            unsafe { *thread = FIBERS[id].real.get() };
            charge(launch().machine.system.thread_create);
            placing::wake(id, hot().clock.get());
            0
        }
        Err(error) => {
            SCHED.stacks.with(|stacks| stacks.give_back(slot));
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
    let (frames, end) = SCHED.stacks.with(|stacks| stacks.map(slot)).ok_or(libc::EAGAIN)?;
    let stack = attributes::stack_of_new(attr, end).ok_or(libc::EAGAIN)?;
    let fiber = deep(|| {
        let mut fiber = Box::new(Fiber::new(0, 0, frames));
        fiber.signals = crate::state::signals::Own::inherited(mask_of(attr).unwrap_or(current().signals.mask.get()));
        let slack = current().thread.slack.get();
        fiber.thread = Thread {
            start: Cell::new(Some(start)),
            argument: Cell::new(argument),
            slot: Cell::new(slot),
            stack: Cell::new(stack),
            detached: Cell::new(attributes::is_detached(attr)),
            priority: Cell::new(crate::threads::priority::of_new(attr, 0)),
            slack: Cell::new(TimerSlack { usual: slack.own, ..slack }),
            ..Thread::default()
        };
        names::inherit(&fiber.thread);
        fiber
    });
    let code = start_kernel_thread(&fiber, stack.begin, stack.bytes);
    if code != 0 {
        attributes::give_back(&stack);
        return Err(code);
    }
    fiber::await_parked(&fiber);
    // Only now: libc may have asked the program's own allocator for memory, and others have run.
    let id = FIBERS.len();
    fiber.id.set(id);
    fiber.cpu.set(id % launch().cpus as usize);
    fiber.off_cpu_since.set(hot().clock.get());
    FIBERS.push(fiber);
    sim(|sim| sim.threads.push(Runtime::new(affinity)));
    Ok(id)
}

/// Starts the kernel thread whose stack and thread block the fiber uses.
fn start_kernel_thread(fiber: &Fiber, stack: u64, bytes: u64) -> c_int {
    // SAFETY: attributes are initialised before use; the stack was just mapped.
    unsafe {
        let mut attr: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attr);
        libc::pthread_attr_setstack(&mut attr, stack as *mut c_void, bytes as usize);
        let create =
            || real::pthread_create(fiber.real.as_ptr(), &attr, thread_main, (&raw const *fiber).cast_mut().cast());
        let code = born_deaf(|| crate::account::host::own(create));
        libc::pthread_attr_destroy(&mut attr);
        code
    }
}

/// What the carrier blocks while threads are made, in the kernel: how many are, and what it blocks otherwise.
static MAKING: Carrier<(usize, u64)> = Carrier::new((0, 0));

/// Makes a kernel thread that blocks signals, so that the kernel delivers them to the carrier alone. glibc allocates meanwhile,
/// for which it may wait: another fiber runs, and may make a thread, too. The last one that is made ends what the first began.
fn born_deaf(create: impl FnOnce() -> c_int) -> c_int {
    /// A fiber that runs meanwhile may fault, and read the clock or make a system call by an instruction that traps. Two
    /// signals are glibc's own, which sends one to all threads and waits (`calls/identity.rs`).
    const NEVER_BLOCKED: [c_int; 8] =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS, 32, 33];
    MAKING.with(|(threads, otherwise)| {
        if *threads == 0 {
            *otherwise = sys::block_signals(!NEVER_BLOCKED.iter().fold(0, |set, signal| set | bit(*signal)));
        }
        *threads += 1;
    });
    let code = create();
    MAKING.with(|(threads, otherwise)| {
        *threads -= 1;
        if *threads == 0 {
            sys::block_signals(*otherwise);
        }
    });
    code
}

/// The start routine of every kernel thread. Parks; what follows runs on the carrier, until the fiber
/// has ended; then back on the kernel thread, which returns.
extern "C" fn thread_main(fiber: *mut c_void) -> *mut c_void {
    // SAFETY: the fiber is boxed and lives until the process ends.
    let fiber = unsafe { &*fiber.cast_const().cast::<Fiber>() };
    crate::fs_base::unregister_rseq();
    fiber::park(fiber);
    let (start, argument) = (fiber.thread.start.get(), fiber.thread.argument.get());
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
    crate::threads::mutex::thread_ends();
    crate::threads::robust_list::thread_ends();
    let me = running_fiber();
    places(|places| places.thread_ends(me));
    sched::enter_kernel();
    crate::threads::signals::blocking::thread_ends();
    let me = running_fiber();
    current().thread.value.set(value);
    let thread = &current().thread;
    // One that a signal or its time-out has woken already must not be woken once more.
    let waits = |f: &usize| {
        let joiner = &FIBERS[*f];
        joiner.state.get() == State::Blocked && matches!(joiner.wait.get(), Wait::Join { thread } if thread == me)
    };
    if let Some(joiner) = thread.joiner.get().filter(waits) {
        timers::cancel(joiner);
        placing::wake(joiner, hot().clock.get());
    }
    if thread.detached.get() {
        SCHED.detached.with(|detached| detached.push(me));
    }
    if FIBERS.iter().all(|f| f.id.get() == me || f.state.get() == State::Finished) {
        // SAFETY: the last thread is gone: POSIX has the process exit with 0.
        unsafe { libc::exit(0) };
    }
    sched::finish_current();
}

/// Gives back what a thread had that has ended: libc frees the thread's block, in the program's own `free` where it has
/// one. So others may run before this returns.
pub fn reap(fiber: usize) {
    let thread = &FIBERS[fiber].thread;
    thread.joined.set(true);
    let unfreed = thread.unfreed.with(core::mem::take);
    if fiber != 0 {
        unfreed.into_iter().for_each(frees::free);
        real::pthread_join(FIBERS[fiber].real.get());
    }
    let stack = FIBERS[fiber].thread.stack.get();
    // Whoever gets the stack next writes to it without a word to us.
    store_buffer::flush_range(stack.begin, stack.bytes);
    attributes::give_back(&stack);
    let slot = FIBERS[fiber].thread.slot.get();
    SCHED.stacks.with(|stacks| stacks.give_back(slot));
}

/// Detached threads that have ended cannot reap themselves: whoever needs their stacks does.
fn reap_detached() {
    while let Some(fiber) = SCHED.detached.with(Vec::pop) {
        reap(fiber);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_detach(thread: libc::pthread_t) -> c_int {
    if !active() {
        real::real! { fn pthread_detach(thread: libc::pthread_t) -> c_int; }
        return pthread_detach(thread);
    }
    let Some(target) = find(thread) else { return libc::ESRCH };
    let other = &FIBERS[target];
    if other.thread.detached.get() {
        return libc::EINVAL;
    }
    other.thread.detached.set(true);
    if other.state.get() == State::Finished {
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
fn finish_main(value: usize) -> ! {
    finish(value);
    sys::engine_fault("the main thread was resumed after its end")
}
