// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the time went, by function: `perf report`'s two columns.
use crate::call_stack::{Key, Keys};
use crate::share::{on_cpu, percent};
use crate::space::Space;
use crate::stage;
use crate::types::{Function, Stage};
use corefold_recording::{Run, Time};
use std::collections::{HashMap, HashSet};

/// What is added up for a function.
#[derive(Default)]
struct Sums {
    own: Time,
    total: Time,
    latency: u64,
    /// Of `total`, time on a CPU in stacks that ran while hardly any other thread was at work.
    alone: u64,
}

/// Functions by self time, and where hardly more than one thread was at work. Time blocked is off the CPU and counts for no
/// share.
pub(crate) fn functions(run: &Run, space: &Space<'_>) -> (Vec<Function>, Option<Stage>) {
    let mut found: HashMap<Key, Sums> = HashMap::new();
    let mut keys = Keys::new(space);
    let mut alone = Vec::new();
    for stack in &run.stacks {
        let mut seen = HashSet::new();
        let called = keys.of_stack(&stack.frames);
        let is_alone = stage::is_alone(stack);
        for (depth, key) in called.iter().enumerate() {
            let sums = found.entry(key.clone()).or_default();
            if depth == 0 {
                add(&mut sums.own, &stack.time);
            }
            if seen.insert(key) {
                add(&mut sums.total, &stack.time);
                sums.latency += stack.latency;
                sums.alone += if is_alone { on_cpu(&stack.time) } else { 0 };
            }
        }
        if is_alone {
            alone.push((called.into_iter().rev().collect(), stack.latency));
        }
    }
    let runs_alone = |key: &Key| found.get(key).is_some_and(|sums| stage::is_mostly(sums.alone, on_cpu(&sums.total)));
    let all: u64 = run.stacks.iter().map(|stack| on_cpu(&stack.time)).sum();
    // In samples, of which a short run has a few too many or too few.
    let cycles = scaled(run.cycles, all, on_cpu(&run.time));
    let latency: u64 = run.stacks.iter().map(|stack| stack.latency).sum();
    // Beyond the run's time: threads that waited in loops which were not known to spin counted as at work, and others did not.
    let known = percent(latency, cycles) <= MOST_LATENCY;
    let stage = stage::stage(alone, cycles, runs_alone).filter(|_| known);
    let cycles = known.then_some(cycles);
    let mut functions: Vec<Function> = found.into_iter().map(|(key, sums)| function(key, &sums, all, cycles)).collect();
    functions.sort_by(|a, b| {
        let order = |f: &Function| (on_cpu(&f.self_time), on_cpu(&f.total_time));
        order(b).cmp(&order(a)).then_with(|| (&a.name, &a.file, a.line).cmp(&(&b.name, &b.file, b.line)))
    });
    (functions, stage)
}

/// All stacks' latency may be so much of the run's time, in percent: samples are few.
const MOST_LATENCY: f64 = 110.0;

fn function((name, declared): Key, sums: &Sums, all: u64, cycles: Option<u64>) -> Function {
    let (file, line) = declared.unzip();
    Function {
        name,
        file,
        line,
        self_time: sums.own,
        total_time: sums.total,
        self_percent: percent(on_cpu(&sums.own), all),
        total_percent: percent(on_cpu(&sums.total), all),
        latency_percent: cycles.map(|cycles| percent(sums.latency, cycles)),
    }
}

fn add(sum: &mut Time, time: &Time) {
    sum.compute += time.compute;
    sum.stall += time.stall;
    sum.spin += time.spin;
    sum.block += time.block;
}

/// `value` times `by`, over `of`; as it is over nothing.
fn scaled(value: u64, by: u64, of: u64) -> u64 {
    if of == 0 { value } else { (u128::from(value) * u128::from(by) / u128::from(of)) as u64 }
}
