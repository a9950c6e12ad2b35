// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of a reader-writer lock.
use crate::threads::futex::Waited;
use crate::threads::object::Object;
use corefold_model::Ticks;

/// [`WRITE_PHASE`], [`CLAIMED`], [`HELD_OFF`], and [`READER`] for each reader that has the lock or waits for a phase.
pub const STATE: u64 = 0;
/// Writers that wait to be the writer, and [`HANDED_OVER`]; kept for locks that prefer writers only.
pub const WRITERS: u64 = 4;
/// 1 in a write phase; who waits for its beginning or its end waits on this word.
pub const PHASE: u64 = 8;
/// 1 while there is a writer; other writers wait on this word.
pub const CLAIM: u64 = 12;
/// The kind: where glibc's static initialisers have it.
pub const KIND: u64 = 48;

pub const WRITE_PHASE: u32 = 1;
/// There is a writer, with the lock or waiting for the phase.
pub const CLAIMED: u32 = 2;
/// Readers wait on the state itself until the readers that have the lock leave it to a writer.
pub const HELD_OFF: u32 = 4;
pub const READER: u32 = 8;
/// A writer that leaves leaves the claim to one that waits.
pub const HANDED_OVER: u32 = 1 << 31;
/// Somebody waits, in [`PHASE`] and [`CLAIM`].
pub const WAITED_FOR: u32 = 2;

pub const PREFER_WRITER: u32 = 2;

/// A wait is over: it was for nothing.
pub struct TimedOut;

pub fn prefers_writers(lock: Object) -> bool {
    lock.read(KIND) == PREFER_WRITER
}

/// Waits while the word of the phase is `phase`.
pub fn await_phase_after(lock: Object, phase: u32, deadline: Option<Ticks>) -> Result<(), TimedOut> {
    loop {
        let found = lock.load(PHASE);
        if found & !WAITED_FOR != phase {
            return Ok(());
        }
        let waits =
            found == phase | WAITED_FOR || lock.update(PHASE, |f| (f == found).then_some(f | WAITED_FOR)) == found;
        if waits && lock.wait(PHASE, phase | WAITED_FOR, deadline) == Waited::TimedOut {
            return Err(TimedOut);
        }
    }
}

/// The state is in the phase that is waited for: waits for its word to say so.
pub fn await_word(lock: Object, phase: u32) {
    while lock.load(PHASE) & !WAITED_FOR != phase {
        lock.pause();
    }
}
