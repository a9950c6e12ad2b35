// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another order of a structure's members, and whether a compiler would place them so.
use corefold_explain::{Declared, DeclaredMember};

/// Members that go elsewhere in their structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Reorder {
    /// Offset and bytes of each.
    pub ranges: Vec<(u64, u64)>,
    /// The offset of what they go before.
    pub before: u64,
}

impl Reorder {
    /// Offset, bytes and new offset of the pieces of a structure of so many bytes, ascending.
    pub fn pieces(&self, bytes: u64) -> Vec<(u64, u64, u64)> {
        let is_moved = |offset: u64| self.ranges.iter().any(|(from, bytes)| (*from..from + bytes).contains(&offset));
        let mut cuts: Vec<u64> = self.cuts().into_iter().chain([0, bytes]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let kept: Vec<(u64, u64)> =
            cuts.windows(2).map(|cut| (cut[0], cut[1] - cut[0])).filter(|(from, _)| !is_moved(*from)).collect();
        let (ahead, behind): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(from, _)| *from < self.before);
        let mut to = 0;
        let order = ahead.into_iter().chain(self.ranges.iter().copied()).chain(behind);
        let mut pieces: Vec<(u64, u64, u64)> = order
            .map(|(from, bytes)| {
                to += bytes;
                (from, bytes, to - bytes)
            })
            .collect();
        pieces.sort_unstable();
        pieces
    }

    /// Where the structure is cut.
    pub fn cuts(&self) -> Vec<u64> {
        let mut cuts: Vec<u64> = self.ranges.iter().flat_map(|(from, bytes)| [*from, from + bytes]).collect();
        cuts.push(self.before);
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Whether a compiler gives the members of a structure in a unit of so many bytes the places of the trial. It leaves holes
    /// before aligned members, wherever these come to be, and fills those that are there.
    pub fn is_compiled_so(&self, bytes: u64, structure: &Declared) -> bool {
        let pieces = self.pieces(bytes);
        let to = |member: &DeclaredMember| moved_to(&pieces, structure.base + member.offset);
        let mut order: Vec<&DeclaredMember> = structure.members.iter().collect();
        let Some(begin) = order.first().map(|first| first.offset) else { return true };
        let now = compiled(&order, begin);
        order.sort_by_key(|member| to(member));
        let then = compiled(&order, begin);
        let Some(((now, size), (then, new_size))) = now.zip(then) else { return false };
        let is_same = |(offset, member): (&u64, &&DeclaredMember)| structure.base + offset == to(member);
        now.iter().eq(structure.members.iter().map(|member| &member.offset))
            && then.iter().zip(&order).all(is_same)
            && size == new_size
    }
}

/// The offsets that a compiler gives these members, in their order, and the structure's size. Bit-fields that follow each other
/// keep their distance, which is not exactly what compilers do.
fn compiled(members: &[&DeclaredMember], begin: u64) -> Option<(Vec<u64>, u64)> {
    let (mut offsets, mut end, mut most) = (Vec::new(), begin, 1);
    for (number, member) in members.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| (members[before], offsets[before]));
        let offset = match before.filter(|(before, _)| before.is_bit_field && member.is_bit_field) {
            Some((before, at)) => at + member.offset.checked_sub(before.offset)?,
            None if member.is_bit_field => end.next_multiple_of(1 << member.offset.trailing_zeros().min(3)),
            None => end.checked_next_multiple_of(member.align?)?,
        };
        offsets.push(offset);
        end = offset.checked_add(member.size.unwrap_or(0))?;
        most = most.max(member.align?);
    }
    Some((offsets, end.checked_next_multiple_of(most)?))
}

/// Where the byte at `offset` is in the new order.
pub fn moved_to(pieces: &[(u64, u64, u64)], offset: u64) -> u64 {
    let piece = pieces.iter().rev().find(|(from, ..)| *from <= offset);
    piece.map_or(offset, |(from, _, to)| to + (offset - from))
}

#[cfg(test)]
mod tests;
