// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trials of layouts, and which of them gain most.
use super::candidate::Candidate;
use super::slots::BySlot;
use corefold_recording::Run;
use serde::Serialize;

/// One layout, tried.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    #[serde(flatten)]
    pub candidate: Candidate,
    /// Layouts of other objects that were tried together with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Candidate>,
    /// Throughput, relative to the layout as it is: 0.25 is a quarter more. None: the program failed.
    pub gain: Option<f64>,
    /// Virtual time.
    pub seconds: f64,
    pub also: Vec<Other>,
    /// What it gains wherever the object may begin on a line, if that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<BySlot>,
}

impl Trial {
    /// `a on lines of its own; b apart from what is written beside`
    pub fn layout(&self) -> String {
        let all: Vec<&str> = [&self.candidate].into_iter().chain(&self.with).map(|one| one.layout.as_str()).collect();
        all.join("; ")
    }

    fn moved(&self) -> u64 {
        let of = |one: &Candidate| {
            one.parts.iter().map(|(_, bytes, _)| bytes).sum::<u64>() * (one.bytes / one.stride.max(1)).max(1)
        };
        [&self.candidate].into_iter().chain(&self.with).map(of).sum()
    }

    pub fn more_bytes(&self) -> u64 {
        [&self.candidate].into_iter().chain(&self.with).map(|one| one.more_bytes).sum()
    }

    /// Of all objects that there were.
    pub fn bytes_in_all(&self) -> u64 {
        [&self.candidate].into_iter().chain(&self.with).map(|one| one.more_bytes * one.live).sum()
    }
}

/// The same on another recording.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    pub recording: String,
    pub gain: Option<f64>,
}

/// Throughputs that differ by less say nothing.
pub const ALIKE: f64 = 0.02;

/// Does a layout gain more than another, or than the layout as it is (0)?
pub fn gains_more(gain: Option<f64>, than: f64) -> bool {
    gain.is_some_and(|gain| (1.0 + gain) / (1.0 + than) - 1.0 >= ALIKE)
}

/// Has a part of this layout been tried alone, and gained as much?
fn adds_nothing(trials: &[Trial], number: usize) -> bool {
    let all = |trial: &Trial| -> Vec<String> {
        [&trial.candidate].into_iter().chain(&trial.with).map(|one| format!("{}: {}", one.object, one.layout)).collect()
    };
    let (own, gain) = (all(&trials[number]), trials[number].gain);
    let is_part = |other: &&Trial| other.with.len() < own.len() - 1 && all(other).iter().all(|one| own.contains(one));
    let alone = trials.iter().filter(is_part).filter_map(|other| other.gain);
    alone.into_iter().any(|alone| !gains_more(gain, alone))
}

/// The numbers of the trials by gain, the most first, those last that add nothing to a part of theirs. Of those that gain as much
/// as the best, the one that moves least is first, then the smallest.
pub fn ranked(trials: &[Trial]) -> Vec<usize> {
    let gain = |number: &usize| trials[*number].gain.unwrap_or(f64::NEG_INFINITY);
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    order.sort_by_key(|number| adds_nothing(trials, *number));
    let most = order.first().and_then(|first| trials[*first].gain);
    // Not one that gains too little to say so, where others do gain.
    let says = |gain: Option<f64>| gains_more(gain, 0.0) || !gains_more(most, 0.0);
    let is_as_good = |number: &&usize| {
        let gain = trials[**number].gain;
        says(gain) && gain.is_some_and(|gain| !gains_more(most, gain))
    };
    let as_good = order.iter().take_while(is_as_good).count();
    order[..as_good].sort_by_key(|number| (trials[*number].moved(), trials[*number].more_bytes()));
    order
}

/// What is worth a trial together: the best layout of each object, if several gain more than what they were tried in addition
/// to; by number, the best first.
pub fn together(tried: &[(&Candidate, Option<f64>)], than: f64) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::new();
    for (number, (candidate, gain)) in tried.iter().enumerate().filter(|(_, (_, gain))| gains_more(*gain, than)) {
        match best.iter_mut().find(|known| tried[**known].0.object == candidate.object) {
            Some(known) if tried[*known].1 < *gain => *known = number,
            Some(_) => {}
            None => best.push(number),
        }
    }
    best.sort_by(|a, b| tried[*b].1.partial_cmp(&tried[*a].1).expect("gains that were compared"));
    if best.len() > 1 { best } else { Vec::new() }
}

/// Virtual time of the region of interest.
pub fn seconds(run: &Run) -> f64 {
    if run.clock_hz == 0 { 0.0 } else { run.cycles as f64 / run.clock_hz as f64 }
}

/// How much more throughput `new` has than `old`; none if it ended otherwise. Of programs that mark progress it is that,
/// of others the time that they take.
pub fn gain(old: &Run, new: &Run) -> Option<f64> {
    let visits = |run: &Run| run.progress.iter().map(|point| point.visits).sum::<u64>().max(1) as f64;
    let rate = |run: &Run| visits(run) / run.cycles.max(1) as f64;
    (old.status == new.status).then(|| rate(new) / rate(old) - 1.0)
}
