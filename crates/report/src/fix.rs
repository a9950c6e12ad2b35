// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other layouts of the structures that a run waited for, and what trials of them gained.
//!
//! Proposed is what separates: a written field, the elements of an array, the bytes that different CPUs use, what is only read,
//! or the whole object from its neighbours; and members in another order, without more room. Nothing that packs two written
//! fields onto one line.
mod patch;
mod propose;
mod ranges;
mod reorder;
mod slots;
mod tell;
mod together;
mod unit;

use corefold_explain::{Declared, Parting, Undeclared};
use corefold_recording::Run;
pub use patch::{Patch, patch};
pub use propose::{candidates, nothing};
pub use reorder::Reorder;
use serde::Serialize;
pub use slots::{BySlot, Layout, Luck};
pub use tell::{json, text};

/// A layout that separates something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The object, as reports name it.
    pub object: String,
    /// `shared.beside on a line of its own`
    pub layout: String,
    /// Of the objects one, as recorded.
    pub address: u64,
    pub bytes: u64,
    pub is_heap: bool,
    /// Bytes from one place on a line where such an object may begin to the next; 0 if its place is no luck.
    pub slot_step: u64,
    /// The most objects that there were at once.
    pub live: u64,
    /// Bytes of the unit that is laid out, and of its parts in their new layout.
    pub stride: u64,
    pub new_stride: u64,
    /// Offset, bytes, and new offset of each part, ascending.
    pub parts: Vec<(u64, u64, u64)>,
    /// What each object grows by, at most.
    pub more_bytes: u64,
    /// Offset and size of the elements of an array within the unit, if these are parted.
    #[serde(skip)]
    pub element: Option<(u64, u64)>,
    /// Whether CPUs fetched the line that such an object begins on for something else, which comes before it.
    #[serde(skip)]
    pub follows: bool,
    /// Members that change places.
    #[serde(skip)]
    pub reorder: Option<Reorder>,
    /// The structures that it cuts, as the source declares them.
    #[serde(skip)]
    pub declared: Result<Vec<Declared>, Undeclared>,
}

impl Candidate {
    /// Whether it parts the elements of an array: the object, or one within it.
    fn is_of_elements(&self) -> bool {
        self.element.is_some() || self.stride < self.bytes
    }

    /// Whether the source can be changed so: always, but for members in another order that a compiler would place otherwise.
    pub fn is_compilable(&self) -> bool {
        match (&self.reorder, self.declared.as_deref()) {
            (Some(reorder), Ok([structure])) => reorder.is_compiled_so(self.stride, structure),
            _ => true,
        }
    }

    /// Where it cuts the unit that is laid out.
    pub fn parting(&self) -> Parting {
        if let Some(reorder) = &self.reorder {
            let cuts = reorder.cuts();
            return Parting { address: self.address, bytes: self.stride, element: None, cuts };
        }
        let is_whole = |from: u64, to: u64| {
            let before = self.parts.iter().find(|(begin, bytes, _)| begin + bytes == from);
            before.is_some_and(|(_, bytes, start)| start + bytes == to)
        };
        let begins = self.parts.iter().filter(|(from, _, to)| !is_whole(*from, *to)).map(|(from, ..)| *from);
        let follows = |end: u64| self.parts.iter().any(|(from, ..)| *from == end);
        let ends = self.parts.iter().map(|(from, bytes, _)| from + bytes).filter(|end| !follows(*end));
        let mut cuts: Vec<u64> = begins.chain(ends).collect();
        cuts.sort_unstable();
        Parting { address: self.address, bytes: self.stride, element: self.element, cuts }
    }
}

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
    fn layout(&self) -> String {
        let all: Vec<&str> = [&self.candidate].into_iter().chain(&self.with).map(|one| one.layout.as_str()).collect();
        all.join("; ")
    }

    fn moved(&self) -> u64 {
        let of = |one: &Candidate| {
            one.parts.iter().map(|(_, bytes, _)| bytes).sum::<u64>() * (one.bytes / one.stride.max(1)).max(1)
        };
        [&self.candidate].into_iter().chain(&self.with).map(of).sum()
    }

    fn more_bytes(&self) -> u64 {
        [&self.candidate].into_iter().chain(&self.with).map(|one| one.more_bytes).sum()
    }

    /// Of all objects that there were.
    fn bytes_in_all(&self) -> u64 {
        [&self.candidate].into_iter().chain(&self.with).map(|one| one.more_bytes * one.live).sum()
    }
}

/// The same on another recording.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    pub recording: String,
    pub gain: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Fixes {
    pub recording: String,
    pub program: Vec<String>,
    pub machine: String,
    pub cpus: u32,
    /// Virtual time as recorded, and of the run that was just made with the layout as it is.
    pub recorded_seconds: f64,
    pub seconds: f64,
    /// By gain, the most first.
    pub layouts: Vec<Trial>,
    /// Why there is none, as a clause.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nothing: String,
    /// How today's result depends on where objects happen to begin on their lines.
    pub luck: Vec<Luck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The source change that makes the best layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Patch>,
}

/// What the program gains after somebody has changed its source.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// What rebuilt it.
    pub command: String,
    pub gain: f64,
    pub seconds: f64,
}

impl Fixes {
    pub fn new(recording: &str, recorded: &Run, again: &Run, layouts: Vec<Trial>) -> Fixes {
        let layouts = ranked(&layouts).into_iter().map(|number| layouts[number].clone()).collect();
        Fixes {
            recording: recording.into(),
            program: recorded.argv.clone(),
            machine: recorded.machine.clone(),
            cpus: recorded.cpus,
            recorded_seconds: seconds(recorded),
            seconds: seconds(again),
            layouts,
            nothing: String::new(),
            luck: Vec::new(),
            verified: None,
            patch: None,
        }
    }
}

/// Throughputs that differ by less say nothing.
const ALIKE: f64 = 0.02;

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

#[cfg(test)]
mod tests {
    use super::*;
    use corefold_recording::Status;

    fn trial(object: &str, layout: &str, more_bytes: u64, gain: Option<f64>) -> Trial {
        let candidate = Candidate {
            object: object.into(),
            layout: layout.into(),
            address: 0,
            bytes: 8,
            is_heap: false,
            slot_step: 0,
            live: 3,
            stride: 8,
            new_stride: 64,
            parts: Vec::new(),
            more_bytes,
            element: None,
            follows: false,
            reorder: None,
            declared: Err(Undeclared::Untyped),
        };
        Trial { candidate, with: Vec::new(), gain, seconds: 1.0, also: Vec::new(), slots: None }
    }

    #[test]
    fn of_layouts_that_gain_alike_the_smallest_comes_first() {
        let trials = vec![
            trial("a", "large", 500, Some(0.51)),
            trial("a", "less", 0, Some(0.4)),
            trial("a", "small", 50, Some(0.5)),
            trial("a", "failed", 1, None),
        ];
        let ranked = Fixes::new("", &Run::default(), &Run::default(), trials).layouts;
        assert_eq!(ranked.iter().map(Trial::layout).collect::<Vec<_>>(), ["small", "large", "less", "failed"]);
    }

    #[test]
    fn a_small_layout_that_gains_nothing_is_not_first_where_others_gain() {
        let trials = vec![trial("a", "small", 8, Some(0.0199)), trial("a", "large", 500, Some(0.038))];
        let ranked = Fixes::new("", &Run::default(), &Run::default(), trials).layouts;
        assert_eq!(ranked.iter().map(Trial::layout).collect::<Vec<_>>(), ["large", "small"]);
    }

    /// Each of an object's bytes apart moves as much as the object does, and takes more room.
    #[test]
    fn all_elements_that_move_count() {
        let mut each = trial("a", "each byte", 504, Some(0.5));
        (each.candidate.stride, each.candidate.parts) = (1, vec![(0, 1, 0)]);
        let mut whole = trial("a", "whole", 56, Some(0.5));
        whole.candidate.parts = vec![(0, 8, 0)];
        let ranked = Fixes::new("", &Run::default(), &Run::default(), vec![each, whole]).layouts;
        assert_eq!(ranked[0].layout(), "whole");
    }

    /// `a` and `b` together gain no more than `a`; with `c` they do.
    #[test]
    fn what_adds_nothing_comes_last() {
        let with = |first: &str, others: &[&str], gain| {
            let mut one = trial("x", first, 8, Some(gain));
            one.with = others.iter().map(|other| trial("y", other, 8, None).candidate).collect();
            one
        };
        let trials = vec![with("a", &["b"], 0.505), with("a", &[], 0.5), with("d", &[], 0.1), with("a", &["c"], 0.7)];
        let ranked = Fixes::new("", &Run::default(), &Run::default(), trials).layouts;
        assert_eq!(ranked.iter().map(Trial::layout).collect::<Vec<_>>(), ["a; c", "a", "d", "a; b"]);
    }

    #[test]
    fn the_best_layouts_of_several_objects_are_tried_together() {
        let named = |object: &str| trial(object, "", 0, None).candidate;
        let [a, b, c] = ["a", "b", "c"].map(named);
        let of_a = [(&a, Some(0.1)), (&a, Some(0.3))];
        assert!(together(&of_a, 0.0).is_empty());
        let all = [&of_a[..], &[(&b, Some(0.01)), (&b, Some(0.5)), (&c, None)]].concat();
        assert_eq!(together(&all, 0.0), [3, 1]);
        assert!(together(&all, 0.29).is_empty(), "what the others gain is no more than what was there before");
    }

    #[test]
    fn what_is_tried_together_is_told_together() {
        let [mut one, two] = ["v", "y"].map(|layout| trial("", layout, 1, Some(0.5)));
        one.with.push(two.candidate);
        assert_eq!((one.layout().as_str(), one.more_bytes(), one.bytes_in_all()), ("v; y", 2, 6));
    }

    #[test]
    fn a_gain_is_of_progress_where_there_is_any() {
        let timed = |cycles, visits: &[u64]| Run {
            cycles,
            progress: visits
                .iter()
                .map(|&visits| corefold_recording::Progress { name: "done".into(), visits })
                .collect(),
            ..Run::default()
        };
        assert_eq!(gain(&timed(200, &[]), &timed(100, &[])), Some(1.0));
        assert_eq!(gain(&timed(128, &[16]), &timed(128, &[24])), Some(0.5));
        let failed = Run { status: Status::Exited(1), ..timed(100, &[]) };
        assert_eq!(gain(&timed(100, &[]), &failed), None);
    }
}
