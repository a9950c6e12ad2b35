// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold fix`: other layouts of the structures that a recording waited for, each tried by a run of its own.
use crate::cli::FixArgs;
use crate::screen;
use crate::show::Json;
use anyhow::{Context, Result, bail, ensure};
use corefold_driver::run::trials::trials;
use corefold_driver::run::{Options, SAMPLE_PERIOD};
use corefold_driver::{exit, program, save};
use corefold_explain::{Images, explain};
use corefold_launch::{Objects, Part, Relayout};
use corefold_recording::{Run, Status};
use corefold_report::fix::{self, Candidate, Fixes, Other, Trial};
use std::path::Path;

pub fn fix(args: FixArgs) -> Result<u8> {
    let to = Json::create(args.json.as_deref())?;
    let recorded = chosen(&args.recording, args.cpus)?;
    let name = recorded.argv.first().context("the recording names no program")?;
    program::check(name.as_ref())?;
    let mut images = Images::new();
    let explained = explain(&recorded, &mut images)?;
    let changed = recorded.modules.iter().find(|module| images.has_changed(module));
    if let Some(module) = changed {
        bail!("{} has changed since it was recorded: record it again by `corefold run`", module.path);
    }
    let candidates = fix::candidates(&explained);
    let found: Vec<(Candidate, Relayout)> = candidates
        .into_iter()
        .filter_map(|candidate| relayout(&recorded, &candidate).map(|layout| (candidate, layout)))
        .collect();
    if found.is_empty() {
        let fixes = Fixes::none(&args.recording.to_string_lossy(), &recorded);
        to.print(|| fix::json(&fixes), || fix::text(&fixes, &screen::options(recorded.work)))?;
        return Ok(exit::FINE);
    }
    let mut asked = found.len();
    let alone: Vec<Vec<usize>> = (0..found.len()).map(|number| vec![number]).collect();
    let (again, mut trials, mut signal) = round(&args, &recorded, &found, &alone)?;
    let together = fix::together(&trials);
    if signal.is_none() && !together.is_empty() {
        asked += 1;
        let (_, both, interrupted) = round(&args, &recorded, &found, &[together])?;
        trials.extend(both);
        signal = interrupted;
    }
    let done = trials.len();
    let fixes = Fixes::new(&args.recording.to_string_lossy(), &recorded, &again, trials);
    to.print(|| fix::json(&fixes), || fix::text(&fixes, &screen::options(recorded.work)))?;
    if let Some(signal) = signal {
        screen::note(&format!("corefold: interrupted; {done} of {asked} layouts were tried"));
        return Ok(128 + signal as u8);
    }
    Ok(exit::FINE)
}

/// Tries layouts, each of one object or of several, on what was recorded and on the other recordings. Returns also the run with
/// the layout as it is, and the signal that came meanwhile.
fn round(
    args: &FixArgs,
    recorded: &Run,
    found: &[(Candidate, Relayout)],
    layouts: &[Vec<usize>],
) -> Result<(Run, Vec<Trial>, Option<i32>)> {
    // The layout as it is comes first.
    let relayouts: Vec<Vec<Relayout>> = [&Vec::new()]
        .into_iter()
        .chain(layouts)
        .map(|numbers| numbers.iter().map(|number| found[*number].1.clone()).collect())
        .collect();
    let (runs, mut signal) = tried(args, recorded, &relayouts)?;
    let (again, rest) = runs.split_first().context("interrupted before the first layout was tried")?;
    let mut also = Vec::new();
    for path in &args.also {
        let other = chosen(path, args.cpus)?;
        let (program, own) = (other.argv.first(), recorded.argv.first());
        ensure!(program == own, "{} is a recording of another program", path.display());
        let (runs, interrupted) = tried(args, &other, &relayouts)?;
        signal = signal.or(interrupted);
        also.push((path.to_string_lossy().into_owned(), runs));
    }
    let others = |number: usize| {
        let gain = |runs: &[Run]| fix::gain(runs.first()?, runs.get(number)?);
        also.iter().map(|(name, runs)| Other { recording: name.clone(), gain: gain(runs) }).collect()
    };
    let trial = |(number, (numbers, run)): (usize, (&Vec<usize>, &Run))| {
        let mut candidates = numbers.iter().map(|number| found[*number].0.clone());
        let candidate = candidates.next().expect("a layout of one object at least");
        let (gain, seconds, also) = (fix::gain(again, run), fix::seconds(run), others(number + 1));
        Trial { candidate, with: candidates.collect(), gain, seconds, also }
    };
    let trials = layouts.iter().zip(rest).enumerate().map(trial).collect();
    Ok((again.clone(), trials, signal))
}

/// The run of the recording at that count, or at its largest.
fn chosen(path: &Path, cpus: Option<u32>) -> Result<Run> {
    let runs = save::load(path)?;
    let ended = runs.into_iter().filter(|run| matches!(run.status, Status::Exited(_)));
    let run = match cpus {
        Some(cpus) => ended.into_iter().find(|run| run.cpus == cpus),
        None => ended.max_by_key(|run| run.cpus),
    };
    let at = cpus.map(|cpus| format!(" at {cpus} CPUs")).unwrap_or_default();
    run.with_context(|| format!("{} has no run{at} that ended by itself", path.display()))
}

/// All layouts, tried on what was recorded; fewer, if a signal came.
fn tried(args: &FixArgs, recorded: &Run, layouts: &[Vec<Relayout>]) -> Result<(Vec<Run>, Option<i32>)> {
    // A machine's name says which parts of the model were disabled.
    let mut words = recorded.machine.split(" without ");
    let name = args.machine.as_deref().or(words.next()).unwrap_or_default();
    let profile = corefold_machine::load(name)
        .with_context(|| format!("the machine of the recording is {name}: give its profile by --machine"))?;
    let mut machine = profile.machine;
    let disabled = if args.machine.is_some() { Vec::new() } else { words.collect() };
    let known = |name: &&&str| corefold_machine::MECHANISMS.iter().any(|mechanism| mechanism.name == **name);
    disabled.iter().filter(known).for_each(|name| corefold_machine::without(&mut machine, name));
    let (program, rest) = recorded.argv.split_first().context("the recording names no program")?;
    let options = Options {
        machine,
        cpus: vec![recorded.cpus],
        seed: recorded.seed,
        slack: args.slack,
        sample_period: recorded.sample_period.max(SAMPLE_PERIOD),
        program: program.into(),
        args: rest.iter().map(Into::into).collect(),
        timeout: args.timeout,
        longest: None,
        memory_limit: args.memory,
        jobs: args.jobs,
        work: recorded.work,
        measure_host: false,
    };
    let (runs, signal) = trials(&options, layouts)?;
    let same = runs.first().is_none_or(|first| first.status == recorded.status);
    ensure!(same, "the program does not end as it did when it was recorded: `corefold run` again says how");
    Ok((runs, signal))
}

/// What the engine is to do for it. A heap object is found by where it was allocated.
fn relayout(run: &Run, candidate: &Candidate) -> Option<Relayout> {
    let objects = match candidate.is_heap {
        false => Objects::At(candidate.address, candidate.bytes),
        true => {
            let all = run.lines.iter().flat_map(|line| &line.objects);
            let object = all.into_iter().find(|object| object.address == candidate.address)?;
            Objects::Allocated(run.allocations.get(object.site as usize)?.stack.clone())
        }
    };
    let parts = candidate.parts.iter().map(|&(from, bytes, to)| Part { from, bytes, to }).collect();
    Some(Relayout { objects, stride: candidate.stride, new_stride: candidate.new_stride, parts })
}
