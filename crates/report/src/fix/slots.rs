// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where an object happens to begin on a line is luck, if its allocator does not align it. So a layout is also tried with all
//! objects at one such slot, for each slot.
use super::candidate::{Candidate, Layout};
use serde::Serialize;

/// What a layout gains over the layout as it is, both with all objects at one slot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BySlot {
    /// Offset on a line, and gain there; null: the program failed.
    pub gains: Vec<(u64, Option<f64>)>,
    pub average: Option<f64>,
    pub worst: Option<f64>,
}

/// The layout as it is, by slot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Luck {
    pub object: String,
    /// Offset on a line, and what all objects at that slot would gain over where they are; null: the program failed.
    pub gains: Vec<(u64, Option<f64>)>,
    /// What today's places gain over the mean of the slots.
    pub luck: Option<f64>,
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

impl BySlot {
    /// Of gains over today, with the layout and as it is.
    pub fn new(as_it_is: &Luck, with_layout: &[Option<f64>]) -> BySlot {
        let over = |(old, new): (Option<f64>, Option<f64>)| Some((1.0 + new?) / (1.0 + old?) - 1.0);
        let both = as_it_is.gains.iter().zip(with_layout);
        let gains: Vec<(u64, Option<f64>)> = both.map(|((slot, old), new)| (*slot, over((*old, *new)))).collect();
        let all: Option<Vec<f64>> = gains.iter().map(|gain| gain.1).collect();
        let worst = all.and_then(|all| all.into_iter().min_by(f64::total_cmp));
        BySlot { average: mean(gains.iter().map(|gain| gain.1)), worst, gains }
    }
}

impl Luck {
    pub fn new(object: &str, gains: Vec<(u64, Option<f64>)>) -> Luck {
        let usual = mean(gains.iter().map(|gain| Some(1.0 + gain.1?)));
        Luck { object: object.into(), luck: usual.map(|usual| 1.0 / usual - 1.0), gains }
    }
}

impl Candidate {
    /// Offsets on a line where an object may begin; none, if its place is no luck.
    pub fn slots(&self, line_bytes: u64) -> Vec<u64> {
        let step = usize::try_from(self.slot_step).unwrap_or(0);
        if step == 0 { Vec::new() } else { (0..line_bytes).step_by(step).collect() }
    }

    /// The object as it is, which begins at that offset of a line.
    pub fn as_it_is_at(&self, slot: u64, line_bytes: u64) -> Layout {
        (vec![(0, self.bytes, slot)], (slot + self.bytes).next_multiple_of(line_bytes))
    }

    /// Its parts where the layout has them, and the rest of an object that begins at that offset of a line.
    pub fn at(&self, slot: u64, line_bytes: u64) -> Layout {
        if let Some(reorder) = &self.reorder {
            let parts = reorder.pieces(self.bytes).into_iter().map(|(from, bytes, to)| (from, bytes, slot + to));
            return (parts.collect(), (slot + self.bytes).next_multiple_of(line_bytes));
        }
        let (mut parts, mut from) = (self.parts.clone(), 0);
        let mut keep = |from: u64, end: u64| {
            if from < end {
                parts.push((from, end - from, self.new_stride + slot + from));
            }
        };
        for (begin, bytes, _) in &self.parts {
            keep(from, *begin);
            from = begin + bytes;
        }
        keep(from, self.bytes);
        parts.sort_unstable();
        (parts, (self.new_stride + slot + self.bytes).next_multiple_of(line_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_at_a_slot_is_over_the_layout_as_it_is_there() {
        let luck = Luck::new("inode", vec![(0, Some(0.0)), (32, Some(-0.5))]);
        assert_eq!(luck.luck.map(|luck| (luck * 1000.0).round()), Some(333.0), "the mean is three quarters of today");
        let slots = BySlot::new(&luck, &[Some(0.1), Some(0.0)]);
        let rounded = |gain: Option<f64>| gain.map(|gain| (gain * 1000.0).round());
        assert_eq!(slots.gains.iter().map(|(_, gain)| rounded(*gain)).collect::<Vec<_>>(), [Some(100.0), Some(1000.0)]);
        assert_eq!((rounded(slots.average), rounded(slots.worst)), (Some(550.0), Some(100.0)));
        let failed = BySlot::new(&luck, &[None, Some(0.0)]);
        assert_eq!((failed.average, failed.worst), (None, None));
    }

    #[test]
    fn what_is_not_moved_stays_beside_itself_at_the_slot() {
        let candidate = Candidate {
            object: "inode".into(),
            layout: "owner on a line of its own".into(),
            address: 0x1010,
            bytes: 100,
            is_heap: true,
            slot_step: 16,
            live: 1,
            stride: 100,
            new_stride: 64,
            parts: vec![(32, 8, 0)],
            more_bytes: 56,
            element: None,
            follows: false,
            reorder: None,
            declared: Err(corefold_explain::Undeclared::Untyped),
        };
        assert_eq!(candidate.slots(64), [0, 16, 32, 48]);
        assert_eq!(candidate.as_it_is_at(48, 64), (vec![(0, 100, 48)], 192));
        let at = candidate.at(16, 64);
        assert_eq!(at, (vec![(0, 32, 80), (32, 8, 0), (40, 60, 120)], 192));
        assert!(Candidate { slot_step: 0, ..candidate }.slots(64).is_empty());
    }
}
