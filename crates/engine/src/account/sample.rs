// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of call stacks in virtual time: a profile costs nothing between two samples.
use crate::carrier::Carrier;
use crate::code::cost;
use crate::engine::engine;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::parallelism::on_cpus;
use alloc::vec::Vec;
use corefold_launch::Launch;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{Stack, Time};
use corefold_sim::Parallelism;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What the time before the sample went to, unless it was a spin's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    Compute,
    Stall,
}

/// A sample of a thread.
#[derive(Clone, Copy)]
struct Sample {
    at: Ticks,
    /// In [`Samples::shares`].
    stack: usize,
    what: What,
    cycles: u64,
    blocks: u64,
}

/// A thread's last samples, of which is not known yet whether they are of a spin: a loop's turns are counted as one when the
/// next has found what they found, and may be found to be none when it ends.
#[derive(Default)]
pub struct Undecided {
    /// The oldest first.
    open: Vec<Sample>,
    /// Their time was counted as a spin's, which may be reversed.
    spun: Vec<Sample>,
}

impl Undecided {
    /// One that is older than so many periods when another is taken is no spin's.
    const PERIODS: u64 = 32;

    /// The time from then on was counted as a spin's.
    #[inline]
    pub fn spun(&mut self, then: Ticks, until: Ticks) {
        SAMPLES.with(|samples| samples.parallelism.spun(then, until));
        if self.open.last().is_some_and(|last| last.at > then) {
            self.move_since(then);
        }
    }

    #[cold]
    fn move_since(&mut self, then: Ticks) {
        let first = self.open.partition_point(|sample| sample.at <= then);
        for new in self.open.drain(first..) {
            match self.spun.iter_mut().find(|known| (known.stack, known.what) == (new.stack, new.what)) {
                Some(known) => {
                    known.cycles += new.cycles;
                    known.blocks += new.blocks;
                }
                None => self.spun.push(new),
            }
        }
    }

    /// The thread skips its spin, which began after what is still open.
    pub fn skips(&mut self, from: Ticks) {
        self.decide();
        SAMPLES.with(|samples| samples.parallelism.skip_begins(from));
    }

    /// What was counted as a spin's was judged: it is a spin's, or not.
    #[inline]
    pub fn judged(&mut self, spins: bool) {
        if !self.spun.is_empty() {
            self.count_spun(spins);
        }
    }

    #[cold]
    fn count_spun(&mut self, spins: bool) {
        SAMPLES.with(|samples| self.spun.drain(..).for_each(|sample| samples.count(&sample, spins)));
    }

    /// What is still open is no spin's.
    pub fn decide(&mut self) {
        SAMPLES.with(|samples| self.open.drain(..).for_each(|sample| samples.count(&sample, false)));
    }

    fn add(&mut self, sample: Sample, samples: &mut Samples) {
        let oldest = sample.at.saturating_sub(Undecided::PERIODS * samples.period);
        let old = self.open.partition_point(|known| known.at < oldest);
        self.open.drain(..old).for_each(|known| samples.count(&known, false));
        self.open.push(sample);
    }
}

const DEEPEST: usize = 64;
/// How finely it is known how many threads were at work.
const SLICES_IN_A_PERIOD: u64 = 8;
const _: () = assert!(Undecided::PERIODS * SLICES_IN_A_PERIOD * 2 <= Parallelism::SLICES as u64);

pub struct Samples {
    period: Ticks,
    random: u64,
    /// Where the share of each stack of calls is.
    stacks: HashMap<Vec<u64>, usize, FxBuildHasher>,
    shares: Vec<Share>,
    /// Ticks of samples that fell due in a basic block's cost, each divided by that cost: an estimate of blocks executed.
    blocks: u64,
    scratch: Vec<u64>,
    parallelism: Parallelism,
}

/// What a stack of calls took.
#[derive(Clone, Copy, Default)]
struct Share {
    time: Time,
    /// See [`Stack::latency`].
    latency: u64,
}

pub static SAMPLES: Carrier<Samples> = Carrier::new(Samples {
    period: 0,
    random: 0,
    stacks: HashMap::with_hasher(FxBuildHasher),
    shares: Vec::new(),
    blocks: 0,
    scratch: Vec::new(),
    parallelism: Parallelism::UNKNOWN,
});

impl Samples {
    pub fn begin(&mut self, launch: &Launch) {
        self.period = launch.sample_period.max(16) * TICKS_PER_CYCLE;
        self.parallelism.begin(self.period / SLICES_IN_A_PERIOD);
        self.random = launch.seed.max(1) ^ 0x9e37_79b9_7f4a_7c15;
    }

    pub fn period_cycles(&self) -> u64 {
        self.period / TICKS_PER_CYCLE
    }

    /// Half to one and a half periods: a fixed period could be a multiple of a loop's.
    fn next_gap(&mut self) -> Ticks {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.period / 2 + self.random % self.period
    }

    /// No thread may have samples that are undecided.
    pub fn clear(&mut self) {
        self.stacks.clear();
        self.shares.clear();
        self.blocks = 0;
    }

    /// Basic blocks that ran, spins left out: an estimate, and none where code has no hooks at its blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// All stacks, in the order of their addresses.
    pub fn stacks(&self) -> Vec<Stack> {
        let stack = |(frames, at): (&Vec<u64>, &usize)| {
            let Share { time, latency } = self.shares[*at];
            Stack { frames: frames.clone(), time, latency }
        };
        let mut all: Vec<Stack> = self.stacks.iter().map(stack).collect();
        all.sort_unstable_by(|a, b| a.frames.cmp(&b.frames));
        all
    }
}

/// Takes the samples that have come due on the running CPU; the code is at `pc`.
pub fn take_due(pc: u64, what: What) {
    let e = engine();
    let cpu = &mut e.sim.cpus[e.sim.cpu];
    if hot!().clock >= cpu.next_sample {
        SAMPLES.with(|samples| samples.take(pc, what, hot!().clock, &mut cpu.next_sample));
    }
}

/// A thread has skipped its spin from `from` until then.
pub fn skipped(from: Ticks, until: Ticks) {
    SAMPLES.with(|samples| samples.parallelism.skip_ends(from, until));
}

impl Samples {
    fn take(&mut self, pc: u64, what: What, clock: Ticks, next_sample: &mut Ticks) {
        let from = *next_sample;
        while *next_sample <= clock {
            *next_sample += self.next_gap();
        }
        let cycles = (*next_sample - from) / TICKS_PER_CYCLE;
        let late = clock - from;
        let fiber = current();
        let mut frames = core::mem::take(&mut self.scratch);
        frames.clear();
        // What the kernel does for a thread has no place of its own: the call that led there counts.
        frames.extend((pc != 0).then_some(pc));
        frames.extend(fiber.calls(hot!().frames).take(DEEPEST));
        match frames.first_mut() {
            // The call of the hook, not what comes after it: the report takes the first frame as it is.
            Some(first) => *first -= 1,
            None => frames.push(fiber.thread.routine()),
        }
        let stack = match self.stacks.get(frames.as_slice()) {
            Some(at) => *at,
            None => {
                self.stacks.insert(frames.clone(), self.shares.len());
                self.shares.push(Share::default());
                self.shares.len() - 1
            }
        };
        // The sample may have fallen due in a skip, which is over by now. What is longer than the sample is another's.
        let skipped = (fiber.spins.unsampled / TICKS_PER_CYCLE).min(cycles);
        fiber.spins.unsampled -= skipped * TICKS_PER_CYCLE;
        if skipped > 0 {
            fiber.samples.spun.push(Sample { at: from, stack, what, cycles: skipped, blocks: 0 });
        }
        let cycles = cycles - skipped;
        self.parallelism.sample(from, |begin| on_cpus(from, begin));
        // Samples that fall due in a call's cost are taken late, by the block after it.
        let cost = if what == What::Compute { cost::cost(pc) } else { 0 };
        let blocks = if late < cost { cycles * TICKS_PER_CYCLE / cost } else { 0 };
        fiber.samples.add(Sample { at: from, stack, what, cycles, blocks }, self);
        self.scratch = frames;
    }

    fn count(&mut self, sample: &Sample, spins: bool) {
        let latency = if spins { 0 } else { self.parallelism.share(sample.cycles, sample.at) };
        let share = &mut self.shares[sample.stack];
        let part = match sample.what {
            _ if spins => &mut share.time.spin,
            What::Compute => &mut share.time.compute,
            What::Stall => &mut share.time.stall,
        };
        *part += sample.cycles;
        share.latency += latency;
        if !spins {
            self.blocks += sample.blocks;
        }
    }
}
