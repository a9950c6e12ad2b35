// SPDX-License-Identifier: MIT OR Apache-2.0
//! A synchronisation object in the program's own memory, during one call of the program's.
//!
//! The simulated CPUs contend for its line as they would natively, so every access to it is charged: an access
//! that is atomic in glibc is atomic here, a plain one is plain here.
use crate::account::locks;
use crate::engine::{charge, launch};
use crate::entry::Call;
use crate::hooks::access::{range_read, range_write};
use crate::hooks::atomics;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::program_memory::read_value;
use crate::scheduling::store_buffer;
use crate::threads::futex::{self, Waited};
use corefold_model::Ticks;
use corefold_recording::LockKind;

/// A path through a function of glibc's: how many instructions lie between one taken branch and the next.
pub type Path = &'static [u32];

#[derive(Clone, Copy)]
pub struct Object {
    pub address: u64,
    pub call: Call,
}

/// The instructions on a path: a processor issues so many at a time, and starts a new group after a taken branch.
pub fn goes(path: Path) {
    let width = launch().machine.core.width.max(1);
    charge(path.iter().map(|run| run.div_ceil(width)).sum());
}

/// Words of an object are named by their offset in it.
impl Object {
    /// The object of a call that begins now: with a jump through the procedure linkage table.
    pub fn called(address: u64, call: Call) -> Object {
        charge(1);
        Object { address, call }
    }

    pub fn goes(self, path: Path) {
        goes(path);
    }

    pub fn load(self, word: u64) -> u32 {
        atomics::load(self.address + word, 4, true, self.call.pc) as u32
    }

    /// Returns when the store takes effect, as far as is known.
    pub fn store(self, word: u64, value: u32) -> Ticks {
        atomics::store(self.address + word, 4, u64::from(value), self.call.pc)
    }

    /// A read-modify-write; returns the old value. Nothing comes between what `change` looks at and what
    /// it changes, in other words of the object too.
    pub fn update(self, word: u64, change: impl FnOnce(u32) -> Option<u32>) -> u32 {
        atomics::update(self.address + word, 4, self.call.pc, |old| change(old as u32).map(u64::from)) as u32
    }

    pub fn add(self, word: u64, by: u32) -> u32 {
        self.update(word, |old| Some(old.wrapping_add(by)))
    }

    /// A plain read.
    pub fn read(self, word: u64) -> u32 {
        range_read(self.address + word, self.call.pc, 4);
        self.peek(word)
    }

    /// A plain write.
    pub fn write(self, word: u64, value: u32) {
        range_write(self.address + word, self.call.pc, 4);
        self.poke(word, value);
    }

    /// Reads without cost: beside an accounted access to the same line.
    pub fn peek(self, word: u64) -> u32 {
        read_value(self.address + word, 4) as u32
    }

    pub fn poke(self, word: u64, value: u32) {
        store_buffer::write_value(self.address + word, 4, u64::from(value));
    }

    /// Zeroes the first `bytes`, as an initialisation does.
    pub fn clear(self, bytes: u64) {
        range_write(self.address, self.call.pc, bytes);
        crate::bytes::fill(self.address, 0, bytes);
    }

    /// Waits, while `word` holds `expected`, until woken or `deadline`.
    pub fn wait(self, word: u64, expected: u32, deadline: Option<Ticks>) -> Waited {
        futex::wait(self.call, self.address, self.address + word, expected, futex::ANY, deadline)
    }

    /// Wakes up to `most` that wait for `word`.
    pub fn wake(self, word: u64, most: u32) {
        futex::wake(self.address + word, most, futex::ANY);
    }

    /// One iteration of a loop that spins.
    pub fn pause(self) {
        charge(launch().machine.core.pause);
        if hot().is_over() {
            crate::hooks::limit::at_limit(self.call.pc);
        }
    }

    /// One iteration of a loop that only a change of its word ends.
    pub fn pause_for_ever(self) {
        current().spins.with(|spins| spins.goes_on_for_ever());
        hot().spend(crate::engine::computed(launch().machine.core.pause));
        if hot().is_over() {
            crate::hooks::limit::at_limit(self.call.pc);
        }
    }

    /// The call did not wait, and read the word only once: a loop of such calls is no spin.
    pub fn is_done(self) {
        crate::hooks::access::stores_anywhere();
    }

    /// The object was taken, after a wait that began at `since`, if it was not free.
    pub fn acquired(self, kind: LockKind, since: Option<Ticks>) {
        locks::acquired(self.address, kind, since, self.call.pc);
    }

    /// The time to wait for it is over, after a wait that began at `since`.
    pub fn gave_up(self, kind: LockKind, since: Ticks) {
        locks::gave_up(self.address, kind, since, self.call.pc);
    }
}

/// The running thread as objects note their owner: never 0.
pub fn me() -> u32 {
    current().id.get() as u32 + 1
}
