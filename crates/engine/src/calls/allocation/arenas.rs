// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a request costs that goes past the thread's own cache, to an arena: its lock, and the lines of the arena and of
//! chunks that others have freed. As in glibc 2.36: `malloc` holds the lock while it takes a chunk and fills the cache;
//! `free` puts a small chunk on the list of its arena by a compare-and-swap, and a larger one under the lock. Each arena
//! has words at an address of its own, laid out as the beginning of glibc's `malloc_state`.
use crate::account::locks;
use crate::calls::library_locks::wait_for_word;
use crate::counts::labels;
use crate::engine::now;
use crate::entry::Call;
use crate::hooks::access::{range_read, range_write};
use crate::hooks::atomics;
use crate::layout::{HEAP_ARENAS, HEAP_ARENAS_BYTES};
use crate::scheduling::shown;
use crate::storage::objects::{ALIGNED, places};
use crate::sys;
use crate::threads::object::{Object, Path};
use crate::threads::single;
use alloc::format;
use alloc::string::String;
use corefold_recording::{Label, LockKind};

const BYTES: u64 = 256;
/// The lock, and the lists of small chunks by size.
const WORD: u64 = 0;
const LISTS: u64 = 16;
/// Up to this request, freed chunks go to lists without the lock (glibc's `fastbins`).
const LISTED: u64 = 120;

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

/// Instructions of glibc 2.36 beyond those of a call that the cache answers, between the lock's operations: a chunk is
/// cut or found, a freed one put on a list or merged with its neighbours, one more goes to the cache.
const TAKE: Path = &[40, 40, 40, 40];
const PUT_ON_LIST: Path = &[30];
const MERGE: Path = &[40, 40, 30];
const FILL: Path = &[30];

/// Maps the arenas' words.
pub fn map() -> bool {
    sys::map_at(HEAP_ARENAS, HEAP_ARENAS_BYTES)
}

fn object(arena: u32, name: &'static str, pc: u64) -> Object {
    Object { address: HEAP_ARENAS + u64::from(arena) * BYTES, call: Call { name, pc } }
}

fn name(arena: u32) -> String {
    format!("malloc arena {arena}")
}

fn lock(lock: Object, arena: u32) {
    if single::only_thread() {
        return;
    }
    let begin = now();
    let free = lock.update(WORD, |old| (old == FREE).then_some(HELD)) == FREE;
    if !free {
        wait_for_word(lock, WORD);
    }
    locks::acquired_as(lock.address, LockKind::Library, (!free).then_some(begin), lock.call.pc, || {
        labels::add(Label { address: lock.address, bytes: BYTES, name: name(arena), stride: 0 });
        name(arena)
    });
}

fn unlock(lock: Object) {
    if single::only_thread() {
        return;
    }
    let old = lock.update(WORD, |_| Some(FREE));
    locks::released(lock.address);
    if old == WAITED_FOR {
        lock.wake(WORD, 1);
    }
}

/// A place for a small object, from the arena of the thread, and whether it reads as zeroes. `None`: there is no room.
pub fn take(thread: usize, size: u64, align: u64, pc: u64) -> Option<(u64, bool)> {
    let arena = places(|places| places.arena_of(thread));
    let words = object(arena, "malloc", pc);
    lock(words, arena);
    words.goes(TAKE);
    let freed = places(|places| places.take_freed(arena, size, align));
    if let Some(chunk) = freed {
        is_taken(words, chunk, size);
        // glibc 2.36 has `memalign` go past the thread's cache.
        while align <= ALIGNED
            && let Some(chunk) = places(|places| places.refill(thread, arena, size))
        {
            words.goes(FILL);
            is_taken(words, chunk, size);
        }
    }
    let place = match freed {
        Some(address) => Some((address, false)),
        None => places(|places| places.take_fresh(arena, size, align)).map(|address| (address, true)),
    };
    unlock(words);
    place
}

/// A chunk leaves a list: it says which the next one is.
fn is_taken(arena: Object, chunk: u64, size: u64) {
    touch(chunk, 8, arena.call.pc, range_read);
    if size <= LISTED {
        list(arena, size, 0);
    }
}

/// A freed small object goes back to its arena.
pub fn give_back(address: u64, size: u64, pc: u64) {
    let arena = places(|places| places.owner(address));
    let words = object(arena, "free", pc);
    if size <= LISTED {
        words.goes(PUT_ON_LIST);
        touch(address, 8, pc, range_write);
        list(words, size, address);
        places(|places| places.give_back(address, size));
        return;
    }
    lock(words, arena);
    words.goes(MERGE);
    touch(address, 16, pc, range_write);
    places(|places| places.give_back(address, size));
    unlock(words);
}

/// An access to memory that is free. Where accesses to such memory end the run, this one is left out.
fn touch(address: u64, bytes: u64, pc: u64, access: extern "C" fn(u64, u64, u64)) {
    if !shown::all_accesses() {
        access(address, pc, bytes);
    }
}

/// The head of the list of small chunks of that size changes.
fn list(arena: Object, size: u64, to: u64) {
    let word = arena.address + LISTS + size.saturating_sub(ALIGNED + 8).div_ceil(ALIGNED) * 8;
    if single::only_thread() {
        return range_write(word, arena.call.pc, 8);
    }
    atomics::update(word, 8, arena.call.pc, |_| Some(to));
}
