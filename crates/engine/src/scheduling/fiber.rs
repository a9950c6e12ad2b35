// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated threads. Each is a real pthread with its own stack and thread-local storage, parked; the
//! carrier runs it by switching to its stack and its FS base.
use crate::code::innermost;
use crate::code::unwind::Registers;
use crate::counts::lock_table::LOCKS;
use crate::counts::samples::Undecided;
use crate::engine::engine;
use crate::frees;
use crate::fs_base;
use crate::hot::hot;
use crate::neutral_stack;
use crate::registers;
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
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use corefold_model::Ticks;
use corefold_recording::Time;

pub struct Fiber {
    pub id: usize,
    /// Saved stack pointer and FS base, while it does not run.
    sp: usize,
    pub fs: u64,
    pub state: State,
    pub wait: Wait,
    pub woken: Woken,
    /// Where it called what it blocks in; 0 if that is not known.
    pub blocked_at: u64,
    /// The condition variable that it was woken from, until it releases a lock.
    pub woken_at: u64,
    /// The object that it last woke others at, until it releases a lock.
    pub woke_at: u64,
    /// Where it called what allocates memory on its behalf, while that runs and is no hooked function: to open a stream, or
    /// Rust's allocator; or 0.
    pub called_at: u64,
    pub timer: u64,
    /// The CPU it runs or last ran on.
    pub cpu: usize,
    /// CPUs it may run on, a bit each; empty: all.
    pub affinity: Vec<u64>,
    pub policy: Policy,
    pub off_cpu_since: Ticks,
    /// Ticks by what they went to; `compute` is all time on a CPU, until the recording is made.
    pub time: Time,
    on_cpu_since: Ticks,
    /// Its waits that ended by a timer; of these, sleeps.
    pub slept: Slept,
    pub sleeps: Slept,
    pub early: crate::counts::early::Early,
    pub watched: Watched,
    /// Stack of return addresses: its base, and its top while the fiber does not run.
    pub frames_base: *mut u64,
    pub frames: *mut u64,
    pub wrote: u8,
    /// When the results of its instructions so far are there, as far as a fence is to wait for them.
    pub results_until: Ticks,
    pub spins: Spins,
    pub samples: Undecided,
    /// The last block it executed whose cost was not known.
    pub last_unknown: u64,
    /// Its branch history.
    pub branches: hooks::Branching,
    /// The hooks it called last, in code whose blocks have none.
    pub trail: corefold_block::Trail,
    pub unhooked: hooks::Unhooked,
    /// The real thread's side.
    pub real: libc::pthread_t,
    parked: AtomicU32,
    released: AtomicU32,
    /// The kernel thread's number, and where that is cleared when it ends.
    kernel_thread: AtomicU32,
    kernel_thread_at: AtomicU64,
    alternate: Box<[u8]>,
    pub base: pthread::Base,
    pub thread: pthread::Thread,
    pub signals: signals::Own,
    pub cancel: pthread::Cancel,
}

const ALTERNATE_STACK: usize = 16 << 10;

impl Fiber {
    pub fn new(id: usize, cpu: usize, frames: *mut u64) -> Self {
        Fiber {
            id,
            sp: 0,
            fs: 0,
            state: State::Ready,
            wait: Wait::Nothing,
            woken: Woken::Thread,
            blocked_at: 0,
            woken_at: 0,
            woke_at: 0,
            called_at: 0,
            timer: 0,
            cpu,
            affinity: Vec::new(),
            policy: Default::default(),
            off_cpu_since: 0,
            time: Time::default(),
            on_cpu_since: 0,
            slept: Slept::default(),
            sleeps: Slept::default(),
            early: Default::default(),
            watched: Watched::default(),
            frames_base: frames,
            frames,
            wrote: 0,
            results_until: 0,
            spins: Spins::new(frames),
            samples: Undecided::default(),
            last_unknown: 0,
            branches: Default::default(),
            trail: corefold_block::Trail::default(),
            unhooked: Default::default(),
            real: 0,
            parked: AtomicU32::new(0),
            released: AtomicU32::new(0),
            kernel_thread: AtomicU32::new(0),
            kernel_thread_at: AtomicU64::new(0),
            alternate: alloc::vec![0; ALTERNATE_STACK].into_boxed_slice(),
            base: pthread::Base::default(),
            thread: pthread::Thread::default(),
            signals: signals::Own::default(),
            cancel: pthread::Cancel::default(),
        }
    }

    /// Its stack pointer, while it does not run.
    pub fn saved_sp(&self) -> u64 {
        self.sp as u64
    }

    pub fn may_run_on(&self, cpu: usize) -> bool {
        self.affinity.is_empty() || self.affinity.get(cpu / 64).is_some_and(|w| w >> (cpu % 64) & 1 != 0)
    }

    /// The fiber is on a CPU again, or for the `first` time: accounts for the time it was not.
    pub fn comes_back(&mut self, cpu: usize, clock: Ticks, first: bool) {
        let away = clock.saturating_sub(self.off_cpu_since);
        if !matches!(self.wait, Wait::Join { .. }) {
            self.time.block += away;
        }
        if self.woken == Woken::Timer && !matches!(self.wait, Wait::Nothing) {
            self.slept.ended(away);
            if matches!(self.wait, Wait::Sleep) {
                self.sleeps.ended(away);
            }
        }
        self.wait = Wait::Nothing;
        self.blocked_at = 0;
        if first {
            self.spins.started = clock;
        }
        self.on_cpu_since = clock;
        self.cpu = cpu;
        self.state = State::Running;
        self.spins.left_cpu(self.wrote);
        self.takes_back();
        fs_base::write_cpu_id(self.fs, cpu as u32);
    }

    /// Is it not to begin to wait so, as it is cancelled?
    pub fn forbids(&self, wait: &Wait) -> bool {
        self.cancel.ends(wait) && !self.signals.deaf
    }

    /// When it last came on a CPU, which may be later than now, or its accounts began.
    pub fn began_on_cpu(&self) -> Ticks {
        self.on_cpu_since
    }

    /// The fiber leaves its CPU.
    pub fn goes_away(&mut self, clock: Ticks) {
        self.time.compute += clock.saturating_sub(self.on_cpu_since);
        self.samples.decide();
        self.on_cpu_since = clock;
        self.off_cpu_since = clock;
    }

    /// It did something that a spin does not do.
    pub fn ends_spin(&mut self) {
        self.spins.forget(true);
        self.takes_back();
    }

    /// Accounts are made: that ends a spin which may go on.
    pub fn leaves_spin(&mut self) {
        self.spins.forget(false);
        self.takes_back();
        self.samples.decide();
    }

    /// It has spun until then, which counted as stall in part.
    #[inline]
    pub fn spun(&mut self, spun: Spun, until: Ticks) {
        self.time.stall -= spun.stall;
        self.time.spin += spun.time;
        self.samples.spun(until.saturating_sub(spun.time), until);
    }

    /// It waits for no word any more.
    pub fn ends_wait(&mut self) {
        self.spins.waits.end();
        self.notes_wait();
    }

    /// Reverses time that was counted as spinning and was not.
    #[inline]
    pub fn takes_back(&mut self) {
        let refused = self.spins.take_refused();
        if let Some(refused) = refused {
            self.time.spin -= refused.time;
            self.time.stall += refused.stall;
        }
        if !self.spins.has_spun() {
            self.samples.judged(refused.is_none());
        }
        self.notes_wait();
    }

    #[inline]
    fn notes_wait(&mut self) {
        if self.spins.waits.over.time > 0 {
            let wait = core::mem::take(&mut self.spins.waits.over);
            self.waited(wait.address, wait.time, wait.at);
        }
    }

    /// It has waited for so long, until `clock`.
    pub fn waited(&mut self, address: u64, ticks: Ticks, clock: Ticks) {
        let (lived, done) = (clock.saturating_sub(self.spins.started), self.done(clock));
        self.early.waited(address, LOCKS.with(|locks| locks.past_objects()), ticks, lived, done);
    }

    /// Ticks of computing and sleeping since its accounts began, until `clock`: now, or before it last left its CPU.
    pub fn done(&self, clock: Ticks) -> Ticks {
        let on_cpu = match clock.checked_sub(self.on_cpu_since) {
            Some(now) if self.state == State::Running => self.time.compute + now,
            Some(_) => self.time.compute,
            None => self.time.compute.saturating_sub(self.off_cpu_since.saturating_sub(clock)),
        };
        on_cpu.saturating_sub(self.time.stall + self.time.spin) + self.sleeps.lasted
    }

    /// Accounts begin anew at `clock`: the region of interest begins.
    pub fn restart_accounts(&mut self, clock: Ticks) {
        self.time = Time::default();
        (self.slept, self.sleeps) = (Slept::default(), Slept::default());
        self.early = Default::default();
        self.watched = Watched::default();
        self.on_cpu_since = clock;
        self.off_cpu_since = clock;
        self.spins.started = clock;
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
pub fn switch(from: usize, to: usize, between: Option<extern "C" fn()>) {
    registers::preserve();
    let save = &raw mut fibers()[from].sp;
    let (sp, fs) = (fibers()[to].sp, fibers()[to].fs);
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
    let _e = engine();
    if let Some(gone) = SCHED.leaving.get() {
        if gone == running_fiber() {
            return;
        }
        SCHED.leaving.set(None);
        release(&mut fibers()[gone]);
    }
}

/// Lets the fiber's kernel thread return from its start routine, and waits until it is gone. No code of the program's
/// runs in that: what libc frees as the thread ends is put off until the thread is reaped.
fn release(fiber: &mut Fiber) {
    if fiber.id == 0 {
        return;
    }
    fiber.released.store(1, Ordering::Release); // pairs with Acquire in `parked_thread`
    fiber.thread.unfreed = frees::without_frees(|| {
        sys::futex_wake(fiber.released.as_ptr());
        let cleared_at = fiber.kernel_thread_at.load(Ordering::Relaxed);
        sys::await_thread_end(fiber.kernel_thread.load(Ordering::Relaxed), cleared_at);
    });
    fiber.alternate = Box::default();
}

/// Called by the fiber's kernel thread on its own stack: leaves the context for the carrier and parks.
/// Returns on the carrier, when the fiber first runs.
pub fn park(fiber: &mut Fiber) {
    fiber.fs = fs_base::read_fs();
    let top = (fiber.alternate.as_mut_ptr() as usize + ALTERNATE_STACK) & !15;
    // The alternate stack as `switch_stack` leaves one: the control words as they are at a process's start, r15, r14,
    // r13, r12, rbx, rbp, return address.
    let (control, entry) = (0x037f << 32 | 0x1f80, parked_entry as *const () as usize);
    let image = [control, fiber as *mut Fiber as usize, 0, 0, 0, 0, 0, entry, 0, 0];
    let frame = (top - size_of_val(&image)) as *mut usize;
    for (i, word) in image.into_iter().enumerate() {
        // SAFETY: within the alternate stack.
        unsafe { frame.add(i).write(word) };
    }
    // SAFETY: the image above.
    unsafe { switch_stack(&raw mut fiber.sp, frame as usize, None, 0) };
    after_switch();
}

#[unsafe(naked)]
unsafe extern "C" fn parked_entry() {
    naked_asm!("mov rdi, r15", "and rsp, -16", "call {entry}", "ud2", entry = sym parked_thread)
}

/// The kernel thread of a fiber, on its alternate stack, until the fiber has ended.
extern "C" fn parked_thread(fiber: *mut Fiber) {
    // SAFETY: the fiber outlives its thread; only atomics are touched while the carrier may run.
    let (parked, released) = unsafe { (&(*fiber).parked, &(*fiber).released) };
    // SAFETY: as above.
    unsafe {
        (*fiber).kernel_thread.store(sys::thread_number(), Ordering::Relaxed);
        (*fiber).kernel_thread_at.store(sys::thread_number_at(), Ordering::Relaxed);
    }
    parked.store(1, Ordering::Release); // pairs with Acquire in `await_parked`
    sys::futex_wake(parked.as_ptr());
    while released.load(Ordering::Acquire) == 0 {
        sys::futex_wait(released.as_ptr(), 0);
    }
    let mut unused = 0;
    // SAFETY: the fiber was switched away from for good; its stack is this thread's again.
    unsafe { switch_stack(&raw mut unused, (*fiber).sp, None, 0) };
}

/// Waits until the new thread has left its context.
pub fn await_parked(fiber: &Fiber) {
    while fiber.parked.load(Ordering::Acquire) == 0 {
        sys::futex_wait(fiber.parked.as_ptr(), 0);
    }
}

/// The running thread's calls around its call that returns to `pc`, innermost first, also of functions without hooks.
pub fn callers_here(pc: u64, most: usize) -> Vec<u64> {
    let known = || current().calls(hot!().frames);
    let within = known().next().map(|outer| Registers::here().between(pc, outer)).unwrap_or_default();
    within.into_iter().chain(known()).take(most).collect()
}

/// Finds where the running fiber, whose wait is over, has slept.
pub fn place_sleeps() {
    let fiber = current();
    if fiber.slept.is_unplaced() || fiber.sleeps.is_unplaced() {
        let place = innermost::calling_here(fiber.calls(hot!().frames).next()).unwrap_or(0);
        fiber.slept.place(place);
        fiber.sleeps.place(place);
    }
}

/// The running fiber's calls, innermost first.
pub fn stack_here(pc: u64) -> Vec<u64> {
    let mut stack = alloc::vec![pc];
    stack.extend(current().calls(hot!().frames).take(64));
    stack
}

#[allow(clippy::vec_box)]
struct Slot(UnsafeCell<Vec<Box<Fiber>>>);
// SAFETY: only the carrier thread touches the fibers; the kernel threads of others are parked.
unsafe impl Sync for Slot {}
/// Boxed: a parked kernel thread keeps the address of its own.
static FIBERS: Slot = Slot(UnsafeCell::new(Vec::new()));

/// All fibers, by number. Take them anew after anything that may switch fibers, rather than keeping them.
#[inline]
#[allow(clippy::vec_box)]
pub fn fibers() -> &'static mut Vec<Box<Fiber>> {
    // SAFETY: one carrier; callers do not keep the reference across a switch.
    unsafe { &mut *FIBERS.0.get() }
}

/// The running fiber.
#[inline]
pub fn current() -> &'static mut Fiber {
    &mut fibers()[running_fiber()]
}

/// The fiber waits no more: its timer fired.
pub fn forget_futex(fiber: usize) {
    let e = engine();
    if let Wait::Futex { address, .. } = fibers()[fiber].wait {
        e.sim.waiters.forget(address, fiber);
    }
}

/// The fiber leaves its CPU.
pub fn goes_away(fiber: usize, clock: Ticks) {
    fibers()[fiber].goes_away(clock);
    engine().sim.threads[fiber].end(clock);
}
