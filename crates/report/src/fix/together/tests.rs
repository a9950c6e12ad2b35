// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::sample::run;
use corefold_explain::{Element, PassedUse};
use corefold_recording::{AccessKind, CLASSES};

/// Objects of 256 bytes, of which these fields were touched first on their lines: name, offset, kind of access, transfers.
fn proposed(accessed: &[(&str, u64, AccessKind, u64)], element: u64) -> Vec<Candidate> {
    let mut run = run(4);
    let bytes = if element > 0 { 100 * element } else { 256 };
    let storage = Storage::Heap;
    let object = ObjectUse { name: "record".into(), address: 0x1000, bytes, storage, ..ObjectUse::default() };
    let entry = |&(name, offset, kind, transfers): &(&str, u64, AccessKind, u64)| {
        let elements = (element > 0).then(|| Element {
            name: format!("record[{}]", offset / element),
            address: 0x1000 + offset / element * element,
            size: element,
            of_object: true,
            ..Element::default()
        });
        let elements = elements.into_iter().collect();
        // Who follows a pointer waits, not who loads it.
        let stall = if name.ends_with("next") { 0 } else { transfers };
        let (name, offset_in_object) = (name.into(), offset);
        let field = FieldUse { name, offset_in_object, size: 8, stall, transfers, elements, ..FieldUse::default() };
        let fields = vec![(object.clone(), field)];
        let object = String::new();
        PassedUse { object, at: None, kind, transfers_by_class: [0; CLASSES], stall, stall_percent: 0.0, fields }
    };
    run.passed = accessed.iter().map(entry).collect();
    run.run.time.stall = accessed.iter().map(|one| one.3).sum();
    hot_together(&run)
}

const READ: AccessKind = AccessKind::Read;
const WRITE: AccessKind = AccessKind::Write;

#[test]
fn hot_fields_on_several_lines_go_together() {
    let all = proposed(&[("r.key", 0, READ, 50), ("r.size", 128, READ, 50), ("r.note", 192, READ, 1)], 0);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!(one.layout, "hot fields r.key and r.size together, apart from cold ones");
    assert_eq!(one.reorder, Some(Reorder { ranges: vec![(128, 8)], before: 8 }));
    assert_eq!((one.more_bytes, &one.parts[..2]), (0, &[(0, 8, 0), (8, 120, 16)][..]));
}

#[test]
fn a_pointer_that_is_followed_is_hot() {
    let all = proposed(&[("r.key", 0, READ, 50), ("r.next", 128, READ, 50)], 0);
    assert_eq!(all.len(), 1, "{all:?}");
}

/// All elements of an array alike, which stay as large.
#[test]
fn elements_of_an_array_keep_their_size() {
    let all = proposed(&[("record[0].key", 0, READ, 50), ("record[2].size", 528, READ, 50)], 200);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.stride, one.new_stride, one.more_bytes), (200, 200, 0));
    assert_eq!(one.parts, [(0, 8, 0), (8, 120, 16), (128, 8, 8), (136, 64, 136)]);
}

#[test]
fn two_written_fields_are_not_put_together_and_near_ones_need_not_be() {
    assert_eq!(proposed(&[("r.key", 0, WRITE, 50), ("r.size", 128, WRITE, 50)], 0), []);
    assert_eq!(proposed(&[("r.key", 0, WRITE, 50), ("r.size", 128, READ, 50)], 0).len(), 1);
    assert_eq!(proposed(&[("r.key", 0, READ, 50), ("r.size", 40, READ, 50)], 0), [], "they are on one line");
    assert_eq!(proposed(&[("r.key", 0, READ, 99), ("r.size", 128, READ, 1)], 0), [], "one of them is cold");
}
