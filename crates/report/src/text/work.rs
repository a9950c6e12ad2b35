// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the reader must know of how speed-up is computed.
use crate::curve::Curve;
use crate::marks::Marks;
use crate::pace::{Basis, Fixed};
use crate::units;
use corefold_explain::RunFacts;

/// Where the runs did not do the same work, or the program says nothing of it.
pub fn note(curve: &Curve) -> Option<String> {
    let explained = curve.last()?.explained;
    let (last, progress) = (&explained.run, Marks::of(explained).progress);
    match &curve.basis {
        Basis::FixedTime { why, counted } => {
            let why = match why {
                Fixed::Sleep => slept(last),
                Fixed::Alarm => "a timer of its own ends the run".into(),
                Fixed::Clock => format!(
                    "it polls a clock ({} readings) for the same time in every run",
                    units::count(last.pace.clock_reads as f64)
                ),
            };
            let then = match counted {
                true => format!(
                    "Speed-up is the ratio of basic blocks executed per second, estimated from samples; for an exact \
                     count of operations, put {progress} into the loop that does the work."
                ),
                false => {
                    format!("How much work it did is not known: mark it with {progress} in the loop that does it.")
                }
            };
            Some(format!("Note: the program runs for a fixed time: {why}. {then}"))
        }
        Basis::TotalWork => grown(curve).or_else(|| impossible(curve)),
        Basis::Progress(_) => unvisited(curve),
        Basis::WorkPerCpu => None,
    }
}

/// Counts whose region of interest has no visit of a progress point.
fn unvisited(curve: &Curve) -> Option<String> {
    let none = curve.without_visits();
    let (last, many) = (none.last()?, none.len() > 1);
    let counts: Vec<String> = none.iter().map(u32::to_string).collect();
    Some(format!(
        "Note: at {} no progress point was visited, so {} no speed-up. If main marks where the region of interest begins, the other \
         threads may have done their work by then: mark it in one of these, behind a barrier.",
        if many { format!("{} CPUs", corefold_explain::listed(&counts)) } else { units::counted(*last, "CPU") },
        if many { "these counts have" } else { "this count has" },
    ))
}

/// `thread 0 sleeps 600 µs, at main (bench.c:30)`.
fn slept(run: &RunFacts) -> String {
    let asked = units::duration(run.pace.asked as f64 / run.clock_hz.max(1) as f64);
    let place = run.slept_at.as_ref().map_or(String::new(), |place| format!(", at {place}"));
    format!("thread {} waits for {asked}{place}", run.pace.sleeper)
}

/// More than each CPU can add, caches aside.
const IMPOSSIBLE: f64 = 1.5;

/// A speed-up that the machine alone cannot give.
fn impossible(curve: &Curve) -> Option<String> {
    let (base, last) = (curve.base()?, curve.last()?);
    let gain = last.speedup? / f64::from(base.cpus());
    let cpus = f64::from(last.cpus()) / f64::from(base.cpus());
    (gain > cpus * IMPOSSIBLE).then(|| {
        format!(
            "Note: {} CPUs cannot make the same work {}× as fast as {}. On few CPUs, threads that poll or yield while they wait \
             take the CPU from those that work; or the runs did not do the same work.",
            last.cpus(),
            units::factor(gain),
            base.cpus()
        )
    })
}

/// Work that grows by less than this share of the growth of CPUs is overhead.
const GROWS: f64 = 0.5;
/// A shorter run has too few samples to tell what ran in it.
const SAMPLED_SECONDS: f64 = 100e-6;

/// Work that grew with the CPUs, where the same total work is supposed.
fn grown(curve: &Curve) -> Option<String> {
    let (base, last) = (curve.base()?, curve.last()?);
    let (few, many) = (base.explained.run.pace.blocks, last.explained.run.pace.blocks);
    let (grown, cpus) = (units::share(many, few), f64::from(last.cpus()) / f64::from(base.cpus()));
    let sampled = few > 0 && base.explained.run.seconds >= SAMPLED_SECONDS;
    let grows = sampled && cpus > 1.0 && grown >= 2.0 && grown >= cpus * GROWS;
    grows.then(|| {
        format!(
            "Note: at {} the program executed {}× as many basic blocks as at {}. If the work grows with the CPUs, use \
             --work per-cpu (also with `corefold report`); speed-up is computed here for the same total work at every \
             count.",
            units::counted(last.cpus(), "CPU"),
            units::factor(grown),
            base.cpus()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;
    use crate::sample::{progressing, timed};

    #[test]
    fn counts_without_visits_are_told() {
        let said = |alone: &[u32]| {
            let mut runs: Vec<_> = alone.iter().map(|cpus| timed(*cpus, 500)).collect();
            runs.push(progressing(80, 1000, &[("op", 7)]));
            note(&Curve::new(&runs, Work::Total)).unwrap_or_default()
        };
        assert!(said(&[1]).starts_with("Note: at 1 CPU no progress point was visited, so this count has no speed-up."));
        assert!(said(&[1, 2]).starts_with("Note: at 1 and 2 CPUs no progress point was visited, so these counts have"));
        assert_eq!(said(&[]), "");
    }
}
