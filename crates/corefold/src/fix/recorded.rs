// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recorded program: whether its files have changed, and its runs with other layouts.
use crate::cli::FixArgs;
use crate::parking;
use anyhow::{Context, Result};
use corefold_driver::run::trials::trials;
use corefold_driver::run::{Options, SAMPLE_PERIOD};
use corefold_explain::Images;
use corefold_launch::Relayout;
use corefold_recording::{Module, Run};

/// A file that is not the one which was recorded.
pub fn changed<'a>(recorded: &'a Run, images: &Images) -> Option<&'a Module> {
    recorded.modules.iter().find(|module| images.has_changed(module))
}

/// All layouts, tried on what was recorded; fewer, if a signal came.
pub fn tried(args: &FixArgs, recorded: &Run, layouts: &[Vec<Relayout>]) -> Result<(Vec<Run>, Option<i32>)> {
    // A machine's name says which parts of the model were disabled.
    let mut words = recorded.machine.split(" without ");
    let (name, placement) = corefold_machine::placed(words.next().unwrap_or_default());
    let name = args.machine.as_deref().unwrap_or(name);
    let profile = corefold_machine::load(name)
        .with_context(|| format!("the machine of the recording is {name}: give its profile by --machine"))?;
    let mut machine = profile.machine;
    corefold_machine::place(&mut machine, placement)?;
    let disabled = if args.machine.is_some() { Vec::new() } else { words.collect() };
    let known = |name: &&&str| corefold_machine::MECHANISMS.iter().any(|mechanism| mechanism.name == **name);
    disabled.iter().filter(known).for_each(|name| corefold_machine::without(&mut machine, name));
    let (program, rest) = recorded.argv.split_first().context("the recording names no program")?;
    let options = Options {
        machine,
        cpus: vec![recorded.cpus],
        seed: recorded.seed,
        slack: args.host.slack,
        sample_period: recorded.sample_period.max(SAMPLE_PERIOD),
        program: program.into(),
        args: rest.iter().map(Into::into).collect(),
        timeout: args.timeout,
        longest: None,
        memory_limit: args.host.memory,
        jobs: args.host.jobs,
        work: recorded.work,
        measure_host: false,
        parking: parking::of(program.as_ref()),
    };
    trials(&options, layouts)
}
