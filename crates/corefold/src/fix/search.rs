// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for layouts: what waits most is tried first, and what waits once that is mended is tried in addition to it.
use super::recorded::{changed, tried};
use crate::cli::FixArgs;
use anyhow::{Context, Result, bail, ensure};
use corefold_explain::{Images, declared, explain};
use corefold_launch::{Objects, Part, Relayout};
use corefold_recording::{AllocSite, Label, Run};
use corefold_report::fix::{self, BySlot, Candidate, Luck, Other, Trial};

/// Each round takes its candidates from the best trial of the one before.
const ROUNDS: usize = 4;
/// So many of the best layouts are tried slot by slot.
const SLOTTED: usize = 3;

/// What a recording is of.
pub struct Workload {
    name: String,
    recorded: Run,
    /// The run that was just made with the layout as it is.
    again: Option<Run>,
}

pub struct Search<'a> {
    args: &'a FixArgs,
    pub workload: Workload,
    also: Vec<Workload>,
    /// All candidates so far; a layout is some of them, by number.
    found: Vec<(Candidate, Relayout)>,
    pub trials: Vec<Trial>,
    pub luck: Vec<Luck>,
    /// Why there is none to be tried.
    pub nothing: String,
    /// Layouts that were to be tried.
    pub asked: usize,
    /// What interrupted it.
    pub signal: Option<i32>,
}

/// The best layout so far, what it gains, and its run.
struct Best {
    layout: Vec<usize>,
    gain: f64,
    run: Run,
}

impl Workload {
    pub fn new(name: &str, recorded: Run) -> Workload {
        Workload { name: name.into(), recorded, again: None }
    }

    /// As recorded, and as it is now.
    pub fn ended(&self) -> (&Run, &Run) {
        (&self.recorded, self.again.as_ref().unwrap_or(&self.recorded))
    }

    /// Its runs with these layouts, fewer if a signal came, and that signal.
    fn tries(&mut self, args: &FixArgs, layouts: &[Vec<Relayout>]) -> Result<(Vec<Run>, Option<i32>)> {
        // The layout as it is comes first, once.
        let mut all = layouts.to_vec();
        let first = self.again.is_none();
        if first {
            all.insert(0, Vec::new());
        }
        let (mut runs, signal) = tried(args, &self.recorded, &all)?;
        if first && !runs.is_empty() {
            let again = runs.remove(0);
            let same = again.status == self.recorded.status;
            ensure!(same, "the program does not end as it did when it was recorded: `corefold run` shows how");
            self.again = Some(again);
        }
        Ok((runs, signal))
    }

    /// Does the program still allocate what these layouts are for?
    fn has(&self, layouts: &[Vec<Relayout>]) -> bool {
        let sites = self.again.as_ref().map_or(&[][..], |again| &again.allocations);
        let is_there = |layout: &Relayout| match &layout.objects {
            Objects::Allocated(stack) => sites.iter().any(|site| site.stack == *stack),
            Objects::Named(..) | Objects::At(..) => true,
        };
        layouts.iter().flatten().all(is_there)
    }

    /// What this run of it gains.
    fn gain(&self, run: Option<&Run>) -> Option<f64> {
        fix::gain(self.again.as_ref()?, run?)
    }
}

impl<'a> Search<'a> {
    pub fn new(args: &'a FixArgs, recorded: Run, also: Vec<Workload>) -> Search<'a> {
        let workload = Workload::new(&args.recording.to_string_lossy(), recorded);
        let (trials, luck, nothing) = (Vec::new(), Vec::new(), String::new());
        Search { args, workload, also, found: Vec::new(), trials, luck, nothing, asked: 0, signal: None }
    }

    pub fn run(&mut self) -> Result<()> {
        let mut images = Images::new();
        let mut best = Best { layout: Vec::new(), gain: 0.0, run: self.workload.recorded.clone() };
        for _ in 0..ROUNDS {
            match self.round(&best, &mut images)? {
                Some(better) => best = better,
                None => break,
            }
        }
        if self.args.no_slots || self.signal.is_some() { Ok(()) } else { self.slots() }
    }

    /// Tries the best layouts, and the layout as it is, for each place on a line where their object may begin.
    fn slots(&mut self) -> Result<()> {
        let best: Vec<usize> = fix::ranked(&self.trials).into_iter().take(SLOTTED).collect();
        for number in best {
            let trial = &self.trials[number];
            let candidate = trial.candidate.clone();
            let line_bytes = self.line_bytes()?;
            let slots = candidate.slots(line_bytes);
            if slots.len() < 2 || !trial.with.is_empty() {
                continue;
            }
            let Some(base) = relayout(&self.workload.recorded, &candidate) else { continue };
            if !self.luck.iter().any(|known| known.object == candidate.object) {
                let as_it_is = slots.iter().map(|slot| candidate.as_it_is_at(*slot, line_bytes)).collect();
                let Some(gains) = self.gains(&base, as_it_is)? else { return Ok(()) };
                self.luck.push(Luck::new(&candidate.object, slots.iter().copied().zip(gains).collect()));
            }
            let with_layout = slots.iter().map(|slot| candidate.at(*slot, line_bytes)).collect();
            let Some(gains) = self.gains(&base, with_layout)? else { return Ok(()) };
            let luck = self.luck.iter().find(|known| known.object == candidate.object);
            self.trials[number].slots = luck.map(|luck| BySlot::new(luck, &gains));
        }
        Ok(())
    }

    /// What each of these layouts of the same objects gains; none if a signal came.
    fn gains(&mut self, base: &Relayout, layouts: Vec<fix::Layout>) -> Result<Option<Vec<Option<f64>>>> {
        self.asked += layouts.len();
        let one = |(parts, new_stride): fix::Layout| {
            vec![Relayout { parts: as_parts(&parts), stride: base.stride, new_stride, objects: base.objects.clone() }]
        };
        let relayouts: Vec<Vec<Relayout>> = layouts.into_iter().map(one).collect();
        let (runs, signal) = self.workload.tries(self.args, &relayouts)?;
        self.signal = signal;
        let gains = runs.iter().map(|run| self.workload.gain(Some(run))).collect();
        Ok(signal.is_none().then_some(gains))
    }

    pub fn line_bytes(&self) -> Result<u64> {
        // Where no line was contended, it is uncontended lines of the usual size.
        Ok(self.workload.recorded.lines.first().map_or(64, |line| u64::from(line.bytes)))
    }

    /// Tries what the best layout's run waited for, in addition to it. Returns what is better.
    fn round(&mut self, best: &Best, images: &mut Images) -> Result<Option<Best>> {
        let known = self.found.len();
        self.find(best, images)?;
        let first = self.trials.len();
        let with = |more: &[usize]| [&best.layout[..], more].concat();
        let mut layouts: Vec<Vec<usize>> = (known..self.found.len()).map(|number| with(&[number])).collect();
        let mut runs = self.tries(&layouts)?;
        let candidates = self.found[known..].iter().map(|(candidate, _)| candidate);
        let gains: Vec<_> = candidates.zip(&self.trials[first..]).map(|(one, trial)| (one, trial.gain)).collect();
        let several: Vec<usize> = fix::together(&gains, best.gain).into_iter().map(|number| known + number).collect();
        if self.signal.is_none() && !several.is_empty() {
            layouts.push(with(&several));
            runs.extend(self.tries(&layouts[layouts.len() - 1..])?);
        }
        let trials = &self.trials[first..];
        let Some(&number) = fix::ranked(trials).first() else { return Ok(None) };
        let is_better = self.signal.is_none() && fix::gains_more(trials[number].gain, best.gain);
        let gain = trials[number].gain.filter(|_| is_better);
        Ok(gain.map(|gain| Best { layout: layouts.swap_remove(number), gain, run: runs.swap_remove(number) }))
    }

    /// Finds candidates; an object that has another layout already keeps that.
    fn find(&mut self, best: &Best, images: &mut Images) -> Result<()> {
        let explained = explain(&best.run, images)?;
        if let Some(module) = changed(&best.run, images) {
            bail!("{} has changed since it was recorded: record it again by `corefold run`", module.path);
        }
        let mut candidates = fix::candidates(&explained);
        if self.trials.is_empty() {
            self.nothing = match candidates.is_empty() {
                true => fix::nothing(&explained),
                false => "no compiler would make the layouts that fix generates".into(),
            };
        }
        let partings: Vec<_> = candidates.iter().map(Candidate::parting).collect();
        for (candidate, declared) in candidates.iter_mut().zip(declared(&best.run, images, &partings)) {
            (candidate.live, candidate.declared) = (live(&best.run, candidate), declared);
        }
        for candidate in candidates.into_iter().filter(Candidate::is_compilable) {
            let has_one = best.layout.iter().any(|number| self.found[*number].0.object == candidate.object);
            if let Some(relayout) = relayout(&best.run, &candidate).filter(|_| !has_one) {
                self.found.push((candidate, relayout));
            }
        }
        Ok(())
    }

    /// Tries layouts on all workloads. Returns their runs of the first one, fewer if a signal came.
    fn tries(&mut self, layouts: &[Vec<usize>]) -> Result<Vec<Run>> {
        if layouts.is_empty() {
            return Ok(Vec::new());
        }
        self.asked += layouts.len();
        let relaid = |numbers: &Vec<usize>| numbers.iter().map(|number| self.found[*number].1.clone()).collect();
        let relayouts: Vec<Vec<Relayout>> = layouts.iter().map(relaid).collect();
        let (runs, mut signal) = self.workload.tries(self.args, &relayouts)?;
        ensure!(self.workload.again.is_some(), "interrupted before the first layout was tried");
        ensure!(
            !self.trials.is_empty() || self.workload.has(&relayouts),
            "call stacks of allocations in {} do not occur in this run: it was recorded by another build of corefold, or \
             the program took another path. Record it again by `corefold run`",
            self.workload.name
        );
        let mut others: Vec<Vec<Run>> = Vec::new();
        for other in &mut self.also {
            let (program, own) = (other.recorded.argv.first(), self.workload.recorded.argv.first());
            ensure!(program == own, "{} is a recording of another program", other.name);
            let (runs, interrupted) = other.tries(self.args, &relayouts)?;
            signal = signal.or(interrupted);
            others.push(runs);
        }
        self.signal = self.signal.or(signal);
        for (number, (layout, run)) in layouts.iter().zip(&runs).enumerate() {
            let other = |(other, runs): (&Workload, &Vec<Run>)| Other {
                recording: other.name.clone(),
                gain: other.gain(runs.get(number)),
            };
            let also = self.also.iter().zip(&others).map(other).collect();
            let mut candidates = layout.iter().map(|number| self.found[*number].0.clone());
            let candidate = candidates.next().context("a layout of no object")?;
            let (with, gain) = (candidates.collect(), self.workload.gain(Some(run)));
            self.trials.push(Trial { candidate, with, gain, seconds: fix::seconds(run), also, slots: None });
        }
        Ok(runs)
    }
}

/// What the engine is to do for it. A heap object is found by where it was allocated.
fn relayout(run: &Run, candidate: &Candidate) -> Option<Relayout> {
    let objects = match (candidate.is_heap, label(run, candidate)) {
        (true, _) => Objects::Allocated(site(run, candidate)?.stack.clone()),
        (false, Some(label)) => Objects::Named(label.name.clone(), candidate.bytes),
        (false, None) => Objects::At(candidate.address, candidate.bytes),
    };
    let (stride, new_stride) = (candidate.stride, candidate.new_stride);
    Some(Relayout { objects, stride, new_stride, parts: as_parts(&candidate.parts) })
}

fn as_parts(parts: &[(u64, u64, u64)]) -> Vec<Part> {
    parts.iter().map(|&(from, bytes, to)| Part { from, bytes, to }).collect()
}

/// Where the object was allocated.
fn site<'a>(run: &'a Run, candidate: &Candidate) -> Option<&'a AllocSite> {
    let of_lines = run.lines.iter().flat_map(|line| &line.objects);
    let mut all = of_lines.chain(run.passed.iter().filter_map(|passed| passed.object.as_ref()));
    run.allocations.get(all.find(|object| object.address == candidate.address)?.site as usize)
}

/// What the program's own allocator calls the object.
fn label<'a>(run: &'a Run, candidate: &Candidate) -> Option<&'a Label> {
    let around = |label: &&Label| (label.address..label.address + label.bytes).contains(&candidate.address);
    run.labels.iter().filter(|label| label.stride > 0).find(around)
}

/// The most objects of its kind that were there at once; of the program's own allocator, how many it made room for.
fn live(run: &Run, candidate: &Candidate) -> u64 {
    match (candidate.is_heap, label(run, candidate)) {
        (true, _) => site(run, candidate).map_or(1, |site| site.live),
        (false, Some(own)) => {
            let alike = run.labels.iter().filter(|label| label.stride > 0 && label.name == own.name);
            alike.map(|label| label.bytes / label.stride).sum()
        }
        (false, None) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stack: &[u64]) -> Run {
        Run { allocations: vec![AllocSite { stack: stack.to_vec(), ..AllocSite::default() }], ..Run::default() }
    }

    fn layout(objects: Objects) -> Relayout {
        Relayout { objects, stride: 64, new_stride: 128, parts: Vec::new() }
    }

    #[test]
    fn a_layout_is_for_objects_that_are_still_allocated_there() {
        let workload =
            Workload { again: Some(run(&[0x1000, 0x2000])), ..Workload::new("r.cfr", run(&[0x1000, 0x9000])) };
        let of = |stack: &[u64]| [vec![layout(Objects::At(0x5000, 64)), layout(Objects::Allocated(stack.to_vec()))]];
        assert!(workload.has(&of(&[0x1000, 0x2000])));
        assert!(!workload.has(&of(&[0x1000, 0x9000])), "where it was recorded, by a runtime that lay elsewhere");
    }
}
