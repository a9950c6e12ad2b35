// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of call stacks in virtual time: a profile costs nothing between two samples.
use crate::code::cost;
use crate::counts::samples::{SAMPLES, Sample, What};
use crate::engine::engine;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::parallelism::on_cpus;
use alloc::vec::Vec;
use corefold_model::{TICKS_PER_CYCLE, Ticks};

const DEEPEST: usize = 64;

/// Takes the samples that have come due on the running CPU; the code is at `pc`.
pub fn take_due(pc: u64, what: What) {
    let e = engine();
    let cpu = &mut e.sim.cpus[e.sim.cpu];
    if hot!().clock >= cpu.next_sample {
        take(pc, what, hot!().clock, &mut cpu.next_sample);
    }
}

fn take(pc: u64, what: What, clock: Ticks, due: &mut Ticks) {
    let at = *due;
    let fiber = current();
    // What the kernel does for a thread has no place of its own: the call that led there counts.
    let here = (pc != 0).then_some(pc);
    let mut frames: Vec<u64> = here.into_iter().chain(fiber.calls(hot!().frames).take(DEEPEST)).collect();
    match frames.first_mut() {
        // The call of the hook, not what comes after it: the report takes the first frame as it is.
        Some(first) => *first -= 1,
        None => frames.push(fiber.thread.routine()),
    }
    // Samples that fall due in a call's cost are taken late, by the block after it.
    let cost = if what == What::Compute { cost::cost(pc) } else { 0 };
    SAMPLES.with(|samples| {
        let (stack, cycles) = (samples.stack(&frames), samples.next(due, clock));
        samples.parallelism.sample(at, |begin| on_cpus(at, begin));
        // The sample may have fallen due in a skip, which is over by now. What is longer than the sample is another's.
        let skipped = fiber.spins.with(|spins| {
            let skipped = (spins.unsampled / TICKS_PER_CYCLE).min(cycles);
            spins.unsampled -= skipped * TICKS_PER_CYCLE;
            skipped
        });
        let blocks = if clock - at < cost { (cycles - skipped) * TICKS_PER_CYCLE / cost } else { 0 };
        fiber.samples.with(|own| own.add(Sample { at, stack, what, cycles, blocks }, skipped, samples));
    });
}
