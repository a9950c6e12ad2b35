// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the heap's objects go: as glibc has them, because what shares a cache line decides what the program's curve
//! looks like. Addresses only; no memory is touched, so that this can be tested beside the runtime.
//!
//! A chunk is the request plus an 8-byte header, rounded up to 16. A thread has a cache of freed chunks of its own
//! (glibc's tcache). Beyond that it takes chunks from the arena that it is attached to, freed ones first, and a freed
//! chunk goes back to the arena that it came from. Who uses an arena must hold its lock ([`crate::calls::allocation::arenas`]).
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

pub const HEADER: u64 = 8;
pub const GRAIN: u64 = 16;
pub const PAGE: u64 = 4096;
/// From this size on, glibc maps each request by itself.
pub const LARGE: u64 = 128 << 10;
const SMALLEST: u64 = 32;
const SEGMENT: u64 = 1 << 20;
/// Chunks of one size that a thread keeps for itself (glibc's `tcache_count`), and the largest request that they are
/// kept for.
const KEPT: usize = 7;
const LARGEST_KEPT: u64 = 1032;
/// Freed chunks of a size among which one is looked for that is aligned by more than all are.
const LOOKED_AT: usize = 1024;
/// Where the first object of an arena lies, behind what glibc 2.36 keeps there: in the main one, a thread's cache; in others, a
/// thread's cache and the arena itself.
const FIRST: [u64; 2] = [0x2a0, 0xb70];
/// Arenas for each CPU, at most.
pub const ARENAS_PER_CPU: u32 = 8;

/// The main thread's arena.
const MAIN: u32 = 0;

type Lists = HashMap<u64, Vec<u64>, FxBuildHasher>;

#[derive(Default)]
struct Arena {
    /// The rest of the segment that fresh chunks are taken from.
    next: u64,
    end: u64,
    /// Chunks that were freed, by chunk size.
    freed: Lists,
    /// How many threads are attached to it.
    threads: u32,
}

#[derive(Default)]
struct Thread {
    arena: Option<u32>,
    /// Its cache: chunks that it freed, by chunk size, at most [`KEPT`] of each.
    kept: Lists,
}

/// Pages that hold one large object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    pub begin: u64,
    pub bytes: u64,
}

/// Where a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At once.
    At {
        address: u64,
        /// Does it read as zeroes?
        zeroes: bool,
    },
    /// In the thread's arena, under its lock.
    Arena,
    /// There is no room.
    Nowhere,
}

/// The places of one heap: small objects in the lower half of its addresses, large ones in the upper.
pub struct Places {
    begin: u64,
    middle: u64,
    end: u64,
    most_arenas: usize,
    arenas: Vec<Arena>,
    /// Arenas that no thread is attached to.
    idle: Vec<u32>,
    /// How often a thread had to share one.
    shared: usize,
    threads: Vec<Thread>,
    /// The arena of every segment handed out.
    segments: Vec<u32>,
    large_end: u64,
    /// Live large objects by address, and free pages by how many bytes they are.
    large: BTreeMap<u64, Pages>,
    large_free: BTreeMap<u64, Vec<u64>>,
}

/// Bytes of the chunk that holds a request. Exact up to 1 KiB as in glibc's small bins; larger ones in
/// eight steps to the doubling, so that a freed one fits the next of about its size.
fn chunk_bytes(size: u64) -> u64 {
    let exact = (size + HEADER).next_multiple_of(GRAIN).max(SMALLEST);
    if exact <= 1024 {
        return exact;
    }
    let step = (exact.next_power_of_two() / 16).max(GRAIN);
    exact.next_multiple_of(step)
}

impl Places {
    pub fn new(begin: u64, bytes: u64, most_arenas: usize) -> Places {
        let (middle, end) = (begin + bytes / 2, begin + bytes);
        Places {
            begin,
            middle,
            end,
            most_arenas,
            arenas: alloc::vec![Arena { threads: 1, ..Arena::default() }],
            idle: Vec::new(),
            shared: 0,
            threads: alloc::vec![Thread { arena: Some(MAIN), ..Thread::default() }],
            segments: Vec::new(),
            large_end: middle,
            large: BTreeMap::new(),
            large_free: BTreeMap::new(),
        }
    }

    /// No further arenas beyond so many: `M_ARENA_MAX`.
    pub fn limit_arenas(&mut self, most: usize) {
        self.most_arenas = most;
    }

    pub fn is_large(&self, address: u64) -> bool {
        address >= self.middle
    }

    fn thread(&mut self, thread: usize) -> &mut Thread {
        self.threads.resize_with(self.threads.len().max(thread + 1), Thread::default);
        &mut self.threads[thread]
    }

    /// The first part of a request of the thread's: pages of its own, a chunk from its cache, if that may answer it, or the
    /// arena is to be asked. No request is answered that is beyond a quarter of the heap.
    pub fn take(&mut self, thread: usize, size: u64, align: u64, cached: bool) -> Place {
        if size >= (self.end - self.begin) / 4 {
            return Place::Nowhere;
        }
        if size >= LARGE {
            let large = self.take_large(size, align);
            return large.map_or(Place::Nowhere, |address| Place::At { address, zeroes: true });
        }
        let kept = if cached && align <= GRAIN { self.take_kept(thread, size) } else { None };
        kept.map_or(Place::Arena, |address| Place::At { address, zeroes: false })
    }

    /// The arena that `thread` is attached to from its first request on: one that nobody uses, a new one, or, when there
    /// are as many as glibc makes, the next in turn.
    pub fn arena_of(&mut self, thread: usize) -> u32 {
        if let Some(arena) = self.thread(thread).arena {
            return arena;
        }
        let arena = if let Some(idle) = self.idle.pop() {
            idle
        } else if self.arenas.len() < self.most_arenas {
            self.arenas.push(Arena::default());
            self.arenas.len() as u32 - 1
        } else {
            // glibc's list: the main arena, then the newest.
            self.shared += 1;
            let count = self.arenas.len();
            ((count - (self.shared - 1) % count) % count) as u32
        };
        self.arenas[arena as usize].threads += 1;
        self.threads[thread].arena = Some(arena);
        arena
    }

    /// `thread` is no more: its cache goes back to the arenas, and its own is free for others.
    pub fn thread_ends(&mut self, thread: usize) {
        let Thread { arena, kept } = core::mem::take(self.thread(thread));
        let mut kept: Vec<(u64, Vec<u64>)> = kept.into_iter().collect();
        kept.sort_unstable();
        for (bytes, chunks) in kept {
            chunks.into_iter().rev().for_each(|address| self.put_back(address, bytes));
        }
        if let Some(arena) = arena {
            let threads = &mut self.arenas[arena as usize].threads;
            *threads -= 1;
            if *threads == 0 {
                self.idle.push(arena);
            }
        }
    }

    /// A chunk from the thread's own cache.
    fn take_kept(&mut self, thread: usize, size: u64) -> Option<u64> {
        if size > LARGEST_KEPT {
            return None;
        }
        self.thread(thread).kept.get_mut(&chunk_bytes(size))?.pop()
    }

    /// Is there room for a freed object in the thread's own cache? Then it goes there.
    pub fn keep(&mut self, thread: usize, address: u64, size: u64) -> bool {
        if size > LARGEST_KEPT {
            return false;
        }
        let kept = self.thread(thread).kept.entry(chunk_bytes(size)).or_default();
        let has_room = kept.len() < KEPT;
        if has_room {
            kept.push(address);
        }
        has_room
    }

    /// A freed chunk of the arena: the last, or of the last [`LOOKED_AT`] the last that lies as wanted. (glibc would cut one
    /// out of larger free memory.)
    pub fn take_freed(&mut self, arena: u32, size: u64, align: u64) -> Option<u64> {
        let freed = self.arenas[arena as usize].freed.get_mut(&chunk_bytes(size))?;
        if align <= GRAIN {
            return freed.pop();
        }
        let before = freed.len().saturating_sub(LOOKED_AT);
        let found = freed[before..].iter().rposition(|address| address.is_multiple_of(align))?;
        Some(freed.remove(before + found))
    }

    /// The next freed chunk of that size goes from the arena to the thread's cache, if both can: glibc fills the cache
    /// while it has the lock.
    pub fn refill(&mut self, thread: usize, arena: u32, size: u64) -> Option<u64> {
        let full = self.thread(thread).kept.get(&chunk_bytes(size)).map_or(0, Vec::len) == KEPT;
        let address = if full || size > LARGEST_KEPT { None } else { self.take_freed(arena, size, GRAIN) };
        address.filter(|address| self.keep(thread, *address, size))
    }

    /// Memory of the arena that was not used before; `None`: there is no room.
    pub fn take_fresh(&mut self, arena: u32, size: u64, align: u64) -> Option<u64> {
        let bytes = chunk_bytes(size);
        let fits = |a: &Arena| (a.next + HEADER).next_multiple_of(align.max(GRAIN)) - HEADER + bytes <= a.end;
        if !fits(&self.arenas[arena as usize]) {
            let spare = if align > GRAIN { align } else { 0 };
            let is_first = self.arenas[arena as usize].end == 0;
            let first = if is_first { FIRST[usize::from(arena != MAIN)] } else { GRAIN };
            let segments = (bytes + spare + first).div_ceil(SEGMENT);
            let begin = self.begin + self.segments.len() as u64 * SEGMENT;
            if begin + segments * SEGMENT > self.middle {
                return None;
            }
            self.segments.extend((0..segments).map(|_| arena));
            let arena = &mut self.arenas[arena as usize];
            (arena.next, arena.end) = (begin + first - HEADER, begin + segments * SEGMENT);
        }
        let arena = &mut self.arenas[arena as usize];
        let address = (arena.next + HEADER).next_multiple_of(align.max(GRAIN));
        arena.next = address - HEADER + bytes;
        Some(address)
    }

    /// The arena that a small object came from.
    pub fn owner(&self, address: u64) -> u32 {
        self.segments[((address - self.begin) / SEGMENT) as usize]
    }

    /// A freed object goes back to its arena.
    pub fn give_back(&mut self, address: u64, size: u64) {
        self.put_back(address, chunk_bytes(size));
    }

    fn put_back(&mut self, address: u64, bytes: u64) {
        let owner = self.owner(address) as usize;
        self.arenas[owner].freed.entry(bytes).or_default().push(address);
    }

    /// Pages of its own, 16 bytes into one as glibc's mappings are.
    fn take_large(&mut self, size: u64, align: u64) -> Option<u64> {
        let lead = align.max(GRAIN);
        let bytes = (size + lead).next_multiple_of(PAGE);
        let begin = match self.large_free.get_mut(&bytes).and_then(Vec::pop) {
            Some(begin) => begin,
            None => {
                let begin = self.large_end.checked_next_multiple_of(lead.max(PAGE))?;
                self.large_end = begin.checked_add(bytes).filter(|end| *end <= self.end)?;
                begin
            }
        };
        let address = (begin + GRAIN).next_multiple_of(lead);
        self.large.insert(address, Pages { begin, bytes });
        Some(address)
    }

    /// The large object at `address` is no more: the pages that were its own. `None`: there was none.
    pub fn end_large(&mut self, address: u64) -> Option<Pages> {
        self.large.remove(&address)
    }

    /// They may be used again.
    pub fn give_large(&mut self, pages: Pages) {
        self.large_free.entry(pages.bytes).or_default().push(pages.begin);
    }

    pub fn is_live_large(&self, address: u64) -> bool {
        self.large.contains_key(&address)
    }

    /// The last large object that begins before `end`.
    pub fn large_before(&self, end: u64) -> Option<u64> {
        self.large.range(..end).next_back().map(|(address, _)| *address)
    }
}
