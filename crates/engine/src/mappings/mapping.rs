// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's mappings, at addresses that depend on nothing but its calls: all that names no address
//! of its own goes into one region that is reserved from the start.
use crate::account::allocations;
use crate::account::host;
use crate::carrier::Carrier;
use crate::entry::with_seventh;
use crate::layout::{MAPPINGS, MAPPINGS_BYTES};
use crate::mappings::shared;
use crate::scheduling::sched;
use crate::scheduling::store_buffer;
use crate::stand_in::{failed, result, stand_ins, stand_ins_at};
use crate::storage::limit;
use crate::storage::lines;
use crate::storage::mapped;
use crate::storage::ranges::Ranges;
use crate::sys;
use alloc::format;
use alloc::string::String;
use core::ffi::c_int;
use corefold_recording::{Mapping, Object};

const PAGE: u64 = 4096;
const HUGE_PAGE: u64 = 2 << 20;
const END: u64 = MAPPINGS + MAPPINGS_BYTES;

static FREE: Carrier<Option<Ranges>> = Carrier::new(None);

/// The addresses of the region that are free.
fn free<R>(work: impl FnOnce(&mut Ranges) -> R) -> R {
    FREE.with(|free| work(free.get_or_insert_with(|| Ranges::new(MAPPINGS, END))))
}

/// Reserves the region. Nothing there can be read or written until it is mapped.
pub fn reserve_all() -> bool {
    reserve_at(MAPPINGS, MAPPINGS_BYTES, libc::MAP_FIXED_NOREPLACE)
}

fn reserve_at(begin: u64, bytes: u64, fixed: c_int) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    raw_map(begin, bytes, libc::PROT_NONE, flags, -1, 0) == begin as i64
}

fn raw_map(at: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> i64 {
    // SAFETY: the caller answers for what is replaced.
    unsafe { sys::syscall!(libc::SYS_mmap, at, bytes, protection, flags, fd, offset;) }
}

/// The part of these bytes that lies in the region.
fn inside(begin: u64, end: u64) -> Option<(u64, u64)> {
    let (begin, end) = (begin.max(MAPPINGS), end.min(END));
    (begin < end).then_some((begin, end))
}

/// What was mapped there is gone, or about to be.
fn forget(begin: u64, bytes: u64) {
    lines::forget_lines(begin, bytes);
    mapped::forget(begin, bytes);
    shared::forget(begin, bytes);
}

/// The program mapped memory; `pc` is the return address of its call. Mappings that were there before are gone.
fn noted(address: u64, bytes: u64, fd: i32, offset: u64, pc: u64) {
    mapped::forget(address, bytes);
    let mapping = match fd {
        0.. => Mapping { file: file_name(fd), offset },
        _ => Mapping::default(),
    };
    let site = allocations::site_number(pc, bytes, Some(mapping));
    mapped::insert(Object { address, bytes, site });
}

/// The last component of the path behind a descriptor.
fn file_name(fd: i32) -> String {
    let link = format!("/proc/self/fd/{fd}\0");
    let mut path = [0u8; 4096];
    // SAFETY: a terminated string and a buffer of the stated size.
    let got = unsafe {
        sys::syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, link.as_ptr(), path.as_mut_ptr(), path.len(); 0, 0)
    };
    let path = &path[..usize::try_from(got).unwrap_or(0)];
    String::from_utf8_lossy(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)).into_owned()
}

/// Unmaps, and reserves again what lies in the region.
pub fn unmap(begin: u64, bytes: u64) -> i64 {
    let end = begin + bytes;
    store_buffer::flush_range(begin, bytes);
    if let Some((from, to)) = inside(begin, end) {
        reserve_at(from, to - from, libc::MAP_FIXED);
        free(|free| free.give(from, to));
        limit::give(to - from);
    }
    let outside = inside(begin, end).is_none_or(|(from, to)| (from, to) != (begin, end));
    // SAFETY: the program's own call; what lies in the region stays reserved.
    let code = if outside { unsafe { unmap_outside(begin, end) } } else { 0 };
    forget(begin, bytes);
    code
}

/// # Safety
/// The program asks for it.
unsafe fn unmap_outside(begin: u64, end: u64) -> i64 {
    let parts = [(begin, end.min(MAPPINGS)), (begin.max(END), end)];
    let mut code = 0;
    for (from, to) in parts.into_iter().filter(|(from, to)| from < to) {
        // SAFETY: as the caller says.
        code = unsafe { sys::syscall!(libc::SYS_munmap, from, to - from; 0, 0, 0, 0) };
    }
    code
}

fn alignment(flags: c_int) -> u64 {
    match flags as u32 >> libc::MAP_HUGE_SHIFT & libc::MAP_HUGE_MASK as u32 {
        _ if flags & libc::MAP_HUGETLB == 0 => PAGE,
        0 => HUGE_PAGE,
        shift => 1 << shift,
    }
}

/// Where a mapping without a fixed address goes; `None`: where the kernel will have it.
fn place(hint: u64, bytes: u64, flags: c_int) -> Option<u64> {
    const KERNELS: c_int = libc::MAP_32BIT | libc::MAP_GROWSDOWN;
    if flags & KERNELS != 0 {
        return None;
    }
    let wanted = (hint / PAGE * PAGE, (hint / PAGE * PAGE).saturating_add(bytes));
    if inside(wanted.0, wanted.1) == Some(wanted) && free(|free| free.is_free(wanted.0, wanted.1)) {
        free(|free| free.remove(wanted.0, wanted.1));
        return Some(wanted.0);
    }
    free(|free| free.take(bytes, alignment(flags)))
}

/// A hint that points elsewhere is followed where the kernel can.
fn map_at_hint(hint: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Option<i64> {
    let at = hint / PAGE * PAGE;
    if at == 0 || inside(at, at.saturating_add(bytes)).is_some() {
        return None;
    }
    let got = raw_map(at, bytes, protection, flags | libc::MAP_FIXED_NOREPLACE, fd, offset);
    (got == at as i64).then_some(got)
}

fn map_anywhere(hint: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> i64 {
    if let Some(got) = map_at_hint(hint, bytes, protection, flags, fd, offset) {
        return got;
    }
    let Some(at) = place(hint, bytes, flags) else { return raw_map(hint, bytes, protection, flags, fd, offset) };
    let got = raw_map(at, bytes, protection, flags | libc::MAP_FIXED, fd, offset);
    if got < 0 {
        reserve_at(at, bytes, libc::MAP_FIXED);
        free(|free| free.give(at, at + bytes));
    }
    got
}

/// At the address that the program names.
fn map_fixed(at: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> i64 {
    let end = at.saturating_add(bytes);
    let replaces = flags & libc::MAP_FIXED_NOREPLACE != libc::MAP_FIXED_NOREPLACE;
    let mut flags = flags;
    if let Some((from, to)) = inside(at, end) {
        if !replaces && !free(|free| free.is_free(from, to)) {
            return -i64::from(libc::EEXIST);
        }
        flags = flags & !libc::MAP_FIXED_NOREPLACE | libc::MAP_FIXED;
    }
    store_buffer::flush_range(at, bytes);
    let got = raw_map(at, bytes, protection, flags, fd, offset);
    if let (true, Some((from, to))) = (got == at as i64, inside(at, end)) {
        free(|free| free.remove(from, to));
    }
    got
}

fn map(hint: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: i64, pc: u64) -> u64 {
    const FIXED: c_int = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
    sched::enter_kernel();
    host::count("mmap");
    let bytes = bytes.checked_next_multiple_of(alignment(flags)).unwrap_or(u64::MAX);
    let got = match flags & FIXED {
        _ if bytes == 0 => -i64::from(libc::EINVAL),
        _ if bytes > MAPPINGS_BYTES => -i64::from(libc::ENOMEM),
        0 => map_anywhere(hint, bytes, protection, flags, fd, offset),
        _ => map_fixed(hint, bytes, protection, flags, fd, offset),
    };
    if got >= 0 {
        let is_file = flags & libc::MAP_ANONYMOUS == 0;
        forget(got as u64, bytes);
        noted(got as u64, bytes, if is_file { fd } else { -1 }, offset as u64, pc);
        if is_file && flags & libc::MAP_SHARED != 0 {
            let writable = protection & libc::PROT_WRITE != 0;
            shared::note(got as u64, bytes, fd, offset as u64, writable, pc);
        }
        if !is_file && protection & libc::PROT_WRITE != 0 {
            limit::map(bytes, pc);
        }
    }
    result(got) as u64
}

/// The mapping's place in the region for `bytes`: where it is, if there is room behind it.
fn grow(old: u64, old_bytes: u64, bytes: u64, flags: c_int) -> Result<u64, c_int> {
    let (old_end, end) = (old + old_bytes, old + bytes);
    if inside(old_end, end) == Some((old_end, end)) && free(|free| free.is_free(old_end, end)) {
        free(|free| free.remove(old_end, end));
        return Ok(old);
    }
    if flags & libc::MREMAP_MAYMOVE == 0 {
        return Err(libc::ENOMEM);
    }
    free(|free| free.take(bytes, PAGE)).ok_or(libc::ENOMEM)
}

/// Moves or grows a mapping of the region to `to`, which is taken already.
fn remap_to(old: u64, old_bytes: u64, to: u64, bytes: u64, flags: c_int) -> i64 {
    let in_place = to == old;
    // SAFETY: the program's own mapping; what is unmapped or replaced is reservation that was taken.
    let got = unsafe {
        if in_place {
            sys::syscall!(libc::SYS_munmap, old + old_bytes, bytes - old_bytes; 0, 0, 0, 0);
            sys::syscall!(libc::SYS_mremap, old, old_bytes, bytes, 0; 0, 0)
        } else {
            let flags = flags | libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            sys::syscall!(libc::SYS_mremap, old, old_bytes, bytes, flags, to; 0)
        }
    };
    let gone = match (got >= 0, in_place) {
        (true, true) => return got,
        (true, false) => (old, old_bytes),
        (false, true) => (old + old_bytes, bytes - old_bytes),
        (false, false) => (to, bytes),
    };
    if let (true, Some((from, end))) = (flags & libc::MREMAP_DONTUNMAP == 0, inside(gone.0, gone.0 + gone.1)) {
        reserve_at(from, end - from, libc::MAP_FIXED);
        free(|free| free.give(from, end));
    }
    got
}

fn remap(old: u64, old_bytes: u64, bytes: u64, flags: c_int, to: u64, pc: u64) -> i64 {
    store_buffer::flush_range(old, old_bytes);
    let named = flags & libc::MREMAP_FIXED != 0;
    if !named && bytes <= old_bytes && flags & libc::MREMAP_DONTUNMAP == 0 {
        if bytes < old_bytes {
            unmap(old + bytes, old_bytes - bytes);
        }
        return old as i64;
    }
    let target = if named {
        unmap(to, bytes);
        free(|free| free.remove(to, to + bytes));
        Ok(to)
    } else {
        grow(old, old_bytes, bytes, flags)
    };
    let object = mapped::object_at(old);
    let got = match target {
        Ok(target) => remap_to(old, old_bytes, target, bytes, flags),
        Err(error) => return -i64::from(error),
    };
    if got >= 0 {
        shared::moved(old, old_bytes, got as u64, bytes);
        if got != old as i64 {
            forget(old, old_bytes);
        }
        limit::map(bytes.saturating_sub(old_bytes), pc);
        mapped::forget(got as u64, bytes);
        if let Some(object) = object {
            mapped::insert(Object { address: got as u64, bytes, ..object });
        }
    }
    got
}

fn pages(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
}

stand_ins! {
    fn munmap(begin: u64, bytes: u64) -> c_int {
        sched::enter_kernel();
        host::count("munmap");
        if !begin.is_multiple_of(PAGE) || bytes == 0 || begin.checked_add(pages(bytes)).is_none() {
            return failed(libc::EINVAL);
        }
        result(unmap(begin, pages(bytes))) as c_int
    }

    fn mprotect(begin: u64, bytes: u64, protection: c_int) -> c_int {
        sched::enter_kernel();
        host::count("mprotect");
        store_buffer::flush_range(begin, bytes);
        own(begin, bytes, protection)
    }

    fn madvise(begin: u64, bytes: u64, advice: c_int) -> c_int {
        sched::enter_kernel();
        host::count("madvise");
        store_buffer::flush_range(begin, bytes);
        own(begin, bytes, advice)
    }
}

stand_ins_at! {
    "r9" fn mremap(old: u64, old_bytes: u64, bytes: u64, flags: c_int, to: u64; pc) -> u64 {
        sched::enter_kernel();
        host::count("mremap");
        if !old.is_multiple_of(PAGE) || bytes == 0 || old_bytes == 0 || pages(bytes) > MAPPINGS_BYTES {
            return failed(libc::EINVAL) as u64;
        }
        result(remap(old, pages(old_bytes), pages(bytes), flags, to, pc)) as u64
    }
}

extern "C" fn map_at(hint: u64, bytes: u64, protection: c_int, flags: c_int, fd: c_int, offset: i64, pc: u64) -> u64 {
    if !crate::engine::active() {
        return result(raw_map(hint, bytes, protection, flags, fd, offset)) as u64;
    }
    map(hint, bytes, protection, flags, fd, offset, pc)
}

with_seventh! { mmap map_at; mmap64 map_at; }
