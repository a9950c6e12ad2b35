// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each mechanism of the model is worth: the simulated side of the published suite without it.
use crate::bench::Bench;
use crate::published;
use crate::results::{Ablation, Group, Point, Without};
use crate::statistics::{factor, median};
use crate::suite::{Removed, Suite};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// A point has moved whose time is another by this factor.
const MOVED: f64 = 1.05;

pub fn measure(bench: &Bench, suite: &Suite, root: &Path) -> Result<Ablation> {
    let curves = root.join("validation/curves");
    let counted = |groups: &[Group]| -> Vec<Point> {
        groups.iter().flat_map(|group| group.curves.iter().flat_map(|curve| curve.counted().cloned())).collect()
    };
    let run = |without: Option<&str>| -> Result<(Vec<Point>, Option<f64>)> {
        let scope = published::Scope { only: None, without, whole: false };
        let mut groups = published::measure(bench, suite, &curves, scope)?;
        groups.iter_mut().for_each(|group| group.mark(suite));
        let seconds = bench.take_seconds();
        Ok((counted(&groups), seconds))
    };
    let (all, seconds) = run(None)?;
    let row = |removed: &Removed| -> Result<Without> {
        let (points, without) = run(Some(&removed.name))?;
        ensure!(points.len() == all.len(), "{}: {} of {} points", removed.name, points.len(), all.len());
        let errors = |points: &mut dyn Iterator<Item = &Point>| points.map(|p| p.error().abs()).collect::<Vec<f64>>();
        let both = || all.iter().zip(&points).filter(|(with, without)| factor(with.ours, without.ours) > MOVED);
        let of_moved = median(&errors(&mut both().map(|(with, _)| with)))
            .zip(median(&errors(&mut both().map(|(_, without)| without))));
        Ok(Without {
            name: removed.name.clone(),
            median: median(&errors(&mut points.iter())).context("no points")?,
            moved: both().count(),
            of_moved,
            lines: lines(removed, root)?,
            time: without.zip(seconds).map(|(without, all)| without / all),
        })
    };
    let rows = suite.ablation.iter().map(row).collect::<Result<_>>()?;
    let errors: Vec<f64> = all.iter().map(|point| point.error().abs()).collect();
    Ok(Ablation { points: all.len(), median: median(&errors).context("no points")?, rows })
}

/// Lines of the files and functions (`FILE:FUNCTION`) that are there for the mechanism alone, without tests.
fn lines(removed: &Removed, root: &Path) -> Result<usize> {
    let count = |code: &String| -> Result<usize> {
        let (file, function) = code.split_once(':').map_or((code.as_str(), None), |(file, f)| (file, Some(f)));
        let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        match function {
            None => Ok(text.lines().count()),
            Some(name) => of_function(text, name).with_context(|| format!("{file} has no function {name}")),
        }
    };
    removed.code.iter().map(count).sum()
}

/// From a function's head to the brace that closes it at the same depth.
fn of_function(text: &str, name: &str) -> Option<usize> {
    let heads = ["(", "<"].map(|next| format!("fn {name}{next}"));
    let mut lines = text.lines().skip_while(|line| !heads.iter().any(|head| line.contains(head)));
    let head = lines.next()?;
    let end = format!("{}}}", &head[..head.len() - head.trim_start().len()]);
    Some(2 + lines.position(|line| line == end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_functions_lines_end_at_its_brace() {
        let text = "    fn a() {\n        if b {\n        }\n    }\n\n    fn c(\n        x: u8,\n    ) {\n    }\n";
        assert_eq!(of_function(text, "a"), Some(4));
        assert_eq!(of_function(text, "c"), Some(4));
        assert_eq!(of_function(text, "b"), None);
    }

    #[test]
    fn what_the_suite_says_of_a_mechanism_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let suite = Suite::read(&root.join("accuracy/suite.toml")).unwrap();
        let names: Vec<&str> = suite.ablation.iter().map(|removed| removed.name.as_str()).collect();
        let known: Vec<&str> = corefold_machine::MECHANISMS.iter().map(|mechanism| mechanism.name).collect();
        assert_eq!(names, known);
        for removed in &suite.ablation {
            assert!(lines(removed, &root).unwrap() > 0, "{}", removed.name);
        }
    }
}
