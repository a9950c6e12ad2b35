// SPDX-License-Identifier: MIT OR Apache-2.0
//! How large a structure is, and becomes by alignment or padding of its members.
use corefold_explain::{Declared, DeclaredMember, Storage};

/// Bytes of the structure now, and once the patch is applied; none where that cannot be told from its members.
pub fn sizes(structure: &Declared, line_bytes: u64) -> Option<(u64, u64)> {
    let Declared { members, begins, ends, storage, align, .. } = structure;
    let is_aligned = *storage == Storage::Global;
    // A variable whose layout begins nowhere within it is aligned as a whole.
    let begins = |number: usize| begins.contains(&number) || is_aligned && begins.is_empty() && number == 0;
    let part = |number: usize, at: u64| match (begins(number), is_aligned) {
        (false, _) => at,
        (true, true) => at.next_multiple_of(line_bytes),
        (true, false) => at.next_multiple_of(8) + line_bytes,
    };
    let old = end(members, *align, |_, at| at)?;
    let mut new = end(members, *align, part)?;
    if is_aligned {
        new = new.next_multiple_of(line_bytes);
    } else if *ends {
        new = (new.next_multiple_of(8) + line_bytes).next_multiple_of(*align);
    }
    (new > old).then_some((old, new))
}

/// Where members end that follow each other, each from where `begin` says on, in a structure of at least this alignment.
fn end(members: &[DeclaredMember], align: u64, begin: impl Fn(usize, u64) -> u64) -> Option<u64> {
    let (mut at, mut most) = (members.first()?.offset, align);
    for (number, member) in members.iter().enumerate() {
        let align = member.align.filter(|align| !member.is_bit_field && *align > 0)?;
        at = begin(number, at).next_multiple_of(align) + member.size?;
        most = most.max(align);
    }
    Some(at.next_multiple_of(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use corefold_explain::Language;

    fn structure(storage: Storage, begins: &[usize], ends: bool) -> Declared {
        let member = |offset, size| DeclaredMember {
            name: None,
            offset,
            size: Some(size),
            align: Some(size),
            is_bit_field: false,
            place: None,
        };
        let members = vec![member(0, 4), member(8, 8), member(16, 2)];
        let (name, begins) = ("struct s".into(), begins.to_vec());
        Declared { name, base: 0, language: Language::C, storage, align: 1, members, begins, ends }
    }

    #[test]
    fn alignment_and_padding_grow_a_structure() {
        let of = |storage, begins, ends| sizes(&structure(storage, begins, ends), 64);
        assert_eq!(of(Storage::Global, &[1, 2], false), Some((24, 192)));
        assert_eq!(of(Storage::Global, &[], true), Some((24, 64)), "aligned as a whole");
        assert_eq!(of(Storage::Heap, &[1], false), Some((24, 88)));
        assert_eq!(of(Storage::Heap, &[1], true), Some((24, 152)));
        let aligned = Declared { align: 64, ..structure(Storage::Heap, &[1], true) };
        assert_eq!(sizes(&aligned, 64), Some((64, 192)), "alignas");
        let mut flexible = structure(Storage::Heap, &[1], false);
        flexible.members[2].size = None;
        assert_eq!(sizes(&flexible, 64), None);
    }
}
