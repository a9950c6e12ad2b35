// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies where on the heap, and where in the program it was allocated.
use crate::carrier::Carrier;
use crate::engine::active;
use crate::layout::{HEAP, HEAP_BYTES, HEAP_STARTS};
use crate::storage::alloc_sites::{AllocSites, SITE_DEPTH};
use crate::storage::headers::{Headers, Words};
use crate::storage::mapped;
use crate::storage::places::{ARENAS_PER_CPU, GRAIN, Places};
use crate::sys;
use alloc::vec::Vec;
use corefold_recording::{AllocSite, Mapping, Object};

/// The alignment of every object.
pub const ALIGNED: u64 = GRAIN;

struct Heap {
    places: Places,
    sites: AllocSites,
}

/// None before the run begins.
static OBJECTS: Carrier<Option<Heap>> = Carrier::new(None);

/// The heap itself, and the bits beside it.
struct Mapped;

impl Words for Mapped {
    fn read(&self, address: u64) -> u64 {
        // SAFETY: every object has a header before it, and the bits cover the heap.
        unsafe { (address as *const u64).read() }
    }

    fn write(&self, address: u64, value: u64) {
        // SAFETY: as above.
        unsafe { (address as *mut u64).write(value) }
    }
}

const HEADERS: Headers<Mapped> = Headers { words: Mapped, heap: HEAP, starts: HEAP_STARTS };

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
    OBJECTS.with(|objects| *objects = Some(Heap { places, sites: AllocSites::default() }));
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

/// Does a live object begin there?
pub fn is_object(address: u64) -> bool {
    is_ours(address) && places(|places| HEADERS.is_object(places, address))
}

/// What was asked for at `address`.
pub fn size_of(address: u64) -> u64 {
    HEADERS.size_of(address)
}

/// An object of this site is there.
pub fn begins(address: u64, size: u64, site: u32) {
    with(|heap| {
        heap.sites.begins(site);
        HEADERS.begins(&heap.places, address, size, site);
    });
}

/// Was the object freed, or is there none?
pub fn is_freed(address: u64) -> bool {
    HEADERS.is_freed(address)
}

/// The object is freed. Returns whether it is a large one.
pub fn ends(address: u64) -> bool {
    HEADERS.ends(address);
    places(|places| places.is_large(address))
}

/// The small object that begins there does no more; false: there is none.
pub fn ends_small(address: u64) -> bool {
    HEADERS.ends_small(address)
}

/// One live object less of the site.
pub fn is_gone(site: u32) {
    with(|heap| heap.sites.ends(site));
}

/// The stack of an allocating call.
pub fn stack_of(site: u32) -> Vec<u64> {
    with(|heap| heap.sites.all()[site as usize].stack.clone())
}

/// All places that have allocated, by number.
pub fn sites() -> Vec<AllocSite> {
    with(|heap| heap.sites.all().to_vec())
}

/// The number of the place that allocates or maps `size` bytes now: its call and those around it.
pub fn site_number(stack: [u64; SITE_DEPTH], size: u64, mapping: Option<Mapping>) -> u32 {
    with(|heap| heap.sites.number(stack, size, mapping))
}

pub fn object_at(address: u64) -> Object {
    HEADERS.object_at(address)
}

/// The live objects that lie on these bytes, wholly or in part; beyond the heap, what is mapped there.
pub fn objects_on(begin: u64, bytes: u64) -> Vec<Object> {
    match is_ours(begin) {
        _ if !active() => Vec::new(),
        true => places(|places| HEADERS.objects_on(places, begin, bytes)),
        false => mapped::object_at(begin).into_iter().collect(),
    }
}
