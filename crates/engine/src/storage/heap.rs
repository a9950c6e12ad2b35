// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's heap: deterministic, at a fixed place, and laid out as glibc lays its own out, because
//! what shares a cache line decides what the program's curve looks like.
//!
//! A chunk is the request plus an 8-byte header, rounded up to 16; a thread takes fresh chunks one after
//! the other from its own arena; a freed chunk goes to a short list of the thread that freed it, and
//! beyond that back to the arena it came from.
use crate::engine::{active, charge, current, engine};
use crate::hooks::hot::hot;
use crate::hooks::pending;
use crate::layout::{HEAP, HEAP_BYTES, HEAP_STARTS};
use crate::scheduling::perturb;
use crate::storage::{freed, limit};
use crate::{crash, sys};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use corefold_recording::{AllocSite, Mapping, Object};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

const HEADER: u64 = 8;
const GRAIN: u64 = 16;
const SMALLEST: u64 = 32;
/// From this size on, glibc maps each request by itself.
const LARGE: u64 = 128 << 10;
const SEGMENT: u64 = 1 << 20;
const LARGE_BEGIN: u64 = HEAP + HEAP_BYTES / 2;
const PAGE: u64 = 4096;
/// Chunks of one size that a thread keeps for itself, as glibc's tcache does.
const KEPT: usize = 7;
const FREED: u64 = 1 << 63;
const SIZE_BITS: u32 = 40;
/// Return addresses kept of an allocating call.
const SITE_DEPTH: usize = 4;

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

#[derive(Default)]
pub struct Heap {
    arenas: Vec<Arena>,
    /// The arena of every segment handed out.
    segments: Vec<u32>,
    large_end: u64,
    /// Live large objects by address, with their mapped size, and free places by size.
    large: BTreeMap<u64, u64>,
    large_free: BTreeMap<u64, Vec<u64>>,
    pub sites: Vec<AllocSite>,
    site_numbers: HashMap<([u64; SITE_DEPTH], Option<Mapping>), u32, FxBuildHasher>,
}

/// Maps the heap's address space.
pub fn map() -> bool {
    sys::map_at(HEAP, HEAP_BYTES) && sys::map_at(HEAP_STARTS, HEAP_BYTES / GRAIN / 8)
}

pub fn is_ours(address: u64) -> bool {
    address.wrapping_sub(HEAP) < HEAP_BYTES
}

fn heap() -> &'static mut Heap {
    &mut engine().heap
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

fn header(address: u64) -> &'static mut u64 {
    // SAFETY: every object has a header before it.
    unsafe { &mut *((address - HEADER) as *mut u64) }
}

/// Does a live object begin there?
pub fn is_object(address: u64) -> bool {
    if !is_ours(address) || !address.is_multiple_of(GRAIN) {
        return false;
    }
    let (word, bit) = start_word(address);
    heap().large.contains_key(&address) || *word & bit != 0
}

/// What was asked for at `address`.
pub fn size_of(address: u64) -> u64 {
    *header(address) & ((1 << SIZE_BITS) - 1)
}

fn start_word(address: u64) -> (&'static mut u64, u64) {
    let grain = (address - HEAP) / GRAIN;
    // SAFETY: the bitmap covers the heap.
    (unsafe { &mut *((HEAP_STARTS + grain / 64 * 8) as *mut u64) }, 1 << (grain % 64))
}

/// Allocates for the running thread; `pc` is the return address of the allocating call. Memory that was
/// used before is not cleared. Returns the address and whether it reads as zeroes.
pub fn allocate(size: u64, align: u64, pc: u64) -> (u64, bool) {
    charge(engine().launch.machine.system.allocation);
    let site = site_number(pc, size, None);
    limit::take(size, pc);
    if size >= HEAP_BYTES / 4 {
        crash::out_of_memory(size, pc);
    }
    let (address, fresh) = if size >= LARGE { large(size, align) } else { small(size, align) };
    *header(address) = u64::from(site) << SIZE_BITS | size;
    if address < LARGE_BEGIN {
        let (word, bit) = start_word(address);
        *word |= bit;
    }
    if perturb::on() {
        freed::dig_out(address, size);
    }
    (address, fresh)
}

fn small(size: u64, align: u64) -> (u64, bool) {
    let me = engine().sched.fiber;
    let heap = heap();
    heap.arenas.resize_with(heap.arenas.len().max(me + 1), Arena::default);
    let bytes = chunk_bytes(size);
    let arena = &mut heap.arenas[me];
    if align <= GRAIN {
        let lists = [&mut arena.kept, &mut arena.returned];
        if let Some(address) = lists.into_iter().find_map(|l| l.get_mut(&bytes).and_then(Vec::pop)) {
            return (address, false);
        }
    }
    let fits = |a: &Arena| (a.next + HEADER).next_multiple_of(align.max(GRAIN)) - HEADER + bytes <= a.end;
    if !fits(arena) {
        let spare = if align > GRAIN { align } else { 0 };
        let segments = (bytes + spare + GRAIN).div_ceil(SEGMENT);
        let begin = HEAP + heap.segments.len() as u64 * SEGMENT;
        if begin + segments * SEGMENT > LARGE_BEGIN {
            crash::out_of_memory(size, 0);
        }
        heap.segments.extend((0..segments).map(|_| me as u32));
        let arena = &mut heap.arenas[me];
        (arena.next, arena.end) = (begin + HEADER, begin + segments * SEGMENT);
    }
    let arena = &mut heap.arenas[me];
    let address = (arena.next + HEADER).next_multiple_of(align.max(GRAIN));
    arena.next = address - HEADER + bytes;
    (address, true)
}

/// A place of its own, 16 bytes into a page as glibc's mappings are.
fn large(size: u64, align: u64) -> (u64, bool) {
    let heap = heap();
    let lead = align.max(GRAIN);
    let bytes = (size + lead).next_multiple_of(PAGE);
    let reused = heap.large_free.get_mut(&bytes).and_then(Vec::pop);
    let begin = reused.unwrap_or_else(|| {
        let begin = heap.large_end.max(LARGE_BEGIN).next_multiple_of(align.max(PAGE));
        heap.large_end = begin + bytes;
        begin
    });
    let address = (begin + GRAIN).next_multiple_of(lead);
    heap.large.insert(address, bytes);
    (address, true)
}

/// Frees an object in a call from `pc`; false if there is none at `address`.
pub fn release(address: u64, pc: u64) -> bool {
    charge(engine().launch.machine.system.allocation);
    let head = *header(address);
    let size = head & ((1 << SIZE_BITS) - 1);
    if head & FREED != 0 || !address.is_multiple_of(GRAIN) {
        return false;
    }
    pending::flush_range(address, size.max(1));
    *header(address) = head | FREED;
    limit::give(size);
    if address >= LARGE_BEGIN { release_large(address, pc) } else { release_small(address, size, pc) }
}

fn release_small(address: u64, size: u64, pc: u64) -> bool {
    let (word, bit) = start_word(address);
    if *word & bit == 0 {
        return false;
    }
    *word &= !bit;
    crate::account::sites::freed(&object_at(address));
    if perturb::on() {
        freed::bury(object_at(address), pc);
        freed::spoil(address, size);
        freed::put_off(address, size).into_iter().for_each(|old| use_again(old, size_of(old)));
    } else {
        use_again(address, size);
    }
    true
}

fn use_again(address: u64, size: u64) {
    let me = engine().sched.fiber;
    let heap = heap();
    heap.arenas.resize_with(heap.arenas.len().max(me + 1), Arena::default);
    let bytes = chunk_bytes(size);
    let kept = heap.arenas[me].kept.entry(bytes).or_default();
    if kept.len() < KEPT {
        kept.push(address);
        return;
    }
    let owner = heap.segments[((address - HEAP) / SEGMENT) as usize] as usize;
    heap.arenas[owner].returned.entry(bytes).or_default().push(address);
}

fn release_large(address: u64, pc: u64) -> bool {
    let Some(bytes) = heap().large.remove(&address) else { return false };
    let begin = (address - GRAIN) / PAGE * PAGE;
    if perturb::on() {
        freed::bury(object_at(address), pc);
    }
    sys::drop_pages(begin, bytes);
    crate::storage::mapping::forget_lines(begin, bytes);
    if !perturb::on() {
        heap().large_free.entry(bytes).or_default().push(begin);
    }
    true
}

/// The number of the place that allocates or maps `size` bytes now.
pub fn site_number(pc: u64, size: u64, mapping: Option<Mapping>) -> u32 {
    let mut stack = [0; SITE_DEPTH];
    stack[0] = pc;
    let callers = current().calls(hot!().frames);
    stack[1..].iter_mut().zip(callers).for_each(|(slot, pc)| *slot = pc);
    let heap = heap();
    let next = heap.sites.len() as u32;
    let key = (stack, mapping);
    let number = heap.site_numbers.get(&key).copied().unwrap_or(next);
    if number == next {
        let stack = stack.iter().copied().filter(|pc| *pc != 0).collect();
        heap.sites.push(AllocSite { stack, mapping: key.1.clone(), ..AllocSite::default() });
        heap.site_numbers.insert(key, number);
    }
    let site = &mut heap.sites[number as usize];
    site.count += 1;
    site.bytes += size;
    number
}

fn object_at(address: u64) -> Object {
    let site = (*header(address) & !FREED) >> SIZE_BITS;
    Object { address, bytes: size_of(address), site: site as u32 }
}

/// The live objects that lie on these bytes, wholly or in part; beyond the heap, what is mapped there.
pub fn objects_on(begin: u64, bytes: u64) -> Vec<Object> {
    if !active() {
        return Vec::new();
    }
    if !is_ours(begin) {
        return crate::storage::mapped::object_at(begin).into_iter().collect();
    }
    if begin >= LARGE_BEGIN {
        let last = heap().large.range(..begin + bytes).next_back().map(|(a, _)| object_at(*a));
        return last.into_iter().filter(|o| o.address + o.bytes > begin).collect();
    }
    let mut found = Vec::new();
    let mut at = (begin + bytes).next_multiple_of(GRAIN);
    let lowest = begin.saturating_sub(LARGE + PAGE).max(HEAP);
    while at > lowest {
        at -= GRAIN;
        let (word, bit) = start_word(at);
        if *word & bit != 0 {
            let object = object_at(at);
            if object.address + object.bytes > begin && object.address < begin + bytes {
                found.insert(0, object);
            }
            if at <= begin {
                break;
            }
        }
    }
    found
}
