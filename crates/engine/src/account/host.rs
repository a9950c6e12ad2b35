// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the run takes of the host, where that is time that the simulation does not see: code without hooks, the kernel,
//! page faults. Written to a file of its own. Nothing here changes virtual time or reaches the recording, and nothing is
//! allocated before the end, so the runtime's own memory is laid out the same with and without it.
mod faults;
mod sampler;

use crate::account::modules;
use crate::crash::innermost;
use crate::engine::engine;
use crate::{start, sys};
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use corefold_recording::{HostUse, Unhooked, encode_host};

/// System calls that the program made and the kernel carried out.
#[derive(Clone, Copy)]
pub enum Call {
    Mmap,
    Munmap,
    Mremap,
    Mprotect,
    Madvise,
    Read,
    Write,
    Other,
}

const NAMES: [&str; 8] = ["mmap", "munmap", "mremap", "mprotect", "madvise", "read", "write", "other"];

/// What is counted from the run's beginning on.
#[derive(Clone, Copy, Default)]
struct Totals {
    user: u64,
    kernel: u64,
    faults: u64,
    own_faults: u64,
    own_kernel: u64,
    calls: [u64; NAMES.len()],
}

static MEASURED: AtomicBool = AtomicBool::new(false);
static MIXED: AtomicBool = AtomicBool::new(false);
static CALLS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
static OWN_KERNEL: AtomicU64 = AtomicU64::new(0);

struct Slot<T>(core::cell::UnsafeCell<T>);
// SAFETY: only the carrier uses them.
unsafe impl<T> Sync for Slot<T> {}
/// The totals when the region of interest began.
static BEFORE: Slot<Option<Totals>> = Slot(core::cell::UnsafeCell::new(None));
/// What was measured when it ended.
static ENDED: Slot<Option<HostUse>> = Slot(core::cell::UnsafeCell::new(None));

/// The kernel carries out a call of the program's.
#[inline]
pub fn count(call: Call) {
    CALLS[call as usize].fetch_add(1, Relaxed);
}

/// The kernel works for the runtime as often as the program does something that natively takes no kernel: the two cannot
/// be told apart.
#[inline]
pub fn mixed() {
    MIXED.store(true, Relaxed);
}

/// Makes calls that the kernel carries out for the runtime alone.
pub fn own<T>(calls: impl FnOnce() -> T) -> T {
    if !MEASURED.load(Relaxed) {
        return calls();
    }
    let before = usage();
    let result = calls();
    OWN_KERNEL.fetch_add(usage().kernel.saturating_sub(before.kernel), Relaxed);
    result
}

/// The simulation has begun.
pub fn begin() {
    if engine().launch.measure_host {
        MEASURED.store(true, Relaxed);
        sampler::begin();
        region_begins();
    }
}

/// What was measured so far is of the time before the region of interest.
pub fn region_begins() {
    if MEASURED.load(Relaxed) {
        sampler::forget();
        // SAFETY: as above; no reference is kept.
        unsafe { *BEFORE.0.get() = Some(totals()) };
    }
}

pub fn region_ends() {
    if MEASURED.load(Relaxed) {
        // SAFETY: as above.
        unsafe { *ENDED.0.get() = Some(measured()) };
    }
}

/// The run is over: writes what was measured. If that fails, the run is as good without.
pub fn finish() {
    if !MEASURED.swap(false, Relaxed) {
        return;
    }
    sampler::end();
    // SAFETY: as above.
    let ended = unsafe { (*ENDED.0.get()).take() };
    let mut path = engine().launch.host_output().into_bytes();
    path.push(0);
    _ = sys::write_file(&path, &encode_host(&ended.unwrap_or_else(measured)));
}

fn measured() -> HostUse {
    let now = totals();
    // SAFETY: as above.
    let before = unsafe { *BEFORE.0.get() }.unwrap_or_default();
    let since = |part: fn(&Totals) -> u64| part(&now).saturating_sub(part(&before));
    let faults_own = since(|t| t.own_faults);
    let calls = (0..NAMES.len()).map(|at| (String::from(NAMES[at]), now.calls[at] - before.calls[at]));
    HostUse {
        refused: sampler::refused(),
        user: since(|t| t.user),
        kernel: since(|t| t.kernel),
        kernel_own: since(|t| t.own_kernel),
        // Without the instructions, each switch of fibers is a system call.
        kernel_mixed: MIXED.load(Relaxed) || !start::has_fsgsbase(),
        samples: sampler::all(),
        unhooked: unhooked(),
        faults: since(|t| t.faults).saturating_sub(faults_own),
        faults_own,
        calls: calls.filter(|(_, count)| *count > 0).collect(),
    }
}

fn totals() -> Totals {
    Totals {
        own_faults: faults::own(),
        own_kernel: OWN_KERNEL.load(Relaxed),
        calls: core::array::from_fn(|at| CALLS[at].load(Relaxed)),
        ..usage()
    }
}

/// What the kernel says of the carrier.
fn usage() -> Totals {
    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    // SAFETY: a zeroed structure is valid, and the kernel fills it. Not libc's function, which is the program's.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        sys::syscall!(libc::SYS_getrusage, libc::RUSAGE_THREAD, &raw mut usage; 0, 0, 0, 0);
        Totals {
            user: nanoseconds(usage.ru_utime),
            kernel: nanoseconds(usage.ru_stime),
            faults: (usage.ru_minflt + usage.ru_majflt) as u64,
            ..Totals::default()
        }
    }
}

/// The samples in code without hooks, by file.
fn unhooked() -> Vec<Unhooked> {
    modules::refresh(&mut engine().modules);
    let (modules, loaded) = (&engine().modules, modules::list());
    let mut found: Vec<Unhooked> = Vec::new();
    for (page, samples) in sampler::pages() {
        let holds = |module: &&corefold_recording::Module| (module.start..module.end).contains(&page);
        let part = innermost::is_programs(page) && loaded.iter().any(|module| holds(&module));
        if part && (crate::hooks::estimate::holds(page) || has_hooks(page)) {
            continue;
        }
        let path = modules.iter().find(holds).map_or("", |module| &module.path);
        match found.iter_mut().find(|known| known.path == path && known.part == part) {
            Some(known) => known.samples += samples,
            None => found.push(Unhooked { path: String::from(path), part, samples }),
        }
    }
    found.sort_by(|a, b| (b.samples, &a.path).cmp(&(a.samples, &b.path)));
    found
}

/// Do basic blocks of this page have hooks? Each adds to the clock, whose address is compiled in.
fn has_hooks(page: u64) -> bool {
    let clock = corefold_block::inline::CLOCK.to_le_bytes();
    // SAFETY: code of a loaded file, which is mapped in whole pages.
    let code = unsafe { core::slice::from_raw_parts(page as *const u8, sampler::PAGE as usize) };
    code.windows(clock.len()).any(|bytes| bytes == clock)
}
