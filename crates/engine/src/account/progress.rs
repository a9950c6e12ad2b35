// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's annotations: progress points, the region of interest, labels, accesses.
//! `corefold.h` has the contract; coz's progress points count too.
use crate::account::labels;
use crate::account::locks::LOCKS;
use crate::account::pace::{PACE, Pace};
use crate::account::sample;
use crate::account::sample::SAMPLES;
use crate::account::sites::SITES;
use crate::carrier::Carrier;
use crate::engine::{active, engine, now};
use crate::hot::hot;
use crate::scheduling::fiber::fibers;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int};
use corefold_model::Ticks;
use corefold_recording::{Label, Progress, Run, Status};

/// coz.h's counter: it increments `count` by an atomic add of its own.
#[repr(C)]
struct CozCounter {
    count: usize,
    backoff: usize,
}

/// What coz.h counts at a point: visits, or where transactions begin and end, of which it measures how long they take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CozKind {
    Throughput,
    Begin,
    End,
}

impl CozKind {
    fn of(number: c_int) -> CozKind {
        match number {
            2 => CozKind::Begin,
            3 => CozKind::End,
            _ => CozKind::Throughput,
        }
    }
}

/// One name and kind has one counter, as in coz.
struct CozPoint {
    name: String,
    kind: CozKind,
    counter: &'static CozCounter,
    /// What it was at the beginning of the region of interest.
    before: usize,
}

struct Region {
    begin: Option<Ticks>,
    /// The run's totals when the region last ended.
    ended: Option<Box<Run>>,
    points: Vec<Progress>,
    coz: Vec<CozPoint>,
}

static REGION: Carrier<Region> = Carrier::new(Region { begin: None, ended: None, points: Vec::new(), coz: Vec::new() });

/// The run's totals when the region of interest last ended, if it has.
pub fn take_ended() -> Option<Box<Run>> {
    REGION.with(|region| region.ended.take())
}

fn text(name: *const c_char) -> String {
    // SAFETY: the contract asks for a terminated string.
    String::from_utf8_lossy(unsafe { CStr::from_ptr(name) }.to_bytes()).into_owned()
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_progress(name: *const c_char) {
    if !active() {
        return;
    }
    let name = unsafe_name(name);
    REGION.with(|region| match region.points.iter_mut().find(|p| p.name.as_bytes() == name) {
        Some(point) => point.visits += 1,
        None => region.points.push(Progress { name: String::from_utf8_lossy(name).into_owned(), visits: 1 }),
    });
}

fn unsafe_name<'a>(name: *const c_char) -> &'a [u8] {
    // SAFETY: the contract asks for a terminated string.
    unsafe { CStr::from_ptr(name) }.to_bytes()
}

#[unsafe(no_mangle)]
pub extern "C" fn _coz_get_counter(kind: c_int, name: *const c_char) -> *const u8 {
    if !active() {
        return core::ptr::null();
    }
    let (name, kind) = (text(name), CozKind::of(kind));
    let counter = REGION.with(|region| {
        let known = region.coz.iter().find(|c| c.kind == kind && c.name == name).map(|c| c.counter);
        known.unwrap_or_else(|| {
            let counter: &'static CozCounter = Box::leak(Box::new(CozCounter { count: 0, backoff: 0 }));
            region.coz.push(CozPoint { name, kind, counter, before: 0 });
            counter
        })
    });
    (counter as *const CozCounter).cast()
}

fn coz_count(counter: &CozCounter) -> usize {
    // SAFETY: the program changes it behind our back.
    unsafe { (&raw const counter.count).read_volatile() }
}

/// All points in the order of their first visit. A transaction is one visit, made where it ends; its beginning is none.
/// If the program has throughput points too, these are its work, and transactions do not count.
pub fn list() -> Vec<Progress> {
    REGION.with(|region| all(region.points.clone(), &region.coz))
}

fn all(mut all: Vec<Progress>, coz: &[CozPoint]) -> Vec<Progress> {
    let visits = |c: &CozPoint| (coz_count(c.counter) - c.before) as u64;
    let of = |kind| coz.iter().filter(move |c| c.kind == kind && visits(c) > 0);
    let point = |c: &CozPoint| Progress { name: c.name.clone(), visits: visits(c) };
    all.extend(of(CozKind::Throughput).map(point));
    all.retain(|p| p.visits > 0);
    if all.is_empty() {
        all.extend(of(CozKind::End).map(point));
    }
    all
}

/// From here on the run counts: all counts are reset. The region lasts from the first beginning
/// to the last end.
#[unsafe(no_mangle)]
pub extern "C" fn corefold_region_begin() {
    if !active() {
        return;
    }
    let begins = REGION.with(|region| {
        region.ended = None;
        region.begin.is_none()
    });
    if begins {
        REGION.with(|region| region.begin = Some(now()));
        forget_so_far();
        crate::account::host::region_begins();
    }
}

fn forget_so_far() {
    // Samples that are due belong to the time before.
    sample::take_due(1, sample::What::Compute);
    let e = engine();
    crate::scheduling::spin_skip::end_all(now());
    // A spin is charged when it is over: its part until now belongs to the time before.
    fibers().iter_mut().for_each(|fiber| {
        fiber.leaves_spin();
        fiber.ends_wait();
    });
    SAMPLES.with(|samples| samples.clear());
    SITES.with(|sites| sites.clear());
    LOCKS.with(|locks| locks.clear());
    PACE.with(|pace| *pace = Pace::NOTHING);
    REGION.with(|region| {
        region.points.clear();
        region.coz.iter_mut().for_each(|point| point.before = coz_count(point.counter));
    });
    for fiber in fibers().iter_mut() {
        let clock = if fiber.state == crate::scheduling::fiber::State::Running {
            e.sim.clock_of(fiber.cpu, now())
        } else {
            now()
        };
        fiber.restart_accounts(clock);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_region_end() {
    if !active() {
        return;
    }
    if REGION.with(|region| region.begin.is_some()) {
        crate::account::host::region_ends();
        let run = crate::account::record::run(Status::Unfinished);
        REGION.with(|region| region.ended = Some(Box::new(run)));
    }
}

/// Ticks that count, up to `end`: from the beginning of the region of interest, or of the run.
pub fn region_ticks(end: Ticks) -> Ticks {
    end.saturating_sub(REGION.with(|region| region.begin).unwrap_or(0))
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_label(address: u64, bytes: usize, name: *const c_char) {
    if active() {
        labels::add(Label { address, bytes: bytes as u64, name: text(name), stride: 0 });
    }
}

/// Objects of the program's own allocator, one every `stride` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn corefold_objects(address: u64, bytes: usize, stride: usize, name: *const c_char) {
    if active() && stride > 0 {
        let label = Label { address, bytes: bytes as u64, name: text(name), stride: stride as u64 };
        crate::storage::relayout::placed(&label);
        // An allocator may use its memory anew.
        labels::add_once(label);
    }
}

extern "C" fn access(address: u64, bytes: u64, kind: c_int, pc: u64) {
    if !active() {
        return;
    }
    match kind {
        0 => crate::hooks::access::range_read(address, pc, bytes),
        1 => crate::hooks::access::range_write(address, pc, bytes),
        _ => {
            crate::hooks::atomics::annotate(address, bytes.min(8) as u8, pc);
        }
    }
    hot!().wrote |= u8::from(kind != 0);
}

/// corefold_access(address, bytes, kind): an access that inline assembly is about to make.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn corefold_access() {
    naked_asm!("mov rcx, [rsp]", "jmp {body}", body = sym access)
}
