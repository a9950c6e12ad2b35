// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies where on the heap, and where in the program it was allocated.
use crate::carrier::Carrier;
use crate::engine::active;
use crate::layout::{HEAP, HEAP_BYTES, HEAP_STARTS};
use crate::storage::mapped;
use crate::storage::places::{ARENAS_PER_CPU, GRAIN, HEADER, LARGE, PAGE, Places};
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
pub const SITE_DEPTH: usize = 4;

struct Heap {
    places: Places,
    sites: Vec<AllocSite>,
    /// Live objects of each site.
    live: Vec<u64>,
    site_numbers: HashMap<([u64; SITE_DEPTH], Option<Mapping>), u32, FxBuildHasher>,
}

/// None before the run begins.
static OBJECTS: Carrier<Option<Heap>> = Carrier::new(None);

#[inline]
fn with<R>(work: impl FnOnce(&mut Heap) -> R) -> R {
    OBJECTS.with(|heap| match heap {
        Some(heap) => work(heap),
        None => sys::engine_fault("the heap was used before it was initialised"),
    })
}

/// The run begins, with so many CPUs.
pub fn begin(cpus: u32) {
    let places = Places::new(HEAP, HEAP_BYTES, (cpus * ARENAS_PER_CPU) as usize);
    let heap = Heap { places, sites: Vec::new(), live: Vec::new(), site_numbers: HashMap::default() };
    OBJECTS.with(|objects| *objects = Some(heap));
}

/// Maps the heap's address space.
pub fn map() -> bool {
    sys::map_at(HEAP, HEAP_BYTES) && sys::map_at(HEAP_STARTS, HEAP_BYTES / GRAIN / 8)
}

pub fn is_ours(address: u64) -> bool {
    address.wrapping_sub(HEAP) < HEAP_BYTES
}

/// What is free.
#[inline]
pub fn places<R>(work: impl FnOnce(&mut Places) -> R) -> R {
    with(|heap| work(&mut heap.places))
}

/// The word before an object: what was asked for, its site, and whether it was freed.
fn header(address: u64) -> *mut u64 {
    (address - HEADER) as *mut u64
}

fn head(address: u64) -> u64 {
    // SAFETY: every object has a header before it.
    unsafe { header(address).read() }
}

fn set_head(address: u64, head: u64) {
    // SAFETY: as above.
    unsafe { header(address).write(head) }
}

/// Where the bit is that says whether a live small object begins there.
fn start(address: u64) -> (*mut u64, u64) {
    let grain = (address - HEAP) / GRAIN;
    ((HEAP_STARTS + grain / 64 * 8) as *mut u64, 1 << (grain % 64))
}

fn is_start(address: u64) -> bool {
    let (word, bit) = start(address);
    // SAFETY: the bitmap covers the heap.
    unsafe { word.read() & bit != 0 }
}

fn set_start(address: u64, is_one: bool) {
    let (word, bit) = start(address);
    // SAFETY: as above.
    unsafe { word.write(if is_one { word.read() | bit } else { word.read() & !bit }) }
}

fn is_large(address: u64) -> bool {
    places(|places| places.is_large(address))
}

/// Does a live object begin there?
pub fn is_object(address: u64) -> bool {
    let may_be = is_ours(address) && address.is_multiple_of(GRAIN);
    may_be && (places(|places| places.is_live_large(address)) || is_start(address))
}

/// What was asked for at `address`.
pub fn size_of(address: u64) -> u64 {
    head(address) & ((1 << SIZE_BITS) - 1)
}

/// An object of this site is there.
pub fn begins(address: u64, size: u64, site: u32) {
    with(|heap| {
        let (live, site) = (&mut heap.live[site as usize], &mut heap.sites[site as usize]);
        *live += 1;
        site.live = site.live.max(*live);
    });
    set_head(address, u64::from(site) << SIZE_BITS | size);
    if !is_large(address) {
        set_start(address, true);
    }
}

/// Was the object freed, or is there none?
pub fn is_freed(address: u64) -> bool {
    !address.is_multiple_of(GRAIN) || head(address) & FREED != 0
}

/// The object is freed. Returns whether it is a large one.
pub fn ends(address: u64) -> bool {
    set_head(address, head(address) | FREED);
    is_large(address)
}

/// The small object that begins there does no more; false: there is none.
pub fn ends_small(address: u64) -> bool {
    let was = is_start(address);
    if was {
        set_start(address, false);
    }
    was
}

/// One live object less of the site.
pub fn is_gone(site: u32) {
    with(|heap| heap.live[site as usize] -= 1);
}

/// The stack of an allocating call.
pub fn stack_of(site: u32) -> Vec<u64> {
    with(|heap| heap.sites[site as usize].stack.clone())
}

/// All places that have allocated, by number.
pub fn sites() -> Vec<AllocSite> {
    with(|heap| heap.sites.clone())
}

/// The number of the place that allocates or maps `size` bytes now: its call and those around it.
pub fn site_number(stack: [u64; SITE_DEPTH], size: u64, mapping: Option<Mapping>) -> u32 {
    with(|heap| {
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
    })
}

pub fn object_at(address: u64) -> Object {
    let site = (head(address) & !FREED) >> SIZE_BITS;
    Object { address, bytes: size_of(address), site: site as u32 }
}

/// The live objects that lie on these bytes, wholly or in part; beyond the heap, what is mapped there.
pub fn objects_on(begin: u64, bytes: u64) -> Vec<Object> {
    if !active() {
        return Vec::new();
    }
    if !is_ours(begin) {
        return mapped::object_at(begin).into_iter().collect();
    }
    if is_large(begin) {
        let last = places(|places| places.large_before(begin + bytes)).map(object_at);
        return last.into_iter().filter(|o| o.address + o.bytes > begin).collect();
    }
    let mut found = Vec::new();
    let mut at = (begin + bytes).next_multiple_of(GRAIN);
    let lowest = begin.saturating_sub(LARGE + PAGE).max(HEAP);
    while at > lowest {
        at -= GRAIN;
        if is_start(at) {
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
