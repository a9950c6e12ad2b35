// SPDX-License-Identifier: MIT OR Apache-2.0
//! The finding's sentences.
use super::{Cause, SIGNIFICANT, before_work, blamable, busy, cpu_time, scales, work_growth};
use crate::curve::{Curve, Point};
use crate::hot::{Group, Spot, by_field};
use crate::locks::LockGroup;
use crate::units;
use corefold_explain::{Function, Sharing, listed};
use corefold_recording::LockKind;

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
        g if g >= 1.05 => format!("{}× as fast as {on}", units::factor(g)),
        g if g > 0.95 => format!("no faster than {on}"),
        g => format!("{}× slower than {on}", units::factor(1.0 / g)),
    };
    format!("{} the program is {compared}{}.", at(last.cpus()), peak(best, base, last))
}

/// Where the curve was highest, if it fell by more than a little since.
fn peak(best: &Point, base: &Point, last: &Point) -> String {
    let fallen = best.speedup.unwrap_or(0.0) > last.speedup.unwrap_or(0.0) * 1.05;
    if !fallen || best.cpus() == base.cpus() {
        return String::new();
    }
    let gain = best.speedup.unwrap_or(0.0) / f64::from(base.cpus());
    format!("; it was fastest at {} CPUs, {}×", best.cpus(), units::factor(gain))
}

pub fn cause(curve: &Curve, point: &Point, cause: &Cause) -> String {
    let though = if scales(point) && compared(curve, point) { "It scales, yet " } else { "" };
    match cause {
        Cause::Lines(group) => though.to_string() + &lines_sentence(point, group),
        Cause::Lock(lock) => though.to_string() + &lock_sentence(point, lock),
        Cause::ManyLines => many_lines_sentence(point),
        Cause::Idle(None) => format!("No line or lock stands out: {}", idle_sentence(point)),
        Cause::Idle(Some(second)) => idle_before(curve, point, second),
        Cause::Function(function) => function_sentence(curve, point, function),
        Cause::Nothing => nothing_sentence(curve, point),
    }
}

/// What to do about runs that show how threads begin and end rather than what they do.
pub const MORE_WORK: &str = "Give threads more work, or mark what matters: COREFOLD_BEGIN where the work begins, \
    COREFOLD_END where it ends.";

fn lines_sentence(point: &Point, group: &Group) -> String {
    let hottest = group.hottest();
    let share = units::about(units::share(group.wait(), cpu_time(point)));
    let lines = match group.lines.len() {
        1 => "one cache line".into(),
        n => format!("{n} cache lines"),
    };
    let object = match hottest.object.as_str() {
        "" => format!("{:#x}", hottest.address),
        object => object.into(),
    };
    format!("{share} of CPU time waits for {lines} of {object}{}.{}", waited_for(group), sharing(group))
}

/// Fields named with their share; what is below is only counted, and not even that if it is next to nothing.
const FIELDS: usize = 3;
const LEAST_FIELD: f64 = 0.01;

/// The fields that are waited for, each with its share of the object's stall and spin.
fn waited_for(group: &Group) -> String {
    let worth = |field: &(String, u64)| units::share(field.1, group.wait()) >= LEAST_FIELD;
    let fields: Vec<_> = group.fields().into_iter().filter(worth).collect();
    let share = |wait| units::about(units::share(wait, group.wait()));
    let mut shares: Vec<String> =
        fields.iter().take(FIELDS).map(|(name, wait)| format!("{} for {name}", share(*wait))).collect();
    if fields.len() > FIELDS {
        let more = share(fields[FIELDS..].iter().map(|field| field.1).sum());
        shares.push(format!("{more} for {}", units::counted((fields.len() - FIELDS) as u64, "other field")));
    }
    match shares.split_first() {
        None => String::new(),
        Some((first, rest)) => {
            let (share, name) = first.split_once(' ').expect("a share and a name");
            let rest: String = rest.iter().map(|field| format!(", {field}")).collect();
            format!(": {share} of it {name}{rest}")
        }
    }
}

/// Who takes the lines from whom, and what padding would separate.
fn sharing(group: &Group) -> String {
    let verdict = &group.verdict;
    let (writers, readers) = parties(group);
    if writers.is_empty() {
        return String::new();
    }
    let who = format!("{} {} {}", places(&writers), verb(&writers, "write"), fields(&writers));
    let padding = verdict.padding.replace('`', "");
    match verdict.sharing {
        Sharing::False if readers.is_empty() => {
            format!(" False sharing: {who}: different CPUs write different fields of one line; {padding}.")
        }
        Sharing::False => format!(
            " False sharing: {who}, and so {} the line from {}: a read-mostly word beside a written one; {padding}.",
            verb(&writers, "take"),
            places(&readers),
        ),
        Sharing::True => {
            format!(" True sharing: {who}, which {} use; {padding}.", units::counted(verdict.users, "CPU"))
        }
        Sharing::Both => format!(
            " True and false sharing: {who}; {} of the wait is for fields that other CPUs use as well, the rest for \
             what lies beside them; {padding}.",
            units::about(1.0 - verdict.false_share),
        ),
        Sharing::ReadOnly | Sharing::Unknown => format!(" {who}."),
    }
}

/// Places shown on either side.
const PARTIES: usize = 2;
/// A place that waits for less than this fraction of the first one's wait is left out.
const MINOR: u64 = 100;

/// The places that write the fields which the verdict calls written, and those that read the others, those that
/// waited longest first.
fn parties<'a, 'b>(group: &'b Group<'a>) -> (Vec<&'b Spot<'a>>, Vec<&'b Spot<'a>>) {
    let verdict = &group.verdict;
    let among =
        |spot: &Spot, names: &[String]| spot.fields.iter().any(|field| names.iter().any(|name| name == field.0));
    let (writers, others): (Vec<&Spot>, Vec<&Spot>) = group.sites.iter().partition(|spot| spot.writes());
    let writers: Vec<&Spot> = writers.into_iter().filter(|spot| among(spot, &verdict.written)).collect();
    let most = writers.iter().map(|spot| spot.wait()).max().unwrap_or(0);
    let writers = writers.into_iter().filter(|spot| spot.wait() * MINOR >= most).collect();
    (writers, others.into_iter().filter(|spot| among(spot, &verdict.only_read)).collect())
}

/// `add (counter.c:31) and drop (counter.c:40)`.
fn places(spots: &[&Spot]) -> String {
    let mut places: Vec<String> = spots.iter().map(|s| s.place.to_string()).collect();
    places.dedup();
    match places.len() {
        0..=PARTIES => places.join(" and "),
        more => {
            format!("{} and {}", places[..PARTIES].join(", "), units::counted((more - PARTIES) as u64, "more place"))
        }
    }
}

fn verb(spots: &[&Spot], verb: &str) -> String {
    if places(spots).contains(" and ") { verb.into() } else { format!("{verb}s") }
}

/// The fields that these places touch, those that were waited for longest first.
fn fields(spots: &[&Spot]) -> String {
    let all = by_field(spots.iter().flat_map(|spot| spot.fields.iter().copied()));
    listed(&all.into_iter().map(|field| field.0).collect::<Vec<_>>())
}

fn lock_sentence(point: &Point, lock: &LockGroup) -> String {
    let all = point.explained.run.time.total();
    let share = units::about(units::share(lock.wait_cycles, all));
    let name = lock.name();
    // A lock without a name is called by the function that waits for it.
    let place = lock.worst().waited_at.as_ref().filter(|p| !name.contains(&p.function));
    let place = place.map_or(String::new(), |p| format!(", longest in {p}"));
    let named = lock.kind_name().map_or(name.clone(), |kind| format!("{kind} {name}"));
    let several = lock.members(all).map_or(String::new(), |members| format!(" ({members})"));
    let meaning = match lock.kind {
        LockKind::Barrier => uneven(point, lock),
        LockKind::CondVar if lock.worst().may_be_barrier => ". Two threads use it, and what was recorded fits two readings: \
                        one makes what the other waits for, too slowly; or they meet at a barrier, and one arrives later."
            .into(),
        LockKind::CondVar => ". Either there is not enough work, or those who make it are too slow.".into(),
        _ => taken(lock),
    };
    format!("{share} of thread time waits for the {named}{several}{place}{meaning}{}", all_locks(point, lock))
}

/// How unevenly threads arrive at a barrier, and which arrives last.
fn uneven(point: &Point, lock: &LockGroup) -> String {
    let worst = lock.worst();
    let made =
        if worst.made { " It is made of a condition variable, which the last to arrive broadcasts." } else { "" };
    let Some(meetings) = worst.meetings.filter(|meetings| meetings.rounds > 0) else {
        return format!(".{made} Threads arrive unevenly.");
    };
    let wait = worst.wait_cycles as f64 / worst.contended.max(1) as f64 / point.explained.run.clock_hz.max(1) as f64;
    format!(
        ".{made} Threads arrive unevenly: average wait for the last of {} {}; thread {} is last in {} of {}.",
        meetings.threads,
        units::duration(wait),
        meetings.last,
        units::about(units::share(meetings.last_rounds, meetings.rounds)),
        units::counted(meetings.rounds, "round"),
    )
}

/// What all locks come to, where that is much more than these: who holds a lock while waiting for another
/// has others wait.
fn all_locks(point: &Point, lock: &LockGroup) -> String {
    let run = &point.explained.run;
    let locks = point.explained.locks.iter().filter(|l| blamable(l, run) > 0);
    let (count, waited) = locks.fold((0, 0), |(count, sum), l| (count + 1, sum + blamable(l, run)));
    if count < 2 || waited < lock.wait_cycles.saturating_mul(3) / 2 {
        return String::new();
    }
    format!(" {count} locks together take {} of it.", units::about(units::share(waited, run.time.total())))
}

fn taken(lock: &LockGroup) -> String {
    match (lock.acquisitions, lock.contended) {
        (0, 0) => return ".".into(),
        (0, waits) => return format!(": {} waits.", units::count(waits as f64)),
        _ => {}
    }
    let contended = units::about(units::share(lock.contended, lock.acquisitions));
    format!(": {contended} of its {} acquisitions had to wait.", units::count(lock.acquisitions as f64))
}

fn many_lines_sentence(point: &Point) -> String {
    let time = point.explained.run.time;
    let share = units::about(units::share(time.stall + time.spin, cpu_time(point)));
    format!("{share} of CPU time waits for cache lines, but no single object, line or lock stands out.")
}

fn idle_sentence(point: &Point) -> String {
    format!(
        "{}. Look for parts that run alone (as creating threads one by one does), uneven shares of work, sleeping and \
         I/O.",
        idleness(point)
    )
}

/// `on average only 10 of the 80 CPUs had a thread to run`, and why if the program never made so many.
fn idleness(point: &Point) -> String {
    let cpus = point.cpus();
    let busy = match busy(point) * f64::from(cpus) {
        few if few < 9.95 => units::factor(few),
        many => format!("{many:.0}"),
    };
    let few = match point.explained.run.threads {
        1 => ", as the program has one thread".into(),
        threads if threads < cpus => format!(", as the program has {threads} threads"),
        _ => waiting_to_begin(point),
    };
    format!("on average only {busy} of the {cpus} CPUs had a thread to run{few}")
}

/// Those that wait for the order to begin count as having nothing to run.
fn waiting_to_begin(point: &Point) -> String {
    let run = &point.explained.run;
    let lock = point.explained.locks.iter().max_by_key(|lock| before_work(lock, run));
    let lock = lock.filter(|lock| units::share(before_work(lock, run), run.time.total()) >= SIGNIFICANT);
    lock.map_or(String::new(), |lock| format!(", as threads waited for {} to begin", lock.name))
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
            format!("{} {MORE_WORK}", lines_sentence(point, group))
        }
        other => cause(curve, point, other),
    };
    format!("{idle} Besides, {second}")
}

fn function_sentence(curve: &Curve, point: &Point, function: &Function) -> String {
    let place = match (&function.file, function.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", corefold_explain::base_name(file)),
        _ => String::new(),
    };
    let more = work_growth(curve, point)
        .map_or(String::new(), |g| format!("the same work takes {}× the CPU time, and ", units::factor(g)));
    format!(
        "No line or lock stands out: {more}{}{place} grew most, to {} of it.",
        function.name,
        units::about(function.self_percent / 100.0)
    )
}

fn nothing_sentence(curve: &Curve, point: &Point) -> String {
    let nothing = "No line, lock or function stands out";
    let growth = work_growth(curve, point).map(units::factor);
    match (scales(point), growth) {
        (true, _) if compared(curve, point) => format!("{nothing}: it scales."),
        (false, Some(growth)) => format!(
            "{nothing}: the same work takes {growth}× the CPU time, and all of it alike, as on hardware threads that \
             share a core."
        ),
        _ => format!("{nothing}."),
    }
}

/// Whether there is a smaller count to compare with.
fn compared(curve: &Curve, point: &Point) -> bool {
    curve.base().is_some_and(|base| base.cpus() < point.cpus())
}
