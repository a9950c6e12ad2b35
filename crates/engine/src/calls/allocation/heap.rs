// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's heap: deterministic, at a fixed place, and laid out as glibc lays its own out
//! ([`crate::storage::places`]).
use crate::account::allocations;
use crate::account::freed;
use crate::calls::allocation::arenas;
use crate::counts::sites;
use crate::engine::{charge, launch};
use crate::scheduling::shown;
use crate::scheduling::store_buffer;
use crate::state::scheduler::running_fiber;
use crate::storage::limit;
use crate::storage::lines;
use crate::storage::objects::{self, ALIGNED, object_at, places, size_of};
use crate::storage::places::Place;
use crate::storage::relayout;
use crate::sys;

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
    charge(launch().machine.system.allocation);
    let size = request.size;
    limit::take(size, pc);
    let Some((address, fresh)) = place(request, pc) else { crate::ending::out_of_memory(size, pc) };
    let site = allocations::site_number(pc, size, None);
    relayout::allocated(address, size, site, || objects::stack_of(site));
    objects::begins(address, size, site);
    if shown::all_accesses() {
        freed::dig_out(address, size);
    }
    (address, fresh)
}

fn place(Request { size, align, cached }: Request, pc: u64) -> Option<(u64, bool)> {
    let me = running_fiber();
    match places(|places| places.take(me, size, align, cached)) {
        Place::At { address, zeroes } => Some((address, zeroes)),
        Place::Arena => arenas::take(me, size, align, pc),
        Place::Nowhere => None,
    }
}

/// Frees an object in a call from `pc`; false if there is none at `address`.
pub fn release(address: u64, pc: u64) -> bool {
    charge(launch().machine.system.allocation);
    if objects::is_freed(address) {
        return false;
    }
    let size = size_of(address);
    let site = object_at(address).site;
    store_buffer::flush_range(address, size.max(1));
    relayout::freed(address);
    let is_large = objects::ends(address);
    limit::give(size);
    let freed = if is_large { release_large(address, pc) } else { release_small(address, size, pc) };
    if freed {
        objects::is_gone(site);
    }
    freed
}

fn release_small(address: u64, size: u64, pc: u64) -> bool {
    if !objects::ends_small(address) {
        return false;
    }
    sites::freed(&object_at(address));
    if shown::all_accesses() {
        freed::bury(object_at(address), pc);
        freed::spoil(address, size);
        freed::put_off(address, size).into_iter().for_each(|old| use_again(old, size_of(old), pc));
    } else {
        use_again(address, size, pc);
    }
    true
}

fn use_again(address: u64, size: u64, pc: u64) {
    let me = running_fiber();
    if !places(|places| places.keep(me, address, size)) {
        arenas::give_back(address, size, pc);
    }
}

fn release_large(address: u64, pc: u64) -> bool {
    let Some(pages) = places(|places| places.end_large(address)) else { return false };
    if shown::all_accesses() {
        freed::bury(object_at(address), pc);
    }
    sys::drop_pages(pages.begin, pages.bytes);
    lines::forget_lines(pages.begin, pages.bytes);
    if !shown::all_accesses() {
        places(|places| places.give_large(pages));
    }
    true
}
