// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page's part on culprits.
use crate::bench::MACHINE;
use crate::bounds;
use crate::culprits::{Score, Verdict};
use crate::layouts::{Layout, Patched};
use crate::table::{row, verdict};
use std::fmt::Write;

pub fn culprits(page: &mut String, scores: &[Score]) {
    if scores.is_empty() {
        return;
    }
    let (named, accused) =
        (scores.iter().filter(|s| s.is_named()).count(), scores.iter().filter(|s| s.twin_is_accused()).count());
    let of = scores.len();
    let public = scores.iter().filter(|score| score.public).count();
    let reached = verdict(named as f64 >= bounds::NAMED * of as f64);
    let _ = writeln!(
        page,
        "\n## Culprits\n\n\
         {of} programs with one known fault each, {public} of them unmodified programs of public packages, and as many twins\n\
         without the fault, at 8 and at 80 CPUs of `{MACHINE}` (accuracy/culprits). *Named*: at both numbers of CPUs the report's\n\
         finding has the right object or field, the kind of fault and a remedy. The expected words are in accuracy/culprits; they\n\
         were written from the source before the first run, for Rust and the last 13 public programs after the first reports (of these\n\
         13, three locks that back off by computing had not been named). Later two became stricter, some programs were given more or\n\
         less work, three twins that had a fault of their own were replaced, and the report was corrected by what the programs\n\
         showed: it is a regression suite, not a blind test. The public programs run for a shorter time than published.\n\
         *Accused*: at either number of CPUs the finding names a line, a lock or a function of the twin.\n\n\
         Named: {named} of {of}, {reached} (bound: 95 %). Twins accused: {accused} of {of}, {} (bound: none).\n",
        verdict(accused == 0),
    );
    row(page, &["program", "fault", "missing in the finding", "twin"].map(String::from));
    row(page, &["---"; 4].map(String::from));
    for score in scores {
        let (name, what) = (format!("`{}`", score.name), score.what.clone());
        row(page, &[name, what, each(&score.at, missing), each(&score.at, accused_of)]);
    }
    layouts(page, scores);
    let _ = writeln!(page, "\nSources:\n");
    for score in scores {
        let _ = writeln!(page, "- `{}`: {}", score.name, score.source);
    }
}

/// False sharing, ended by a layout.
fn layouts(page: &mut String, scores: &[Score]) {
    let asked: Vec<&Score> = scores.iter().filter(|score| score.asked_for_layouts).collect();
    if asked.is_empty() {
        return;
    }
    let count = |holds: fn(&Layout) -> bool| asked.iter().filter(|s| s.layout.as_ref().is_some_and(holds)).count();
    let (ended, kept, of) = (count(bounds::ends_it), count(bounds::is_kept), asked.len());
    let _ = writeln!(
        page,
        "\nThe first proposal of `corefold fix` against false sharing, simulated without recompiling at 8 CPUs, compared with the\n\
         twin, whose source has the corrected layout. It removes at least 90 % of the time in excess of the twin's in {ended} of {of} ({});\n\
         its predicted gain of throughput is within 10 percentage points of the twin's in {kept} of {of} ({}).\n",
        verdict(ended == of),
        verdict(kept == of),
    );
    row(page, &["program", "layout", "removed", "predicted gain", "gain of the twin"].map(String::from));
    row(page, &["---", "---", "--:", "--:", "--:"].map(String::from));
    for score in &asked {
        let name = format!("`{}`", score.name);
        let cells = match &score.layout {
            Some(l) => [name, l.layout.clone(), percent(l.removed()), percent(l.gain()), percent(l.gained())],
            None => [name, "none".into(), "-".into(), "-".into(), "-".into()],
        };
        row(page, &cells);
    }
    patches(page, &asked);
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The programs that source patches make.
fn patches(page: &mut String, asked: &[&Score]) {
    let with_patch = |score: &&Score| {
        let layout = score.layout.clone()?;
        Some((score.name.clone(), layout.patched.clone()?, layout))
    };
    let patched: Vec<(String, Patched, Layout)> = asked.iter().filter_map(with_patch).collect();
    if patched.is_empty() {
        return;
    }
    let count = |holds: fn(&Layout) -> bool| patched.iter().filter(|(.., layout)| holds(layout)).count();
    let (ends, keeps, of) = (count(bounds::patch_ends_it), count(bounds::patch_keeps_it), patched.len());
    let _ = writeln!(
        page,
        "\nFor {of} of these programs `--patch` makes a source patch of the first layout, or of one that gains as much, as a whole; for\n\
         the others it says what to do by hand. The rebuilt program, by `--verify`: at least 90 % is removed in {ends} of {of} ({}), and\n\
         its gain is within 10 points of the promised one in {keeps} of {of} ({}).\n",
        verdict(ends == of),
        verdict(keeps == of),
    );
    row(
        page,
        &["program", "patched layout", "removed", "gain promised", "gain of the rebuilt program"].map(String::from),
    );
    row(page, &["---", "---", "--:", "--:", "--:"].map(String::from));
    for (name, patch, layout) in &patched {
        let (promised, gained) = patch.gains(layout);
        let figures = [patch.removed(layout), promised, gained].map(percent);
        row(page, &[&[format!("`{name}`"), patch.layout.clone()][..], &figures].concat());
    }
}

/// What `of` says at each number of CPUs, or that it says nothing.
fn each(at: &[Verdict], of: fn(&Verdict) -> Option<String>) -> String {
    let said: Vec<String> =
        at.iter().filter_map(|verdict| Some(format!("at {} CPUs: {}", verdict.cpus, of(verdict)?))).collect();
    if said.is_empty() { "-".into() } else { said.join("; ") }
}

fn missing(verdict: &Verdict) -> Option<String> {
    (!verdict.missing.is_empty()).then(|| verdict.missing.join(", ").replace('|', " or "))
}

fn accused_of(verdict: &Verdict) -> Option<String> {
    verdict.accused.as_ref().map(|text| text.replace('|', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_held_against_their_promise() {
        let patched = Patched { layout: "b".into(), trial: 1.5, seconds: 1.6 };
        let layout = Layout { layout: "a".into(), before: 3.0, trial: 1.4, twin: 1.0, patched: Some(patched) };
        let score = Score {
            name: "p".into(),
            what: String::new(),
            source: String::new(),
            public: false,
            at: Vec::new(),
            layout: Some(layout),
            asked_for_layouts: true,
        };
        let mut page = String::new();
        layouts(&mut page, &[score]);
        assert!(page.contains("| `p` | b | 70.0 % | 100.0 % | 87.5 % |"), "{page}");
        assert!(page.contains("removed in 0 of 1 (**missed**)") && page.contains("promised one in 0 of 1"), "{page}");
    }

    #[test]
    fn misses_are_counted_and_told() {
        let at = |cpus, missing: &[&str], accused: Option<&str>| Verdict {
            cpus,
            missing: missing.iter().map(|s| s.to_string()).collect(),
            headline: String::new(),
            accused: accused.map(String::from),
        };
        let score = |name: &str, at| Score {
            name: name.into(),
            what: "what".into(),
            source: "source".into(),
            public: false,
            at,
            layout: None,
            asked_for_layouts: false,
        };
        let mut page = String::new();
        culprits(
            &mut page,
            &[
                score("right", vec![at(8, &[], None), at(80, &[], None)]),
                score("half", vec![at(8, &[], None), at(80, &["a|b"], Some("It is x."))]),
            ],
        );
        assert!(page.contains("Named: 1 of 2, **missed**"), "{page}");
        assert!(page.contains("Twins accused: 1 of 2, **missed**"), "{page}");
        assert!(page.contains("| `right` | what | - | - |"), "{page}");
        assert!(page.contains("| `half` | what | at 80 CPUs: a or b | at 80 CPUs: It is x. |"), "{page}");
    }
}
