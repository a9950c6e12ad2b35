// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the recording.
use crate::code::modules;
use crate::counts::labels;
use crate::counts::lock_table::LOCKS;
use crate::counts::pace::PACE;
use crate::counts::samples::SAMPLES;
use crate::counts::sites::SITES;
use crate::engine::{self, active, launch, now, sim};
use crate::scheduling::fiber::State;
use crate::scheduling::fiber::{FIBERS, Fiber};
use crate::storage::objects;
use crate::sys;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{MOST_LINES, Note, Pace, Run, Status, Time, encode_run};

/// The run is over: writes the recording. Nothing is simulated afterwards. A region of interest that has `ended` is all that
/// counts; how the program ended comes to it. Otherwise what counts has begun at `begin`.
pub fn finish(status: Status, ended: Option<Box<Run>>, begin: Ticks) {
    if !active() {
        return;
    }
    if launch().quiet && status == Status::Exited(0) {
        return engine::end();
    }
    crate::account::host::finish(crate::hooks::estimate::holds);
    let run = match ended {
        Some(region) => Run { status, modules: modules::all(), ..*region },
        None => run(status, begin),
    };
    let run = Run { notes: notes(), held_up: crate::scheduling::perturb::last(), ..run };
    let mut path: Vec<u8> = launch().output.clone().into_bytes();
    path.push(0);
    engine::end();
    sys::ignore_file_limit();
    if let Err(error) = sys::write_file(&path, &encode_run(&run))
        && sys::write_file(&path, corefold_launch::unwritten(error).as_bytes()).is_err()
    {
        sys::write(2, format!("corefold: cannot write the recording (error {error})\n").as_bytes());
    }
}

/// The run's properties and its notes.
fn notes() -> Vec<Note> {
    let estimated = crate::hooks::estimate::notes().into_iter().map(|text| Note { text, pc: 0, count: 1 });
    estimated.chain(engine::notes()).collect()
}

fn cycles(ticks: Ticks) -> u64 {
    ticks / TICKS_PER_CYCLE
}

/// The run's totals from `begin` on.
pub fn run(status: Status, begin: Ticks) -> Run {
    FIBERS.iter().for_each(|fiber| {
        fiber.leaves_spin();
        fiber.ends_wait();
    });
    crate::scheduling::spin_skip::end_all(now());
    let (computed, stalled) = SITES.with(|sites| sites.take_unwritten_spins());
    let unwritten = Time { compute: cycles(computed), stall: cycles(stalled), ..Time::default() };
    LOCKS.with(|locks| locks.forget_unwritten());
    let end = sim(|sim| sim.latest_clock(now())).max(now());
    let line_bytes = launch().machine.line_bytes;
    let time = total_time(end);
    let found = |fiber: &Fiber| fiber.early.with(|early| early.found(fiber.done(end)).collect::<Vec<_>>());
    let early: Vec<_> = FIBERS.iter().flat_map(found).collect();
    Run {
        argv: launch().argv.clone(),
        machine: launch().machine.name.clone(),
        clock_hz: launch().machine.clock_hz,
        cpus: launch().cpus,
        seed: launch().seed,
        status,
        cycles: cycles(now().saturating_sub(begin)),
        time: Time {
            compute: time.compute + unwritten.compute,
            stall: time.stall + unwritten.stall,
            spin: time.spin.saturating_sub(unwritten.compute + unwritten.stall),
            ..time
        },
        sample_period: SAMPLES.with(|samples| samples.period_cycles()),
        threads: FIBERS.len() as u32,
        modules: modules::all(),
        progress: crate::recorder::progress::list(),
        stacks: SAMPLES.with(|samples| samples.stacks()),
        lines: SITES.with(|sites| sites.lines(MOST_LINES, line_bytes)),
        passed: SITES.with(|sites| sites.passed_list(MOST_LINES)),
        locks: LOCKS.with(|locks| locks.all(early.into_iter())),
        labels: labels::all(),
        allocations: objects::sites(),
        frames: crate::hooks::frames::list(),
        thread_pointers: thread_pointers(),
        notes: Vec::new(),
        held_up: Vec::new(),
        pace: pace(begin),
        transfers: SITES.with(|sites| sites.totals()),
        work: Default::default(),
    }
}

/// One for each place: threads that follow each other may have the same.
fn thread_pointers() -> Vec<u64> {
    let mut pointers: Vec<u64> = FIBERS.iter().map(|fiber| fiber.fs.get()).collect();
    pointers.sort_unstable();
    pointers.dedup();
    pointers
}

/// What may have decided the run's duration (timers, clock reads), and its work.
fn pace(begin: Ticks) -> Pace {
    let (clock_reads, alarms, longest_alarm) = PACE.with(|pace| (pace.clock_reads, pace.alarms, pace.longest_alarm));
    let longest =
        (0..FIBERS.len()).rev().max_by_key(|fiber| FIBERS[*fiber].slept.with(|slept| slept.lasted)).unwrap_or(0);
    let slept = FIBERS[longest].slept.with(|slept| *slept);
    let sleeps = FIBERS.iter().map(|fiber| fiber.sleeps.with(|sleeps| *sleeps));
    let longest_sleep = sleeps.clone().rev().max_by_key(|sleeps| sleeps.lasted).unwrap_or_default();
    let mut began: Vec<Ticks> = FIBERS.iter().map(|fiber| fiber.spins.with(|spins| spins.started.min(now()))).collect();
    began.sort_unstable();
    // Nine tenths, rounded up: a few that follow late say nothing of the others.
    let most_began = began.get((began.len() * 9).div_ceil(10).saturating_sub(1)).copied().unwrap_or(begin);
    let worked = |fiber: usize| {
        let time = FIBERS[fiber].time.get();
        time.compute.saturating_sub(time.spin)
    };
    let busiest = (0..FIBERS.len()).rev().max_by_key(|fiber| worked(*fiber)).unwrap_or(0);
    let watched = FIBERS.iter().rev().map(|fiber| fiber.watched.with(|watched| *watched)).max_by_key(|w| w.readings);
    Pace {
        blocks: SAMPLES.with(|samples| samples.blocks()),
        sleeper: longest as u32,
        asked: cycles(slept.asked),
        slept: cycles(slept.lasted),
        slept_at: slept.pc,
        sleeps: cycles(sleeps.map(|sleeps| sleeps.lasted).sum()),
        sleeps_at: longest_sleep.pc,
        begun: cycles(most_began.saturating_sub(begin)),
        busiest: busiest as u32,
        busiest_worked: cycles(worked(busiest)),
        clock_reads,
        alarms,
        timer: cycles(longest_alarm),
        watched: cycles(watched.map_or(0, |w| w.last - w.first)),
    }
}

/// All threads' time; CPU time without stall and spin is compute.
fn total_time(end: Ticks) -> Time {
    let mut total = Time::default();
    for fiber in FIBERS.iter() {
        if fiber.state.get() == State::Running {
            let clock = sim(|sim| sim.clock_of(fiber.cpu.get(), now()));
            fiber.goes_away(clock.min(end));
        }
        let time = fiber.time.get();
        total.compute += cycles(time.compute.saturating_sub(time.stall + time.spin));
        total.stall += cycles(time.stall);
        total.spin += cycles(time.spin);
        total.block += cycles(time.block);
    }
    total
}
