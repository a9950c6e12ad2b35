// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs take of the host: as the engine measured it, and what a page fault takes here.
mod functions;

use corefold_launch::Launch;
use corefold_recording::{HostUse, decode_host};

const PAGE: usize = 4096;
/// Enough for a clock's resolution, and of no weight beside a short run.
const PAGES: usize = 128;
const ROUNDS: usize = 3;

/// What the engine left of it, with the functions without hooks found in files that have some. None: nothing was to be measured, or the run was killed.
pub(super) fn measured(launch: &Launch) -> Option<HostUse> {
    let bytes = std::fs::read(launch.host_output()).ok()?;
    let mut host = decode_host(&bytes).ok()?;
    host.unhooked.extend(functions::unhooked(&std::mem::take(&mut host.hooked)));
    Some(host)
}

/// Nanoseconds of CPU time that the first touch of a page takes here, in the best of a few rounds. None: the host
/// does not say.
pub fn page_fault() -> Option<f64> {
    (0..ROUNDS).filter_map(|_| round()).min_by(f64::total_cmp)
}

fn round() -> Option<f64> {
    let bytes = PAGES * PAGE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, unmapped before the function returns; each byte written lies in it.
    unsafe {
        let memory = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return None;
        }
        libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE);
        let before = cpu_time();
        for page in 0..PAGES {
            memory.cast::<u8>().add(page * PAGE).write_volatile(1);
        }
        let after = cpu_time();
        libc::munmap(memory, bytes);
        Some(after?.checked_sub(before?)? as f64 / PAGES as f64)
    }
}

/// Of this thread, in nanoseconds.
fn cpu_time() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (code == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    /// Neither nothing nor milliseconds, on any machine.
    #[test]
    fn a_page_fault_takes_some_time() {
        let found = super::page_fault().unwrap();
        assert!((20.0..200_000.0).contains(&found), "{found}");
    }
}
