// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory limit of a run.
use crate::carrier::Carrier;
use crate::engine::launch;
use crate::storage::allocated::{Allocated, Verdict};
use crate::sys;

static ALLOCATED: Carrier<Allocated> = Carrier::new(Allocated::new());

/// The program asks for heap memory; `pc` is where.
#[inline]
pub fn take(bytes: u64, pc: u64) {
    obey(ALLOCATED.with(|allocated| allocated.take(bytes, launch().memory_limit)), bytes, pc);
}

/// The program maps memory.
#[inline]
pub fn map(bytes: u64, pc: u64) {
    obey(ALLOCATED.with(|allocated| allocated.map(bytes, launch().memory_limit)), bytes, pc);
}

pub fn asked() -> u64 {
    ALLOCATED.with(|allocated| allocated.bytes())
}

pub fn give(bytes: u64) {
    ALLOCATED.with(|allocated| allocated.give(bytes));
}

#[inline]
fn obey(verdict: Verdict, bytes: u64, pc: u64) {
    if verdict != Verdict::Granted {
        is_near(verdict, bytes, pc);
    }
}

#[cold]
fn is_near(verdict: Verdict, bytes: u64, pc: u64) {
    if verdict == Verdict::Refused || in_use().is_some_and(|used| used > launch().memory_limit) {
        crate::ending::out_of_memory(bytes, pc);
    }
}

/// Bytes of memory that the process really has for itself.
fn in_use() -> Option<u64> {
    const PAGE: u64 = 4096;
    let text = sys::read_file(b"/proc/self/statm\0")?;
    let mut pages = core::str::from_utf8(&text).ok()?.split(' ').skip(1).map_while(|n| n.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * PAGE)
}
