// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of call stacks in virtual time: a profile costs nothing between two samples.
use crate::carrier::Carrier;
use crate::code::cost;
use crate::engine::engine;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::parallelism::Parallelism;
use alloc::vec::Vec;
use corefold_launch::Launch;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{Stack, Time};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What the time before the sample went to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    Compute,
    Stall,
}

const DEEPEST: usize = 64;
/// How often the threads at work are counted at most: a sample may find them as they were so much of a period ago.
const COUNTED_IN_A_PERIOD: u64 = 8;

pub struct Samples {
    period: Ticks,
    random: u64,
    stacks: HashMap<Vec<u64>, Share, FxBuildHasher>,
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
    blocks: 0,
    scratch: Vec::new(),
    parallelism: Parallelism::UNKNOWN,
});

impl Samples {
    pub fn begin(&mut self, launch: &Launch) {
        self.period = launch.sample_period.max(16) * TICKS_PER_CYCLE;
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

    pub fn clear(&mut self) {
        self.stacks.clear();
        self.blocks = 0;
    }

    /// Basic blocks that ran, spins left out: an estimate, and none where code has no hooks at its blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// All stacks, in the order of their addresses.
    pub fn stacks(&self) -> Vec<Stack> {
        let stack = |(frames, share): (&Vec<u64>, &Share)| Stack {
            frames: frames.clone(),
            time: share.time,
            latency: share.latency,
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
        let spins = fiber.spins.spinning();
        // The sample may have fallen due in a skip, which is over by now. What is longer than the sample is another's.
        let skipped = (fiber.spins.unsampled / TICKS_PER_CYCLE).min(cycles);
        fiber.spins.unsampled -= skipped * TICKS_PER_CYCLE;
        let parallelism =
            if fiber.spins.goes_on() { 0 } else { self.parallelism.at(clock, self.period / COUNTED_IN_A_PERIOD) };
        let Share { time, latency } = match self.stacks.get_mut(frames.as_slice()) {
            Some(share) => share,
            None => self.stacks.entry(frames.clone()).or_default(),
        };
        *latency += (cycles - skipped).checked_div(parallelism).unwrap_or(0);
        match what {
            _ if spins => time.spin += cycles,
            What::Compute => {
                time.compute += cycles;
                // Samples that fall due in a call's cost are taken late, by the block after it.
                let cost = cost::cost(pc);
                if late < cost {
                    self.blocks += cycles * TICKS_PER_CYCLE / cost;
                }
            }
            What::Stall => time.stall += cycles,
        }
        self.scratch = frames;
    }
}
