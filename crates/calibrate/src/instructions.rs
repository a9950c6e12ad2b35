// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions of one CPU take, and what is the difference of two measurements.
use crate::asm::{self, REPEATS};
use crate::chance::{SEED, xorshift};
use crate::clock::{cycles, ticks};
use crate::figure::{Figure, Pick, Spread, rounds};

const ROUNDS: usize = 400;
/// Timing itself overlaps with what is timed: that must be long.
const TIMES: u64 = 20;

/// Cycles of one instruction.
fn each(count: usize, f: impl Fn(&mut [u64; 8])) -> Spread {
    let mut line = Box::new([0u64; 8]);
    let empty = rounds(ROUNDS, || ticks(|| ()));
    rounds(count, || {
        let all = || (0..TIMES).for_each(|_| f(&mut line));
        cycles(|| (ticks(all) - empty.low).max(0.0) / (TIMES * REPEATS) as f64)
    })
}

pub fn figures() -> Vec<Figure> {
    let mean = |key, f: fn(&mut [u64; 8]), of: f64, how| {
        Figure::alone(key, "cycles", each(ROUNDS, f).map(|cycles| cycles / of), how)
    };
    let alone = |key, f, how| mean(key, f, 1.0, how);
    let width = each(ROUNDS, asm::zeros).map(|c| 1.0 / c);
    let mut figures = vec![
        Figure {
            value: width.low.round(),
            pick: Pick::Most,
            ..Figure::alone("core.width", "count", width, "xor of a register with itself, per cycle")
        },
        mean(
            "core.rmw",
            asm::locked,
            4.0,
            "lock add, lock xadd, xchg and lock cmpxchg on a line that the CPU owns, their mean",
        ),
        alone(ADDED, asm::lock_add, "on a line that the CPU owns"),
        alone(EXCHANGED_ADDED, asm::fetch_add, "on a line that the CPU owns"),
        alone("xchg", asm::exchange, "on a line that the CPU owns"),
        alone("lock cmpxchg", asm::compare_exchange, "on a line that the CPU owns"),
        alone("core.fence", asm::mfence, "mfence with nothing to wait for"),
        alone("core.pause", asm::pause, "pause"),
        loads(),
        alone("core.taken_branch", asm::jumps, "jumps, twenty in a loop"),
    ];
    figures.extend(branches());
    figures.extend(written());
    figures.push(alone("store", asm::stores, "drained one after the other, to a line that the CPU owns"));
    figures
}

/// Not by [`each`], whose calls overlap where they do not wait for each other.
fn loads() -> Figure {
    const LOADS: u64 = 4000;
    let spread = rounds(ROUNDS, || cycles(|| ticks(|| asm::loads(&0, LOADS / 20)) / LOADS as f64));
    Figure::alone(
        "core.load",
        "cycles",
        spread,
        "loads that hit the first level, each of which has the next one's index",
    )
}

/// Branches whose way is known, and on chance, of which half are guessed wrong: chance that is new each time, as
/// predictors learn long sequences by heart.
fn branches() -> [Figure; 2] {
    const WORDS: usize = 128;
    let mut seed = SEED;
    let mut chance = || xorshift(&mut seed).wrapping_mul(0x2545_f491_4f6c_dd1d);
    let mut words = vec![0u64; WORDS];
    let mut of = |word: &mut dyn FnMut() -> u64| {
        rounds(ROUNDS, || {
            words.fill_with(&mut *word);
            cycles(|| ticks(|| asm::branches(&words)) / (WORDS as f64 * 64.0))
        })
    };
    let (low, high) = (of(&mut || 0), of(&mut || !0));
    let known = Spread { least: (low.least + high.least) / 2.0, ..low };
    [
        Figure::alone(KNOWN, "cycles", known, "branches that always go the same way, average of taken and not taken"),
        Figure::alone(ON_CHANCE, "cycles", of(&mut chance), "the same on random bits, of which half are mispredicted"),
    ]
}

/// What a load waits for that wants what was just written: beyond an addition's one cycle. And a locked operation with
/// such a load.
fn written() -> [Figure; 5] {
    let beyond = |f: fn(&mut [u64; 8])| each(ROUNDS, f).map(|c| (c - 1.0).max(0.0));
    let figure = |key, spread, how| Figure::alone(key, "cycles", spread, how);
    let how = "repeated additions to one word of memory, each by a register of its own, less the addition itself";
    [
        figure("core.forward", beyond(asm::renewed_additions), how),
        figure("core.renamed", beyond(asm::additions), "the same by one register, ten a round of a loop"),
        figure("core.renamed_indexed", beyond(asm::indexed_additions), "the same by a register and an index"),
        figure("core.renamed_twice", beyond(asm::counts), "the same with a second store to the word each 32 rounds"),
        figure(RELOADED, each(ROUNDS, asm::reloads), "with a load of the word that it has just changed"),
    ]
}

const KNOWN: &str = "branch, known";
const ON_CHANCE: &str = "branch, on chance";
const ADDED: &str = "lock add";
pub const EXCHANGED_ADDED: &str = "lock xadd";
const RELOADED: &str = "lock add, loaded";
pub const LOADED: &str = "cache.l2_line";
pub const STORED: &str = "line of the second level, stored";

/// What is so many times the difference of two figures: each is that of its own best pass.
const DIFFERENCES: [(&str, f64, &str, &str, &str); 3] = [
    ("core.mispredict", 2.0, ON_CHANCE, KNOWN, "branches on random bits, less known ones: half are mispredicted"),
    ("core.reload", 1.0, RELOADED, ADDED, "a load of a word that lock add has just changed, less the lock add"),
    ("cache.l2_line_stored", 1.0, STORED, LOADED, "stores in place of these loads, less a line on its way back"),
];

pub fn differences(figures: &mut Vec<Figure>) {
    for (key, times, of, less, how) in DIFFERENCES {
        let found = |key| figures.iter().find(|f: &&Figure| f.key == key);
        let (Some(of), Some(less)) = (found(of), found(less)) else { continue };
        let beyond = |cycles: f64| (cycles - less.value).max(0.0) * times;
        let spread = of.spread.map(|s| s.map(beyond));
        let figure = Figure { key, value: beyond(of.value), spread, how: how.into(), ..of.clone() };
        figures.push(figure);
    }
}
