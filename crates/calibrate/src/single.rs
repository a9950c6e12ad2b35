// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one CPU does alone: caches and buffers.
use crate::asm::{self, chase, now};
use crate::chance::{SEED, xorshift};
use crate::clock::{Clock, cycles, ticks};
use crate::figure::{Figure, Spread, rounds};
use crate::instructions::{LOADED, STORED};
use crate::topology::{Cache, Topology};

const ROUNDS: usize = 400;

/// The numbers below this one, in an order that no prefetcher guesses.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut seed = SEED;
    for i in (1..count).rev() {
        order.swap(i, (xorshift(&mut seed) % (i as u64 + 1)) as usize);
    }
    order
}

/// Words that each hold the address of another of them, one a `stride`, in an order that no prefetcher guesses.
pub struct Ring {
    words: Vec<u64>,
    pub start: *const u64,
    pub count: u64,
}

impl Ring {
    pub fn new(bytes: usize, stride: usize) -> Ring {
        let mut words = vec![0u64; bytes / 8 + 1024];
        // SAFETY: the range is that of the vector.
        unsafe { libc::madvise(words.as_mut_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        let first = words.as_ptr().align_offset(4096);
        let count = bytes / stride;
        let order = shuffled(count);
        let address = |words: &[u64], i: usize| words.as_ptr() as u64 + 8 * (first + order[i] * stride / 8) as u64;
        for i in 0..count {
            words[first + order[i] * stride / 8] = address(&words, (i + 1) % count);
        }
        let start = address(&words, 0) as *const u64;
        Ring { words, start, count: count as u64 }
    }

    /// The word after the pointer of each, in order of memory.
    fn second_words(&mut self, stride: usize) -> impl Iterator<Item = *mut u64> {
        let first = self.words.as_ptr().align_offset(4096) + 1;
        let words = &mut self.words;
        (0..self.count as usize).map(move |i| &raw mut words[first + i * stride / 8])
    }

    /// Adds to these words.
    pub fn touch(&mut self, stride: usize) {
        // SAFETY: within the vector; volatile, so that the access is made.
        self.second_words(stride).for_each(|at| unsafe { at.write_volatile(at.read_volatile() + 1) });
    }

    pub fn write(&mut self, stride: usize) {
        // SAFETY: as above.
        self.second_words(stride).for_each(|at| unsafe { at.write_volatile(1) });
    }

    pub fn read(&mut self, stride: usize) {
        // SAFETY: as above.
        self.second_words(stride).for_each(|at| _ = unsafe { at.read_volatile() });
    }

    /// Drops its lines from all caches.
    pub fn flush(&self) {
        let mut at = self.start;
        for _ in 0..self.count {
            let next = chase(at, 1);
            asm::flush(at);
            at = next;
        }
    }

    /// Cycles of a step.
    fn step(&self, steps: u64, count: usize) -> Spread {
        chase(self.start, self.count.min(steps));
        let mut at = self.start;
        rounds(count, || cycles(|| ticks(|| at = chase(at, steps)) / steps as f64))
    }
}

/// Hits in each level, less a hit in the first, which is part of an instruction's own time.
pub fn caches(clock: Clock, topology: &Topology) -> Vec<Figure> {
    let first = Ring::new(4096, 64).step(6400, ROUNDS);
    let mut figures = vec![Figure::alone("L1 hit", "cycles", first, "a pointer chase")];
    let mut less = |key, bytes: u64| {
        let ring = Ring::new(bytes as usize, 64);
        chase(ring.start, ring.count);
        let spread = ring.step(20_000, 40).map(|c| clock.ns_of_cycles(c - first.least).max(0.0));
        let how = format!("a pointer chase through {} KiB, less a hit in the first level", bytes >> 10);
        figures.push(Figure::alone(key, "ns", spread, &how));
    };
    let [l1, l2, l3] = topology.caches.map(Option::unwrap_or_default);
    let in_second = (l1.bytes * 3).min(l2.bytes / 2).max(l1.bytes + l1.bytes / 2);
    let has_second = l1.bytes > 0 && l2.bytes > 0;
    if has_second {
        less("cache.l2_hit", in_second);
    }
    if l3.bytes > 0 {
        less("cache.l3_hit", (l2.bytes * 3).min(l3.bytes / 2));
    }
    if has_second {
        figures.extend(lines(in_second));
    }
    sizes(&mut figures, [l1, l2, l3]);
    figures
}

/// What a line takes on its way between the first two levels. In a pass of stores each sends one back too.
fn lines(bytes: u64) -> [Figure; 2] {
    const PASSES: u64 = 10;
    let count = (bytes as usize / 64).min(1 << 16) & !3;
    let order: Vec<u16> = shuffled(count).into_iter().map(|line| line as u16).collect();
    // Not of zeros: one page stands for all that nobody has written.
    let mut words = vec![1u64; asm::EVERY_LINE + 512];
    let first = words.as_ptr().align_offset(4096);
    let mut each = |pass: fn(&mut [u64], &[u16])| {
        rounds(ROUNDS, || {
            let all = || (0..PASSES).for_each(|_| pass(&mut words[first..], &order));
            cycles(|| ticks(all) / (PASSES * count as u64) as f64)
        })
    };
    let (loaded, stored) = (each(asm::load_lines), each(asm::store_lines));
    let how = format!("independent loads of the lines of {} KiB, in random order", bytes >> 10);
    [
        Figure::alone(LOADED, "cycles", loaded, &how),
        Figure::alone(STORED, "cycles", stored, "stores in place of these loads, each with a line on its way back"),
    ]
}

fn sizes(figures: &mut Vec<Figure>, levels: [Cache; 3]) {
    if levels.iter().any(|l| l.bytes == 0) {
        return;
    }
    let keys = [("cache.l1", "cache.l1_ways"), ("cache.l2", "cache.l2_ways"), ("cache.l3", "cache.l3_ways")];
    for ((size, ways), level) in keys.into_iter().zip(levels) {
        figures.push(Figure::read(size, "bytes", level.bytes as f64, "the kernel's description of the caches"));
        figures.push(Figure::read(ways, "count", level.ways as f64, "the kernel's description of the caches"));
    }
}

/// Memory, by lines that were flushed; and whether a miss brings the other line of a pair.
pub fn memory(clock: Clock) -> Vec<Figure> {
    let words = vec![0u64; 1 << 16];
    let first = words.as_ptr().align_offset(128);
    let mut at = 0;
    let mut load = |pair: bool| {
        at = (at + 4096 / 8 + 16) % ((1 << 16) - 64);
        let line = &raw const words[first + at / 16 * 16];
        let other = &raw const words[first + at / 16 * 16 + 8];
        asm::flush(other);
        asm::flush(line);
        if pair {
            chase_one(other);
            let begun = now();
            while now() - begun < 2000 {}
        }
        let begun = now();
        chase_one(line);
        (now() - begun) as f64
    };
    let empty = rounds(ROUNDS, || {
        let begun = now();
        (now() - begun) as f64
    });
    let alone = rounds(ROUNDS * 5, || load(false)).map(|t| clock.ns(t - empty.low));
    let paired = rounds(ROUNDS * 5, || load(true)).map(|t| clock.ns(t - empty.low));
    let prefetched = paired.median < alone.median / 2.0;
    vec![
        Figure::usual("latency.memory", "ns", alone, "a load of a line that was flushed"),
        Figure {
            value: f64::from(u8::from(prefetched)),
            ..Figure::read(
                "core.adjacent_line",
                "count",
                0.0,
                &format!(
                    "a load of a flushed line takes {:.0} ns, {:.0} ns after one of its pair",
                    alone.median, paired.median
                ),
            )
        },
    ]
}

/// How many instructions a core has under way: two misses overlap only if fewer lie between them.
pub fn reorder_buffer() -> Figure {
    let lines = vec![0u64; 1 << 12];
    let both = |loads: asm::TwoLoads| {
        rounds(ROUNDS, || {
            let (first, second) = (&raw const lines[512], &raw const lines[2600]);
            asm::flush(first);
            asm::flush(second);
            let begun = now();
            loads(first, second);
            (now() - begun) as f64
        })
        .median
    };
    let times: Vec<(u64, f64)> = asm::APART.iter().map(|(count, loads)| (*count, both(*loads))).collect();
    let together = times[0].1;
    let overlap = times.iter().take_while(|(_, time)| *time < together * 1.5);
    let entries = overlap.last().map_or(0, |(count, _)| *count);
    let how = "instructions between two misses that still overlap";
    Figure::derived("reorder buffer", "count", entries as f64, how)
}

fn chase_one(line: *const u64) {
    // SAFETY: the line is ours and mapped.
    std::hint::black_box(unsafe { line.read_volatile() });
}

/// Entries of the store buffer: with all taken by stores behind one that misses, the next one waits.
pub fn store_buffer() -> Figure {
    let mut missing = Box::new([0u64; 16]);
    let mut held = Box::new([0u64; 16]);
    let mut ticks = |count: u64| {
        rounds(60, || {
            asm::flush(&raw const missing[8]);
            held.fill(1);
            asm::stores_behind_a_miss(&mut missing[8], &mut held, count) as f64
        })
        .median
    };
    let (few, many) = (ticks(8), ticks(400));
    let limit = (few + many) / 2.0;
    let times: Vec<(u64, f64)> = (8..400).step_by(2).map(|n| (n, ticks(n))).collect();
    let most = times.iter().rev().find(|(_, t)| *t < few + (limit - few) / 2.0).map_or(0, |(n, _)| *n);
    let how = "stores behind one that misses which retire before it is done";
    Figure::read("core.store_buffer", "count", (most as f64 + 1.0).clamp(1.0, 1024.0), how)
}

/// Independent misses under way at once: what one chain takes, against many at the same time.
pub fn misses(topology: &Topology) -> Figure {
    let l2 = topology.caches[1].map_or(1 << 20, |c| c.bytes);
    let bytes = (l2 * 4).clamp(8 << 20, 64 << 20) as usize;
    let ring = Ring::new(bytes, 64);
    chase(ring.start, 2 * ring.count);
    let mut starts = Vec::new();
    let mut at = ring.start;
    for _ in 0..32 {
        starts.push(at);
        at = chase(at, ring.count / 32);
    }
    let steps = 2000;
    let mut ticks = |chains: usize| {
        rounds(15, || {
            let begun = now();
            for _ in 0..steps {
                // SAFETY: every word on the way holds the address of the next.
                starts[..chains].iter_mut().for_each(|s| *s = unsafe { s.read_volatile() } as *const u64);
            }
            (now() - begun) as f64
        })
        .low
    };
    let one = ticks(1);
    let gain = |chains: usize, ticks: f64| (chains as f64 * one / ticks).min(chains as f64);
    let most = [4, 8, 10, 12, 14, 16, 20, 24, 28, 32].map(|n| gain(n, ticks(n))).into_iter().fold(1.0, f64::max);
    Figure::read("core.misses", "count", most.round().max(1.0), "what many pointer chases at once gain over one")
}
