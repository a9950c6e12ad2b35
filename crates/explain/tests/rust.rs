// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rust programs: statics, and heap objects behind `Box`, `Vec` and `Arc`.
use crate::common::*;

const RUST: &str = r#"
#![allow(dead_code)]
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub struct Slot { pub delta: AtomicU64, pub spare: u64 }
pub struct Pair { pub first: Slot, pub second: Slot }
mod inner { pub static HITS: super::Pair = super::Pair { first: super::Slot { delta: super::AtomicU64::new(0), spare: 0 }, second: super::Slot { delta: super::AtomicU64::new(0), spare: 0 } }; }
fn slot() -> Slot { Slot { delta: AtomicU64::new(1), spare: 2 } }
#[unsafe(no_mangle)] #[inline(never)] pub fn boxed() -> Box<Pair> { Box::new(Pair { first: slot(), second: slot() }) }
#[unsafe(no_mangle)] #[inline(never)] pub fn vector(n: usize) -> Vec<Slot> { Vec::with_capacity(n) }
#[unsafe(no_mangle)] #[inline(never)] pub fn shared() -> Arc<Slot> { Arc::new(slot()) }
fn main() {
    inner::HITS.second.delta.fetch_add(1, Ordering::Relaxed);
    let all = (boxed(), vector(std::env::args().count()), shared());
    std::hint::black_box(&all);
}
"#;

const ENUMS: &str = r#"
#![allow(dead_code)]
use std::sync::atomic::{AtomicU64, Ordering};
pub enum State { Idle, Busy { since: AtomicU64, worker: u32 }, Done(AtomicU64, [u8; 24]) }
pub struct Job { pub state: State, pub next: Option<&'static Job>, pub uses: AtomicU64 }
pub static JOB: Job = Job { state: State::Busy { since: AtomicU64::new(1), worker: 3 }, next: None, uses: AtomicU64::new(0) };
pub static ONE: Option<AtomicU64> = Some(AtomicU64::new(1));
fn main() {
    if let State::Busy { since, .. } = &JOB.state { since.fetch_add(1, Ordering::Relaxed); }
    if let Some(one) = &ONE { one.fetch_add(JOB.uses.load(Ordering::Relaxed), Ordering::Relaxed); }
    std::hint::black_box((&JOB, &ONE));
}
"#;

/// Offsets are of the type as rustc laid it out: rows are found by what they must be, not where.
#[test]
fn fields_of_variants() {
    let program = Program::rust("jobs.rs", ENUMS);
    let (job, one) = (program.symbol_with("JOB"), program.symbol_with("ONE"));
    let at = |address: u64, bytes: u8| global_fields(&program, &[(address, bytes)]).remove(0).1;
    let of_job: Vec<String> = (0..7).map(|word| at(job + 8 * word, 8)).collect();
    for expected in ["jobs::JOB.uses", "jobs::JOB.next", "jobs::JOB.state.{Busy.since|Done.0}"] {
        assert!(of_job.iter().any(|name| name == expected), "{expected}: {of_job:?}");
    }
    let small: Vec<String> = (0..56).map(|byte| at(job + byte, 1)).collect();
    for expected in ["jobs::JOB.state.(tag)", "jobs::JOB.state.Done.1[0]"] {
        assert!(small.iter().any(|name| name == expected), "{expected}: {small:?}");
    }
    assert!(small.iter().any(|name| name.contains("Busy.worker")), "{small:?}");
    assert_eq!(at(one + 8, 8), "jobs::ONE.Some.0");
    assert_eq!(at(one, 8), "jobs::ONE.(tag)");
}

fn program() -> Program {
    Program::rust("slots.rs", RUST)
}

#[test]
fn a_static() {
    let program = program();
    let hits = program.symbol_with("HITS");
    let found = global_fields(&program, &[(hits + 16, 8)]).remove(0);
    assert_eq!(found, ("slots::inner::HITS (slots.rs:7)".to_owned(), "slots::inner::HITS.second.delta".to_owned()));
}

#[test]
fn objects_behind_smart_pointers() {
    let program = program();
    let found = |function: &str, call: usize, bytes: u64, offset: u64| {
        heap_field(&program, &[program.indirect_calls(function)[call]], bytes, offset, 8)
    };
    let is = |found: (String, String), object: &str, field: &str| {
        assert_eq!(found, (object.to_owned(), field.to_owned()));
    };
    // The call before it is the allocator's marker that it is linked in.
    is(found("boxed", 1, 32, 16), "slots::Pair at slots.rs:9 (heap, 32 bytes)", "Pair.second.delta");
    is(found("vector", 0, 160, 24), "slots::Slot[10] at slots.rs:10 (heap, 160 bytes)", "Slot[1].spare");
    let shared = "ArcInner<Slot> at slots.rs:11 (heap, 32 bytes)";
    is(found("shared", 1, 32, 0), shared, "ArcInner<Slot>.strong");
    is(found("shared", 1, 32, 16), shared, "ArcInner<Slot>.data.delta");
}

/// `core` and `std` are generic over what they call, here `fn()`: that is no type of the memory allocated below them.
#[test]
fn what_the_library_calls_is_no_type_of_an_object() {
    let program = program();
    let begins = program.name_with("__rust_begin_short_backtrace");
    let calls_main = program.indirect_calls(&begins)[0];
    let (object, field) = heap_field(&program, &[calls_main], 640, 0x80, 8);
    assert!(object.starts_with("object at ") && field == "+0x80", "{object}: {field}");
}
