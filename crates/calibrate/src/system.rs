// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the C library take.
use crate::asm::now;
use crate::figure::{Figure, Spread, rounds};
use crate::single::Clock;
use crate::topology::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

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
        switch(clock, cpus[0]),
        "two threads on one CPU that wake each other by futexes and sleep, each way",
    ));
    if let [a, b, ..] = *cpus {
        figures.push(Figure::usual(
            "system.wake",
            "ns",
            wake(clock, a, b),
            "from a futex wake-up to the woken thread running on an idle CPU",
        ));
    }
    figures
}

fn allocate() {
    // SAFETY: freed at once, and not used.
    unsafe { libc::free(std::hint::black_box(libc::malloc(64))) };
}

/// A thread on `b` sleeps; how long after it is woken from `a` does it run?
fn wake(clock: Clock, a: usize, b: usize) -> Spread {
    const ROUNDS: u32 = 300;
    let (word, ran) = (AtomicU32::new(0), AtomicU64::new(0));
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(b);
            for round in 0..ROUNDS {
                while word.load(SeqCst) == round {
                    futex(&word, libc::FUTEX_WAIT, round);
                }
                ran.store(now(), SeqCst);
            }
        });
        pin(a);
        for round in 0..ROUNDS {
            // Long enough for the other to be asleep.
            std::thread::sleep(std::time::Duration::from_micros(200));
            ran.store(0, SeqCst);
            let begun = now();
            word.store(round + 1, SeqCst);
            futex(&word, libc::FUTEX_WAKE, 1);
            while ran.load(SeqCst) == 0 {
                std::hint::spin_loop();
            }
            times.push(clock.ns(ran.load(SeqCst).saturating_sub(begun) as f64));
        }
    });
    Spread::of(times)
}

/// Two threads on one CPU hand a turn to each other.
fn switch(clock: Clock, cpu: usize) -> Spread {
    const TURNS: u32 = 200;
    const ROUNDS: usize = 10;
    let one = || {
        let turn = AtomicU32::new(0);
        let play = |mine: u32| {
            pin(cpu);
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
