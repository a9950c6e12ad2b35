// SPDX-License-Identifier: MIT OR Apache-2.0
//! What limits scaling: all rules for which line, lock or function is named as the cause.
//!
//! A cause is named only if its cost is significant; for a program whose CPUs work on private data the finding is
//! that nothing stands out.
use crate::curve::{Curve, Point};
use crate::hot::{Group, groups};
use crate::locks::{self, LockGroup, before_work, guards_sleepers};
use crate::units;
use corefold_explain::{Explained, Function, LockUse, Place, Stage, pattern};
use corefold_recording::{LockKind, MOST_LINES};
use std::cmp::Reverse;

/// A line, object or lock that costs less than this share of the time is not to blame.
pub const SIGNIFICANT: f64 = 0.05;
/// From this efficiency on a program scales.
pub const SCALES: f64 = 0.8;
/// Fewer busy CPUs than this share of them, and idleness is the finding.
const BUSY: f64 = 0.7;
/// Fewer still, and idleness comes before anything that the busy CPUs wait for: that is a share of
/// their time only, and removing it gains little.
const MOSTLY_IDLE: f64 = 0.4;
/// A lock that accounts for this share of the threads' time, or of the CPUs' idleness, is its reason.
const LOCK_EXPLAINS_IDLE: f64 = 0.5;
/// A function stands out when its share of CPU time rose by so much from the smallest count.
const GROWN: f64 = 0.1;
/// A word of which acquisitions are not known is a lock for what is said of its line if the spins on it are this share of the
/// line's cost.
const SPUN_ON: f64 = 0.1;
/// A lock whose wait is this share of its line's cost is reported through the line.
const LOCK_EXPLAINS_LINE: f64 = 0.5;

/// From this share of CPU time on, lines that are not recorded are the cause if no other is known; a serial stage, from this share of
/// the run.
const MANY: f64 = 1.0 - SCALES;

/// The cause that limits scaling.
#[derive(Debug)]
pub enum Cause<'a> {
    /// Lines of one object.
    Lines(Box<Group<'a>>),
    Lock(LockGroup<'a>),
    /// CPUs wait for lines, but for no single one.
    ManyLines,
    /// Most CPUs have nothing to run; what the others wait for comes second.
    Idle(Option<Box<Cause<'a>>>),
    /// The same work takes more cycles, and here is where.
    Function(&'a Function),
    Nothing,
}

impl Cause<'_> {
    /// As the JSON document has it.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::Lines(_) => "lines",
            Cause::Lock(_) => "lock",
            Cause::ManyLines => "many lines",
            Cause::Idle(_) => "idle",
            Cause::Function(_) => "function",
            Cause::Nothing => "nothing",
        }
    }
}

/// Cycles waited for lines that are not recorded, where there are more than the recording has room for.
pub fn unrecorded(explained: &Explained) -> u64 {
    let lines: u64 = explained.lines.iter().map(|l| l.stall + l.spin).sum();
    let passed: u64 = explained.passed.iter().map(|p| p.stall).sum();
    let time = explained.run.time;
    if explained.lines.len() < MOST_LINES { 0 } else { (time.stall + time.spin).saturating_sub(lines + passed) }
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
    let waited = |group: &Group| group.wait().saturating_sub(waited_to_begin(point, |lock| spun_on(lock, group)));
    let mut groups = groups(point.explained);
    groups.sort_by_key(|group| Reverse(waited(group)));
    let group = groups.into_iter().next().filter(|group| units::share(waited(group), on_cpu) >= SIGNIFICANT);
    // One lock that holds threads up comes before many that share their wait: those that wait for it may
    // hold these.
    let alone = |l: &LockGroup| Some(l.worst_blamable).filter(|wait| units::share(*wait, all) >= SIGNIFICANT);
    let locks = locks::groups(point.explained).into_iter().filter(|l| units::share(l.blamable, all) >= SIGNIFICANT);
    let leading = locks.filter(|lock| group.as_ref().is_none_or(|group| leads(lock, group)));
    // Lines that are not recorded may be the cause, too, and cost more than a lock that is.
    let others = unrecorded(point.explained);
    let lock =
        leading.max_by_key(|l| (alone(l), l.blamable)).filter(|lock| lock.wait_cycles.max(lock.blamable) > others);
    let costliest = match (group, lock) {
        (_, Some(lock)) => Cause::Lock(lock),
        (Some(group), None) => Cause::Lines(Box::new(group)),
        (None, None) if units::share(others, on_cpu) >= MANY && !scales(point) => return Cause::ManyLines,
        (None, None) => return spread_out(curve, point),
    };
    if mostly_idle(point, &costliest) { Cause::Idle(Some(Box::new(costliest))) } else { costliest }
}

/// Lines that threads wait for on their way to a barrier, which may be why they arrive late.
pub fn lines_before<'a>(point: &Point<'a>, barrier: &LockGroup) -> Option<Group<'a>> {
    let own = |group: &Group| barrier.locks.iter().any(|lock| group.holds(lock.address) || spun_on(lock, group));
    let others = groups(point.explained).into_iter().filter(|group| !own(group));
    let costliest = others.min_by_key(|group| Reverse(group.wait()));
    costliest.filter(|group| units::share(group.wait(), cpu_time(point)) >= SIGNIFICANT)
}

/// The lines that the lock lies on, if what most of the wait for them is for merely lies beside it: they lengthen each hold.
pub fn lines_on<'a>(point: &Point<'a>, lock: &LockGroup) -> Option<Group<'a>> {
    let holds = |group: &Group| lock.locks.iter().any(|lock| group.holds(lock.address));
    let group = groups(point.explained).into_iter().find(|group| holds(group) && group.is_mostly_false())?;
    (units::share(group.wait(), cpu_time(point)) >= SIGNIFICANT).then_some(group)
}

/// Whether CPUs that have nothing to run limit the program more than `costliest`, which the busy ones
/// wait for. What scales is not limited by them; one CPU has no other to wait for.
fn mostly_idle(point: &Point, costliest: &Cause) -> bool {
    point.cpus() > 1 && !scales(point) && busy(point) < MOSTLY_IDLE && !is_why_idle(point, costliest)
}

/// Whether threads are off their CPUs because they wait for this.
fn is_why_idle(point: &Point, cause: &Cause) -> bool {
    let Cause::Lock(lock) = cause else { return false };
    let run = &point.explained.run;
    // Of all locks: threads that hold one while they wait for another keep others waiting.
    let waited: u64 = locks::groups(point.explained).iter().map(|group| group.blamable).sum();
    let waited = waited + slept_for(point, lock);
    let idle = run.cycles.saturating_mul(u64::from(run.cpus)).saturating_sub(cpu_time(point));
    let explained = |of: u64| units::share(waited, of) >= LOCK_EXPLAINS_IDLE;
    explained(run.time.total()) || explained(idle)
}

/// Cycles that threads slept in the function that waits for the lock, as between two attempts to take it.
pub fn slept_for(point: &Point, lock: &LockGroup) -> u64 {
    let run = &point.explained.run;
    let waits_in = |place: &Place| {
        lock.locks.iter().any(|lock| lock.waited_at.as_ref().is_some_and(|at| at.function == place.function))
    };
    if run.sleeps_at.as_ref().is_some_and(waits_in) { run.pace.sleeps } else { 0 }
}

/// Cycles that threads spun (on those words that are chosen) before they had anything to do.
fn waited_to_begin(point: &Point, chosen: impl Fn(&LockUse) -> bool) -> u64 {
    let kinds = [LockKind::SpunWord, LockKind::SpinQueue, LockKind::Spinlock];
    let spun = |lock: &&LockUse| kinds.contains(&lock.kind) && chosen(lock);
    point.explained.locks.iter().filter(spun).map(|lock| before_work(lock, &point.explained.run)).sum()
}

/// Cycles that threads were on a CPU and had something to do.
fn at_work(point: &Point) -> u64 {
    cpu_time(point).saturating_sub(waited_to_begin(point, |_| true))
}

/// Whether threads that wait for the lock spin on one of these lines.
pub fn spun_on(lock: &LockUse, group: &Group) -> bool {
    group.holds(lock.spun_on.unwrap_or(lock.address))
}

/// Whether the lock, rather than the lines, is named.
fn leads(lock: &LockGroup, group: &Group) -> bool {
    let wait = lock.wait_cycles.max(lock.blamable) as f64;
    let cost = group.wait() as f64;
    if lock.locks.iter().any(|l| group.holds(l.address) || spun_on(l, group)) {
        wait >= cost * LOCK_EXPLAINS_LINE
    } else {
        wait > cost
    }
}

/// The lock whose own word is what CPUs wait for most of these lines, though nobody has to wait for the lock itself: readers
/// of a reader-writer lock, or threads that take a lock that is free each time.
pub fn lock_on<'a>(point: &Point<'a>, group: &Group) -> Option<&'a LockUse> {
    let held = [LockKind::Mutex, LockKind::RwLock, LockKind::Spinlock, LockKind::SpunWord, LockKind::SpinQueue];
    let (field, _) = group.fields().into_iter().next()?;
    // The lock itself, a part of it, or one like it in an array; not what is merely called alike.
    let field = pattern(&field).join("[]");
    let is_held = |lock: &LockUse| held.contains(&lock.kind) || guards_sleepers(lock);
    let is_of = |lock: &LockUse| {
        let rest = field.strip_prefix(&pattern(&lock.name).join("[]"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    // Of a ticket lock's word nobody knows the acquisitions; that it is spun on is enough.
    let used = |lock: &&LockUse| lock.acquisitions > 0 || units::share(lock.wait_cycles, group.wait()) >= SPUN_ON;
    let locks = point.explained.locks.iter().filter(|lock| is_held(lock)).filter(used);
    locks.into_iter().find(|lock| group.holds(lock.address) && is_of(lock))
}

/// No line and no lock: idleness, waiting for many lines, or more work?
fn spread_out<'a>(curve: &Curve<'a>, point: &Point<'a>) -> Cause<'a> {
    let time = point.explained.run.time;
    if point.efficiency.is_none() || scales(point) {
        return Cause::Nothing;
    }
    if busy(point) < BUSY {
        return Cause::Idle(None);
    }
    let waited = (time.stall + time.spin).saturating_sub(waited_to_begin(point, |_| true));
    if units::share(waited, cpu_time(point)) >= MANY {
        return Cause::ManyLines;
    }
    match curve.base().and_then(|base| grown(base, point)) {
        Some(function) => Cause::Function(function),
        None if serial_stage(point).is_some() => Cause::Idle(None),
        None => Cause::Nothing,
    }
}

/// The serial stage of a program that does not scale, if it takes long.
pub fn serial_stage<'a>(point: &Point<'a>) -> Option<&'a Stage> {
    let run = &point.explained.run;
    let stage = point.explained.stage.as_ref().filter(|stage| stage.percent >= 100.0 * MANY)?;
    (run.cpus > 1 && run.threads > 1 && !scales(point)).then_some(stage)
}

/// Whether each CPU brings nearly as much as the first. A count without a speed-up is not known to.
pub fn scales(point: &Point) -> bool {
    point.efficiency.is_some_and(|e| e >= SCALES)
}

/// Share of the CPUs that a thread ran on, in the mean, and had something to do.
pub fn busy(point: &Point) -> f64 {
    let run = &point.explained.run;
    units::share(at_work(point), run.cycles.saturating_mul(u64::from(run.cpus)))
}

/// The function whose share of CPU time rose most. Work that grew everywhere alike (hardware threads
/// that share a core) singles out none.
fn grown<'a>(base: &Point<'a>, point: &Point<'a>) -> Option<&'a Function> {
    let before = |f: &Function| {
        let same = base.explained.functions.iter().find(|b| b.name == f.name && b.file == f.file);
        same.map_or(0.0, |b| b.self_percent)
    };
    let rise = |f: &Function| (f.self_percent - before(f)) / 100.0;
    let most = point.explained.functions.iter().max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
    (rise(most) >= GROWN).then_some(most)
}

/// CPU time for each unit of work, against the smallest count.
pub fn work_growth(curve: &Curve, point: &Point) -> Option<f64> {
    let cost = |p: &Point| p.work.filter(|w| *w > 0.0).map(|w| at_work(p) as f64 / w);
    let growth = cost(point)? / cost(curve.base()?)?;
    (growth >= 1.05).then_some(growth)
}
