// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the C library take.
use crate::asm::now;
use crate::clock::Clock;
use crate::figure::{Figure, Spread, rounds};
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

fn wait_in_vain() {
    futex(&AtomicU32::new(0), libc::FUTEX_WAIT, 1);
}

fn wake_nobody() {
    futex(&AtomicU32::new(0), libc::FUTEX_WAKE, 1);
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
        alone("system.futex", 200, 100, &wait_in_vain, "a futex wait for a word that has changed"),
        alone("system.futex_wake", 200, 100, &wake_nobody, "a futex call that wakes nobody"),
        alone("system.clock_read", 200, 100, &read_clock, "clock_gettime(CLOCK_MONOTONIC)"),
        alone("system.allocation", 200, 100, &allocate, "malloc and free of 64 bytes, each"),
        alone("system.thread_create", 100, 1, &|| _ = std::thread::spawn(|| ()).join(), "pthread_create and join"),
    ];
    let pair = figures.iter_mut().filter(|f| f.key == "system.allocation");
    pair.for_each(|f| (f.value, f.spread) = (f.value / 2.0, f.spread.map(|s| s.map(|ns| ns / 2.0))));
    let usual = |key, spread, how: &str| Figure::usual(key, "ns", spread, how);
    let how = "two threads on one CPU that wake each other by futexes and sleep, each way";
    figures.push(usual("system.context_switch", turns(clock, [cpus[0]; 2]).0[0], how));
    if let [a, b, ..] = *cpus {
        let ([wake, call], spread) = turns(clock, [a, b]);
        let how = "two threads on two CPUs that wake each other by futexes and sleep, each way";
        figures.push(usual("system.wake", wake, how));
        figures.push(usual("system.wake_call", call, "the call that wakes the other of these two"));
        let how = "of single wake-ups of these two, by their quartiles";
        figures.push(Figure::derived("system.wake_spread", "percent", spread, how));
    }
    figures
}

fn allocate() {
    // SAFETY: freed at once, and not used.
    unsafe { libc::free(std::hint::black_box(libc::malloc(64))) };
}

/// Two threads hand a turn to each other, each on its CPU: what a turn takes, and the call that wakes the
/// other. Each sleeps for no longer than the other's turn, as threads that wait for a lock do; CPUs that idle
/// for long wake later. And the standard deviation of a single wake-up's time, in percent of it.
fn turns(clock: Clock, cpus: [usize; 2]) -> ([Spread; 2], f64) {
    const TURNS: u32 = 200;
    const ROUNDS: usize = 10;
    let one = || {
        let turn = AtomicU32::new(0);
        let handed = AtomicU64::new(0);
        let play = |mine: u32| {
            pin(cpus[mine as usize]);
            let mut calls = 0;
            let mut woken = Vec::new();
            for round in 0..TURNS {
                let wanted = 2 * round + mine;
                loop {
                    let found = turn.load(SeqCst);
                    if found == wanted {
                        break;
                    }
                    futex(&turn, libc::FUTEX_WAIT, found);
                    woken.push(now().saturating_sub(handed.load(SeqCst)));
                }
                handed.store(now(), SeqCst);
                turn.store(wanted + 1, SeqCst);
                let called = now();
                futex(&turn, libc::FUTEX_WAKE, 1);
                calls += now() - called;
            }
            (clock.ns(calls as f64) / f64::from(TURNS), woken)
        };
        let begun = now();
        let (call, woken) = std::thread::scope(|scope| {
            scope.spawn(|| play(1));
            play(0)
        });
        (clock.ns((now() - begun) as f64) / f64::from(2 * TURNS), (call, woken))
    };
    one();
    let (turn, rest): (Vec<f64>, Vec<(f64, Vec<u64>)>) = (0..ROUNDS).map(|_| one()).unzip();
    let (call, woken): (Vec<f64>, Vec<Vec<u64>>) = rest.into_iter().unzip();
    ([Spread::of(turn), Spread::of(call)], deviation(woken.concat()))
}

/// The greatest that `system.wake_spread` may be.
const MOST: f64 = 57.0;

/// The standard deviation of times that vary normally but for outliers, in whole percent of their median.
fn deviation(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    let quartile = |nth: usize| times.get(times.len() * nth / 4).map_or(0.0, |time| *time as f64);
    let [low, median, high] = [1, 2, 3].map(quartile);
    // Quartiles are so many standard deviations apart.
    if median > 0.0 { ((high - low) / 1.349 / median * 100.0).round().min(MOST) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_that_of_the_quartiles() {
        assert_eq!(deviation((0..1000).map(|n| 1000 + n).collect()), 25.0);
        assert_eq!(deviation(vec![5; 100]), 0.0);
        assert_eq!(deviation(Vec::new()), 0.0);
        assert_eq!(deviation(vec![1, 1, 1, 900, 900, 900]), MOST.min(75.0));
    }
}
