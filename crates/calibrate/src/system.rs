// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the C library take.
use crate::asm::now;
use crate::figure::{Figure, Spread, rounds};
use crate::single::Clock;
use crate::topology::pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation | libc::FUTEX_PRIVATE_FLAG, value, 0, 0, 0) };
}

fn timed(clock: Clock, count: usize, batch: u64, f: impl Fn()) -> Spread {
    rounds(count, || {
        let begun = now();
        (0..batch).for_each(|_| f());
        clock.ns((now() - begun) as f64) / batch as f64
    })
}

fn get_parent() {
    // SAFETY: takes no arguments.
    unsafe { libc::syscall(libc::SYS_getppid) };
}

fn read_clock() {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
}

pub fn figures(clock: Clock, cpus: &[usize]) -> Vec<Figure> {
    let alone =
        |key, count, batch, f: &dyn Fn(), how: &str| Figure::alone(key, "ns", timed(clock, count, batch, f), how);
    let mut figures = vec![
        alone("system.syscall", 200, 100, &get_parent, "getppid"),
        alone("system.clock_read", 200, 100, &read_clock, "clock_gettime(CLOCK_MONOTONIC)"),
        alone("system.allocation", 200, 100, &allocate, "malloc and free of 64 bytes, each"),
        alone("system.thread_create", 100, 1, &|| _ = std::thread::spawn(|| ()).join(), "pthread_create and join"),
    ];
    figures[2].value /= 2.0;
    figures[2].spread = figures[2].spread.map(|s| s.map(|ns| ns / 2.0));
    figures.push(Figure::usual(
        "system.context_switch",
        "ns",
        turns(clock, [cpus[0]; 2]),
        "two threads on one CPU that wake each other by futexes and sleep, each way",
    ));
    if let [a, b, ..] = *cpus {
        figures.push(Figure::usual(
            "system.wake",
            "ns",
            turns(clock, [a, b]),
            "two threads on two CPUs that wake each other by futexes and sleep, each way",
        ));
    }
    figures
}

fn allocate() {
    // SAFETY: freed at once, and not used.
    unsafe { libc::free(std::hint::black_box(libc::malloc(64))) };
}

/// Two threads hand a turn to each other, each on its CPU: what a turn takes. Each sleeps for no longer than
/// the other's turn, as threads that wait for a lock do; CPUs that idle for long wake later.
fn turns(clock: Clock, cpus: [usize; 2]) -> Spread {
    const TURNS: u32 = 200;
    const ROUNDS: usize = 10;
    let one = || {
        let turn = AtomicU32::new(0);
        let play = |mine: u32| {
            pin(cpus[mine as usize]);
            for round in 0..TURNS {
                let wanted = 2 * round + mine;
                loop {
                    let found = turn.load(SeqCst);
                    if found == wanted {
                        break;
                    }
                    futex(&turn, libc::FUTEX_WAIT, found);
                }
                turn.store(wanted + 1, SeqCst);
                futex(&turn, libc::FUTEX_WAKE, 1);
            }
        };
        let begun = now();
        std::thread::scope(|scope| {
            scope.spawn(|| play(1));
            play(0);
        });
        clock.ns((now() - begun) as f64) / f64::from(2 * TURNS)
    };
    rounds(ROUNDS, one)
}
