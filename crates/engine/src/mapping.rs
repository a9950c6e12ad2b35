//! The program's mappings: at places that depend on the program alone, and known by the file behind them.
use crate::engine::{active, engine};
use crate::layout::{MAPPINGS, MAPPINGS_BYTES, SHADOW, SHADOW_SHIFT};
use crate::{mapped, pending, sched, sys};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

const PAGE: u64 = 4096;

/// Where the next mapping goes. Places that were given back serve again for the same size.
#[derive(Default)]
pub struct Places {
    used: u64,
    free: BTreeMap<u64, Vec<u64>>,
}

impl Places {
    fn take(&mut self, bytes: u64) -> Option<u64> {
        if let Some(place) = self.free.get_mut(&bytes).and_then(Vec::pop) {
            return Some(place);
        }
        if bytes > MAPPINGS_BYTES - self.used {
            return None;
        }
        // A page between two mappings: running over the end of one is noticed.
        let place = MAPPINGS + self.used;
        self.used += bytes + PAGE;
        Some(place)
    }

    fn give_back(&mut self, place: u64, bytes: u64) {
        self.free.entry(bytes).or_default().push(place);
    }
}

fn is_ours(address: u64) -> bool {
    address.wrapping_sub(MAPPINGS) < MAPPINGS_BYTES
}

/// Keeps the place, without memory behind it.
fn reserve(address: u64, bytes: u64) -> i64 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the place is one that the program gave back, or never had.
    unsafe { sys::syscall6(libc::SYS_mmap, address, bytes, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0) }
}

/// Reserves the region in which all mappings go.
pub fn reserve_all() -> bool {
    sys::map_at(MAPPINGS, MAPPINGS_BYTES) && reserve(MAPPINGS, MAPPINGS_BYTES) as u64 == MAPPINGS
}

/// What mmap is called with.
struct Wanted {
    address: u64,
    bytes: u64,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: u64,
}

impl Wanted {
    fn map(&self, address: u64, flags: c_int) -> i64 {
        let (protection, flags) = (self.protection as u64, flags as u64);
        // SAFETY: the place is the program's own choice, or free.
        unsafe { sys::syscall6(libc::SYS_mmap, address, self.bytes, protection, flags, self.fd as u64, self.offset) }
    }

    fn map_somewhere(&self) -> i64 {
        let bytes = self.bytes.next_multiple_of(PAGE);
        if bytes == 0 {
            return self.map(0, self.flags);
        }
        let places = &mut engine().places;
        let Some(place) = places.take(bytes) else { return -i64::from(libc::ENOMEM) };
        let got = self.map(place, self.flags | libc::MAP_FIXED);
        if got < 0 {
            engine().places.give_back(place, bytes);
        }
        got
    }
}

extern "C" fn map(
    address: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: u64, pc: u64,
) -> *mut c_void {
    let wanted = Wanted { address, bytes, protection, flags, fd, offset };
    if !active() {
        return answer(wanted.map(address, flags));
    }
    sched::enter_kernel();
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    let got = if fixed { wanted.map(wanted.address, flags) } else { wanted.map_somewhere() };
    if got > 0 {
        let at = got as u64;
        forget_lines(at, bytes);
        let fd = if flags & libc::MAP_ANONYMOUS != 0 { -1 } else { fd };
        mapped::note(at, bytes, fd, offset, pc);
    }
    answer(got)
}

extern "C" fn unmap(address: u64, bytes: u64) -> c_int {
    let all = bytes.next_multiple_of(PAGE);
    let got = if active() && is_ours(address) && bytes > 0 && address % PAGE == 0 {
        sched::enter_kernel();
        give_back(address, all)
    } else {
        // SAFETY: the program's own wish.
        unsafe { sys::syscall!(libc::SYS_munmap, address, bytes; 0, 0, 0, 0) }
    };
    if got < 0 { crate::stand_in::failed(-got as c_int) } else { 0 }
}

fn give_back(address: u64, bytes: u64) -> i64 {
    pending::flush_range(address, bytes);
    forget_lines(address, bytes);
    let whole = mapped::object_at(address);
    let whole = whole.is_some_and(|o| o.address == address && o.bytes.next_multiple_of(PAGE) == bytes);
    mapped::forget(address, bytes);
    let got = reserve(address, bytes);
    if got > 0 && whole {
        engine().places.give_back(address, bytes);
    }
    got
}

fn answer(got: i64) -> *mut c_void {
    if got < 0 && got > -(PAGE as i64) {
        crate::stand_in::failed(-got as c_int);
        return libc::MAP_FAILED;
    }
    got as *mut c_void
}

/// mmap has as many arguments as there are registers: the return address goes on the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn mmap() {
    naked_asm!("push [rsp]", "call {map}", "add rsp, 8", "ret", map = sym map)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn mmap64() {
    naked_asm!("push [rsp]", "call {map}", "add rsp, 8", "ret", map = sym map)
}

#[unsafe(no_mangle)]
pub extern "C" fn munmap(address: u64, bytes: u64) -> c_int {
    unmap(address, bytes)
}

/// Forgets what was known of lines whose memory is gone.
pub fn forget_lines(begin: u64, bytes: u64) {
    let (first, last) = (begin >> SHADOW_SHIFT, (begin + bytes) >> SHADOW_SHIFT);
    let (from, to) = (SHADOW + first * 4, SHADOW + last * 4);
    let (page_from, page_to) = (from.next_multiple_of(4096), to / 4096 * 4096);
    if page_from >= page_to {
        crate::string::fill(from, 0, to - from);
        return;
    }
    crate::string::fill(from, 0, page_from - from);
    sys::drop_pages(page_from, page_to - page_from);
    crate::string::fill(page_to, 0, to - page_to);
}
