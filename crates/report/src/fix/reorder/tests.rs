// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::fix::candidates;
use crate::sample::run;
use corefold_explain::{FieldUse, HotLine, Storage};

/// An object of so many bytes at 0x1000, of which fields on its first line were used: name, offset, bytes, writers.
fn line(bytes: u64, accessed: &[(&str, u64, u64, u32)]) -> HotLine {
    let storage = Storage::Global;
    let object = ObjectUse { name: "table".into(), address: 0x1000, bytes, storage, ..ObjectUse::default() };
    let field = |&(name, offset, size, writers): &(&str, u64, u64, u32)| FieldUse {
        name: name.into(),
        object: Some(0),
        offset_in_object: offset,
        size,
        writers,
        stall: 50,
        transfers: 50,
        ..FieldUse::default()
    };
    let fields: Vec<FieldUse> = accessed.iter().map(field).collect();
    let stall = fields.iter().map(|field| field.stall).sum();
    HotLine { address: 0x1000, bytes: 64, objects: vec![object], fields, stall, ..HotLine::default() }
}

fn moves(line: HotLine) -> Vec<Candidate> {
    let mut run = run(4);
    (run.run.time.stall, run.lines) = (line.stall, vec![line]);
    candidates(&run).into_iter().filter(|candidate| candidate.reorder.is_some()).collect()
}

#[test]
fn a_written_field_moves_to_a_line_that_nobody_uses() {
    let all = moves(line(192, &[("t.limit", 0, 8, 0), ("t.hits", 8, 4, 1)]));
    let names: Vec<&str> = all.iter().map(|one| one.layout.as_str()).collect();
    assert_eq!(names, ["t.hits moved to the end", "t.limit moved to the end"]);
    // With what shares its eight bytes; the structure keeps its size.
    assert_eq!(all[0].parts, [(0, 8, 0), (8, 8, 184), (16, 176, 8)]);
    assert_eq!((all[0].new_stride, all[0].more_bytes), (192, 0));
}

/// Only lines of which something moves are laid out anew.
#[test]
fn lines_before_and_behind_a_move_stay_where_they_are() {
    let all = moves(line(256, &[("t.a", 128, 8, 0), ("t.b", 136, 8, 1), ("t.c", 216, 8, 0), ("t.d", 64, 8, 1)]));
    let behind = all.iter().find(|one| one.layout == "t.a moved behind t.c").expect("beside what is only read");
    assert_eq!(behind.parts, [(128, 8, 88), (136, 88, 0), (224, 32, 96)], "{all:?}");
}

#[test]
fn what_is_written_never_comes_to_what_is_used() {
    // Every line has a written field.
    let fields = [("t.a", 0, 8, 1), ("t.b", 8, 8, 0), ("t.c", 64, 8, 1)];
    assert_eq!(moves(line(128, &fields)), []);
    // t.b at the end would move t.c, and t.d would follow it to the same line.
    let fields = [("t.a", 0, 8, 1), ("t.b", 8, 8, 0), ("t.c", 64, 8, 1), ("t.d", 128, 8, 1)];
    for candidate in moves(line(256, &fields)) {
        let pieces = candidate.reorder.as_ref().expect("members that move").pieces(256);
        let lines: std::collections::BTreeSet<u64> = [0, 64, 128].map(|at| moved_to(&pieces, at) / 64).into();
        assert_eq!(lines.len(), 3, "{candidate:?}");
    }
}

/// It would also leave what it shares lines with, which the source change would not do.
#[test]
fn nothing_moves_in_an_object_whose_line_others_use() {
    let mut line = line(192, &[("t.limit", 0, 8, 0), ("t.hits", 8, 8, 1)]);
    line.objects.push(ObjectUse { name: "other".into(), address: 0xff0, bytes: 16, ..ObjectUse::default() });
    line.fields.push(FieldUse { object: Some(1), size: 8, ..FieldUse::default() });
    assert_eq!(moves(line), []);
}

#[test]
fn a_field_that_is_alone_on_its_lines_stays() {
    assert_eq!(moves(line(192, &[("t.hits", 8, 8, 1)])), []);
}
