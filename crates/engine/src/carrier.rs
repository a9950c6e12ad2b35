// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of the runtime that only the carrier thread uses: it is lent for the length of one call, to one caller at a time.
use crate::sys;
use core::cell::{Cell, UnsafeCell};
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether it is lent stands before the value, on the line of what is first in it.
#[repr(C)]
pub struct Carrier<T> {
    lent: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: only the carrier uses it; all other threads are parked or not simulated.
unsafe impl<T> Sync for Carrier<T> {}

impl<T> Carrier<T> {
    pub const fn new(value: T) -> Self {
        Carrier { lent: Cell::new(false), value: UnsafeCell::new(value) }
    }

    /// Where the value lies, for code that has no references to it.
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Lends the value to `work`, which must not ask for it again, nor switch fibers.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.lend())
    }

    /// The same for the length of one statement, where the compiler is to see what is done with it: it may call a closure.
    #[inline(always)]
    pub fn lend(&self) -> Lent<'_, T> {
        if self.lent.replace(true) {
            lent_twice();
        }
        // SAFETY: nobody else has it until `lent` is false again, or does not go on ([`reclaim`]).
        Lent { value: unsafe { &mut *self.value.get() }, _until: Until(&self.lent) }
    }
}

/// A value that is lent until this is dropped.
pub struct Lent<'a, T> {
    value: &'a mut T,
    _until: Until<'a>,
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Lent<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

struct Until<'a>(&'a Cell<bool>);

impl Drop for Until<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<'a, T> Lent<'a, Option<T>> {
    /// What is in it.
    #[inline(always)]
    pub fn some(self) -> Option<Lent<'a, T>> {
        let Lent { value, _until } = self;
        value.as_mut().map(|value| Lent { value, _until })
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
