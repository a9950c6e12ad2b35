// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a program has work for hardly more than one thread: a serial stage, in Amdahl's sense.
use crate::call_stack::Key;
use crate::share::{on_cpu, percent};
use crate::types::Stage;
use corefold_recording::Stack;
use std::collections::HashMap;

/// A stack of calls is a serial stage's if no more than so many threads were at work while it ran, in the (harmonic) mean.
const THREADS: u64 = 2;
/// Stages that take less of the run, in percent, are not told.
const LEAST_PERCENT: f64 = 5.0;
/// Names within glibc, which no program calls.
const INTERNAL: &str = "__GI_";

pub(crate) fn is_alone(stack: &Stack) -> bool {
    // Each sample's share is rounded down.
    let latency = stack.latency.saturating_mul(THREADS);
    stack.latency > 0 && latency.saturating_add(latency / 100) >= on_cpu(&stack.time)
}

/// Nine tenths or more.
pub(crate) fn is_mostly(part: u64, whole: u64) -> bool {
    part.saturating_mul(10) >= whole.saturating_mul(9)
}

/// The function that names the stage, from the stacks that ran alone, outermost call first, with their latencies. `runs_alone`
/// says whether a function ran nowhere else. From where most of these stacks begin down to where they part: the innermost
/// function that runs nowhere else, as a helper that others use names no stage; if there is none, where they part.
pub(crate) fn stage(mut stacks: Vec<(Vec<Key>, u64)>, cycles: u64, runs_alone: impl Fn(&Key) -> bool) -> Option<Stage> {
    let (mut named, mut last) = (None, None);
    let mut within = 0;
    for depth in 0.. {
        let mut next: HashMap<&Key, u64> = HashMap::new();
        for (calls, latency) in &stacks {
            calls.get(depth).into_iter().for_each(|key| *next.entry(key).or_default() += latency);
        }
        let most = next.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
        let Some((key, latency)) = most.map(|(key, latency)| (key.clone(), latency)) else { break };
        // Four fifths go on together.
        if depth > 0 && latency.saturating_mul(5) < within * 4 {
            break;
        }
        within = latency;
        if runs_alone(&key) && !key.0.starts_with(INTERNAL) {
            named = Some((key.clone(), latency));
        }
        stacks.retain(|(calls, _)| calls.get(depth) == Some(&key));
        last = Some((key, latency));
    }
    let ((name, declared), latency) = named.or(last)?;
    let (file, line) = declared.unzip();
    Some(Stage { name, file, line, percent: percent(latency, cycles) }).filter(|stage| stage.percent >= LEAST_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        (name.into(), None)
    }

    fn calls(names: &str) -> Vec<Key> {
        names.split(' ').map(key).collect()
    }

    fn told(stacks: &[(&str, u64)], shared: &[&str]) -> Option<(String, f64)> {
        let stacks = stacks.iter().map(|(names, latency)| (calls(names), *latency)).collect();
        stage(stacks, 1000, |key| !shared.contains(&key.0.as_str())).map(|stage| (stage.name, stage.percent))
    }

    #[test]
    fn the_innermost_function_that_runs_nowhere_else_names_the_stage() {
        let stacks = [("main merge sort compare", 500), ("main merge copy", 100), ("main read", 50)];
        assert_eq!(told(&stacks, &["compare"]), Some(("sort".into(), 50.0)));
        assert_eq!(told(&stacks, &["compare", "sort", "copy"]), Some(("merge".into(), 60.0)));
        assert_eq!(told(&stacks, &["main", "merge", "sort", "compare"]), Some(("compare".into(), 50.0)));
        assert_eq!(told(&[("main join __GI__dl_deallocate_tls", 500)], &[]), Some(("join".into(), 50.0)));
        // All threads run `work`, which one of them merges in.
        assert_eq!(told(&[("main run work merge", 500)], &["work"]), Some(("merge".into(), 50.0)));
    }

    #[test]
    fn stacks_that_part_are_named_by_what_they_have_in_common() {
        let stacks = [("main read", 300), ("main write", 300)];
        assert_eq!(told(&stacks, &[]), Some(("main".into(), 60.0)));
        let roots = [("main read", 300), ("worker merge", 400)];
        assert_eq!(told(&roots, &[]), Some(("merge".into(), 40.0)));
    }

    #[test]
    fn a_stage_that_takes_little_of_the_run_is_none() {
        assert_eq!(told(&[("main read", 49)], &[]), None);
        assert_eq!(told(&[], &[]), None);
    }

    #[test]
    fn a_stack_is_alone_if_few_threads_were_at_work_meanwhile() {
        let stack = |compute, latency| Stack {
            frames: Vec::new(),
            time: corefold_recording::Time { compute, ..Default::default() },
            latency,
        };
        assert!(is_alone(&stack(100, 100)) && is_alone(&stack(100, 50)));
        assert!(is_alone(&stack(1001, 500)) && !is_alone(&stack(100, 49)) && !is_alone(&stack(0, 0)));
    }
}
