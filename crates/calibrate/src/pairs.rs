// SPDX-License-Identifier: MIT OR Apache-2.0
//! What two CPUs do to each other's lines.
use crate::asm::{self, chase, chase_updating, now};
use crate::clock::Clock;
use crate::figure::{Figure, Spread};
use crate::single::Ring;
use crate::topology::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Five lines, so that no prefetcher of pairs helps, and lines of all banks of the caches are met.
const STRIDE: usize = 320;
const LINES: usize = 256;
const ROUNDS: u64 = 300;

/// What the other CPU does to the lines before this one measures.
#[derive(Clone, Copy, PartialEq)]
pub enum State {
    /// It wrote them.
    Modified,
    /// It read them, after they were flushed.
    Exclusive,
    /// Both have read them, after they were flushed.
    Shared,
    /// It wrote them, and this one has read them since.
    ReadSince,
    /// They are this CPU's own.
    Mine,
}

/// How this CPU goes through the lines.
#[derive(Clone, Copy, PartialEq)]
pub enum By {
    Loads,
    Updates,
    /// Loads that do not wait for each other.
    LoadsAtOnce,
    StoresAtOnce,
}

/// On a pair of lines of its own.
#[repr(align(128))]
struct Alone<T>(T);

struct Line(*mut Ring);
// SAFETY: the two threads take turns, by `turn` below.
unsafe impl Send for Line {}

/// Nanoseconds of a step of `by` on CPU `here` through lines that CPU `there` left in a state.
pub fn step(clock: Clock, here: usize, there: usize, state: State, by: By) -> Spread {
    Spread::of(by_turns(here, there, state, |ring| clock.ns(walk(ring, state, by))))
}

/// What `measured` says on CPU `here`, of lines that CPU `there` left in a state, round by round.
fn by_turns<T>(here: usize, there: usize, state: State, mut measured: impl FnMut(&mut Ring) -> T) -> Vec<T> {
    let mut ring = Ring::new(LINES * STRIDE, STRIDE);
    let shared = Line(&raw mut ring);
    let turn = AtomicU64::new(0);
    let mut rounds = std::thread::scope(|scope| {
        scope.spawn(|| {
            let shared = shared;
            pin(there);
            for round in 0..ROUNDS {
                await_turn(&turn, 2 * round);
                // SAFETY: the other thread waits for its turn.
                prepare(unsafe { &mut *shared.0 }, state);
                turn.store(2 * round + 1, SeqCst);
            }
        });
        pin(here);
        let ring = Line(&raw mut ring);
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            await_turn(&turn, 2 * round + 1);
            // SAFETY: the other thread waits for its turn.
            let ring = unsafe { &mut *ring.0 };
            rounds.push(measured(ring));
            turn.store(2 * round + 2, SeqCst);
        }
        rounds
    });
    // The first meet cold pages.
    rounds.split_off(rounds.len() / 10)
}

fn await_turn(turn: &AtomicU64, wanted: u64) {
    let mut looks = 0u64;
    while turn.load(SeqCst) != wanted {
        std::hint::spin_loop();
        looks += 1;
        if looks.is_multiple_of(1 << 20) {
            std::thread::yield_now();
        }
    }
}

fn prepare(ring: &mut Ring, state: State) {
    match state {
        State::Modified | State::ReadSince => ring.touch(STRIDE),
        State::Exclusive | State::Shared => {
            ring.flush();
            chase(ring.start, ring.count);
        }
        State::Mine => (),
    }
}

/// Ticks of a step.
fn walk(ring: &mut Ring, state: State, by: By) -> f64 {
    match state {
        State::Shared | State::ReadSince => _ = chase(ring.start, ring.count),
        State::Mine => ring.touch(STRIDE),
        State::Modified | State::Exclusive => (),
    }
    let begun = now();
    match by {
        By::Loads => _ = chase(ring.start, ring.count),
        By::Updates => _ = chase_updating(ring.start, ring.count),
        By::LoadsAtOnce => ring.read(STRIDE),
        By::StoresAtOnce => {
            ring.write(STRIDE);
            asm::drain();
        }
    };
    (now() - begun) as f64 / ring.count as f64
}

/// One way of a transfer between two CPUs, for each state that can be forced, less the operation itself.
pub fn transfers(clock: Clock, here: usize, there: usize, keys: [&'static str; 2], words: &str) -> Vec<Figure> {
    let of = |state, by| step(clock, here, there, state, by);
    let own = [By::Loads, By::Updates].map(|by| of(State::Mine, by).low);
    let less = |s: Spread, own: f64| s.map(|ns| (ns - own).max(0.0));
    let loads = less(of(State::Modified, By::Loads), own[0]);
    let updates = less(of(State::Modified, By::Updates), own[1]);
    let exclusive = less(of(State::Exclusive, By::Loads), own[0]);
    let upgrade = less(of(State::Shared, By::Updates), own[1]);
    let since = less(of(State::ReadSince, By::Updates), own[1]);
    let how = |what: &str| format!("{what} {words}, in a pointer chase, less the same on lines of its own");
    vec![
        Figure::usual(keys[0], "ns", exclusive, &how("load of a line that was read")),
        Figure::usual(keys[1], "ns", updates, &how("atomic update of a line that was written")),
        Figure::usual("load, modified", "ns", loads, &how("load of a line that was written")),
        Figure::usual(
            "update, shared",
            "ns",
            upgrade,
            &how("atomic update of a line that this CPU has read, after it was read"),
        ),
        Figure::usual(
            "update, read since",
            "ns",
            since,
            &how("atomic update of a line that this CPU has read, after it was written"),
        ),
    ]
}

/// How much the time of a transfer varies: of each line apart, as their homes are nearer or farther; in percent of the
/// time, and less what timing one load varies by.
pub fn spread(clock: Clock, here: usize, there: usize) -> Figure {
    let [taken, own] = [State::Modified, State::Mine].map(|state| each_line(here, there, state));
    let deviation = |ticks: &Quartiles| (ticks.third - ticks.first) / NORMAL_QUARTILES;
    let of_lines = taken.iter().zip(&own).map(|(taken, own)| {
        let variance = deviation(taken).powi(2) - deviation(own).powi(2);
        100.0 * variance.max(0.0).sqrt() / (taken.median - own.median).max(1.0)
    });
    let of_lines = Spread::of(of_lines.collect());
    let ns = clock.ns(taken.iter().map(|t| t.median).sum::<f64>() / taken.len() as f64);
    let how = format!(
        "single loads of lines that another core wrote, {ns:.0} ns with their timing, from quartile to quartile"
    );
    // More than a profile may say is noise: it must not cost the other figures.
    Figure {
        value: of_lines.median.round().min(MOST_SPREAD),
        ..Figure::usual("latency.spread", "percent", of_lines, &how)
    }
}

/// The greatest that `latency.spread` may be.
const MOST_SPREAD: f64 = 90.0;

/// Standard deviations between the first and the third quartile of a normal distribution.
const NORMAL_QUARTILES: f64 = 1.349;

struct Quartiles {
    first: f64,
    median: f64,
    third: f64,
}

/// Ticks of one load of each line.
fn each_line(here: usize, there: usize, state: State) -> Vec<Quartiles> {
    let times = by_turns(here, there, state, |ring| {
        if state == State::Mine {
            ring.touch(STRIDE);
        }
        let mut at = ring.start;
        let each = |_| {
            let begun = now();
            at = chase(at, 1);
            (now() - begun) as f64
        };
        (0..ring.count).map(each).collect::<Vec<f64>>()
    });
    let line = |i: usize| {
        let mut ticks: Vec<f64> = times.iter().map(|round| round[i]).collect();
        ticks.sort_by(f64::total_cmp);
        let at = |share: usize| ticks[ticks.len() * share / 4];
        Quartiles { first: at(1), median: at(2), third: at(3) }
    };
    (0..LINES).map(line).collect()
}

/// How many lines of CPU `there` are on their way to `here` at once, if one takes `latency` nanoseconds.
pub fn at_once(clock: Clock, here: usize, there: usize, latency: f64) -> Figure {
    let each = |by| step(clock, here, there, State::Modified, by).median;
    let (loads, stores) = (each(By::LoadsAtOnce), each(By::StoresAtOnce));
    let count = (latency / loads + latency / stores) / 2.0;
    let how = format!("many lines that another core wrote: {loads:.1} ns each by loads, {stores:.1} ns by stores");
    Figure::derived("core.transfers", "count", count.round().max(1.0), &how)
}

/// Does a load get what was stored to its word though another CPU has taken the line since? Else additions to a word wait for
/// the line, where stores to it only fill the store buffer.
pub fn forwards_lost(clock: Clock, here: usize, there: usize) -> Figure {
    const ROUNDS: usize = 20;
    /// Of [`asm::REPEATS`] additions or stores.
    const BLOCKS: u64 = 200;
    const BLOCKS_BESIDE: u64 = 10;
    const REST: u64 = 0;
    const ADD: u64 = 1;
    const STORE: u64 = 2;
    const END: u64 = 3;
    let line = Alone([const { AtomicU64::new(0) }; 8]);
    let (told, does) = (Alone(AtomicU64::new(REST)), Alone(AtomicU64::new(REST)));
    let run = |what: u64, word: &AtomicU64, blocks: u64| match what {
        ADD => (0..blocks).for_each(|_| asm::add_plainly(word)),
        STORE => (0..blocks).for_each(|_| asm::store_plainly(word)),
        _ => (),
    };
    let timed = |what: u64, beside: u64| {
        told.0.store(beside, SeqCst);
        await_turn(&does.0, beside);
        let begun = now();
        run(what, &line.0[0], BLOCKS);
        clock.ns((now() - begun) as f64) / (BLOCKS * asm::REPEATS) as f64
    };
    let rounds: Vec<[f64; 3]> = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(there);
            while does.0.load(SeqCst) != END {
                let what = told.0.load(SeqCst);
                does.0.store(what, SeqCst);
                run(what, &line.0[4], BLOCKS_BESIDE);
            }
        });
        pin(here);
        let round = |_| [timed(ADD, REST), timed(ADD, ADD), timed(STORE, STORE)];
        let rounds = (0..ROUNDS).map(round).collect();
        timed(REST, END);
        rounds
    });
    let [alone, both, stores] = [0, 1, 2].map(|i| Spread::of(rounds.iter().map(|round| round[i]).collect()).median);
    let how = format!(
        "an addition that is not atomic takes {both:.2} ns while another CPU adds to another word of the line, and {alone:.2} alone; \
         a store takes {stores:.2} while another CPU stores there"
    );
    Figure::derived("core.forwards_lost", "count", f64::from(!waits_for_the_line(alone, both, stores)), &how)
}

/// By times of an addition alone, of one beside another CPU's, and of a store beside another CPU's.
fn waits_for_the_line(alone: f64, both: f64, stores: f64) -> bool {
    both > 1.5 * alone.max(stores)
}

/// Two CPUs add to one word, in each round to one of another line, as each has its home. Returns nanoseconds of an
/// operation as one of them sees it, and how many an owner finishes before the line leaves it.
pub fn tenure(clock: Clock, here: usize, there: usize) -> (Spread, Spread) {
    const EACH: u64 = 4000;
    const ROUNDS: usize = 60;
    /// Words of the lines and the two beside them.
    const APART: usize = 5 * 8;
    let words: Vec<AtomicU64> = (0..ROUNDS * APART).map(|_| AtomicU64::new(0)).collect();
    let turn = Alone(AtomicU64::new(0));
    let run = |word: &AtomicU64| {
        // Both begin at once; each stops after its share, and what follows for the other alone does not count.
        turn.0.fetch_add(1, SeqCst);
        while !turn.0.load(SeqCst).is_multiple_of(2) {}
        let mut seen = Vec::with_capacity(EACH as usize);
        let begun = now();
        for _ in 0..EACH {
            seen.push(asm::add(word));
        }
        (seen, now() - begun)
    };
    let (mut times, mut runs) = (Vec::new(), Vec::new());
    for word in words.chunks(APART).map(|around| &around[APART / 2]) {
        let ((mine, ticks), (theirs, others)) = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                pin(there);
                run(word)
            });
            pin(here);
            (run(word), other.join().expect("it does not panic"))
        });
        let overlap = mine[0].max(theirs[0])..mine[mine.len() - 1].min(theirs[theirs.len() - 1]);
        let within: Vec<u64> = mine.into_iter().filter(|v| overlap.contains(v)).collect();
        // Rounds in which they met for a while only say little.
        if within.len() as u64 > EACH / 2 {
            let changes = within.windows(2).filter(|w| w[1] != w[0] + 1).count().max(1);
            runs.push(within.len() as f64 / changes as f64);
            times.push(clock.ns(ticks.max(others) as f64) / EACH as f64);
        }
    }
    let none = || vec![f64::NAN];
    (Spread::of(if times.is_empty() { none() } else { times }), Spread::of(if runs.is_empty() { none() } else { runs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_that_waits_for_its_line_is_told_from_a_full_store_buffer() {
        // Zen 4, from near and far, in nanoseconds.
        assert!(waits_for_the_line(0.27, 1.29, 0.32));
        assert!(waits_for_the_line(0.27, 1.0, 0.51));
        assert!(!waits_for_the_line(2.0, 2.1, 0.3));
        assert!(!waits_for_the_line(0.27, 1.2, 1.2));
    }
}
