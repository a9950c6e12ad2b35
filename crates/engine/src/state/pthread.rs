// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the pthread functions keep of each thread.
use crate::carrier::Carrier;
use crate::state::wait::Wait;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ffi::{c_int, c_void};

/// A thread's start routine.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// The pthread side of a fiber.
#[derive(Default)]
pub struct Thread {
    pub start: Cell<Option<Start>>,
    pub argument: Cell<usize>,
    pub value: Cell<usize>,
    pub detached: Cell<bool>,
    /// The thread that waits for its end.
    pub joiner: Cell<Option<usize>>,
    pub joined: Cell<bool>,
    /// What libc would have freed as its kernel thread ended.
    pub unfreed: Carrier<Vec<usize>>,
    pub slot: Cell<usize>,
    pub stack: Cell<Stack>,
    pub name: Cell<Option<[u8; NAME_BYTES]>>,
    pub priority: Cell<Priority>,
    pub slack: Cell<TimerSlack>,
    pub keys: Carrier<Vec<usize>>,
    pub at_exit: Carrier<Vec<AtExit>>,
    /// Robust mutexes that it holds.
    pub robust: Carrier<Vec<u64>>,
    /// The list that it has told the kernel of by itself.
    pub robust_list: Cell<u64>,
    /// Innermost pthread_cleanup_push buffer that glibc's macros registered.
    pub cleanup: Cell<usize>,
}

/// Bytes of a name with its zero, as Linux has it.
pub const NAME_BYTES: usize = 16;

impl Thread {
    /// The function that it was started with; 0 for the main thread's.
    pub fn routine(&self) -> u64 {
        self.start.get().map_or(0, |start| start as usize as u64)
    }

    /// A place in that function, as return addresses are, for what is done when the thread ends.
    pub fn end(&self) -> u64 {
        self.start.get().map_or(0, |start| start as usize as u64 + 1)
    }
}

/// How much later than asked the kernel may end the thread's timed waits, in nanoseconds: it does unless another timer of
/// the CPU fires in between.
#[derive(Clone, Copy)]
pub struct TimerSlack {
    pub own: u64,
    /// What it had as it was created.
    pub usual: u64,
}

impl Default for TimerSlack {
    /// Linux's, of a process's first thread (prctl(2), PR_SET_TIMERSLACK).
    fn default() -> TimerSlack {
        TimerSlack { own: 50_000, usual: 50_000 }
    }
}

/// A thread's stack, as its attributes have it.
#[derive(Clone, Copy, Default)]
pub struct Stack {
    pub begin: u64,
    pub bytes: u64,
    pub guard: u64,
    /// Not in a slot, which was too small, but mapped for this thread only.
    pub mapped: bool,
}

#[derive(Clone, Copy, Default)]
pub struct Priority {
    pub policy: c_int,
    pub value: c_int,
    /// How the attribute object had it: inherited, or as it says.
    pub explicit: c_int,
    /// The nice value, which a new thread has from its creator.
    pub nice: c_int,
}

pub type Destructor = extern "C" fn(*mut c_void);

/// A C++ thread_local's destructor.
pub struct AtExit {
    pub function: Destructor,
    pub object: usize,
    /// The library that the function is in, which must not be unloaded before.
    pub library: usize,
}

/// Where to go on once the stack is unwound: stack pointer at the call of the start routine.
#[derive(Default)]
pub struct Base {
    pub sp: Cell<usize>,
    pub value: Cell<usize>,
    /// How the main thread ends, which has no start routine.
    pub finish: Option<fn(usize) -> !>,
}

/// A thread's part.
#[derive(Default)]
pub struct Cancel {
    pub disabled: Cell<bool>,
    pub asynchronous: Cell<bool>,
    pub requested: Cell<bool>,
    /// It ends, by itself or cancelled: nothing cancels it any more.
    pub ending: Cell<bool>,
}

impl Cancel {
    pub fn is_due(&self) -> bool {
        self.requested.get() && !self.disabled.get() && !self.ending.get()
    }

    pub fn is_at_once(&self) -> bool {
        self.is_due() && self.asynchronous.get()
    }

    /// Does a wait of this kind end?
    pub fn ends(&self, wait: &Wait) -> bool {
        self.is_due() && (self.asynchronous.get() || is_point(wait))
    }
}

/// Is a thread that waits so at a cancellation point?
fn is_point(wait: &Wait) -> bool {
    match wait {
        Wait::Nothing => false,
        Wait::Futex { call, .. } => {
            ["pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"].contains(call)
                || call.starts_with("cnd_")
                || call.starts_with("sem_")
        }
        Wait::Join { .. } | Wait::Sleep | Wait::Retry { .. } | Wait::Io { .. } | Wait::Signal { .. } => true,
    }
}
