// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the heap's objects go: as glibc has them, because what shares a cache line decides what the program's curve
//! looks like. Addresses only; no memory is touched, so that this can be tested beside the runtime.
//!
//! A chunk is the request plus an 8-byte header, rounded up to 16; a thread takes fresh chunks one after
//! the other from its own arena; a freed chunk goes to a short list of the thread that freed it, and
//! beyond that back to the arena it came from.
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
/// Chunks of one size that a thread keeps for itself, as glibc's tcache does.
const KEPT: usize = 7;

type Lists = HashMap<u64, Vec<u64>, FxBuildHasher>;

#[derive(Default)]
struct Arena {
    /// The rest of the segment that fresh chunks are taken from.
    next: u64,
    end: u64,
    /// Chunks that other threads gave back, by chunk size.
    returned: Lists,
    /// Chunks that this thread freed, by chunk size: at most [`KEPT`] of each.
    kept: Lists,
}

/// Pages that hold one large object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    pub begin: u64,
    pub bytes: u64,
}

/// The places of one heap: small objects in the lower half of its addresses, large ones in the upper.
pub struct Places {
    begin: u64,
    middle: u64,
    end: u64,
    arenas: Vec<Arena>,
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
    pub fn new(begin: u64, bytes: u64) -> Places {
        let (middle, end) = (begin + bytes / 2, begin + bytes);
        Places {
            begin,
            middle,
            end,
            arenas: Vec::new(),
            segments: Vec::new(),
            large_end: middle,
            large: BTreeMap::new(),
            large_free: BTreeMap::new(),
        }
    }

    /// A place for `thread`, and whether it reads as zeroes; `None`: there is no room.
    pub fn take(&mut self, thread: usize, size: u64, align: u64) -> Option<(u64, bool)> {
        if size >= LARGE {
            self.take_large(size, align).map(|at| (at, true))
        } else {
            self.take_small(thread, size, align)
        }
    }

    pub fn is_large(&self, address: u64) -> bool {
        address >= self.middle
    }

    fn arena(&mut self, thread: usize) -> &mut Arena {
        self.arenas.resize_with(self.arenas.len().max(thread + 1), Arena::default);
        &mut self.arenas[thread]
    }

    fn take_small(&mut self, thread: usize, size: u64, align: u64) -> Option<(u64, bool)> {
        let bytes = chunk_bytes(size);
        let arena = self.arena(thread);
        if align <= GRAIN {
            let lists = [&mut arena.kept, &mut arena.returned];
            if let Some(address) = lists.into_iter().find_map(|l| l.get_mut(&bytes).and_then(Vec::pop)) {
                return Some((address, false));
            }
        }
        let fits = |a: &Arena| (a.next + HEADER).next_multiple_of(align.max(GRAIN)) - HEADER + bytes <= a.end;
        if !fits(arena) {
            let spare = if align > GRAIN { align } else { 0 };
            let segments = (bytes + spare + GRAIN).div_ceil(SEGMENT);
            let begin = self.begin + self.segments.len() as u64 * SEGMENT;
            if begin + segments * SEGMENT > self.middle {
                return None;
            }
            self.segments.extend((0..segments).map(|_| thread as u32));
            let arena = &mut self.arenas[thread];
            (arena.next, arena.end) = (begin + HEADER, begin + segments * SEGMENT);
        }
        let arena = &mut self.arenas[thread];
        let address = (arena.next + HEADER).next_multiple_of(align.max(GRAIN));
        arena.next = address - HEADER + bytes;
        Some((address, true))
    }

    /// `thread` has freed a small object.
    pub fn give_small(&mut self, thread: usize, address: u64, size: u64) {
        let bytes = chunk_bytes(size);
        let kept = self.arena(thread).kept.entry(bytes).or_default();
        if kept.len() < KEPT {
            kept.push(address);
            return;
        }
        let owner = self.segments[((address - self.begin) / SEGMENT) as usize] as usize;
        self.arenas[owner].returned.entry(bytes).or_default().push(address);
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
