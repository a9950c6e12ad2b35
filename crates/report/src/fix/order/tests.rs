// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use corefold_explain::{Language, Storage};

#[test]
fn pieces_are_all_bytes_in_another_order() {
    let pieces = |ranges: &[(u64, u64)], before| Reorder { ranges: ranges.into(), before }.pieces(128);
    assert_eq!(pieces(&[(8, 8)], 128), [(0, 8, 0), (8, 8, 120), (16, 112, 8)]);
    assert_eq!(pieces(&[(64, 16)], 8), [(0, 8, 0), (8, 56, 24), (64, 16, 8), (80, 48, 80)]);
    assert_eq!(pieces(&[(64, 8), (96, 8)], 0), [(0, 64, 16), (64, 8, 0), (72, 24, 80), (96, 8, 8), (104, 24, 104)]);
    assert_eq!(moved_to(&pieces(&[(8, 8)], 128), 12), 124);
}

/// `struct { long limit, hits; char host[40]; [hole] _Alignas(128) char path[120]; long total; }`, each with its alignment.
fn aligned(path: u64) -> Declared {
    let member = |(name, offset, size, align): (&str, u64, u64, u64)| DeclaredMember {
        name: Some(name.into()),
        offset,
        size: Some(size),
        align: Some(align),
        is_bit_field: false,
        place: None,
    };
    let at = 56_u64.next_multiple_of(path);
    let members = [
        ("limit", 0, 8, 8),
        ("hits", 8, 8, 8),
        ("host", 16, 40, 1),
        ("path", at, 120, path),
        ("total", at + 120, 8, 8),
    ];
    Declared {
        name: "struct server".into(),
        base: 0,
        language: Language::C,
        storage: Storage::Global,
        align: 1,
        members: members.map(member).into(),
        begins: Vec::new(),
        ends: false,
    }
}

#[test]
fn only_what_a_compiler_places_as_the_trial_did_is_proposed() {
    let moved = |path: u64, before| {
        let structure = aligned(path);
        let bytes = structure.members[4].offset + 8;
        Reorder { ranges: vec![(8, 8)], before }.is_compiled_so(bytes, &structure)
    };
    // Without holes all members follow each other in any order.
    assert_eq!([56, 176, 184].map(|before| moved(8, before)), [true; 3]);
    assert!(!moved(128, 128), "into the hole before the aligned member, on the same line");
    assert!(!moved(128, 256), "which the aligned member would not follow it out of");
    assert!(moved(128, 56), "before which it only trades places");
    let mut packed = aligned(8);
    packed.members[4].offset -= 4;
    assert!(!Reorder { ranges: vec![(8, 8)], before: 56 }.is_compiled_so(180, &packed), "another rule than the ABI's");
}

#[test]
fn bit_fields_keep_their_distance() {
    let mut structure = aligned(8);
    for (number, offset) in [(2, 16), (3, 16), (4, 24)] {
        let member = &mut structure.members[number];
        (member.offset, member.size, member.align) = (offset, Some(1), Some(4));
        member.is_bit_field = number < 4;
    }
    (structure.members[4].size, structure.members[4].align) = (Some(8), Some(8));
    assert!(Reorder { ranges: vec![(8, 8)], before: 24 }.is_compiled_so(32, &structure));
}
