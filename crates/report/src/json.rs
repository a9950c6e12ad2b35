// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as one JSON document, for other tools: an [`Explained`] in the shape of [`shape`].
pub(crate) mod shape;

use crate::accuracy::{self, Expected};
use crate::curve::{Curve, Point};
use crate::fields;
use crate::finding::finding;
use crate::host;
use crate::pace::Basis;
use crate::place::in_program;
use crate::usl::{self, Fit};
use crate::{CodeKind, Options, Work, units};
use corefold_explain::{self as explain, Explained, HotLine, kind_name, lock_kind_name};
use corefold_recording::{CLASS_NAMES, CLASSES};
use shape::*;

/// The whole report.
pub fn json(runs: &[Explained], options: &Options) -> String {
    let curve = Curve::new(runs, options.work);
    let first = runs.first().map(|r| &r.run);
    let found = finding(&curve);
    let expected = accuracy::expected(&options.accuracy, &curve, found.kind);
    let document = Document {
        schema: SCHEMA,
        machine: first.map(|r| r.machine.as_str()),
        clock_hz: first.map(|r| r.clock_hz),
        seed: first.map(|r| r.seed),
        work: if options.work == Work::Total { "total" } else { "per-cpu" },
        speedup_from: match curve.basis {
            Basis::Progress(_) => "progress",
            Basis::FixedTime { counted: true, .. } => "blocks",
            Basis::FixedTime { counted: false, .. } => "nothing",
            Basis::TotalWork | Basis::WorkPerCpu => "time",
        },
        finding: FindingOut { cause: found.name, text: found.text() },
        host: host::lost(&options.host, &curve).map(|lost| Host { text: lost.text, runs: lost.runs }),
        accuracy: expected.as_ref().map(error),
        usl: usl::fit(&curve.measurements()).ok().map(|fit| law(&fit)),
        runs: curve.points.iter().map(run).collect(),
    };
    let mut text = crate::style::escaped(&serde_json::to_string_pretty(&document).expect("strings, numbers and lists"));
    text.push('\n');
    text
}

fn error<'a>(trust: &accuracy::Trust<'a>) -> Accuracy<'a> {
    let Expected { machine, kind, cpus: (first, last), points, median, worst_factor } = trust.nearest;
    Accuracy {
        kind: kind.map(CodeKind::name),
        measured_on: machine.as_deref(),
        cpus: (*first, (*last < u32::MAX).then_some(*last)),
        measured: trust.is_measured(),
        points: *points,
        median_error_percent: 100.0 * median,
        worst_factor: *worst_factor,
        text: trust.line(),
    }
}

fn law(fit: &Fit) -> Law {
    let (peak_cpus, peak) = match fit.shape() {
        usl::Shape::Peaks { cpus, at } if fit.holds() => (Some(cpus), Some(at)),
        _ => (None, None),
    };
    let Fit { lambda, sigma, kappa, r_squared, worst, .. } = *fit;
    Law { holds: fit.holds(), lambda, sigma, kappa, r_squared, worst_miss: worst.1, peak_cpus, peak }
}

fn run<'a>(point: &Point<'a>) -> Run<'a> {
    let explained = point.explained;
    let facts = &explained.run;
    Run {
        cpus: facts.cpus,
        cycles: facts.cycles,
        seconds: facts.seconds,
        throughput: point.throughput,
        speedup: point.speedup,
        efficiency: point.efficiency,
        argv: &facts.argv,
        threads: facts.threads,
        finished: point.finished(),
        ending: ending(&explained.ending),
        time: Time::from(facts.time),
        progress: facts.progress.iter().map(|p| Progress { name: &p.name, visits: p.visits }).collect(),
        transfers: facts.transfers,
        transfers_by_class: classes(&facts.transfers_by_class),
        functions: explained.functions.iter().map(function).collect(),
        serial_stage: explained.stage.as_ref().map(stage),
        lines: explained.lines.iter().map(|l| line(l, explained)).collect(),
        passed: explained.passed.iter().map(passed).collect(),
        locks: explained.locks.iter().map(lock).collect(),
        notes: facts.notes.iter().map(note).collect(),
    }
}

pub(crate) fn ending(ending: &explain::Ending) -> Ending<'_> {
    Ending {
        summary: &ending.summary,
        details: &ending.details,
        stacks: ending.stacks.iter().map(stack).collect(),
        held_up: ending.held_up.iter().map(held_up).collect(),
    }
}

fn held_up(delay: &explain::Delay) -> HeldUp<'_> {
    let ns = |seconds: f64| (seconds * 1e9).round();
    HeldUp {
        thread: delay.thread,
        how: delay.how,
        at_ns: ns(delay.at_seconds),
        ns: ns(delay.seconds),
        at: delay.at.as_ref().map(place),
    }
}

fn stack(stack: &explain::ThreadStack) -> Stack<'_> {
    Stack { thread: stack.thread, frames: stack.frames.iter().map(place).collect() }
}

fn place(place: &explain::Place) -> Place<'_> {
    Place { function: &place.function, file: place.file.as_deref(), line: place.line }
}

fn note(note: &explain::Note) -> Note<'_> {
    Note { text: &note.text, count: note.count, at: note.at.as_ref().map(place) }
}

fn function(function: &explain::Function) -> Function<'_> {
    Function {
        name: &function.name,
        file: function.file.as_deref(),
        line: function.line,
        self_percent: function.self_percent,
        total_percent: function.total_percent,
        latency_percent: function.latency_percent,
        self_time: Time::from(function.self_time),
    }
}

fn stage(stage: &explain::Stage) -> Stage<'_> {
    Stage { name: &stage.name, file: stage.file.as_deref(), line: stage.line, percent: stage.percent }
}

fn line<'a>(line: &'a HotLine, explained: &Explained) -> Line<'a> {
    let time = explained.run.time;
    Line {
        address: line.address,
        object: &line.object,
        fields: line.fields.iter().map(|f| f.name.as_str()).collect(),
        transfers: line.transfers,
        stall_percent: 100.0 * units::share(line.stall, time.stall),
        wait_percent: 100.0 * units::share(line.stall + line.spin, time.stall + time.spin),
        sharing: line.verdict.sharing.to_string(),
        verdict: &line.verdict.sentence,
        cpus: line.cpus.len(),
        transfers_by_class: classes(&line.transfers_by_class),
        stall_cycles: line.stall,
        spin_cycles: line.spin,
        field_uses: field_uses(line, explained),
        sites: line.sites.iter().map(site).collect(),
    }
}

fn field_uses<'a>(line: &'a HotLine, explained: &Explained) -> Vec<Field<'a>> {
    let locks = fields::locks_on(line, explained);
    let told = |(at, field)| Field {
        sharing: fields::sharing(line, at, &locks).name(),
        slot: fields::slot(line, field),
        ..field_use(field)
    };
    line.fields.iter().enumerate().map(told).collect()
}

fn field_use(field: &explain::FieldUse) -> Field<'_> {
    Field {
        name: &field.name,
        type_name: field.type_name.as_deref(),
        offset: field.offset_in_line,
        size: field.size,
        readers: field.readers,
        writers: field.writers,
        transfers: field.transfers,
        stall_cycles: field.stall,
        spin_cycles: field.spin,
        sharing: "",
        slot: None,
    }
}

fn site(site: &explain::SiteUse) -> Site<'_> {
    let program = in_program(site);
    Site {
        function: program.function,
        file: program.file,
        line: program.line,
        kind: kind_name(site.kind),
        field: &site.field,
        transfers: site.transfers,
        stall_cycles: site.stall,
        spin_cycles: site.spin,
        cpus: site.cpus.len(),
        inlined: inlined(site),
    }
}

/// All functions at a site, where there is more than one.
fn inlined(site: &explain::SiteUse) -> Vec<Place<'_>> {
    if site.inlined_into.is_empty() {
        return Vec::new();
    }
    let innermost = Place { function: &site.function, file: site.file.as_deref(), line: site.line };
    std::iter::once(innermost).chain(site.inlined_into.iter().map(place)).collect()
}

fn lock(lock: &explain::LockUse) -> Lock<'_> {
    Lock {
        name: &lock.name,
        kind: lock_kind_name(lock.kind),
        type_name: lock.type_name.as_deref(),
        address: lock.address,
        acquisitions: lock.acquisitions,
        contended: lock.contended,
        wait_cycles: lock.wait_cycles,
        start_cycles: lock.start_cycles,
        hold_cycles: lock.hold_cycles,
        held_waiting: lock
            .held_waiting
            .iter()
            .map(|(address, cycles)| HeldWaiting { address: *address, cycles: *cycles })
            .collect(),
        waited_at: lock.waited_at.as_ref().map(place),
        barrier: lock.meetings.map(|meetings| Barrier {
            made_of_condition_variable: lock.made,
            threads: meetings.threads,
            rounds: meetings.rounds,
            last_thread: meetings.last,
            last_rounds: meetings.last_rounds,
            timed_rounds: meetings.timed_rounds,
            uneven_cycles: meetings.uneven,
        }),
    }
}

fn passed(entry: &explain::PassedUse) -> Passed<'_> {
    Passed {
        object: &entry.object,
        kind: kind_name(entry.kind),
        at: entry.at.as_ref().map(place),
        transfers: entry.transfers_by_class.iter().sum(),
        transfers_by_class: classes(&entry.transfers_by_class),
        stall: entry.stall,
        wait_percent: entry.stall_percent,
    }
}

fn classes(transfers: &[u64; CLASSES]) -> Classes {
    let named = CLASS_NAMES.iter().zip(transfers).filter(|(_, n)| **n > 0);
    named.map(|(name, n)| (name.replace(' ', "_").to_lowercase(), *n)).collect()
}
