// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of runs. A run with several seeds gives one for each, hence an interval.
use crate::fixes::Fixes;
use crate::interval::{Interval, interval};
use crate::locks::Releases;
use crate::native::Native;
use crate::simulate::Simulated;
use crate::spec::{Case, Figure, Others};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;

pub type Runs = HashMap<String, Vec<Simulated>>;

/// Seeds go together: the first of one run with the first of the other.
pub fn figure(figure: &Figure, runs: &Runs, fixes: &Fixes) -> Result<Interval> {
    if let Figure::Layout { fix, layout, asked } = figure {
        return Ok(interval(&[fixes[fix].layout(layout, *asked)?]));
    }
    let seeds = figure.runs().iter().map(|run| runs[*run].len()).min().unwrap_or(1);
    let all = (0..seeds).map(|seed| one(figure, &Seed { runs, seed })).collect::<Result<Vec<_>>>()?;
    Ok(interval(&all))
}

/// What came of all runs with one seed.
struct Seed<'a> {
    runs: &'a Runs,
    seed: usize,
}

impl Seed<'_> {
    fn run(&self, name: &str) -> &Simulated {
        &self.runs[name][self.seed]
    }

    fn throughput(&self, name: &str) -> Result<f64> {
        self.run(name).throughput.with_context(|| format!("the run {name:?} made no progress"))
    }

    fn releases(&self, name: &str) -> Result<&Releases> {
        self.run(name).releases.as_ref().with_context(|| format!("the run {name:?} counted no lock releases"))
    }

    /// For each operation.
    fn others(&self, others: Option<&Others>) -> Result<f64> {
        let Some(others) = others else { return Ok(0.0) };
        let releases = self.releases(&others.run)?;
        let missing = releases.each(&others.files) / (others.share / 100.0) - releases.each(&[]);
        if missing < 0.0 {
            bail!("the share of {:?} is below {} % without other releases", others.files, others.share);
        }
        Ok(missing)
    }
}

fn one(figure: &Figure, of: &Seed<'_>) -> Result<f64> {
    Ok(match figure {
        Figure::Share { run, functions } => {
            let all = of.run(run).functions.iter().filter(|f| functions.contains(&f.name));
            all.map(|f| f.total_percent).sum()
        }
        Figure::Gain { run, over } => (of.throughput(run)? / of.throughput(over)? - 1.0) * 100.0,
        Figure::Ratio { run, over } => of.throughput(run)? / of.throughput(over)?,
        Figure::Rate { run } => of.throughput(run)? / 1e6,
        Figure::Target { run, of: other, reaches } => of.throughput(run)? / of.throughput(other)? * reaches,
        Figure::Layout { .. } => bail!("a fix gives no figure for each seed"),
        Figure::Releases { run, files } => of.releases(run)?.each(files),
        Figure::ReleaseShare { run, files, others } => {
            let releases = of.releases(run)?;
            let all = releases.each(&[]) + of.others(others.as_ref())?;
            if all > 0.0 { releases.each(files) / all * 100.0 } else { 0.0 }
        }
        Figure::ReleaseRatio { run, over, others } => {
            let more = of.others(others.as_ref())?;
            (of.releases(run)?.each(&[]) + more) / (of.releases(over)?.each(&[]) + more)
        }
    })
}

/// Of those that are throughputs, where this host has the cores.
pub fn natively(figure: &Figure, case: &Case, native: &Native<'_>) -> Result<Option<f64>> {
    let (Figure::Gain { run, over } | Figure::Ratio { run, over } | Figure::Target { run, of: over, .. }) = figure
    else {
        return Ok(None);
    };
    let (run, over) = (&case.runs[run], &case.runs[over]);
    if !Native::has(run.cpus.max(over.cpus)) {
        return Ok(None);
    }
    let ratio = native.throughput(run)? / native.throughput(over)?;
    Ok(Some(match figure {
        Figure::Gain { .. } => (ratio - 1.0) * 100.0,
        Figure::Target { reaches, .. } => ratio * reaches,
        _ => ratio,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::Caller;
    use crate::simulate::Ending;

    fn run(throughput: f64, dentry: u64, inode: u64) -> Simulated {
        let caller = |file: &str, count| Caller {
            primitive: "spin_unlock".into(),
            function: "f".into(),
            file: file.into(),
            count,
        };
        let by = vec![caller("dentry.c", dentry), caller("icache.c", inode)];
        Simulated {
            finished: true,
            seconds: 1.0,
            throughput: Some(throughput),
            ending: Ending { summary: String::new() },
            functions: Vec::new(),
            releases: Some(Releases { operations: 10, by }),
        }
    }

    fn runs() -> Runs {
        let before = vec![run(100.0, 40, 20), run(100.0, 40, 20)];
        HashMap::from([("before".into(), before), ("after".into(), vec![run(99.0, 10, 30), run(101.0, 10, 30)])])
    }

    fn of(text: &str) -> Interval {
        figure(&toml::from_str::<HashMap<String, Figure>>(text).unwrap()["figure"], &runs(), &Fixes::new()).unwrap()
    }

    #[test]
    fn seeds_give_an_interval() {
        let gain = of("figure.gain = { run = 'after', over = 'before' }");
        assert!(gain.mean.abs() < 1e-9, "{gain:?}");
        assert!((gain.half.unwrap() - 12.7062).abs() < 1e-3, "{gain:?}");
        let target = of("figure.target = { run = 'after', of = 'before', reaches = 65.28 }");
        assert!((target.mean - 65.28).abs() < 1e-9, "{target:?}");
    }

    #[test]
    fn releases_by_code_that_is_not_simulated_are_fitted_to_one_share() {
        let others = "others = { run = 'before', files = ['dentry.c'], share = 25.0 }";
        // 4 of 6 for each operation, so 10 others; then 1 of 4.
        let before = of(&format!("figure.release_share = {{ run = 'before', files = ['dentry.c'], {others} }}"));
        assert!((before.mean - 25.0).abs() < 1e-9, "{before:?}");
        let after = of(&format!("figure.release_share = {{ run = 'after', files = ['dentry.c'], {others} }}"));
        assert!((after.mean - 100.0 / 14.0).abs() < 1e-9, "{after:?}");
        let ratio = of(&format!("figure.release_ratio = {{ run = 'after', over = 'before', {others} }}"));
        assert!((ratio.mean - 14.0 / 16.0).abs() < 1e-9, "{ratio:?}");
    }
}
