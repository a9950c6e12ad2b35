// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/accuracy.md, of the results.
use crate::bounds::{self, Shapes, Worst};
use crate::culprits_page::culprits;
use crate::published;
use crate::ratios::{MEDIAN, Ratios, WINNERS};
use crate::results::{Curve, Group, Point, Results};
use crate::statistics::median;
use crate::suite::Suite;
use crate::table::{row, verdict};
use anyhow::Result;
use corefold_report::{CodeKind, range_name};
use std::fmt::Write;

const INTRODUCTION: &str = include_str!("introduction.md");

pub fn page(results: &Results, suite: &Suite) -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    let groups: Vec<&Group> = results.groups().collect();
    bounds(&mut page, results)?;
    culprits(&mut page, &results.culprits);
    summary(&mut page, &groups);
    expected(&mut page, results);
    for group in groups {
        details(&mut page, group);
    }
    ablation(&mut page, results, suite);
    known(&mut page, suite);
    Ok(page)
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0))
}

/// What is promised, and whether it is kept.
fn bounds(page: &mut String, results: &Results) -> Result<()> {
    row(page, &["class of points", "points", "median error", "bound", "", "worst", "bound", ""].map(String::from));
    row(page, &["---", "--:", "--:", "--:", "---", "--:", "--:", "---"].map(String::from));
    for found in bounds::rows(results)? {
        let (median, worst) = found.class.bounds();
        let (far, most) = match worst {
            Worst::Error(most) => (percent(Some(found.worst)), percent(Some(most))),
            Worst::Factor(most) => (format!("{:.2} times", found.worst), format!("{most} times")),
            Worst::FactorBeyond(most) => {
                (format!("{:.2} times beyond the published range", found.worst), format!("{most} times"))
            }
        };
        let cells = [
            found.name(),
            found.points.to_string(),
            // To a tenth: some are within one percent of their bound.
            format!("{:.1} %", found.median * 100.0),
            percent(Some(median)),
            verdict(found.median_is_reached()).into(),
            far,
            most,
            verdict(found.worst_is_reached()).into(),
        ];
        row(page, &cells);
    }
    let shapes = Shapes::of(results);
    let _ = writeln!(
        page,
        "\nRank correlation of the {} curves of five points or more that are not flat: median {:.2}, least {:.2}: {} (bounds: 0.9 and \
         0.8). Knee within one step: {} of the {} curves that are not flat and whose knee is not at the first or last point on both sides: {} (bound: nine of ten).",
        shapes.ranked,
        shapes.ranks_median,
        shapes.ranks_least,
        verdict(shapes.ranks_are_reached()),
        shapes.same_knee,
        shapes.bent,
        verdict(shapes.knees_are_reached()),
    );
    ratios(page, results);
    Ok(())
}

fn ratios(page: &mut String, results: &Results) {
    let all = Ratios::of(results.groups());
    let share = |ratios: &Ratios| percent((ratios.pairs > 0).then(|| ratios.right as f64 / ratios.pairs as f64));
    let _ = writeln!(
        page,
        "\n**Pairs of designs** for one job, from one publication, on one machine, with the same number of threads, whose \
         published times differ by more than 25 %: the simulation ranks them as published in {} of {} pairs ({}): {} (bound: \
         {}). Median error of the ratio (simulated ÷ published or the inverse, whichever is larger, minus 1): {:.1} %: {} \
         (bound: {}). Of the pairs whose *simulated* times differ by more than 25 %, {} of {} are ranked as published; of those \
         that differ by less than 2 times, {} of {}.\n",
        all.right,
        all.pairs,
        share(&all),
        verdict(all.winners_are_reached()),
        percent(Some(WINNERS)),
        all.median * 100.0,
        verdict(all.median_is_reached()),
        percent(Some(MEDIAN)),
        all.told.right,
        all.told.pairs,
        all.told_little.right,
        all.told_little.pairs,
    );
    row(page, &["machine", "what", "pairs", "right", "median error of the ratio"].map(String::from));
    row(page, &["---", "---", "--:", "--:", "--:"].map(String::from));
    for group in results.groups() {
        let found = Ratios::of(std::iter::once(group));
        if found.pairs > 0 {
            let machine = format!("`{}`", group.machine);
            let [pairs, median] = [found.pairs.to_string(), percent(Some(found.median))];
            row(page, &[machine, group.title.clone(), pairs, share(&found), median]);
        }
    }
}

fn summary(page: &mut String, groups: &[&Group]) {
    let _ = writeln!(page, "\n## By source\n");
    let heads = ["machine", "what", "pinned", "points", "median error", "worst"];
    row(page, &heads.map(String::from));
    row(page, &["---", "---", "---", "--:", "--:", "--:"].map(String::from));
    for group in groups {
        row(
            page,
            &[
                format!("`{}`", group.machine),
                group.title.clone(),
                if group.pinned { "yes" } else { "no" }.into(),
                group.count().to_string(),
                percent(group.median_error()),
                group.worst_factor().map_or("-".into(), |factor| format!("{factor:.2} times")),
            ],
        );
    }
}

/// What reports say of themselves.
fn expected(page: &mut String, results: &Results) {
    let _ = writeln!(
        page,
        "\n## By kind of code\n\n\
         The error to expect. Each report prints the row of its own kind of code, number of CPUs and machine, or that of all\n\
         machines if this one has no points. If none has any, it says so, and prints the row of fewer CPUs. No report prints a\n\
         row of the native suite's hosts: they belong to one calibration, and calibrating makes another profile. Counted are points\n\
         with bounds and, for blocking locks, also those with paths through the kernel; points with one thread count as private\n\
         data.\n"
    );
    row(page, &["kind of code", "machine", "CPUs", "points", "median error", "worst"].map(String::from));
    row(page, &["---", "---", "---", "--:", "--:", "--:"].map(String::from));
    for kind in CodeKind::ALL.map(Some).into_iter().chain([None]) {
        for (index, known) in results.expected.iter().filter(|known| known.kind == kind).enumerate() {
            let name = if index > 0 { "" } else { kind.map_or("all kinds", CodeKind::name) };
            row(
                page,
                &[
                    name.to_owned(),
                    known.machine.as_ref().map_or("all".into(), |machine| format!("`{machine}`")),
                    range_name(known.cpus).trim_start_matches("at ").into(),
                    known.points.to_string(),
                    percent(Some(known.median)),
                    format!("{:.2} times", known.worst_factor),
                ],
            );
        }
    }
}

fn details(page: &mut String, group: &Group) {
    let _ = writeln!(page, "\n## {} (`{}`)\n\n{}.\n", group.title, group.machine, group.source);
    let theirs = if group.host().is_some() { "native" } else { "published" };
    row(page, &["what", "threads", theirs, "simulated", "error", "note"].map(String::from));
    row(page, &["---", "--:", "--:", "--:", "--:", "---"].map(String::from));
    for curve in &group.curves {
        for (index, point) in curve.shape().into_iter().enumerate() {
            row(
                page,
                &[
                    if index == 0 { curve.name.clone() } else { String::new() },
                    point.threads.to_string(),
                    nanoseconds(point.theirs),
                    nanoseconds(point.ours),
                    format!("{:+.0} %", point.error() * 100.0),
                    note(curve, index, point),
                ],
            );
        }
        others(page, curve);
    }
    let shaped: Vec<&Curve> = group.curves.iter().filter(|curve| curve.shape().len() > 2).collect();
    if shaped.is_empty() {
        return;
    }
    let _ = writeln!(page);
    row(page, &["curve", "rank correlation", "knee published", "knee simulated", ""].map(String::from));
    row(page, &["---", "--:", "--:", "--:", "---"].map(String::from));
    for curve in shaped {
        let (theirs, ours) = curve.knees();
        let ranks = curve.rank_correlation();
        let same_knee = curve.same_knee();
        let right = ranks.is_none_or(|ranks| ranks >= bounds::RANKS_EACH) && same_knee.unwrap_or(true);
        let counts = curve.apart.is_none() && (ranks.is_some() || same_knee.is_some());
        row(
            page,
            &[
                curve.name.clone(),
                ranks.map_or("flat".into(), |ranks| format!("{ranks:.2}")),
                curve.shape()[theirs].threads.to_string(),
                curve.shape()[ours].threads.to_string(),
                if counts { verdict(right).into() } else { "not counted".into() },
            ],
        );
    }
}

/// The points that no line shows.
fn others(page: &mut String, curve: &Curve) {
    let others: Vec<&Point> = curve.points.iter().filter(|point| !curve.shows(point)).collect();
    let worst = others.iter().max_by(|one, other| one.factor().total_cmp(&other.factor()));
    let Some(worst) = worst else { return };
    let errors: Vec<f64> = others.iter().map(|point| point.error().abs()).collect();
    let error = format!("median {}", percent(median(&errors)));
    let far = format!("worst {:+.0} %, {} threads", worst.error() * 100.0, worst.threads);
    row(page, &[String::new(), format!("{} others", others.len()), String::new(), String::new(), error, far]);
}

/// What a reader has to know of a point.
fn note(curve: &Curve, index: usize, point: &Point) -> String {
    let all_apart = index > 0 && curve.apart.is_some();
    match (&curve.withheld, &curve.wrongly_blamed) {
        (_, Some(blamed)) if index == 0 => format!("**wrongly blamed: {blamed}**"),
        (Some((name, value)), _) if point.threads == 1 => format!("{name} = {value} set from this point"),
        _ => curve.why_apart(point).filter(|_| !all_apart).map_or(String::new(), |why| format!("no bound: {why}")),
    }
}

fn nanoseconds(value: f64) -> String {
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} ns")
}

fn ablation(page: &mut String, results: &Results, suite: &Suite) {
    let Some(ablation) = &results.ablation else { return };
    let _ = writeln!(
        page,
        "\n## What each mechanism is worth\n\n\
         `make ablation`: {} published points with bounds, those of the tables above with up to {} threads, simulated once\n\
         more without each of the model's mechanisms (`corefold run --without`). Left out are groups that take minutes of the host: a hash\n\
         table, Westmere's counters, and 999 us of work under a lock. With all mechanisms their median error is {:.1} %. A point\n\
         moves if its time changes by more than 5 %. *Lines*: of source that are there for the mechanism alone, without tests. *Time*: the\n\
         host's for all runs without it, over that with all (none: the host did other work, too). Figures of the AMD host (Zen 4) in the\n\
         last column are of a run of the native programs with one calibration, apart from the native table.\n",
        ablation.points,
        published::MOST_OF_SHAPES,
        ablation.median * 100.0,
    );
    let heads = [
        "without",
        "median error",
        "points that move",
        "median error of these with it",
        "without it",
        "lines",
        "time",
        "why it stays, if the table does not show it",
    ];
    row(page, &heads.map(String::from));
    row(page, &["---", "--:", "--:", "--:", "--:", "--:", "--:", "---"].map(String::from));
    for found in &ablation.rows {
        let of_moved = |pick: fn((f64, f64)) -> f64| percent(found.of_moved.map(pick));
        row(
            page,
            &[
                format!("`{}`", found.name),
                format!("{:.1} %", found.median * 100.0),
                found.moved.to_string(),
                of_moved(|pair| pair.0),
                of_moved(|pair| pair.1),
                found.lines.to_string(),
                found.time.map_or("-".into(), |time| format!("{time:.2}")),
                suite.stays(&found.name).into(),
            ],
        );
    }
}

fn known(page: &mut String, suite: &Suite) {
    for (title, all) in [("Known causes of errors", &suite.known), ("Published, and not simulated", &suite.absent)] {
        let _ = writeln!(page, "\n## {title}\n");
        for known in all {
            let _ = writeln!(page, "- {}: {}", known.of, known.why);
        }
    }
}
