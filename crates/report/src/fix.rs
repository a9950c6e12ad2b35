// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other layouts of the structures that a run waited for, and what trials of them gained.
//!
//! Proposed is what separates: a written field, the elements of an array, the bytes that different CPUs use, what is only read,
//! or the whole object from its neighbours; and members in another order, without more room. Nothing that packs two written
//! fields onto one line.
mod candidate;
mod fixes;
mod order;
mod patch;
mod propose;
mod ranges;
mod reorder;
mod slots;
mod tell;
mod together;
mod trial;
mod unit;

pub use candidate::{Candidate, Layout};
pub use fixes::{Fixes, Verified};
pub use order::Reorder;
pub use patch::{Patch, patch};
pub use propose::{candidates, nothing};
pub use slots::{BySlot, Luck};
pub use tell::{json, text};
pub use trial::{Other, Trial, gain, gains_more, ranked, seconds, together};

#[cfg(test)]
mod tests {
    use super::*;
    use corefold_explain::Undeclared;
    use corefold_recording::{Run, Status};

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
