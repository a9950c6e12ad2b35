//! The one or two sentences at the top, and every rule for what may be said there.
//!
//! A culprit is named only when what it costs is significant; a program whose CPUs work on private data
//! must read that nothing stands out.
use crate::curve::{Curve, Point};
use crate::hot::{Group, groups, one_name};
use crate::units;
use corefold_explain::{Function, LockUse, Sharing, lock_kind_name};
use corefold_recording::LockKind;

/// A line, object or lock that costs less than this share of the time is not to blame.
const SIGNIFICANT: f64 = 0.05;
/// From this efficiency on a program scales.
const SCALES: f64 = 0.8;
/// Fewer busy CPUs than this share of them, and idleness is the finding.
const BUSY: f64 = 0.7;
/// A function stands out when its share of CPU time rose by so much from the smallest count.
const GROWN: f64 = 0.1;
/// A lock whose wait is this share of what its line costs is the line's story.
const LOCK_EXPLAINS_LINE: f64 = 0.5;

/// What bends the curve.
#[derive(Debug)]
pub enum Cause<'a> {
    /// Lines of one object.
    Lines(Group<'a>),
    Lock(&'a LockUse),
    /// CPUs wait for lines, but for no one in particular.
    ManyLines,
    /// Most CPUs have nothing to run.
    Idle,
    /// The same work takes more cycles, and here is where.
    Function(&'a Function),
    Nothing,
}

impl Cause<'_> {
    fn name(&self) -> &'static str {
        match self {
            Cause::Lines(_) => "lines",
            Cause::Lock(_) => "lock",
            Cause::ManyLines => "many lines",
            Cause::Idle => "idle",
            Cause::Function(_) => "function",
            Cause::Nothing => "nothing",
        }
    }
}

/// The finding, as two sentences.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What kind of cause, for programs: [`Cause::name`], or `unknown` if no run finished.
    pub name: &'static str,
    /// How much faster than on the fewest CPUs; empty with one count only.
    pub speed: String,
    pub cause: String,
    /// A run that failed, in words.
    pub failure: String,
}

impl Finding {
    /// The sentences that there are, as one paragraph.
    pub fn text(&self) -> String {
        let parts = [&self.failure, &self.speed, &self.cause];
        parts
            .into_iter()
            .filter(|s| !s.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

pub fn finding(curve: &Curve) -> Finding {
    let (speed, failure) = (speed(curve), failure(curve));
    let (name, cause) = match curve.last() {
        Some(point) => {
            let cause = cause(curve, point);
            (cause.name(), cause_sentence(curve, point, &cause))
        }
        None => ("unknown", String::new()),
    };
    // Beside a failure the sentence must say which run it is about; an empty one says nothing.
    let cause = match curve.last() {
        Some(_) if !failure.is_empty() && speed.is_empty() && name == "nothing" => String::new(),
        Some(point) if !failure.is_empty() && speed.is_empty() => {
            format!("{}: {cause}", at(point.cpus()))
        }
        _ => cause,
    };
    Finding {
        name,
        speed,
        cause,
        failure,
    }
}

fn failure(curve: &Curve) -> String {
    let Some(worst) = curve.failed().next_back() else {
        return String::new();
    };
    let summary = &worst.explained.ending.summary;
    let others = match curve.failed().count() - 1 {
        0 => String::new(),
        1 => " (and one more run failed)".into(),
        n => format!(" (and {n} more runs failed)"),
    };
    format!("{} the program {summary}{others}.", at(worst.cpus()))
}

fn at(cpus: u32) -> String {
    format!("At {}", units::counted(cpus, "CPU"))
}

fn speed(curve: &Curve) -> String {
    let (Some(base), Some(last), Some(best)) = (curve.base(), curve.last(), curve.best()) else {
        return String::new();
    };
    if base.cpus() == last.cpus() {
        return String::new();
    }
    let gain = last.speedup.unwrap_or(0.0) / f64::from(base.cpus());
    let on = if base.cpus() == 1 {
        "on one".into()
    } else {
        format!("on {}", base.cpus())
    };
    let compared = match gain {
        g if g >= 1.05 => format!("{}× as fast as {on}", units::factor(g)),
        g if g > 0.95 => format!("no faster than {on}"),
        g => format!("{}× slower than {on}", units::factor(1.0 / g)),
    };
    format!(
        "{} the program is {compared}{}.",
        at(last.cpus()),
        peak(best, base, last)
    )
}

/// Where the curve was highest, if it fell by more than a little since.
fn peak(best: &Point, base: &Point, last: &Point) -> String {
    let fallen = best.speedup.unwrap_or(0.0) > last.speedup.unwrap_or(0.0) * 1.05;
    if !fallen || best.cpus() == base.cpus() {
        return String::new();
    }
    let gain = best.speedup.unwrap_or(0.0) / f64::from(base.cpus());
    format!(
        "; it was fastest at {} CPUs, {}×",
        best.cpus(),
        units::factor(gain)
    )
}

/// Cycles that threads were on a CPU.
pub fn cpu_time(point: &Point) -> u64 {
    let time = point.explained.run.time;
    time.total() - time.block
}

/// Judges the run at `point`; the curve's first run is what it is compared with.
pub fn cause<'a>(curve: &Curve<'a>, point: &Point<'a>) -> Cause<'a> {
    let run = &point.explained.run;
    let (on_cpu, all) = (cpu_time(point), run.time.total());
    let group = groups(point.explained).into_iter().next();
    let group = group.filter(|g| units::share(g.wait(), on_cpu) >= SIGNIFICANT);
    let lock = point.explained.locks.iter().max_by_key(|l| l.wait_cycles);
    let lock = lock.filter(|l| units::share(l.wait_cycles, all) >= SIGNIFICANT);
    match (group, lock) {
        (Some(group), Some(lock)) if leads(lock, &group) => Cause::Lock(lock),
        (Some(group), _) => Cause::Lines(group),
        (None, Some(lock)) => Cause::Lock(lock),
        (None, None) => spread_out(curve, point),
    }
}

/// Whether the lock, rather than the lines, is what to name.
fn leads(lock: &LockUse, group: &Group) -> bool {
    let wait = lock.wait_cycles as f64;
    let cost = group.wait() as f64;
    if group.holds(lock.address) {
        wait >= cost * LOCK_EXPLAINS_LINE
    } else {
        wait > cost
    }
}

/// No line and no lock: is it idleness, waiting all over, or more work?
fn spread_out<'a>(curve: &Curve<'a>, point: &Point<'a>) -> Cause<'a> {
    let time = point.explained.run.time;
    let Some(efficiency) = point.efficiency else {
        return Cause::Nothing;
    };
    if efficiency >= SCALES {
        return Cause::Nothing;
    }
    if busy(point) < BUSY {
        return Cause::Idle;
    }
    if units::share(time.stall + time.spin, cpu_time(point)) >= 1.0 - SCALES {
        return Cause::ManyLines;
    }
    curve
        .base()
        .and_then(|base| grown(base, point))
        .map_or(Cause::Nothing, Cause::Function)
}

/// Share of the CPUs that a thread ran on, in the mean.
fn busy(point: &Point) -> f64 {
    let run = &point.explained.run;
    units::share(
        cpu_time(point),
        run.cycles.saturating_mul(u64::from(run.cpus)),
    )
}

/// The function whose share of CPU time rose most. Work that grew everywhere alike (hardware threads
/// that share a core) singles out none.
fn grown<'a>(base: &Point<'a>, point: &Point<'a>) -> Option<&'a Function> {
    let before = |f: &Function| {
        let same = base
            .explained
            .functions
            .iter()
            .find(|b| b.name == f.name && b.file == f.file);
        same.map_or(0.0, |b| b.self_percent)
    };
    let rise = |f: &Function| (f.self_percent - before(f)) / 100.0;
    let most = point
        .explained
        .functions
        .iter()
        .max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
    (rise(most) >= GROWN).then_some(most)
}

fn cause_sentence(curve: &Curve, point: &Point, cause: &Cause) -> String {
    match cause {
        Cause::Lines(group) => lines_sentence(point, group),
        Cause::Lock(lock) => lock_sentence(point, lock),
        Cause::ManyLines => many_lines_sentence(point),
        Cause::Idle => idle_sentence(point),
        Cause::Function(function) => function_sentence(curve, point, function),
        Cause::Nothing => nothing_sentence(curve, point),
    }
}

fn lines_sentence(point: &Point, group: &Group) -> String {
    let hottest = group.hottest();
    let share = units::about(units::share(group.wait(), cpu_time(point)));
    let lines = match group.lines.len() {
        1 => "one cache line".into(),
        n => format!("{n} cache lines"),
    };
    let object = if hottest.object.is_empty() {
        format!("{:#x}", hottest.address)
    } else {
        hottest.object.clone()
    };
    let mut text = format!("{share} of CPU time waits for {lines} of {object}");
    match &hottest.verdict.sentence {
        sentence if !sentence.is_empty() => text += &format!(": {sentence}"),
        _ => text += &written_by(group),
    }
    text + advice(hottest.verdict.sharing)
}

/// Who writes, where the verdict does not say.
fn written_by(group: &Group) -> String {
    match group.sites.iter().find(|s| s.writes()) {
        Some(spot) => format!(
            ": {} is written by {}",
            one_name(&spot.fields),
            spot.place()
        ),
        None => String::new(),
    }
}

fn advice(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::False => ". The bytes are not shared, only their line is: padding removes it.",
        Sharing::Both => ". Padding removes a part of it only: some of the bytes are shared.",
        Sharing::True => ". The bytes themselves are shared: padding does not help.",
        Sharing::ReadOnly | Sharing::Unknown => ".",
    }
}

fn lock_sentence(point: &Point, lock: &LockUse) -> String {
    let share = units::about(units::share(
        lock.wait_cycles,
        point.explained.run.time.total(),
    ));
    // A lock without a name is called by the function that waits for it.
    let place = lock
        .waited_at
        .as_ref()
        .filter(|p| !lock.name.contains(&p.function));
    let place = place.map_or(String::new(), |p| format!(", longest in {p}"));
    let kind = lock_kind_name(lock.kind);
    let named = if lock.name.contains(kind) {
        lock.name.clone()
    } else {
        format!("{kind} {}", lock.name)
    };
    let meaning = match lock.kind {
        LockKind::Barrier => ". Threads come to it unevenly.".into(),
        LockKind::CondVar => {
            ". Either there is not enough work, or those who make it are too slow.".into()
        }
        _ => taken(lock),
    };
    format!("{share} of thread time waits for the {named}{place}{meaning}")
}

fn taken(lock: &LockUse) -> String {
    if lock.acquisitions == 0 {
        return ".".into();
    }
    let contended = units::about(units::share(lock.contended, lock.acquisitions));
    format!(
        ": {contended} of its {} acquisitions had to wait.",
        units::count(lock.acquisitions as f64)
    )
}

fn many_lines_sentence(point: &Point) -> String {
    let time = point.explained.run.time;
    let share = units::about(units::share(time.stall + time.spin, cpu_time(point)));
    format!(
        "{share} of CPU time waits for cache lines, but no single object, line or lock stands out."
    )
}

fn idle_sentence(point: &Point) -> String {
    let cpus = point.explained.run.cpus;
    let busy = units::factor(busy(point) * f64::from(cpus));
    format!(
        "No line or lock stands out: in the mean only {busy} of the {cpus} CPUs have a thread to run. \
         Look for parts that run alone, uneven shares of work, sleeping and I/O."
    )
}

fn function_sentence(curve: &Curve, point: &Point, function: &Function) -> String {
    let place = match (&function.file, function.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", corefold_explain::base_name(file)),
        _ => String::new(),
    };
    let more = work_growth(curve, point).map_or(String::new(), |g| {
        format!(
            "the same work takes {}× the CPU time, and ",
            units::factor(g)
        )
    });
    format!(
        "No line or lock stands out: {more}{}{place} grew most, to {} of it.",
        function.name,
        units::about(function.self_percent / 100.0)
    )
}

/// CPU time for each unit of work, against the smallest count.
fn work_growth(curve: &Curve, point: &Point) -> Option<f64> {
    let cost = |p: &Point| p.work.filter(|w| *w > 0.0).map(|w| cpu_time(p) as f64 / w);
    let growth = cost(point)? / cost(curve.base()?)?;
    (growth >= 1.05).then_some(growth)
}

fn nothing_sentence(curve: &Curve, point: &Point) -> String {
    let nothing = "No line, lock or function stands out";
    match point.efficiency {
        Some(e) if e >= SCALES && curve.base().map(Point::cpus) != Some(point.cpus()) => {
            format!("{nothing}: it scales.")
        }
        Some(e) if e < SCALES => match work_growth(curve, point) {
            Some(growth) => format!(
                "{nothing}: the same work takes {}× the CPU time, and all of it alike, as on hardware threads that \
                 share a core.",
                units::factor(growth)
            ),
            None => format!("{nothing}."),
        },
        _ => format!("{nothing}."),
    }
}

#[cfg(test)]
mod tests;
