// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the accuracy suites, saves their results, and generates docs/accuracy.md from them.
mod ablation;
mod bench;
mod bounds;
mod command;
mod culprits;
mod culprits_page;
mod data;
mod expected;
mod kept;
mod layouts;
mod native;
mod packages;
mod page;
mod progress;
mod published;
mod ratios;
mod results;
mod sensitivity;
mod side_by_side;
mod statistics;
mod suite;
mod table;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use culprits::Culprit;
use results::Results;
use std::path::{Path, PathBuf};
use suite::Suite;

/// Compares simulated results with native and published ones.
#[derive(Parser)]
#[command(after_help = "Examples:\n  \
    corefold-accuracy                            run all suites and generate docs/accuracy.md\n  \
    corefold-accuracy --suite native             this host only\n  \
    corefold-accuracy --suite layouts            what `corefold fix` removes of false sharing\n  \
    corefold-accuracy --suite published --only skl --keep\n\n\
Published points and culprits of this repository are not simulated again after a run that was stopped:\n  \
    their results are in target/accuracy.simulated.")]
struct Arguments {
    #[arg(long, value_enum, default_value = "all")]
    suite: Which,
    /// Only workloads, machines, programs and culprits whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The checkout: programs are read from its accuracy/, results are written to its docs/
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    root: PathBuf,
    /// The command under test
    #[arg(long, value_name = "FILE", default_value = "target/release/corefold")]
    corefold: PathBuf,
    /// Print the page only; write no files
    #[arg(long)]
    keep: bool,
    /// Save the results even if a bound that was reached is missed
    #[arg(long)]
    accept: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Which {
    /// All three.
    All,
    /// Native and published.
    Both,
    Native,
    Published,
    /// Programs with known faults, and their twins without: does the headline name the fault?
    Culprits,
    /// Of these, what `corefold fix` makes of false sharing, alone.
    Layouts,
    /// Some points of each published curve, once without each mechanism of the model.
    Ablation,
    /// By how much results move when an estimated number of a profile is wrong: docs/sensitivity.json.
    Sensitivity,
    /// Measure nothing: generate the page from the saved results.
    None,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let root = &arguments.root;
    let suite = Suite::read(&root.join("accuracy/suite.toml"))?;
    let (saved, page) = (root.join("docs/accuracy.json"), root.join("docs/accuracy.md"));
    // Results that are not measured now are kept.
    let mut results = match std::fs::read(&saved) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("in {}", saved.display()))?,
        Err(_) => Results::default(),
    };
    let culprits = culprits::read(&root.join("accuracy/culprits"))?;
    results.sort(&suite, &culprits);
    let before = bounds::reached(&results)?;
    measure(&arguments, &suite, &culprits, root, &mut results)?;
    results.sort(&suite, &culprits);
    results.expected = expected::of(&results.groups().collect::<Vec<_>>());
    let text = page::page(&results, &suite)?;
    print!("{text}");
    let missed: Vec<String> = before.difference(&bounds::reached(&results)?).cloned().collect();
    let accepted = missed.is_empty() || arguments.accept;
    if !arguments.keep {
        // Saved, a miss would be what the next run is compared with: what took an hour to measure is kept elsewhere.
        let to = if accepted { saved.clone() } else { root.join(REFUSED) };
        let written = || {
            std::fs::create_dir_all(to.parent().unwrap_or(root))?;
            std::fs::write(&to, serde_json::to_string_pretty(&results)? + "\n")
        };
        written().with_context(|| format!("cannot write {}", to.display()))?;
        if accepted {
            std::fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
        } else {
            let (to, saved) = (to.display(), saved.display());
            eprintln!("the results are in {to}; to accept them: cp {to} {saved} && corefold-accuracy --suite none");
        }
    }
    ensure!(
        missed.is_empty(),
        "bounds that held in {} do not hold any more:\n  {}",
        saved.display(),
        missed.join("\n  ")
    );
    Ok(())
}

/// Where results go that miss a bound which was reached, in the checkout.
const REFUSED: &str = "target/accuracy.json";
/// Where results of simulations are kept, in the checkout.
const KEPT: &str = "target/accuracy.simulated";

fn measure(arguments: &Arguments, suite: &Suite, list: &[Culprit], root: &Path, results: &mut Results) -> Result<()> {
    let only = arguments.only.as_deref();
    let scope = published::Scope { only, without: None, whole: true };
    let bench =
        bench::Bench::new(&arguments.corefold, &root.join("accuracy"), (!arguments.keep).then(|| root.join(KEPT)))?;
    if matches!(arguments.suite, Which::All | Which::Both | Which::Native) {
        results.renew_native(native::measure(&bench, suite, only)?, &host());
    }
    if matches!(arguments.suite, Which::All | Which::Both | Which::Published) {
        for group in published::measure(&bench, suite, &root.join("validation/curves"), scope)? {
            results.publish(group);
        }
    }
    if matches!(arguments.suite, Which::All | Which::Culprits) {
        for score in culprits::measure(&bench, list, only)? {
            results.score(score);
        }
    }
    if arguments.suite == Which::Ablation {
        results.ablation = Some(ablation::measure(&bench, suite, root)?);
    }
    if arguments.suite == Which::Sensitivity {
        sensitivity::measure(&bench, root, only)?;
    }
    if arguments.suite == Which::Layouts {
        culprits::measure_layouts(&bench, list, only, &mut results.culprits)?;
    }
    Ok(())
}

/// The processor, as the kernel names it.
fn host() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'));
        line.map_or("unknown", str::trim)
    };
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    // Hypervisors give several generations one name.
    format!("{}, family {} model {}, {count} CPUs", value("model name"), value("cpu family"), value("model"))
}
