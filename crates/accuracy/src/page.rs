// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/accuracy.md, of the results.
use crate::bounds;
use crate::culprits_page::culprits;
use crate::results::{Curve, Group, Results};
use crate::suite::Suite;
use corefold_report::CodeKind;
use std::fmt::Write;

const INTRODUCTION: &str = include_str!("introduction.md");

pub fn page(results: &Results, suite: &Suite) -> String {
    let mut page = INTRODUCTION.to_owned();
    let groups: Vec<&Group> = results.native.iter().chain(&results.published).collect();
    summary(&mut page, &groups);
    if !results.host.is_empty() {
        let _ = writeln!(page, "\nThe host of the native suite: {}.", results.host);
    }
    culprits(&mut page, &results.culprits);
    expected(&mut page, results);
    for group in groups {
        details(&mut page, group);
    }
    known(&mut page, suite);
    page
}

/// A verdict in one word.
pub fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "**missed**" }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0))
}

fn summary(page: &mut String, groups: &[&Group]) {
    let heads = ["machine", "what", "points", "median error", "", "worst", "", "rank correlation", "knee"];
    row(page, &heads.map(String::from));
    row(page, &["---"; 9].map(String::from));
    for group in groups {
        let median = group.median_error();
        let (bounded, of) = (group.count() > 0, |text: &'static str| text.to_owned());
        let worst = match (group.is_native(), group.worst_error(), group.worst_factor()) {
            (true, Some(error), _) => format!("{:.0} %", error * 100.0),
            (false, _, Some(factor)) => format!("{factor:.2} times"),
            _ => of("-"),
        };
        row(
            page,
            &[
                format!("`{}`", group.machine),
                group.title.clone(),
                group.count().to_string(),
                // To a tenth: some are within one percent of their bound.
                median.map_or(of("-"), |share| format!("{:.1} %", share * 100.0)),
                if bounded { of(verdict(bounds::median_is_reached(group))) } else { of("no bound") },
                worst,
                if bounded { of(verdict(bounds::worst_is_reached(group))) } else { of("no bound") },
                shapes(group, |curve| curve.rank_correlation().map(|r| r >= bounds::RANKS)),
                shapes(group, |curve| (curve.points.len() > 2).then(|| same_knee(curve))),
            ],
        );
    }
}

/// What reports say of themselves.
fn expected(page: &mut String, results: &Results) {
    let _ = writeln!(
        page,
        "\n## By kind of code\n\n\
         The error to expect. Each report prints the row of its own kind of code and machine, or of all machines where this one\n\
         has no points. Counted are the points with bounds and, for blocking locks, also those with paths through the kernel;\n\
         a point with one thread counts as private data.\n"
    );
    row(page, &["kind of code", "machine", "points", "median error", "worst"].map(String::from));
    row(page, &["---", "---", "--:", "--:", "--:"].map(String::from));
    for kind in CodeKind::ALL.map(Some).into_iter().chain([None]) {
        for (index, known) in results.expected.iter().filter(|known| known.kind == kind).enumerate() {
            let name = if index > 0 { "" } else { kind.map_or("all kinds", CodeKind::name) };
            row(
                page,
                &[
                    name.to_owned(),
                    known.machine.as_ref().map_or("all".into(), |machine| format!("`{machine}`")),
                    known.points.to_string(),
                    percent(Some(known.median)),
                    percent(Some(known.worst)),
                ],
            );
        }
    }
}

/// Of the curves that the question can be asked of, how many have the right shape.
fn shapes(group: &Group, question: impl Fn(&Curve) -> Option<bool>) -> String {
    let answers: Vec<bool> = group.curves.iter().filter_map(question).collect();
    let right = answers.iter().filter(|answer| **answer).count();
    if answers.is_empty() { "-".into() } else { format!("{right} of {}", answers.len()) }
}

fn same_knee(curve: &Curve) -> bool {
    let (theirs, ours) = curve.knees();
    theirs.abs_diff(ours) <= 1
}

fn details(page: &mut String, group: &Group) {
    let _ = writeln!(page, "\n## {} (`{}`)\n\n{}.\n", group.title, group.machine, group.source);
    let theirs = if group.is_native() { "native" } else { "published" };
    row(page, &["what", "threads", theirs, "simulated", "error", "note"].map(String::from));
    row(page, &["---", "--:", "--:", "--:", "--:", "---"].map(String::from));
    for curve in &group.curves {
        for (index, point) in curve.points.iter().enumerate() {
            row(
                page,
                &[
                    if index == 0 { curve.name.clone() } else { String::new() },
                    point.threads.to_string(),
                    nanoseconds(point.theirs),
                    nanoseconds(point.ours),
                    format!("{:+.0} %", point.error() * 100.0),
                    note(curve, index),
                ],
            );
        }
    }
    let shaped: Vec<&Curve> = group.curves.iter().filter(|curve| curve.points.len() > 2).collect();
    if shaped.is_empty() {
        return;
    }
    let _ = writeln!(page);
    row(page, &["curve", "rank correlation", "knee published", "knee simulated", ""].map(String::from));
    row(page, &["---", "--:", "--:", "--:", "---"].map(String::from));
    for curve in shaped {
        let (theirs, ours) = curve.knees();
        let ranks = curve.rank_correlation();
        let right = ranks.is_none_or(|ranks| ranks >= bounds::RANKS) && same_knee(curve);
        row(
            page,
            &[
                curve.name.clone(),
                ranks.map_or("flat".into(), |ranks| format!("{ranks:.2}")),
                curve.points[theirs].threads.to_string(),
                curve.points[ours].threads.to_string(),
                verdict(right).into(),
            ],
        );
    }
}

/// What a reader has to know of a point.
fn note(curve: &Curve, index: usize) -> String {
    let first = index == 0;
    let first_apart = curve.points.iter().position(|point| curve.is_apart(point)) == Some(index);
    match (&curve.apart, &curve.withheld, &curve.wrongly_blamed) {
        (_, _, Some(blamed)) if first => format!("**wrongly blamed: {blamed}**"),
        (_, Some((name, value)), _) if first => format!("{name} = {value} set from this point"),
        (Some(why), _, _) if first_apart => format!("no bound: {why}"),
        _ => String::new(),
    }
}

fn nanoseconds(value: f64) -> String {
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} ns")
}

pub fn row(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn known(page: &mut String, suite: &Suite) {
    if suite.known.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n## Known causes of errors\n");
    for known in &suite.known {
        let _ = writeln!(page, "- {}: {}", known.of, known.why);
    }
}
