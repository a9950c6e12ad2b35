// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated threads. Each is a real pthread with its own stack and thread-local storage, parked; the
//! carrier runs it by switching to its stack and its FS base.
use crate::carrier::Carrier;
use crate::code::innermost;
use crate::code::unwind::Registers;
use crate::counts::early::Early;
use crate::counts::lock_table::LOCKS;
use crate::counts::samples::Undecided;
use crate::engine::sim;
use crate::frees;
use crate::fs_base;
use crate::hot::{Captured, hot};
use crate::neutral_stack;
use crate::registers;
use crate::scheduling::held::Held;
use crate::scheduling::look::Spun;
use crate::scheduling::spin::Spins;
use crate::state::calls::{Policy, Watched};
use crate::state::scheduler::{SCHED, running_fiber};
use crate::state::wait::Slept;
pub use crate::state::wait::{State, Wait, Woken};
use crate::state::{hooks, pthread, signals};
use crate::sys;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::cell::Cell;
use core::mem::offset_of;
use core::ops::Index;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use corefold_block::Awaiting;
use corefold_model::Ticks;
use corefold_recording::Time;

/// All of it is lent to one caller at a time, or copied: a reference to a fiber survives a switch. What each switch and each
/// look at memory touches comes first: with hundreds of fibers, each line of it is a cache miss on the host.
#[repr(C, align(64))]
pub struct Fiber {
    /// Saved stack pointer and FS base, while it does not run.
    sp: Cell<usize>,
    pub fs: Cell<u64>,
    /// Top of its stack of return addresses, and whether it has stored, while it does not run.
    pub frames: Cell<*mut u64>,
    pub wrote: Cell<u8>,
    /// Ticks by what they went to; `compute` is all time on a CPU, until the recording is made.
    pub time: Cell<Time>,
    pub spins: Carrier<Spins>,
    pub samples: Carrier<Undecided>,
    pub id: Cell<usize>,
    pub state: Cell<State>,
    pub wait: Cell<Wait>,
    pub woken: Cell<Woken>,
    /// Where it called what it blocks in; 0 if that is not known.
    pub blocked_at: Cell<u64>,
    /// The condition variable that it was woken from, until it releases a lock.
    pub woken_at: Cell<u64>,
    /// The object that it last woke others at, until it releases a lock.
    pub woke_at: Cell<u64>,
    /// Where it called what allocates memory on its behalf, while that runs and is no hooked function: to open a stream, or
    /// Rust's allocator; or 0.
    pub called_at: Cell<u64>,
    /// The CPU it runs or last ran on.
    pub cpu: Cell<usize>,
    pub policy: Cell<Policy>,
    pub off_cpu_since: Cell<Ticks>,
    on_cpu_since: Cell<Ticks>,
    /// Its waits that ended by a timer; of these, sleeps.
    pub slept: Carrier<Slept>,
    pub sleeps: Carrier<Slept>,
    pub early: Carrier<Early>,
    pub held: Carrier<Held>,
    pub watched: Carrier<Watched>,
    /// The base of its stack of return addresses.
    pub frames_base: *mut u64,
    /// When the results of its instructions so far are there, as far as a fence is to wait for them.
    pub results_until: Cell<Ticks>,
    /// What its core cannot compute ahead.
    pub awaiting: Cell<Awaiting>,
    /// The last block it executed whose cost was not known.
    pub last_unknown: Cell<u64>,
    /// Its branch history.
    pub branches: Carrier<hooks::Branching>,
    /// The hooks it called last, in code whose blocks have none.
    pub trail: Carrier<corefold_block::Trail>,
    pub unhooked: Carrier<hooks::Unhooked>,
    /// The real thread's side.
    pub real: Cell<libc::pthread_t>,
    parked: AtomicU32,
    released: AtomicU32,
    /// The kernel thread's number, and where that is cleared when it ends.
    kernel_thread: AtomicU32,
    kernel_thread_at: AtomicU64,
    alternate: Carrier<Box<[u8]>>,
    pub base: pthread::Base,
    pub thread: pthread::Thread,
    pub signals: signals::Own,
    pub cancel: pthread::Cancel,
}

/// Of a fiber, lines that a switch and a look at memory touch.
const FIRST_LINES: usize = 7;
const ALTERNATE_STACK: usize = 16 << 10;

impl Fiber {
    pub fn new(id: usize, cpu: usize, frames: *mut u64) -> Self {
        Fiber {
            id: Cell::new(id),
            sp: Cell::new(0),
            fs: Cell::new(0),
            state: Cell::new(State::Ready),
            wait: Cell::new(Wait::Nothing),
            woken: Cell::new(Woken::Thread),
            blocked_at: Cell::new(0),
            woken_at: Cell::new(0),
            woke_at: Cell::new(0),
            called_at: Cell::new(0),
            cpu: Cell::new(cpu),
            policy: Default::default(),
            off_cpu_since: Cell::new(0),
            time: Default::default(),
            on_cpu_since: Cell::new(0),
            slept: Default::default(),
            sleeps: Default::default(),
            early: Default::default(),
            held: Default::default(),
            watched: Default::default(),
            frames_base: frames,
            frames: Cell::new(frames),
            wrote: Cell::new(0),
            results_until: Cell::new(0),
            spins: Carrier::new(Spins::new(frames)),
            samples: Default::default(),
            awaiting: Cell::default(),
            last_unknown: Cell::new(0),
            branches: Default::default(),
            trail: Default::default(),
            unhooked: Default::default(),
            real: Cell::new(0),
            parked: AtomicU32::new(0),
            released: AtomicU32::new(0),
            kernel_thread: AtomicU32::new(0),
            kernel_thread_at: AtomicU64::new(0),
            alternate: Carrier::new(alloc::vec![0; ALTERNATE_STACK].into_boxed_slice()),
            base: pthread::Base::default(),
            thread: pthread::Thread::default(),
            signals: signals::Own::default(),
            cancel: pthread::Cancel::default(),
        }
    }

    /// Has the host fetch the lines that a switch to it touches first.
    #[inline]
    pub fn fetch(&self) {
        let own = (0..FIRST_LINES).map(|line| (&raw const *self).cast::<i8>().wrapping_add(64 * line));
        let stacks = [self.frames.get().cast::<i8>().wrapping_sub(8).cast_const(), self.sp.get() as *const i8];
        for line in own.chain(stacks) {
            // SAFETY: a hint, which no address makes fail.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        }
    }

    /// Its stack pointer, while it does not run.
    pub fn saved_sp(&self) -> u64 {
        self.sp.get() as u64
    }

    /// Where its next read saves its registers, if that is requested.
    pub fn captured(&self) -> *mut Captured {
        self.spins.as_ptr().wrapping_byte_add(offset_of!(Spins, captured)).cast()
    }

    pub fn may_run_on(&self, cpu: usize) -> bool {
        sim(|sim| sim.threads[self.id.get()].may_run_on(cpu))
    }

    /// The fiber is on a CPU again, or for the `first` time: accounts for the time it was not.
    pub fn comes_back(&self, cpu: usize, clock: Ticks, first: bool) {
        let away = clock.saturating_sub(self.off_cpu_since.get());
        let wait = self.wait.replace(Wait::Nothing);
        if !matches!(wait, Wait::Join { .. }) {
            self.time.update(|time| Time { block: time.block + away, ..time });
        }
        if self.woken.get() == Woken::Timer && !matches!(wait, Wait::Nothing) {
            self.slept.with(|slept| slept.ended(away));
            if matches!(wait, Wait::Sleep) {
                self.sleeps.with(|sleeps| sleeps.ended(away));
            }
        }
        self.blocked_at.set(0);
        self.on_cpu_since.set(clock);
        self.cpu.set(cpu);
        self.state.set(State::Running);
        self.spins.with(|spins| {
            if first {
                spins.started = clock;
            }
            spins.left_cpu(self.wrote.get());
        });
        self.takes_back();
        fs_base::write_cpu_id(self.fs.get(), cpu as u32);
    }

    /// Is it not to begin to wait so, as it is cancelled?
    pub fn forbids(&self, wait: &Wait) -> bool {
        self.cancel.ends(wait) && !self.signals.deaf.get()
    }

    /// The fiber leaves its CPU.
    pub fn goes_away(&self, clock: Ticks) {
        let on_cpu = clock.saturating_sub(self.on_cpu_since.get());
        self.time.update(|time| Time { compute: time.compute + on_cpu, ..time });
        self.samples.with(Undecided::decide);
        self.on_cpu_since.set(clock);
        self.off_cpu_since.set(clock);
    }

    /// It did something that a spin does not do.
    pub fn ends_spin(&self) {
        self.spins.with(|spins| spins.forget(true));
        self.takes_back();
    }

    /// Accounts are made: that ends a spin which may go on.
    pub fn leaves_spin(&self) {
        self.spins.with(|spins| spins.forget(false));
        self.takes_back();
        self.samples.with(Undecided::decide);
    }

    /// It has waited for lines for so long.
    #[inline]
    pub fn stalled(&self, stall: Ticks) {
        self.time.update(|time| Time { stall: time.stall + stall, ..time });
    }

    /// It has spun until then, which counted as stall in part.
    #[inline]
    pub fn spun(&self, spun: Spun, until: Ticks) {
        self.time.update(|time| Time { stall: time.stall - spun.stall, spin: time.spin + spun.time, ..time });
        self.samples.with(|samples| samples.spun(until.saturating_sub(spun.time), until));
    }

    /// It waits for no word any more.
    pub fn ends_wait(&self) {
        self.spins.with(|spins| spins.waits.end());
        self.notes_wait();
    }

    /// Reverses time that was counted as spinning and was not.
    #[inline]
    pub fn takes_back(&self) {
        let (refused, has_spun) = self.spins.with(|spins| (spins.take_refused(), spins.has_spun()));
        if let Some(Spun { time: spin, stall }) = refused {
            self.time.update(|time| Time { spin: time.spin - spin, stall: time.stall + stall, ..time });
        }
        if !has_spun {
            self.samples.with(|samples| samples.judged(refused.is_none()));
        }
        self.notes_wait();
    }

    #[inline]
    fn notes_wait(&self) {
        let over = self.spins.with(|spins| {
            let over = &mut spins.waits.over;
            (over.time > 0).then(|| core::mem::take(over))
        });
        if let Some(wait) = over {
            self.waited(wait.address, wait.time, wait.at);
        }
    }

    /// It has waited for so long, until `clock`.
    pub fn waited(&self, address: u64, ticks: Ticks, clock: Ticks) {
        let started = self.spins.with(|spins| spins.started);
        let (lived, done) = (clock.saturating_sub(started), self.done(clock));
        let past = LOCKS.with(|locks| locks.past_objects());
        self.early.with(|early| early.waited(address, past, ticks, lived, done));
        let thread = self.id.get() as u32;
        // A spin is noted later than it ended.
        let begin = clock.saturating_sub(ticks);
        self.held.with(|held| {
            for lock in held.since(begin).filter(|lock| *lock != address) {
                LOCKS.with(|locks| locks.waited_within(lock, thread, address, ticks));
            }
        });
    }

    /// Ticks of computing and sleeping since its accounts began, until `clock`: now, or before it last left its CPU.
    pub fn done(&self, clock: Ticks) -> Ticks {
        let time = self.time.get();
        let on_cpu = match clock.checked_sub(self.on_cpu_since.get()) {
            Some(now) if self.state.get() == State::Running => time.compute + now,
            Some(_) => time.compute,
            None => time.compute.saturating_sub(self.off_cpu_since.get().saturating_sub(clock)),
        };
        on_cpu.saturating_sub(time.stall + time.spin) + self.sleeps.with(|sleeps| sleeps.lasted)
    }

    /// Accounts begin anew at `clock`: the region of interest begins.
    pub fn restart_accounts(&self, clock: Ticks) {
        self.time.set(Time::default());
        self.slept.with(|slept| *slept = Slept::default());
        self.sleeps.with(|sleeps| *sleeps = Slept::default());
        self.early.with(|early| *early = Early::default());
        self.watched.with(|watched| *watched = Watched::default());
        self.on_cpu_since.set(clock);
        self.off_cpu_since.set(clock);
        self.spins.with(|spins| spins.started = clock);
    }

    /// Return addresses on the fiber's stack of calls, innermost first. `top` is where it ends now.
    pub fn calls(&self, top: *const u64) -> impl Iterator<Item = u64> {
        hooks::calls(self.frames_base, top)
    }
}

/// Saves the callee-saved registers, with how to round and what was raised (MXCSR, the x87's control word and flags), and the
/// stack pointer, and goes on where `to` was saved. `between` is called in the middle, on the stack that ends at `apart`:
/// nobody uses either of the two stacks then.
#[unsafe(naked)]
unsafe extern "C" fn switch_stack(_save: *mut usize, _to: usize, _between: Option<extern "C" fn()>, _apart: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "fnstsw [rsp + 6]",
        "mov [rdi], rsp",
        "test rdx, rdx",
        "jnz 4f",
        "mov eax, [rsp]",
        "mov ecx, [rsp + 4]",
        "mov rsp, rsi",
        // Rarely others, and slow to set.
        "1: cmp eax, [rsp]",
        "je 2f",
        "ldmxcsr [rsp]",
        "2: mov eax, [rsp + 4]",
        "xor eax, ecx",
        // What the x87 controls, and its flags.
        "test eax, 0x3fffff",
        "jne 5f",
        "3: add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        "4: mov r12, rsi",
        "mov rsp, rcx",
        "call rdx",
        "lea rsp, [r12 - 8]",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "fnstsw [rsp + 6]",
        "mov eax, [rsp]",
        "mov ecx, [rsp + 4]",
        "mov rsp, r12",
        "jmp 1b",
        // Its flags are loaded with its whole environment only.
        "5: sub rsp, 32",
        "fnstenv [rsp]",
        "mov eax, [rsp + 32 + 4]",
        "mov [rsp], ax",
        "shr eax, 16",
        "and eax, 0x3f",
        "and word ptr [rsp + 4], 0x7f40",
        "or [rsp + 4], ax",
        "fldenv [rsp]",
        "add rsp, 32",
        "jmp 3b",
    )
}

/// Switches the carrier from one fiber to another. `between` is called on the neutral stack, when the one has stopped and the
/// other has not begun.
pub fn switch(from: &Fiber, to: &Fiber, between: Option<extern "C" fn()>) {
    registers::preserve();
    let (save, sp, fs) = (from.sp.as_ptr(), to.sp.get(), to.fs.get());
    fs_base::write_fs(fs);
    let apart = neutral_stack::top();
    // SAFETY: `sp` was saved by this same function or by `park`; nobody is on the neutral stack.
    unsafe { switch_stack(save, sp, between, apart) };
    after_switch();
}

/// What a fiber does first when it is switched to: releases the kernel thread of one that has ended.
fn after_switch() {
    if !crate::engine::active() {
        return;
    }
    if let Some(gone) = SCHED.leaving.get() {
        if gone == running_fiber() {
            return;
        }
        SCHED.leaving.set(None);
        release(&FIBERS[gone]);
    }
}

/// Lets the fiber's kernel thread return from its start routine, and waits until it is gone. No code of the program's
/// runs in that: what libc frees as the thread ends is put off until the thread is reaped.
fn release(fiber: &Fiber) {
    if fiber.id.get() == 0 {
        return;
    }
    fiber.released.store(1, Ordering::Release); // pairs with Acquire in `parked_thread`
    let unfreed = frees::without_frees(|| {
        sys::futex_wake(fiber.released.as_ptr());
        let cleared_at = fiber.kernel_thread_at.load(Ordering::Relaxed);
        sys::await_thread_end(fiber.kernel_thread.load(Ordering::Relaxed), cleared_at);
    });
    fiber.thread.unfreed.with(|all| *all = unfreed);
    fiber.alternate.with(|stack| *stack = Box::default());
}

/// Called by the fiber's kernel thread on its own stack: leaves the context for the carrier and parks.
/// Returns on the carrier, when the fiber first runs.
pub fn park(fiber: &Fiber) {
    fiber.fs.set(fs_base::read_fs());
    let top = (fiber.alternate.with(|stack| stack.as_mut_ptr()) as usize + ALTERNATE_STACK) & !15;
    // The alternate stack as `switch_stack` leaves one: the control words as they are at a process's start, r15, r14,
    // r13, r12, rbx, rbp, return address.
    let (control, entry) = (0x037f << 32 | 0x1f80, parked_entry as *const () as usize);
    let image = [control, &raw const *fiber as usize, 0, 0, 0, 0, 0, entry, 0, 0];
    let frame = (top - size_of_val(&image)) as *mut usize;
    for (i, word) in image.into_iter().enumerate() {
        // SAFETY: within the alternate stack.
        unsafe { frame.add(i).write(word) };
    }
    // SAFETY: the image above.
    unsafe { switch_stack(fiber.sp.as_ptr(), frame as usize, None, 0) };
    after_switch();
}

#[unsafe(naked)]
unsafe extern "C" fn parked_entry() {
    naked_asm!("mov rdi, r15", "and rsp, -16", "call {entry}", "ud2", entry = sym parked_thread)
}

/// The kernel thread of a fiber, on its alternate stack, until the fiber has ended.
extern "C" fn parked_thread(fiber: *const Fiber) {
    // SAFETY: the fiber outlives its thread; only atomics are touched while the carrier may run.
    let fiber = unsafe { &*fiber };
    let (parked, released) = (&fiber.parked, &fiber.released);
    fiber.kernel_thread.store(sys::thread_number(), Ordering::Relaxed);
    fiber.kernel_thread_at.store(sys::thread_number_at(), Ordering::Relaxed);
    parked.store(1, Ordering::Release); // pairs with Acquire in `await_parked`
    sys::futex_wake(parked.as_ptr());
    while released.load(Ordering::Acquire) == 0 {
        sys::futex_wait(released.as_ptr(), 0);
    }
    let mut unused = 0;
    // SAFETY: the fiber was switched away from for good; its stack is this thread's again.
    unsafe { switch_stack(&raw mut unused, fiber.sp.get(), None, 0) };
}

/// Waits until the new thread has left its context.
pub fn await_parked(fiber: &Fiber) {
    while fiber.parked.load(Ordering::Acquire) == 0 {
        sys::futex_wait(fiber.parked.as_ptr(), 0);
    }
}

/// The running thread's calls around its call that returns to `pc`, innermost first, also of functions without hooks.
pub fn callers_here(pc: u64, most: usize) -> Vec<u64> {
    let known = || current().calls(hot().frames.get());
    let within = known().next().map(|outer| Registers::here().between(pc, outer)).unwrap_or_default();
    within.into_iter().chain(known()).take(most).collect()
}

/// Finds where the running fiber, whose wait is over, has slept.
pub fn place_sleeps() {
    let fiber = current();
    if fiber.slept.with(|slept| slept.is_unplaced()) || fiber.sleeps.with(|sleeps| sleeps.is_unplaced()) {
        let place = innermost::calling_here(fiber.calls(hot().frames.get()).next()).unwrap_or(0);
        fiber.slept.with(|slept| slept.place(place));
        fiber.sleeps.with(|sleeps| sleeps.place(place));
    }
}

/// The running fiber's calls, innermost first.
pub fn stack_here(pc: u64) -> Vec<u64> {
    let mut stack = alloc::vec![pc];
    stack.extend(current().calls(hot().frames.get()).take(64));
    stack
}

/// All fibers, by number. None is ever removed.
pub struct Fibers {
    slots: Cell<&'static [Cell<Option<&'static Fiber>>]>,
    count: Cell<usize>,
    running: Cell<Option<&'static Fiber>>,
}

// SAFETY: only the carrier uses it; all other threads are parked or not simulated.
unsafe impl Sync for Fibers {}

pub static FIBERS: Fibers = Fibers { slots: Cell::new(&[]), count: Cell::new(0), running: Cell::new(None) };

impl Fibers {
    pub fn push(&self, fiber: Box<Fiber>) {
        let (slots, count) = (self.slots.get(), self.count.get());
        if count == slots.len() {
            let room = (2 * count).max(64);
            let more: Vec<_> = slots.iter().cloned().chain(core::iter::repeat(Cell::new(None))).take(room).collect();
            // Whoever goes through the old ones may go on.
            self.slots.set(more.leak());
        }
        self.slots.get()[count].set(Some(Box::leak(fiber)));
        self.count.set(count + 1);
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.count.get()
    }

    #[inline]
    pub fn get(&self, number: usize) -> Option<&'static Fiber> {
        self.slots.get().get(number)?.get()
    }

    /// Those that are there now.
    pub fn iter(&'static self) -> impl DoubleEndedIterator<Item = &'static Fiber> + ExactSizeIterator + Clone {
        (0..self.len()).map(|number| &self[number])
    }

    /// This one runs from now on.
    #[inline]
    pub fn run(&self, number: usize) {
        SCHED.fiber.set(number);
        self.running.set(self.get(number));
    }
}

impl Index<usize> for Fibers {
    type Output = Fiber;

    #[inline]
    fn index(&self, number: usize) -> &Fiber {
        match self.get(number) {
            Some(fiber) => fiber,
            None => nobody(),
        }
    }
}

/// The running fiber.
#[inline]
pub fn current() -> &'static Fiber {
    match FIBERS.running.get() {
        Some(fiber) => fiber,
        None => nobody(),
    }
}

#[cold]
fn nobody() -> ! {
    sys::engine_fault("a thread that is not there was asked for")
}

/// The fiber waits no more: neither its timer nor a wake-up is to find it.
pub fn forget_wait(fiber: usize) {
    sim(|sim| {
        sim.timers.cancel(fiber);
        sim.futexes.forget(fiber);
    });
}

/// The fiber leaves its CPU.
pub fn goes_away(fiber: usize, clock: Ticks) {
    FIBERS[fiber].goes_away(clock);
    sim(|sim| sim.threads[fiber].end(clock));
}
