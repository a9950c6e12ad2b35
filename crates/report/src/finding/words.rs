// SPDX-License-Identifier: MIT OR Apache-2.0
//! The finding's sentences.
mod lines;
mod locks;
mod stage;
mod unrecorded;

use super::cause::{
    Cause, SCALES, SIGNIFICANT, busy, cpu_time, lines_before, lines_on, scales, slept_for, work_growth,
};
use crate::curve::{Curve, Point};
use crate::locks::{LockGroup, before_work};
use crate::marks::Marks;
use crate::units;
use corefold_explain::{Function, MOSTLY_PASSED, Place, RunFacts};
use corefold_recording::LockKind;
use lines::lines_sentence;
use locks::lock_sentence;
use stage::serial;
use unrecorded::{NOT_RECORDED, not_recorded};

pub fn failure(curve: &Curve) -> String {
    let Some(largest) = curve.failed().next_back() else {
        return String::new();
    };
    let others = match curve.failed().count() - 1 {
        0 => String::new(),
        1 => " (and one more failed)".into(),
        n => format!(" (and {n} more failed)"),
    };
    format!("{}{others}.", how_it_failed(largest))
}

/// How a run failed, as a sentence without its full stop.
pub fn how_it_failed(point: &Point) -> String {
    let summary = &point.explained.ending.summary;
    let run = format!("The run at {}", units::counted(point.cpus(), "CPU"));
    // The text says already that it cannot be simulated.
    if let Some(what) = summary.strip_prefix("cannot be simulated: ").filter(|what| what.contains(" cannot be ")) {
        return format!("{run} did not end: {what}");
    }
    let verb = match summary.split([' ', ':']).next() {
        Some("crashed" | "exited" | "did" | "cannot") => "",
        Some("stopped" | "interrupted") => "was ",
        Some("deadlock" | "livelock" | "use") => "ended in a ",
        Some("out") => "ran ",
        _ => "failed: ",
    };
    format!("{run} {verb}{summary}")
}

pub fn at(cpus: u32) -> String {
    format!("At {}", units::counted(cpus, "CPU"))
}

/// Less is no faster.
const FASTER: f64 = 1.05;

/// Of a seed's schedule: why its times do not show what limits scaling.
pub fn held_up(curve: &Curve) -> Option<String> {
    let seed = curve.points.iter().map(|point| point.explained.run.seed).find(|seed| *seed != 0)?;
    Some(format!(
        "The schedule of seed {seed} delays threads at random, to make races fail: its times do not show how the program \
         scales. Run it without --seed for that."
    ))
}

pub fn speed(curve: &Curve) -> String {
    let (Some(base), Some(last), Some(best)) = (curve.base(), curve.last(), curve.best()) else {
        return String::new();
    };
    if base.cpus() == last.cpus() {
        return String::new();
    }
    let gain = last.speedup.unwrap_or(0.0) / f64::from(base.cpus());
    let on = if base.cpus() == 1 { "on one".into() } else { format!("on {}", base.cpus()) };
    let compared = match gain {
        g if g >= FASTER => format!("{}× as fast as {on}", units::factor(g)),
        g if g > 0.95 => format!("no faster than {on}"),
        g => format!("{}× slower than {on}", units::factor(1.0 / g)),
    };
    format!("{} the program is {compared}{}.", at(last.cpus()), peak(best, base, last))
}

/// Where the curve was highest, if it fell by more than a little since.
fn peak(best: &Point, base: &Point, last: &Point) -> String {
    let fallen = best.speedup.unwrap_or(0.0) > last.speedup.unwrap_or(0.0) * 1.05;
    let gain = best.speedup.unwrap_or(0.0) / f64::from(base.cpus());
    if !fallen || best.cpus() == base.cpus() || gain < FASTER {
        return String::new();
    }
    format!("; it was fastest at {} CPUs, {}×", best.cpus(), units::factor(gain))
}

pub fn cause(curve: &Curve, point: &Point, cause: &Cause) -> String {
    let though = if scales(point) && compared(curve, point) && has_threads(point) { "It scales, yet " } else { "" };
    match cause {
        Cause::Lines(group) if though.is_empty() => lines_sentence(point, group),
        Cause::Lines(group) => though.to_string() + &within(&lines_sentence(point, group)),
        Cause::Lock(lock) => {
            let alone = serial(point).map_or(String::new(), |alone| format!(" {}.", capitalized(&alone)));
            let lines = if lock.kind == LockKind::Barrier { lines_before(point, lock) } else { lines_on(point, lock) };
            let lines =
                lines.map_or(String::new(), |group| format!(" Besides, {}", within(&lines_sentence(point, &group))));
            format!("{though}{}{}{alone}{lines}", lock_sentence(point, lock), asleep(point, lock))
        }
        Cause::ManyLines => many_lines_sentence(point),
        Cause::Idle(None) => format!("No line or lock stands out: {}", idle_sentence(point)),
        Cause::Idle(Some(second)) => idle_before(curve, point, second),
        Cause::Function(function) => function_sentence(curve, point, function),
        Cause::Nothing => nothing_sentence(curve, point),
    }
}

/// That threads sleep between two attempts to take the lock.
fn asleep(point: &Point, lock: &LockGroup) -> String {
    let run = &point.explained.run;
    let share = units::share(slept_for(point, lock), run.time.total());
    let place = run.sleeps_at.as_ref().filter(|_| share >= SIGNIFICANT);
    place.map_or(String::new(), |place| format!(" For {} more, threads sleep in {place}.", units::about(share)))
}

fn many_lines_sentence(point: &Point) -> String {
    let time = point.explained.run.time;
    let waited = time.stall + time.spin;
    let share = units::about(units::share(waited, cpu_time(point)));
    match point
        .explained
        .passed
        .iter()
        .max_by_key(|passed| passed.stall)
        .filter(|p| units::share(p.stall, waited) >= MOSTLY_PASSED)
    {
        Some(passed) => format!(
            "{share} of CPU time waits for cache lines, {} of it for uncontended lines (first touch, read-only or handed over \
             once) of {}{}: for the latency or the bandwidth of caches and memory.",
            units::about(units::share(passed.stall, waited)),
            passed.object,
            passed.at.as_ref().map_or(String::new(), |at| format!(", in {at}")),
        ),
        None => format!(
            "{share} of CPU time waits for cache lines{}, but no single object, line or lock stands out{}.",
            most_waiting(point),
            not_recorded(point).map_or(String::new(), |share| format!("; {share} waits for lines that {NOT_RECORDED}"))
        ),
    }
}

/// Where most waiting is in one function, that.
fn most_waiting(point: &Point) -> String {
    let time = point.explained.run.time;
    let waited = |f: &&Function| f.self_time.stall + f.self_time.spin;
    let most = point.explained.functions.iter().max_by_key(waited);
    let most = most.filter(|f| units::share(waited(f), time.stall + time.spin) >= 0.5);
    most.map_or(String::new(), |f| format!(", most of it in {}", place_of(f)))
}

fn place_of(function: &Function) -> Place {
    Place { function: function.name.clone(), file: function.file.clone(), line: function.line }
}

fn idle_sentence(point: &Point) -> String {
    let idle = idleness(point);
    let advice = match serial(point) {
        Some(alone) => capitalized(&alone) + ".",
        None if idle.contains(BEGAN) => Marks::of(point.explained).more_work(),
        None if idle.contains(SHORT) => "Keep threads for more than one piece of work.".into(),
        None => {
            uneven(point).unwrap_or_else(|| "Look for serial phases, uneven shares of work, sleeps and I/O.".into())
        }
    };
    format!("{idle}. {advice}")
}

/// A thread that is at work so many times as long as the others is why they have nothing to do, if even shares would take this part
/// of their idle time away.
const LONGER: f64 = 1.5;
const EVENED: f64 = 0.3;
const STARTING: f64 = 0.1;

/// The thread that has a larger share of the work than the others.
fn uneven(point: &Point) -> Option<String> {
    let run = &point.explained.run;
    let (worked, others) = (run.pace.busiest_worked, u64::from(run.threads.saturating_sub(1)));
    let all = run.time.compute + run.time.stall;
    let longer = units::share(worked.saturating_mul(others), all.saturating_sub(worked));
    // Of a thread that starts a short one for each request, the others are no measure.
    let all_at_once = run.threads <= run.cpus + 1;
    // Main may do no more than start the others.
    let starts_them = run.pace.busiest == 0 && units::share(run.pace.begun, run.cycles) >= STARTING;
    let idle = (1.0 - busy(point)) * run.cycles as f64;
    let evened = worked as f64 - units::share(all, u64::from(run.threads)) >= idle * EVENED;
    (all_at_once && !starts_them && evened && longer >= LONGER).then(|| {
        format!(
            "Thread {} was at work for {} of the run, {} times as long as the others on average. To try: even out the threads' shares \
             of the work.",
            run.pace.busiest,
            units::about(units::share(worked, run.cycles)),
            units::factor(longer)
        )
    })
}

/// If so many of the program's threads run, that it has no more is why CPUs are idle.
const MOST_RUN: f64 = 0.5;

/// `on average only 10 of the 80 CPUs had a thread to run`, and why, where that is known.
fn idleness(point: &Point) -> String {
    let cpus = point.cpus();
    let run = busy(point) * f64::from(cpus);
    let busy = match run {
        few if few < 9.95 => units::factor(few),
        many => format!("{many:.0}"),
    };
    let threads = point.explained.run.threads;
    let most_run = threads < cpus && run >= f64::from(threads) * MOST_RUN;
    let why = match not_running(point) {
        _ if most_run && threads == 1 => ", as the program has one thread".into(),
        _ if most_run => format!(", as the program has {threads} threads"),
        Some(why) => why,
        None if threads < cpus => format!("; the program has {}", units::counted(threads, "thread")),
        None => created(&point.explained.run),
    };
    format!("on average only {busy} of the {cpus} CPUs had a thread to run{why}")
}

/// Of the time that CPUs are idle, what explains so much is told as the reason.
const EXPLAINS: f64 = 0.3;

/// What threads did instead of running: those that wait for the order to begin have nothing to run either.
fn not_running(point: &Point) -> Option<String> {
    let run = &point.explained.run;
    let lock = point.explained.locks.iter().max_by_key(|lock| before_work(lock, run));
    let waited = lock.map_or(0, |lock| before_work(lock, run));
    let away = waited.max(run.pace.sleeps) as f64;
    let idle = (1.0 - busy(point)) * f64::from(point.cpus()) * run.cycles as f64;
    if away < EXPLAINS * idle || units::share(away as u64, run.time.total()) < SIGNIFICANT {
        return None;
    }
    Some(match lock.filter(|_| waited >= run.pace.sleeps) {
        Some(lock) => format!(", as threads waited for {} before they began their work", lock.name),
        None => {
            let place = run.sleeps_at.as_ref().map_or(String::new(), |place| format!(", longest in {place}"));
            format!(", as threads slept{place}")
        }
    })
}

/// Where threads were still being created when this share of the run was over, that says why others are missing.
const CREATING: f64 = 0.3;
const BEGAN: &str = "threads had begun only after";
/// More threads than so many per CPU are started for one piece of work each.
const SHORT_LIVED: u32 = 4;
const SHORT: &str = "threads one after another";

fn created(run: &RunFacts) -> String {
    if units::share(run.pace.begun, run.cycles) < CREATING {
        return String::new();
    }
    if run.threads > run.cpus * SHORT_LIVED {
        return format!(", as the program starts {} {SHORT}", run.threads);
    }
    let time = |cycles: u64| units::duration(cycles as f64 / run.clock_hz.max(1) as f64);
    format!(
        ", as nine of ten of its {} {BEGAN} {} of the run's {}",
        run.threads,
        time(run.pace.begun),
        time(run.cycles)
    )
}

/// A sentence after a colon.
pub fn within(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Idleness, and then what the few busy CPUs waited for.
fn idle_before(curve: &Curve, point: &Point, second: &Cause) -> String {
    let idle = capitalized(&idle_sentence(point));
    let second = match second {
        Cause::Lines(group) => {
            let advice = Marks::of(point.explained).more_work();
            let lines = lines_sentence(point, group);
            if idle.contains(&advice) { lines } else { format!("{lines} {advice}") }
        }
        // The first sentence has said what ran alone.
        Cause::Lock(lock) => lock_sentence(point, lock),
        other => cause(curve, point, other),
    };
    format!("{idle} Besides, {}", within(&second))
}

fn function_sentence(curve: &Curve, point: &Point, function: &Function) -> String {
    let more = work_growth(curve, point)
        .map_or(String::new(), |g| format!("the same work takes {}× the CPU time, and ", units::factor(g)));
    format!(
        "No line or lock stands out: {more}the share of {} in CPU time grew most, to {}.",
        place_of(function),
        units::about(function.self_percent / 100.0)
    )
}

fn nothing_sentence(curve: &Curve, point: &Point) -> String {
    let nothing = "No line, lock or function stands out";
    let growth = work_growth(curve, point).map(units::factor);
    match (scales(point), growth) {
        (true, _) if compared(curve, point) && has_threads(point) => format!("{nothing}: it scales."),
        (false, Some(growth)) => format!(
            "{nothing}: the same work takes {growth}× the CPU time, evenly over all functions. Possible causes: \
             hardware threads that share a core or, in short runs, threads that wait for each other."
        ),
        _ => format!("{nothing}."),
    }
}

/// Whether there were threads for most of the CPUs: what fewer do on many CPUs shows nothing of those.
fn has_threads(point: &Point) -> bool {
    f64::from(point.explained.run.threads) >= f64::from(point.cpus()) * SCALES
}

/// Whether there is a smaller count to compare with.
fn compared(curve: &Curve, point: &Point) -> bool {
    curve.base().is_some_and(|base| base.cpus() < point.cpus())
}
