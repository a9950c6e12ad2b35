// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's heap: deterministic, at a fixed place, and laid out as glibc lays its own out
//! ([`crate::storage::places`]).
use crate::engine::{active, charge, engine};
use crate::hooks::store_buffer;
use crate::hot::hot;
use crate::layout::{HEAP, HEAP_BYTES, HEAP_STARTS};
use crate::scheduling::fiber::current;
use crate::scheduling::perturb;
use crate::storage::places::{ARENAS_PER_CPU, GRAIN, HEADER, LARGE, PAGE, Places};
use crate::storage::{arenas, freed, limit, relayout};
use crate::sys;
use alloc::vec::Vec;
use corefold_recording::{AllocSite, Mapping, Object};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// The alignment of every object.
pub const ALIGNED: u64 = GRAIN;
const FREED: u64 = 1 << 63;
const SIZE_BITS: u32 = 40;
/// Return addresses kept of an allocating call.
const SITE_DEPTH: usize = 4;

pub struct Heap {
    places: Places,
    pub sites: Vec<AllocSite>,
    /// Live objects of each site.
    live: Vec<u64>,
    site_numbers: HashMap<([u64; SITE_DEPTH], Option<Mapping>), u32, FxBuildHasher>,
}

impl Heap {
    pub fn new(cpus: u32) -> Self {
        let places = Places::new(HEAP, HEAP_BYTES, (cpus * ARENAS_PER_CPU) as usize);
        Heap { places, sites: Vec::new(), live: Vec::new(), site_numbers: HashMap::default() }
    }

    /// An object of this site is there.
    fn begins(&mut self, site: u32) {
        let (live, site) = (&mut self.live[site as usize], &mut self.sites[site as usize]);
        *live += 1;
        site.live = site.live.max(*live);
    }
}

/// Maps the heap's address space.
pub fn map() -> bool {
    sys::map_at(HEAP, HEAP_BYTES) && sys::map_at(HEAP_STARTS, HEAP_BYTES / GRAIN / 8) && arenas::map()
}

pub fn is_ours(address: u64) -> bool {
    address.wrapping_sub(HEAP) < HEAP_BYTES
}

fn heap() -> &'static mut Heap {
    &mut engine().heap
}

pub fn places() -> &'static mut Places {
    &mut heap().places
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
    places().is_live_large(address) || *word & bit != 0
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

/// A request for memory.
#[derive(Clone, Copy)]
pub struct Request {
    pub size: u64,
    pub align: u64,
    /// May the thread's own cache answer it? (glibc 2.36 has `calloc` and `memalign` go past it.)
    pub cached: bool,
}

impl Request {
    pub fn of(size: u64) -> Request {
        Request { size, align: ALIGNED, cached: true }
    }
}

/// Allocates for the running thread; `pc` is the return address of the allocating call. Memory that was used before is
/// not cleared. Returns the address and whether it reads as zeroes. Other threads may run before it returns.
pub fn allocate(request: Request, pc: u64) -> (u64, bool) {
    charge(engine().launch.machine.system.allocation);
    let size = request.size;
    limit::take(size, pc);
    let Some((address, fresh)) = place(request, pc) else { crate::ending::out_of_memory(size, pc) };
    let site = site_number(pc, size, None);
    heap().begins(site);
    relayout::allocated(address, size, site);
    *header(address) = u64::from(site) << SIZE_BITS | size;
    if !places().is_large(address) {
        let (word, bit) = start_word(address);
        *word |= bit;
    }
    if perturb::on() {
        freed::dig_out(address, size);
    }
    (address, fresh)
}

fn place(Request { size, align, cached }: Request, pc: u64) -> Option<(u64, bool)> {
    let me = engine().sched.fiber;
    if size >= HEAP_BYTES / 4 {
        return None;
    }
    if size >= LARGE {
        return places().take_large(size, align).map(|address| (address, true));
    }
    let kept = if cached && align <= ALIGNED { places().take_kept(me, size) } else { None };
    kept.map(|address| (address, false)).or_else(|| arenas::take(me, size, align, pc))
}

/// Frees an object in a call from `pc`; false if there is none at `address`.
pub fn release(address: u64, pc: u64) -> bool {
    charge(engine().launch.machine.system.allocation);
    let head = *header(address);
    let size = head & ((1 << SIZE_BITS) - 1);
    if head & FREED != 0 || !address.is_multiple_of(GRAIN) {
        return false;
    }
    store_buffer::flush_range(address, size.max(1));
    relayout::freed(address);
    *header(address) = head | FREED;
    limit::give(size);
    let freed = if places().is_large(address) { release_large(address, pc) } else { release_small(address, size, pc) };
    if freed {
        heap().live[(head >> SIZE_BITS) as usize] -= 1;
    }
    freed
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
        freed::put_off(address, size).into_iter().for_each(|old| use_again(old, size_of(old), pc));
    } else {
        use_again(address, size, pc);
    }
    true
}

fn use_again(address: u64, size: u64, pc: u64) {
    if !places().keep(engine().sched.fiber, address, size) {
        arenas::give_back(address, size, pc);
    }
}

fn release_large(address: u64, pc: u64) -> bool {
    let Some(pages) = places().end_large(address) else { return false };
    if perturb::on() {
        freed::bury(object_at(address), pc);
    }
    sys::drop_pages(pages.begin, pages.bytes);
    crate::storage::mapping::forget_lines(pages.begin, pages.bytes);
    if !perturb::on() {
        places().give_large(pages);
    }
    true
}

/// The number of the place that allocates or maps `size` bytes now.
pub fn site_number(pc: u64, size: u64, mapping: Option<Mapping>) -> u32 {
    let mut stack = [0; SITE_DEPTH];
    stack[0] = pc;
    let called_at = Some(current().called_at).filter(|pc| *pc != 0);
    let callers = called_at.into_iter().chain(current().calls(hot!().frames));
    stack[1..].iter_mut().zip(callers).for_each(|(slot, pc)| *slot = pc);
    let heap = heap();
    let next = heap.sites.len() as u32;
    let key = (stack, mapping);
    let number = heap.site_numbers.get(&key).copied().unwrap_or(next);
    if number == next {
        let stack = stack.iter().copied().filter(|pc| *pc != 0).collect();
        heap.sites.push(AllocSite { stack, mapping: key.1.clone(), ..AllocSite::default() });
        heap.live.push(0);
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
    if places().is_large(begin) {
        let last = places().large_before(begin + bytes).map(object_at);
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
