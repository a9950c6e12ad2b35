// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the program has mapped shared: what it writes to one by a call, it writes to the mapping's
//! lines, which those who read there lose; and what waits at one mapping of a word is woken at another.
use crate::carrier::Carrier;
use crate::engine;
use crate::hooks::access::range_write;
use crate::sys;
use alloc::vec::Vec;

/// A mapping of the file's bytes from `offset` on.
#[derive(Clone, Copy)]
struct Shared {
    file: (u64, u64),
    offset: u64,
    address: u64,
    bytes: u64,
    writable: bool,
}

impl Shared {
    fn end(&self) -> u64 {
        self.address + self.bytes
    }

    /// What of it lies between two addresses.
    fn part(&self, begin: u64, end: u64) -> Option<Shared> {
        let (begin, end) = (begin.max(self.address), end.min(self.end()));
        let offset = self.offset + begin.wrapping_sub(self.address);
        (begin < end).then_some(Shared { offset, address: begin, bytes: end.saturating_sub(begin), ..*self })
    }
}

static ALL: Carrier<Vec<Shared>> = Carrier::new(Vec::new());
/// Files that have words that are waited for: a file keeps its place.
static WAITED: Carrier<Vec<(u64, u64)>> = Carrier::new(Vec::new());

/// What a futex at this address is known by: the address, or the place in the file that is mapped there.
pub fn key(address: u64) -> u64 {
    /// No address has this bit; the file's number follows it, and the place in the file.
    const IN_FILE: u64 = 1 << 63;
    const OFFSET_BITS: u32 = 44;
    let holds = |s: &&Shared| (s.address..s.end()).contains(&address);
    let Some(mapping) = ALL.with(|all| all.iter().find(holds).copied()) else { return address };
    let number = WAITED.with(|files| {
        files.iter().position(|file| *file == mapping.file).unwrap_or_else(|| {
            files.push(mapping.file);
            files.len() - 1
        })
    });
    IN_FILE | (number as u64) << OFFSET_BITS | (mapping.offset + address - mapping.address)
}

/// Device and number of the file behind a descriptor.
fn file(fd: i32) -> Option<(u64, u64)> {
    // SAFETY: a zeroed structure is valid, and the kernel fills it in.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let code = sys::syscall!(libc::SYS_fstat, fd, &raw mut status; 0, 0, 0, 0);
        (code == 0).then_some((status.st_dev, status.st_ino))
    }
}

/// The program has mapped a file; `pc` is the return address of its call.
pub fn note(address: u64, bytes: u64, fd: i32, offset: u64, writable: bool, pc: u64) {
    let Some(file) = file(fd) else { return };
    let new = Shared { file, offset, address, bytes, writable };
    let meets = |s: &Shared| {
        s.file == file && s.offset < offset + bytes && offset < s.offset + s.bytes && (s.writable || writable)
    };
    if ALL.with(|all| all.iter().any(meets)) {
        engine::note("maps memory twice: each of its cache lines is simulated as two, one for each address", pc);
    }
    ALL.with(|all| all.push(new));
}

/// These bytes are mapped no more.
pub fn forget(begin: u64, bytes: u64) {
    let rest = |s: &Shared| [s.part(0, begin), s.part(begin + bytes, u64::MAX)];
    ALL.with(|all| *all = all.iter().flat_map(rest).flatten().collect());
}

/// What begins at `from` has moved, and has another size.
pub fn moved(from: u64, old_bytes: u64, to: u64, bytes: u64) {
    let part = |s: &Shared| s.part(from, from + old_bytes);
    let found = ALL.with(|all| all.iter().find_map(part)).filter(|s| s.address == from);
    forget(from, old_bytes);
    ALL.with(|all| all.extend(found.map(|s| Shared { address: to, bytes, ..s })));
}

/// The program has written to the file, from `offset` on: to each mapping's lines.
pub fn written(fd: i32, offset: u64, bytes: u64, pc: u64) {
    if ALL.with(|all| all.is_empty()) || bytes == 0 {
        return;
    }
    let Some(file) = file(fd) else { return };
    let here = |s: &Shared| {
        let (begin, end) = (offset.max(s.offset), (offset + bytes).min(s.offset + s.bytes));
        (s.file == file && begin < end).then(|| (s.address + begin - s.offset, end - begin))
    };
    let parts: Vec<(u64, u64)> = ALL.with(|all| all.iter().filter_map(here).collect());
    for (address, bytes) in parts {
        range_write(address, pc, bytes);
    }
}

/// The same of bytes that ended where the descriptor stands now.
pub fn appended(fd: i32, bytes: i64, pc: u64) {
    if ALL.with(|all| all.is_empty()) || bytes <= 0 {
        return;
    }
    // SAFETY: asks only.
    let end = unsafe { sys::syscall!(libc::SYS_lseek, fd, 0, libc::SEEK_CUR; 0, 0, 0) };
    if end >= bytes {
        written(fd, (end - bytes) as u64, bytes as u64, pc);
    }
}
