// SPDX-License-Identifier: MIT OR Apache-2.0
//! Title and finding.
use super::screen::{Screen, paragraph};
use super::work;
use crate::curve::Curve;
use crate::finding::finding;
use crate::host;
use crate::marks::Marks;
use crate::style::{clip, line};
use crate::units;
use corefold_explain::base_name;

pub fn head(screen: &Screen, curve: &Curve) -> String {
    let run = &curve.points[curve.points.len() - 1].explained.run;
    let machine = format!(" on {}, {}, seed {}", run.machine, units::hertz(run.clock_hz as f64), run.seed);
    let program = clip(&command(curve), screen.width().saturating_sub(machine.chars().count()));
    let finding = finding(curve);
    let mut out = format!("{}{machine}\n", screen.style.bold(&program));
    if let Some(lost) = host::lost(&screen.options.host, curve) {
        out.push('\n');
        out += &paragraph(&lost.text, screen.width(), |line| screen.style.bold(line));
    }
    if !finding.text().is_empty() {
        out.push('\n');
        out += &paragraph(&finding.text(), screen.width(), |line| screen.style.bold(line));
    }
    for doubt in doubts(curve) {
        out += &paragraph(&doubt, screen.width(), |line| line.to_owned());
    }
    out
}

/// What to know before believing any of it.
fn doubts(curve: &Curve) -> Vec<String> {
    let notes = curve.points.iter().flat_map(|point| &point.explained.run.notes);
    let mut estimated: Vec<String> = notes
        .filter(|n| n.text.starts_with("compute time is estimated"))
        .map(|n| format!("Note: {}.", n.text))
        .collect();
    estimated.dedup();
    estimated.into_iter().chain(work::note(curve)).chain(short(curve)).collect()
}

/// A run of less virtual time is mostly the program's start.
const SHORT_SECONDS: f64 = 100e-6;

/// A run that is over before its threads are at work shows how they start, and little else.
fn short(curve: &Curve) -> Option<String> {
    let explained = curve.last().filter(|_| curve.failed().next().is_none())?.explained;
    let run = &explained.run;
    (run.threads > 1 && run.seconds < SHORT_SECONDS).then(|| {
        format!(
            "Note: the run at {} took only {}, of which starting threads one by one is a large part. {}",
            units::counted(run.cpus, "CPU"),
            units::duration(run.seconds),
            Marks::of(explained).more_work()
        )
    })
}

/// The command line; an argument that follows the CPU count is `{cpus}` again.
pub fn command(curve: &Curve) -> String {
    let runs: Vec<_> = curve.points.iter().map(|p| &p.explained.run).collect();
    let last = runs[runs.len() - 1];
    let word = |i: usize, word: &str| {
        let at = |r: usize| runs[r].argv.get(i).map(String::as_str);
        let same = (0..runs.len()).all(|r| at(r) == Some(word));
        let follows = (0..runs.len()).all(|r| at(r) == Some(&runs[r].cpus.to_string()));
        match (same, follows) {
            (true, _) => word.to_string(),
            (_, true) => "{cpus}".into(),
            _ => "…".into(),
        }
    };
    let words = last.argv.iter().enumerate();
    words.map(|(i, w)| line(&if i == 0 { base_name(w).to_string() } else { word(i, w) })).collect::<Vec<_>>().join(" ")
}
