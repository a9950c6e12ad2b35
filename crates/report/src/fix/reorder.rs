// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members in another order, in a structure of the same size: a field goes where nothing that is written lies beside it.
use super::candidate::{Candidate, Layout};
use super::order::{Reorder, moved_to};
use super::unit::{PADDED, Part, Unit};
use corefold_explain::{Explained, ObjectUse};

/// Members move in such steps, so that the alignment of all others stays.
const STEP: u64 = 8;

/// Bytes of the unit that were used.
#[derive(Clone, Copy, PartialEq)]
pub struct Used {
    pub from: u64,
    pub end: u64,
    written: bool,
}

impl Used {
    fn overlaps(&self, other: &Used) -> bool {
        self.from < other.end && other.from < self.end
    }

    /// Where it is in the new order.
    fn after(&self, pieces: &[(u64, u64, u64)]) -> Used {
        let from = moved_to(pieces, self.from);
        Used { from, end: from + (self.end - self.from), ..*self }
    }
}

impl Unit<'_> {
    /// Where it begins on its line.
    fn phase(&self) -> u64 {
        if self.stride == self.object.bytes { self.object.address % self.line_bytes } else { 0 }
    }

    /// First and last line of these bytes.
    pub fn lines(&self, from: u64, end: u64) -> (u64, u64) {
        ((from + self.phase()) / self.line_bytes, (end - 1 + self.phase()) / self.line_bytes)
    }

    fn used(&self) -> Vec<Used> {
        let read = self.parts.iter().filter(|(_, part)| !part.written);
        let read = read.map(|(from, part)| Used { from: *from, end: from + part.bytes, written: false });
        let written = self.written.iter().map(|(from, end)| Used { from: *from, end: *end, written: true });
        let parts = self.parts.iter().filter(|(_, part)| part.written);
        let parts = parts.map(|(from, part)| Used { from: *from, end: from + part.bytes, written: true });
        let mut all: Vec<Used> = read.chain(written).chain(parts).collect();
        all.sort_unstable_by_key(|used| (used.from, used.end, !used.written));
        all.dedup_by_key(|used| (used.from, used.end));
        all
    }

    fn meet(&self, a: &Used, b: &Used) -> bool {
        let (a, b) = (self.lines(a.from, a.end), self.lines(b.from, b.end));
        a.0 <= b.1 && b.0 <= a.1
    }

    /// What is moved with the field: whole steps. None if another field is used there.
    pub fn step(&self, from: u64, bytes: u64) -> Option<Used> {
        let (begin, end) = (from / STEP * STEP, (from + bytes).next_multiple_of(STEP));
        let own = Used { from: begin, end, written: false };
        let others = self.used().into_iter().filter(|used| used.overlaps(&own));
        let alone = others.into_iter().all(|used| from <= used.from && used.end <= from + bytes);
        (alone && end <= self.stride && self.stride.is_multiple_of(STEP)).then_some(own)
    }

    /// The layout with these members before what is there, and what it is called. `None` where two written fields would come to
    /// share a line, or where used bytes would be cut.
    pub fn reordered(&self, reorder: Reorder, layout: String) -> Option<Candidate> {
        let pieces = reorder.pieces(self.stride);
        let used = self.used();
        let cuts = reorder.cuts();
        if used.iter().any(|used| cuts.iter().any(|cut| used.from < *cut && *cut < used.end)) {
            return None;
        }
        if self.come_together(&pieces, |a, b| a.written && b.written) {
            return None;
        }
        let (parts, new_stride) = self.changed(&pieces)?;
        let candidate = Candidate { new_stride, more_bytes: 0, ..self.candidate(layout, self.stride, parts) };
        Some(Candidate { reorder: Some(reorder), ..candidate })
    }

    /// Do two such fields share a line in the new order that do not now?
    fn come_together(&self, pieces: &[(u64, u64, u64)], which: fn(&Used, &Used) -> bool) -> bool {
        let used = self.used();
        let meets = |(number, a): (usize, &Used)| {
            let others = used[number + 1..].iter().filter(|b| which(a, b) && !a.overlaps(b) && !self.meet(a, b));
            others.into_iter().any(|b| self.meet(&a.after(pieces), &b.after(pieces)))
        };
        used.iter().enumerate().any(meets)
    }

    /// The lines of which something moves, laid out anew, and their bytes; of an array all.
    fn changed(&self, pieces: &[(u64, u64, u64)]) -> Option<Layout> {
        if self.stride < self.object.bytes {
            return Some((pieces.to_vec(), self.stride));
        }
        let phase = self.phase();
        let moved = || pieces.iter().filter(|(from, _, to)| from != to);
        let (low, high) = (
            moved().map(|(from, _, to)| *from.min(to)).min()?,
            moved().map(|(from, bytes, to)| from.max(to) + bytes).max()?,
        );
        let line = (low + phase) / self.line_bytes * self.line_bytes;
        let (begin, end) =
            (line.saturating_sub(phase), ((high + phase).next_multiple_of(self.line_bytes) - phase).min(self.stride));
        let clipped = pieces.iter().filter_map(|(from, bytes, to)| {
            let (first, last) = ((*from).max(begin), (from + bytes).min(end));
            (first < last).then(|| (first, last - first, to + (first - from) + phase - line))
        });
        let parts: Vec<(u64, u64, u64)> = clipped.collect();
        let bytes = parts.iter().map(|(_, bytes, to)| bytes + to).max()?;
        Some((parts, bytes.next_multiple_of(self.line_bytes)))
    }

    /// Fields that cost most on lines where another is written, each moved to a line of the structure where none is. Not where
    /// lines are shared with other objects: what moves would also leave those.
    pub fn moved(&self, explained: &Explained) -> Vec<Candidate> {
        let is_beside = explained.lines.iter().any(|line| {
            let used: Vec<&ObjectUse> =
                line.fields.iter().filter_map(|field| line.objects.get(field.object?)).collect();
            used.iter().any(|one| one.name == self.object.name)
                && used.iter().any(|other| other.address != used[0].address)
        });
        if is_beside {
            return Vec::new();
        }
        let mut read: Vec<(u64, &Part)> = self.parts.iter().map(|(offset, part)| (*offset, part)).collect();
        read.retain(|(_, part)| !part.written && part.is_one());
        read.sort_by_key(|(_, part)| std::cmp::Reverse((part.cost, part.transfers)));
        let written = self.written_fields().into_iter().take(PADDED);
        written.chain(read.into_iter().take(PADDED)).filter_map(|(offset, part)| self.moved_one(offset, part)).collect()
    }

    fn moved_one(&self, offset: u64, part: &Part) -> Option<Candidate> {
        let own = self.step(offset, part.bytes)?;
        let disturbs = |other: &Used| !other.overlaps(&own) && (other.written || part.written);
        if !self.used().iter().any(|other| disturbs(other) && self.meet(other, &own)) {
            return None;
        }
        let name = self.name(part);
        let beside_read = self.parts.iter().filter(|(_, other)| !part.written && !other.written && other.is_one());
        let beside_read = beside_read.filter_map(|(from, other)| {
            let end = self.step(*from, other.bytes)?.end;
            Some((end, format!("{name} moved behind {}", self.name(other))))
        });
        let first = (self.line_bytes - self.phase()) % self.line_bytes;
        let inside = (first..self.stride).step_by(self.line_bytes as usize);
        let inside = inside.filter(|offset| *offset > 0).map(|offset| (offset, format!("{name} moved to +{offset}")));
        let ends = [(self.stride, format!("{name} moved to the end")), (0, format!("{name} moved to the begin"))];
        let mut targets = beside_read.chain(ends).chain(inside);
        targets.find_map(|(before, layout)| {
            let reorder = Reorder { ranges: vec![(own.from, own.end - own.from)], before };
            let pieces = reorder.pieces(self.stride);
            let there = Used { written: part.written, ..own.after(&pieces) };
            (self.is_free(&pieces, &own, &there) && !self.come_together(&pieces, |a, b| a.written || b.written))
                .then(|| self.reordered(reorder, layout))?
        })
    }

    /// Whether no field that disturbs it is on the lines where this one goes to, and nothing of other objects.
    fn is_free(&self, pieces: &[(u64, u64, u64)], own: &Used, there: &Used) -> bool {
        let (first, last) = self.lines(there.from, there.end);
        let whole = first * self.line_bytes >= self.phase()
            && (last + 1) * self.line_bytes <= self.phase() + self.stride
            || self.stride < self.object.bytes;
        let others = self.used().into_iter().filter(|other| !other.overlaps(own));
        whole
            && others
                .into_iter()
                .all(|other| !(other.written || there.written) || !self.meet(&other.after(pieces), there))
    }
}

#[cfg(test)]
mod tests;
