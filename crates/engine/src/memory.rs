// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime's own memory: dlmalloc over a region of its own, so that neither the program's heap nor
//! libc's sees it.
use crate::layout::{RUNTIME, RUNTIME_BYTES};
use crate::sys;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering, compiler_fence};

/// What a thread on each of hundreds of CPUs has lies on as many pages, for which the host's TLB has no room.
const HUGE_PAGE: u64 = 2 << 20;

/// Hands out the region from its low end; nothing is given back.
struct Region {
    used: UnsafeCell<u64>,
}

// SAFETY: the mapping is only extended, and each piece is handed out once.
unsafe impl dlmalloc::Allocator for Region {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        // SAFETY: one thread at a time allocates, see `Memory`.
        let used = unsafe { &mut *self.used.get() };
        let size = (size as u64).next_multiple_of(HUGE_PAGE);
        if *used + size > RUNTIME_BYTES || !sys::map_at(RUNTIME + *used, size) {
            return (core::ptr::null_mut(), 0, 0);
        }
        sys::prefer_huge_pages(RUNTIME + *used, size);
        *used += size;
        ((RUNTIME + *used - size) as *mut u8, size as usize, 0)
    }
    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        core::ptr::null_mut()
    }
    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }
    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }
    fn can_release_part(&self, _: u32) -> bool {
        false
    }
    fn allocates_zeros(&self) -> bool {
        true
    }
    fn page_size(&self) -> usize {
        4096
    }
}

struct Memory(UnsafeCell<dlmalloc::Dlmalloc<Region>>);

/// The allocator is running and must not be re-entered by a signal handler.
static AT_WORK: AtomicBool = AtomicBool::new(false);

/// Has a signal interrupted the allocator?
pub fn is_at_work() -> bool {
    AT_WORK.load(Ordering::Relaxed)
}

impl Memory {
    /// Relaxed: the handler runs on the same thread.
    fn work<T>(&self, work: impl FnOnce(&mut dlmalloc::Dlmalloc<Region>) -> T) -> T {
        AT_WORK.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: see `Sync`.
        let result = work(unsafe { &mut *self.0.get() });
        compiler_fence(Ordering::SeqCst);
        AT_WORK.store(false, Ordering::Relaxed);
        result
    }
}

// SAFETY: the runtime allocates only on the carrier; other threads of the process are parked. Where nothing is simulated, all
// threads are real, and it allocates nothing (tests/programs/host/unsimulated.c).
unsafe impl Sync for Memory {}

// SAFETY: dlmalloc keeps the contract.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        self.work(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        self.work(|heap| unsafe { heap.free(at, layout.size(), layout.align()) })
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        self.work(|heap| unsafe { heap.realloc(at, layout.size(), layout.align(), size) })
    }
}

#[global_allocator]
static MEMORY: Memory =
    Memory(UnsafeCell::new(dlmalloc::Dlmalloc::new_with_allocator(Region { used: UnsafeCell::new(0) })));
