// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of the runtime that only the carrier thread uses: it is lent for the length of one call, to one caller at a time.
use crate::sys;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, Ordering};

pub struct Carrier<T> {
    value: UnsafeCell<T>,
    lent: Cell<bool>,
}

// SAFETY: only the carrier uses it; all other threads are parked or not simulated.
unsafe impl<T> Sync for Carrier<T> {}

impl<T> Carrier<T> {
    pub const fn new(value: T) -> Self {
        Carrier { value: UnsafeCell::new(value), lent: Cell::new(false) }
    }

    /// Where the value lies, for code that has no references to it.
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Lends the value to `work`, which must not ask for it again, nor switch fibers.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        if self.lent.replace(true) {
            lent_twice();
        }
        // SAFETY: nobody else has it until `lent` is false again, or does not go on ([`reclaim`]).
        let result = work(unsafe { &mut *self.value.get() });
        self.lent.set(false);
        result
    }
}

impl<T: Default> Default for Carrier<T> {
    fn default() -> Self {
        Carrier::new(T::default())
    }
}

/// What is set once, when the run begins.
pub struct AtStart<T>(Cell<Option<T>>);

// SAFETY: set while the process has one thread; afterwards only the carrier uses it.
unsafe impl<T> Sync for AtStart<T> {}

impl<T: Copy> AtStart<T> {
    pub const fn unset() -> Self {
        AtStart(Cell::new(None))
    }

    pub fn set(&self, value: T) {
        self.0.set(Some(value));
    }

    pub fn get(&self) -> Option<T> {
        self.0.get()
    }
}

#[cold]
fn lent_twice() {
    if !RECLAIMED.load(Ordering::Relaxed) {
        sys::engine_fault("a part of its state is asked for while it is in use");
    }
}

static RECLAIMED: AtomicBool = AtomicBool::new(false);

/// The run is over, perhaps by a fault (the program's stack may overflow in a hook): who borrowed anything does not go on.
pub fn reclaim() {
    RECLAIMED.store(true, Ordering::Relaxed);
}
