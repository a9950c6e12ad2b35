// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold machine`: the simulated machines, and the sources of their parameters.
use crate::limits::LimitArgs;
use crate::screen;
use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use corefold_driver::exit;
use corefold_driver::save::Output;
use corefold_machine::{
    Effect, Fact, Machine, Moves, Origin, Profile, WRONG_BY, builtin, host_file, load, place, without,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Command {
    /// List the machines that come with corefold.
    List,
    /// Print a machine's parameters, each with its source.
    Show {
        /// A machine's name, or a profile file.
        #[arg(value_name = "NAME|FILE")]
        name: String,
        /// Print, for each number that is estimated, by how much results move when it is wrong by 30 %.
        #[arg(long)]
        sensitivity: bool,
    },
    /// Measure this host and write its profile, so that `--machine host` simulates it.
    ///
    /// Takes under a minute, runs natively and needs no privileges. Nothing else should run at the same time.
    Calibrate {
        /// File to write the profile to [default: the file that `--machine host` reads].
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Take at most so many passes over all measurements, of about three seconds each. Four count; more are taken
        /// while a hypervisor takes the CPUs away.
        #[arg(long, value_name = "N", default_value_t = corefold_calibrate::MOST_PASSES)]
        passes: NonZeroUsize,
    },
}

/// Measures the host, saves the profile, and prints every result with its spread.
pub fn calibrate(output: Option<PathBuf>, passes: NonZeroUsize) -> Result<u8> {
    let host = || host_file().context("neither XDG_CONFIG_HOME nor HOME is set: name the file to write with -o");
    let file = output.map_or_else(host, Ok)?;
    ensure!(!file.is_dir(), "{} is a folder: name a file with -o", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let output = Output::create(&file, "the profile")?;
    screen::note("measuring this host: this takes under a minute; run nothing else meanwhile");
    let calibration = corefold_calibrate::calibrate(passes)?;
    let written = output.write(calibration.text.as_bytes());
    let mut text = String::new();
    for f in calibration.figures.iter() {
        let how = if f.spread.is_some() { "" } else { "estimated: " };
        let (value, spread) = (corefold_calibrate::number(f), corefold_calibrate::spread(f));
        writeln!(text, "{:<26} {value:>10} {:<7} {how}{}{spread}", f.key, f.unit, f.how)?;
    }
    screen::print_plain(&text)?;
    calibration.warnings.iter().for_each(|w| screen::note(&format!("warning: {w}")));
    written?;
    screen::note(&format!("profile: {}", file.display()));
    Ok(exit::FINE)
}

/// The machine to simulate, without the disabled parts of the model.
pub fn of(limits: &LimitArgs) -> Result<Machine> {
    let profile = load(&limits.machine)?;
    profile.warnings.iter().for_each(|w| screen::note(&format!("warning: {w}")));
    let mut machine = profile.machine;
    place(&mut machine, &limits.placement)?;
    limits.without.iter().for_each(|name| without(&mut machine, name));
    Ok(machine)
}

pub fn list() -> Result<u8> {
    let mut text = String::new();
    for machine in builtin() {
        writeln!(text, "{:<17} {:>5} CPUs  {}", machine.name, machine.cpus, machine.description)?;
    }
    screen::print_plain(&text)?;
    Ok(exit::FINE)
}

pub fn show(name: &str, sensitivity: bool) -> Result<u8> {
    let profile = load(name)?;
    profile.warnings.iter().for_each(|w| screen::note(&format!("warning: {w}")));
    screen::print_plain(&if sensitivity { moves(&profile)? } else { table(&profile)? })?;
    Ok(exit::FINE)
}

/// The estimated numbers, those first that move results most.
fn moves(profile: &Profile) -> Result<String> {
    let saved: BTreeMap<String, BTreeMap<String, Moves>> =
        serde_json::from_str(include_str!("../../../docs/sensitivity.json")).context("docs/sensitivity.json")?;
    let of_machine = saved.get(&profile.machine.name);
    let found = |fact: &Fact| of_machine?.get(&fact.key).filter(|moves| moves.value == fact.value);
    let mut facts: Vec<(&Fact, Option<&Moves>)> = profile.facts.iter().map(|fact| (fact, found(fact))).collect();
    facts.retain(|(fact, _)| matches!(fact.origin, Origin::Estimated(_)));
    let beyond = |moves: Option<&Moves>| moves.map_or(f64::MAX, |moves| moves.effect.beyond_chance());
    facts.sort_by(|a, b| beyond(b.1).total_cmp(&beyond(a.1)));
    let name = &profile.machine.name;
    let wrong = WRONG_BY * 100.0;
    let mut text = format!(
        "{name}: {} numbers are estimated. Change of the time per operation when one of them is\n\
         {wrong:.0} % lower or higher, in the program (of six) where it most exceeds chance; chance: the largest\n\
         change in four runs that are 5 to 21 % longer.\n\n",
        facts.len()
    );
    let widest = facts.iter().map(|(fact, _)| fact.key.len()).max().unwrap_or(0);
    for (fact, moves) in facts {
        let moved = match moves.map(|moves| &moves.effect) {
            None => "not measured".into(),
            Some(Effect::NotTried) => "no other value to try".into(),
            Some(Effect::None) => "none of the programs depends on it".into(),
            Some(Effect::AsChance) => "no more than by chance".into(),
            Some(Effect::Moved { percent, .. }) if *percent < 0.5 => "under 0.5 %".into(),
            Some(Effect::Moved { percent, of, chance }) if *chance < 0.5 => format!("{percent:>4.0} %  {of}"),
            Some(Effect::Moved { percent, of, chance }) => {
                format!("{percent:>4.0} %  {of} (chance: {chance:.0} %)")
            }
        };
        let line = format!("{:<widest$}  {:>9} {:<7}  {moved}", fact.key, fact.value, fact.unit);
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(text)
}

fn table(profile: &Profile) -> Result<String> {
    let m = &profile.machine;
    let mut text = format!("{}: {}\n{} CPUs\n\n", m.name, profile.description, m.cpus());
    let widest = profile.facts.iter().map(|f| f.key.len()).max().unwrap_or(0);
    for fact in &profile.facts {
        let (how, words) = match &fact.origin {
            Origin::Source(words) => ("source", words),
            Origin::Estimated(words) => ("estimated", words),
        };
        let cycles = cycles(fact).unwrap_or_default();
        writeln!(text, "{:<widest$}  {:>7} {:<7} {cycles:>14}  {how}: {words}", fact.key, fact.value, fact.unit)?;
    }
    Ok(text)
}

/// The value in cycles, if the profile gives it in another unit.
fn cycles(fact: &Fact) -> Option<String> {
    fact.cycles.filter(|_| fact.unit != "cycles").map(|c| format!("{c} cycles"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a profile has changed: `corefold-accuracy --suite sensitivity --only NAME`.
    #[test]
    fn each_estimate_that_comes_with_corefold_has_been_tried() {
        for known in builtin() {
            let text = moves(&load(known.name).unwrap()).unwrap();
            assert!(!text.contains("not measured"), "{text}");
        }
        let text = moves(&load("skylake-2s-80").unwrap()).unwrap();
        assert!(text.contains("% lower or higher"), "{text}");
    }

    #[test]
    fn every_number_is_shown_with_its_origin() {
        let profile = load("skylake-2s-80").unwrap();
        let text = table(&profile).unwrap();
        for fact in &profile.facts {
            let line = text.lines().find(|l| l.starts_with(&format!("{} ", fact.key))).expect("a line for each fact");
            assert!(line.contains(" source: ") != line.contains(" estimated: "), "{line}");
        }
        assert!(text.contains("40.5 ns           85 cycles  source: perfbook"), "{text}");
    }
}
