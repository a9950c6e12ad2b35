// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads count by assembly, half of them in Intel's syntax.
use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static TURNS: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn add_intel() {
    // SAFETY: one locked instruction on the atomic word.
    unsafe { asm!("lock add qword ptr [{}], 1", in(reg) TURNS.as_ptr()) }
}

#[inline(never)]
fn add_att() {
    // SAFETY: as above.
    unsafe { asm!("lock addq $1, ({})", in(reg) TURNS.as_ptr(), options(att_syntax)) }
}

fn main() {
    let add = |t: u64| (0..2000).for_each(|_| if t % 2 == 0 { add_intel() } else { add_att() });
    std::thread::scope(|scope| [0, 1, 2, 3].map(|t| scope.spawn(move || add(t))).map(|thread| thread.join().unwrap()));
    assert_eq!(TURNS.load(Relaxed), 8000);
}
