// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold machine`: what can be simulated, and where its numbers come from.
use crate::cli::LimitArgs;
use crate::screen;
use anyhow::Result;
use clap::Subcommand;
use corefold_driver::exit;
use corefold_machine::{Fact, Machine, Origin, Profile, builtin, load, without};
use std::fmt::Write;

#[derive(Subcommand)]
pub enum Command {
    /// List the machines that come with corefold.
    List,
    /// Print a machine's numbers, each with its source.
    Show {
        /// A machine's name, or a profile file.
        #[arg(value_name = "NAME|FILE")]
        name: String,
    },
}

/// The machine that a run is to have.
pub fn of(limits: &LimitArgs) -> Result<Machine> {
    let profile = load(&limits.machine)?;
    profile.warnings.iter().for_each(|w| screen::note(&format!("warning: {w}")));
    let mut machine = profile.machine;
    limits.without.iter().for_each(|name| without(&mut machine, name));
    Ok(machine)
}

pub fn list() -> Result<u8> {
    let mut text = String::new();
    for machine in builtin() {
        writeln!(text, "{:<17} {:>5} CPUs  {}", machine.name, machine.cpus, machine.description)?;
    }
    screen::print(&text)?;
    Ok(exit::FINE)
}

pub fn show(name: &str) -> Result<u8> {
    let profile = load(name)?;
    profile.warnings.iter().for_each(|w| screen::note(&format!("warning: {w}")));
    screen::print(&table(&profile)?)?;
    Ok(exit::FINE)
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

/// In cycles, where the profile has something else.
fn cycles(fact: &Fact) -> Option<String> {
    fact.cycles.filter(|_| fact.unit != "cycles").map(|c| format!("{c} cycles"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
