// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the run takes of the host, where that is time that the simulation does not see: code without hooks, the kernel,
//! page faults. Written to a file of its own. Nothing here changes virtual time or reaches the recording, and nothing is
//! allocated before the end, so the runtime's own memory is laid out the same with and without it.
mod calls;
mod faults;
mod sampler;
pub mod written;

pub use calls::count;

use crate::code::instrumented;
use crate::code::modules;
use crate::engine::launch;
use crate::sys;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use corefold_recording::{Hooked, HostUse, Unhooked, encode_host};

/// What is counted from the run's beginning on.
#[derive(Clone, Copy, Default)]
struct Totals {
    user: u64,
    kernel: u64,
    faults: u64,
    own_faults: u64,
    own_kernel: u64,
}

static MEASURED: AtomicBool = AtomicBool::new(false);
static MIXED: AtomicBool = AtomicBool::new(false);
static OWN_KERNEL: AtomicU64 = AtomicU64::new(0);

struct Slot<T>(core::cell::UnsafeCell<T>);
// SAFETY: only the carrier uses them.
unsafe impl<T> Sync for Slot<T> {}
/// The totals when the region of interest began.
static BEFORE: Slot<Option<Totals>> = Slot(core::cell::UnsafeCell::new(None));
/// What was measured when it ended.
static ENDED: Slot<Option<HostUse>> = Slot(core::cell::UnsafeCell::new(None));

/// The runtime makes system calls where the program natively makes none, so kernel time cannot be divided between the
/// two.
#[inline]
pub fn mixed() {
    MIXED.store(true, Relaxed);
}

/// The program's call that returns to `pc` has been charged, and is now carried out by libc.
#[inline]
pub fn accounted(pc: u64) {
    sampler::ACCOUNTED.store(pc, Relaxed);
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
    if launch().measure_host {
        MEASURED.store(true, Relaxed);
        sampler::begin();
        written::begin();
        region_begins();
    }
}

/// What was measured so far was before the region of interest.
pub fn region_begins() {
    if MEASURED.load(Relaxed) {
        sampler::forget();
        calls::forget();
        // SAFETY: as above; no reference is kept.
        unsafe { *BEFORE.0.get() = Some(totals()) };
    }
}

pub fn region_ends(is_estimated: fn(u64) -> bool) {
    if MEASURED.load(Relaxed) {
        // SAFETY: as above.
        unsafe { *ENDED.0.get() = Some(measured(is_estimated)) };
    }
}

/// The run is over: writes what was measured. A failure to write does not fail the run. `is_estimated`: is the time of the code
/// there estimated from access to access?
pub fn finish(is_estimated: fn(u64) -> bool) {
    if !MEASURED.swap(false, Relaxed) {
        return;
    }
    sampler::end();
    // SAFETY: as above.
    let ended = unsafe { (*ENDED.0.get()).take() };
    let mut path = launch().host_output().into_bytes();
    path.push(0);
    _ = sys::write_file(&path, &encode_host(&ended.unwrap_or_else(|| measured(is_estimated))));
}

fn measured(is_estimated: fn(u64) -> bool) -> HostUse {
    let now = totals();
    // SAFETY: as above.
    let before = unsafe { *BEFORE.0.get() }.unwrap_or_default();
    let since = |part: fn(&Totals) -> u64| part(&now).saturating_sub(part(&before));
    let faults_own = since(|t| t.own_faults);
    let (unhooked, hooked) = samples(is_estimated);
    HostUse {
        refused: sampler::refused(),
        user: since(|t| t.user),
        kernel: since(|t| t.kernel),
        kernel_own: since(|t| t.own_kernel),
        // Without the instructions, each switch of fibers is a system call.
        kernel_mixed: MIXED.load(Relaxed) || !crate::fs_base::has_fsgsbase(),
        samples: sampler::all(),
        unhooked,
        hooked,
        faults: since(|t| t.faults).saturating_sub(faults_own),
        faults_own,
        calls: calls::all(),
        written: written::all(),
    }
}

fn totals() -> Totals {
    Totals { own_faults: faults::own(), own_kernel: OWN_KERNEL.load(Relaxed), ..usage() }
}

/// The kernel's figures of the carrier thread.
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

/// The samples outside the runtime: in files without hooks, by file, and in files with hooks, by instruction.
fn samples(is_estimated: fn(u64) -> bool) -> (Vec<Unhooked>, Vec<Hooked>) {
    let modules = modules::all();
    let (mut unhooked, mut hooked): (Vec<Unhooked>, Vec<Hooked>) = Default::default();
    for (pc, samples) in sampler::places() {
        let module = modules.iter().find(|module| (module.start..module.end).contains(&pc));
        let path = module.map_or("", |module| &module.path);
        if instrumented::is_programs(pc) {
            // Where only accesses have hooks, the time between them is estimated.
            if let Some(module) = module.filter(|_| !is_estimated(pc)) {
                hooked.push(Hooked { path: String::from(path), address: pc - module.base, samples });
            }
            continue;
        }
        match unhooked.iter_mut().find(|known| known.path == path) {
            Some(known) => known.samples += samples,
            None => unhooked.push(Unhooked { path: String::from(path), part: false, samples }),
        }
    }
    (unhooked, hooked)
}
