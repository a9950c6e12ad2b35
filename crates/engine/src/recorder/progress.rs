// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's annotations: progress points, labels, accesses.
//! `corefold.h` has the contract; coz's progress points count too.
use crate::carrier::Carrier;
use crate::counts::labels;
use crate::engine::active;
use crate::hot::hot;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int};
use corefold_recording::{Label, Progress};

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

struct Points {
    visited: Vec<Progress>,
    coz: Vec<CozPoint>,
}

static POINTS: Carrier<Points> = Carrier::new(Points { visited: Vec::new(), coz: Vec::new() });

fn text(name: *const c_char) -> String {
    // SAFETY: the contract asks for a terminated string.
    String::from_utf8_lossy(unsafe { CStr::from_ptr(name) }.to_bytes()).into_owned()
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_progress(name: *const c_char) {
    if !active() {
        return;
    }
    let name = String::from_utf8_lossy(unsafe_name(name)); // borrowed, unless it has to be mended
    POINTS.with(|points| match points.visited.iter_mut().find(|p| p.name == name) {
        Some(point) => point.visits += 1,
        None => points.visited.push(Progress { name: name.into_owned(), visits: 1 }),
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
    let counter = POINTS.with(|points| {
        let known = points.coz.iter().find(|c| c.kind == kind && c.name == name).map(|c| c.counter);
        known.unwrap_or_else(|| {
            let counter: &'static CozCounter = Box::leak(Box::new(CozCounter { count: 0, backoff: 0 }));
            points.coz.push(CozPoint { name, kind, counter, before: 0 });
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
    POINTS.with(|points| all(points.visited.clone(), &points.coz))
}

/// Counts from here on.
pub fn clear() {
    POINTS.with(|points| {
        points.visited.clear();
        points.coz.iter_mut().for_each(|point| point.before = coz_count(point.counter));
    });
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
    hot().wrote.set(hot().wrote.get() | u8::from(kind != 0));
}

/// corefold_access(address, bytes, kind): an access that inline assembly is about to make.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn corefold_access() {
    naked_asm!("mov rcx, [rsp]", "jmp {body}", body = sym access)
}
