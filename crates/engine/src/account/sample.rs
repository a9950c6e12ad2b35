// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of call stacks in virtual time: a profile costs nothing between two samples.
use crate::code::cost;
use crate::counts::samples::{SAMPLES, Sample, What};
use crate::engine::sim;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::parallelism::on_cpus;
use alloc::vec::Vec;
use corefold_model::{TICKS_PER_CYCLE, Ticks};

const DEEPEST: usize = 64;

/// Takes the samples that have come due on the running CPU; the code is at `pc`.
pub fn take_due(pc: u64, what: What) {
    let due = sim(|sim| sim.cpus[sim.cpu].next_sample);
    if hot().clock.get() >= due {
        let next = take(pc, what, hot().clock.get(), due);
        sim(|sim| sim.cpus[sim.cpu].next_sample = next);
    }
}

/// Takes those from `due` to `clock`; returns when the next is due.
fn take(pc: u64, what: What, clock: Ticks, mut due: Ticks) -> Ticks {
    let at = due;
    let fiber = current();
    // What the kernel does for a thread has no place of its own: the call that led there counts.
    let here = (pc != 0).then_some(pc);
    let mut frames: Vec<u64> = here.into_iter().chain(fiber.calls(hot().frames.get()).take(DEEPEST)).collect();
    match frames.first_mut() {
        // The call of the hook, not what comes after it: the report takes the first frame as it is.
        Some(first) => *first -= 1,
        None => frames.push(fiber.thread.routine()),
    }
    // Samples that fall due in a call's cost are taken late, by the block after it.
    let cost = if what == What::Compute { cost::cost(pc) } else { 0 };
    SAMPLES.with(|samples| {
        let (stack, cycles) = (samples.stack(&frames), samples.next(&mut due, clock));
        samples.parallelism.sample(at, |begin| on_cpus(at, begin));
        let skips = fiber.spins.with(|spins| spins.last_skip.contains(&at));
        let blocks = if clock - at < cost && !skips { cycles * TICKS_PER_CYCLE / cost } else { 0 };
        fiber.samples.with(|own| own.add(Sample { at, stack, what, cycles, blocks }, skips, samples));
    });
    due
}
