// SPDX-License-Identifier: MIT OR Apache-2.0
//! What decided how long runs took. A benchmark may run for a fixed time and do as much work as it can; then speed-up
//! cannot be computed from its time, only from the work done. Or the work may grow with the CPUs.
use crate::Work;
use corefold_explain::{Explained, RunFacts};

/// What ends every run of a benchmark after the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// A thread slept, or waited with a time-out, for the larger part of every run, and equally long in all.
    Sleep,
    /// Timers of the program's own came due: one that was set for the larger part of every run, and equally long in all,
    /// or all runs took equally long.
    Alarm,
    /// A thread read a clock for the larger part of every run, and equally long in all, or all runs took equally long.
    Clock,
}

/// What the speed at one count is computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Visits of these progress points, added up, for each second of virtual time.
    Progress(Vec<String>),
    /// The program marks no progress; the same work at every count, so speed is 1 ÷ cycles.
    TotalWork,
    /// The program marks no progress, and all runs take the same time whatever is done in them: speed is the number
    /// of basic blocks ÷ cycles, if these were `counted`.
    FixedTime { why: Fixed, counted: bool },
    /// The program marks no progress; so much work a CPU, so speed is CPUs ÷ cycles.
    WorkPerCpu,
}

/// Waits and runs that differ by no more are equally long.
const EQUAL_WAITS: f64 = 1.02;
const EQUAL_RUNS: f64 = 1.05;
/// Share of every run that the sleep, the timer or the reading must be, and during a sleep the threads' time on CPUs.
const MOSTLY: f64 = 0.5;
/// Fewer clock readings in a run are a measurement or a time stamp.
const WATCHES: u64 = 100;

/// Why all these runs took the same time whatever work they did, if so.
pub fn fixed(runs: &[&Explained]) -> Option<Fixed> {
    let finished: Vec<&RunFacts> =
        runs.iter().filter(|r| r.ending.success && r.run.cycles > 0).map(|r| &r.run).collect();
    if finished.len() < 2 {
        return None;
    }
    let equal = |value: &dyn Fn(&RunFacts) -> u64, within: f64| {
        let (least, most) = finished.iter().map(|r| value(r)).fold((u64::MAX, 0), |(a, b), v| (a.min(v), b.max(v)));
        least > 0 && most as f64 <= least as f64 * within
    };
    let all = |holds: &dyn Fn(&RunFacts) -> bool| finished.iter().all(|r| holds(r));
    let same_time = equal(&|r| r.cycles, EQUAL_RUNS);
    let most = |of: &dyn Fn(&RunFacts) -> u64| all(&|r| of(r) as f64 >= r.cycles as f64 * MOSTLY);
    let decides = |of: &dyn Fn(&RunFacts) -> u64| equal(of, EQUAL_WAITS) && most(of);
    // Where nothing runs meanwhile, sleeps and waits are what takes so long, and no measure of the rest.
    if !most(&on_cpu) {
        None
    } else if equal(&|r| r.pace.asked, EQUAL_WAITS) && most(&|r| r.pace.slept) {
        Some(Fixed::Sleep)
    } else if all(&|r| r.pace.alarms > 0) && (same_time || decides(&|r| r.pace.timer)) {
        Some(Fixed::Alarm)
    } else if all(&|r| r.pace.clock_reads >= WATCHES) && (same_time || decides(&|r| r.pace.watched)) {
        Some(Fixed::Clock)
    } else {
        None
    }
}

/// Below this share of computing in CPU time, samples meet too few blocks to count them: those that run while a locked
/// operation waits for its line take no time of their own.
const COMPUTES: f64 = 0.1;

/// Is it known of every run that finished how many basic blocks ran?
pub fn counts_blocks(runs: &[&Explained]) -> bool {
    let known = |run: &RunFacts| run.pace.blocks > 0 && run.time.compute as f64 >= on_cpu(run) as f64 * COMPUTES;
    runs.iter().filter(|r| r.ending.success).all(|r| known(&r.run))
}

fn on_cpu(run: &RunFacts) -> u64 {
    run.time.compute + run.time.stall + run.time.spin
}

/// What speed is reckoned from, where the program marks no progress.
pub fn basis(runs: &[&Explained], work: Work) -> Basis {
    match (work, fixed(runs)) {
        (Work::PerCpu, _) => Basis::WorkPerCpu,
        (Work::Total, Some(why)) => Basis::FixedTime { why, counted: counts_blocks(runs) },
        (Work::Total, None) => Basis::TotalWork,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;
    use crate::sample::timed;
    use crate::text::work::note;
    use corefold_recording::Pace;

    fn runs(of: &[(u32, u64, Pace)]) -> Vec<Explained> {
        let one = |&(cpus, cycles, pace): &(u32, u64, Pace)| {
            let mut run = timed(cpus, cycles);
            run.run.pace = pace;
            run
        };
        of.iter().map(one).collect()
    }

    fn sleeping(asked: u64, slept: u64, blocks: u64) -> Pace {
        Pace { asked, slept, blocks, ..Pace::default() }
    }

    fn speedups(runs: &[Explained]) -> Vec<Option<f64>> {
        Curve::new(runs, Work::Total).points.iter().map(|p| p.speedup).collect()
    }

    #[test]
    fn work_done_in_a_fixed_time_counts() {
        let sleeps = runs(&[(1, 1000, sleeping(900, 950, 50)), (8, 1250, sleeping(900, 1000, 500))]);
        assert_eq!(speedups(&sleeps), [Some(1.0), Some(8.0)]);
        let note = note(&Curve::new(&sleeps, Work::Total)).unwrap();
        assert!(note.contains("fixed time: thread 0 waits for 450 ns. Speed-up"), "{note}");
        let reads = |blocks| Pace { clock_reads: 5000, blocks, ..Pace::default() };
        assert_eq!(speedups(&runs(&[(1, 1000, reads(50)), (8, 1000, reads(50))])), [Some(1.0), Some(1.0)]);
        let alarm = |blocks| Pace { alarms: 1, blocks, ..Pace::default() };
        assert_eq!(speedups(&runs(&[(1, 1000, alarm(50)), (8, 1000, alarm(25))])), [Some(1.0), Some(0.5)]);
    }

    #[test]
    fn a_timer_and_readings_of_a_clock_are_as_good_as_a_sleep() {
        let fixed = |runs: &[Explained]| fixed(&runs.iter().collect::<Vec<_>>());
        let timer = |timer| Pace { alarms: 1, timer, ..Pace::default() };
        assert_eq!(fixed(&runs(&[(1, 1000, timer(990)), (8, 1500, timer(990))])), Some(Fixed::Alarm));
        assert_eq!(fixed(&runs(&[(1, 1000, timer(990)), (8, 1500, timer(1490))])), None);
        assert_eq!(fixed(&runs(&[(1, 1000, timer(100)), (8, 1500, timer(100))])), None);
        let reads = |watched| Pace { clock_reads: 100, watched, ..Pace::default() };
        assert_eq!(fixed(&runs(&[(1, 1000, reads(990)), (8, 1500, reads(995))])), Some(Fixed::Clock));
        assert_eq!(fixed(&runs(&[(1, 1000, reads(990)), (8, 1500, reads(1050))])), None);
    }

    #[test]
    fn without_blocks_nothing_is_reckoned() {
        let unknown = runs(&[(1, 1000, sleeping(900, 950, 0)), (8, 1000, sleeping(900, 950, 0))]);
        let curve = Curve::new(&unknown, Work::Total);
        assert!(curve.points.iter().all(|p| p.speedup.is_none()));
        assert!(note(&curve).unwrap().contains("mark it with COREFOLD_PROGRESS"));
    }

    /// A main thread that sleeps until others have done their work sleeps less, the sooner they are done.
    #[test]
    fn fixed_work_is_left_alone() {
        let polls = runs(&[(1, 8000, sleeping(7000, 7900, 50)), (8, 1000, sleeping(900, 950, 50))]);
        assert_eq!(speedups(&polls), [Some(1.0), Some(8.0)]);
        let seldom = runs(&[(1, 1000, sleeping(100, 100, 50)), (8, 1000, sleeping(100, 100, 400))]);
        assert_eq!(Curve::new(&seldom, Work::Total).basis, Basis::TotalWork);
        let stamps = |reads| Pace { clock_reads: reads, ..Pace::default() };
        assert_eq!(fixed(&runs(&[(1, 1000, stamps(2)), (8, 1000, stamps(9))]).iter().collect::<Vec<_>>()), None);
        assert_eq!(fixed(&runs(&[(1, 1000, stamps(500)), (8, 500, stamps(500))]).iter().collect::<Vec<_>>()), None);
        assert_eq!(Curve::new(&polls, Work::PerCpu).basis, Basis::WorkPerCpu);
    }

    /// A test suite of which one test sleeps.
    #[test]
    fn a_program_that_does_little_but_sleep_has_no_fixed_time_to_work() {
        let mut sleeps = runs(&[(1, 1000, sleeping(900, 950, 50)), (8, 950, sleeping(900, 950, 20))]);
        assert!(matches!(basis(&sleeps.iter().collect::<Vec<_>>(), Work::Total), Basis::FixedTime { .. }));
        sleeps.iter_mut().for_each(|run| run.run.time.compute = 400);
        assert_eq!(Curve::new(&sleeps, Work::Total).basis, Basis::TotalWork);
        // However often it reads a clock meanwhile.
        sleeps.iter_mut().for_each(|run| run.run.pace.clock_reads = 5000);
        assert_eq!(Curve::new(&sleeps, Work::Total).basis, Basis::TotalWork);
    }

    #[test]
    fn a_speed_up_beyond_the_cpus_is_pointed_out() {
        let said = |cycles| note(&Curve::new(&[timed(1, 1_000_000), timed(8, cycles)], Work::Total));
        assert!(said(40_000).unwrap().contains("8 CPUs cannot make the same work 25.0× as fast as 1."));
        assert_eq!(said(100_000), None);
    }

    #[test]
    fn work_that_grows_with_the_cpus_is_pointed_out() {
        let grows = |blocks| {
            runs(&[
                (1, 1_000_000, Pace { blocks: 100, ..Pace::default() }),
                (8, 1_500_000, Pace { blocks, ..Pace::default() }),
            ])
        };
        let said = |blocks| note(&Curve::new(&grows(blocks), Work::Total));
        assert!(said(790).unwrap().contains("executed 7.9× as many basic blocks"), "{:?}", said(790));
        assert_eq!(said(150), None);
        assert_eq!(note(&Curve::new(&grows(790), Work::PerCpu)), None);
    }
}
