// SPDX-License-Identifier: MIT OR Apache-2.0
//! What samples of call stacks say of each stack: see [`crate::account::sample`], which takes them.
use crate::carrier::Carrier;
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
pub struct Sample {
    /// When it fell due.
    pub at: Ticks,
    /// As [`Samples::stack`] has it.
    pub stack: usize,
    pub what: What,
    /// What it stands for.
    pub cycles: u64,
    /// Basic blocks that ran meanwhile: an estimate.
    pub blocks: u64,
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
        for at in first..self.open.len() {
            self.add_spun(self.open[at]);
        }
        self.open.truncate(first);
    }

    fn add_spun(&mut self, new: Sample) {
        match self.spun.iter_mut().find(|known| (known.stack, known.what) == (new.stack, new.what)) {
            Some(known) => {
                known.cycles += new.cycles;
                known.blocks += new.blocks;
            }
            None => self.spun.push(new),
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

    /// Another sample is taken, which fell due while the thread skipped turns of its spin, or not.
    pub fn add(&mut self, sample: Sample, skips: bool, samples: &mut Samples) {
        if skips {
            return self.add_spun(sample);
        }
        let oldest = sample.at.saturating_sub(Undecided::PERIODS * samples.period);
        let old = self.open.partition_point(|known| known.at < oldest);
        self.open.drain(..old).for_each(|known| samples.count(&known, false));
        self.open.push(sample);
    }
}

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
    pub parallelism: Parallelism,
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

    /// The sample that was due is taken at `clock`: when the next one is. Returns the cycles in between.
    pub fn next(&mut self, due: &mut Ticks, clock: Ticks) -> u64 {
        let from = *due;
        while *due <= clock {
            *due += self.next_gap();
        }
        (*due - from) / TICKS_PER_CYCLE
    }

    /// The number of this stack of calls.
    pub fn stack(&mut self, frames: &[u64]) -> usize {
        if let Some(at) = self.stacks.get(frames) {
            return *at;
        }
        self.stacks.insert(frames.to_vec(), self.shares.len());
        self.shares.push(Share::default());
        self.shares.len() - 1
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
