// SPDX-License-Identifier: MIT OR Apache-2.0
use super::super::{Candidate, candidates};
use crate::sample::{place, run, site};
use corefold_explain::{Element, FieldUse, HotLine, ObjectUse, SiteUse, Storage};
use corefold_recording::AccessKind;

/// Offset, bytes and CPU of an access, and what it waited.
type Access = (u64, u64, u32, u64);

/// The line of an object of 128 bytes at that address, which is an array of elements of so many.
fn line(address: u64, kind: AccessKind, accesses: &[Access], element: u64) -> HotLine {
    let (name, storage) = ("table (t.c:3)".into(), Storage::Heap);
    let object = ObjectUse { name, address, bytes: 128, storage, ..ObjectUse::default() };
    let field = |&(offset, size, _, stall): &Access| {
        let (first, last) = (offset / element, (offset + size - 1) / element);
        let name = if first == last { format!("t[{first}]") } else { format!("t[{first}-{last}]") };
        let one = Element {
            name: name.clone(),
            address: address + offset,
            size: element,
            of_object: true,
            ..Element::default()
        };
        let elements = if first == last { vec![one] } else { Vec::new() };
        FieldUse { name, object: Some(0), offset_in_object: offset, size, stall, elements, ..FieldUse::default() }
    };
    let used = |(field_index, &(_, _, cpu, stall)): (usize, &Access)| {
        let cpus = [cpu].into_iter().collect();
        SiteUse { field_index, cpus, ..site(&place("add", "t.c", 3), kind, "t", stall, 0) }
    };
    let sites = accesses.iter().enumerate().map(used).collect();
    let stall = accesses.iter().map(|access| access.3).sum();
    let fields = accesses.iter().map(field).collect();
    HotLine { address: address / 64 * 64, bytes: 64, objects: vec![object], fields, sites, stall, ..HotLine::default() }
}

fn proposed(lines: Vec<HotLine>) -> Vec<Candidate> {
    let mut run = run(4);
    (run.run.time.stall, run.lines) = (lines.iter().map(|line| line.stall).sum(), lines);
    candidates(&run)
}

/// The parts of what is proposed for different CPUs.
fn parts(lines: Vec<HotLine>) -> Option<Vec<(u64, u64, u64)>> {
    let one = proposed(lines).into_iter().find(|one| one.layout.contains("different CPUs"))?;
    Some(one.parts)
}

const WRITE: AccessKind = AccessKind::Write;

#[test]
fn an_array_of_bytes_is_cut_by_who_uses_them() {
    let bytes = [(16, 1, 1, 0), (40, 1, 2, 0)];
    let words = [(16, 4, 1, 50), (20, 4, 1, 50), (32, 8, 2, 50), (36, 4, 2, 50)];
    let all = proposed(vec![line(0x1000, WRITE, &[&words[..], &bytes].concat(), 1)]);
    let [cut, ..] = &all[..] else { panic!("nothing is proposed") };
    assert_eq!(cut.layout, "bytes of t[16-23,32-39] that different CPUs use on lines of their own");
    // What else is on the line goes along.
    assert_eq!((&cut.parts[..], cut.new_stride), (&[(0, 32, 0), (32, 32, 64)][..], 128));
    assert!(all.iter().all(|one| !one.layout.starts_with("each")), "nobody uses single bytes: {all:?}");
}

#[test]
fn bytes_that_the_same_cpus_use_or_that_one_access_spans_stay_together() {
    assert_eq!(parts(vec![line(0x1000, WRITE, &[(0, 8, 1, 50), (8, 8, 1, 50)], 1)]), None);
    assert_eq!(parts(vec![line(0x1000, WRITE, &[(0, 8, 1, 50), (4, 8, 2, 50)], 1)]), None);
    let shared = [(0, 8, 1, 50), (8, 8, 1, 50), (8, 8, 2, 50)];
    assert_eq!(parts(vec![line(0x1000, WRITE, &shared, 1)]), None, "one CPU uses both");
    let reads = vec![line(0x1000, AccessKind::Read, &[(0, 8, 1, 50), (8, 8, 2, 50)], 1)];
    assert_eq!(parts(reads), None, "nobody writes");
}

#[test]
fn bytes_on_different_lines_are_apart_already() {
    let two = vec![line(0x1000, WRITE, &[(0, 8, 1, 50), (64, 8, 2, 50)], 1)];
    assert_eq!(parts(two), None);
}

#[test]
fn who_sets_all_up_once_uses_none_of_it() {
    let accesses = [(0, 8, 1, 500), (16, 8, 2, 500), (0, 64, 0, 4)];
    assert_eq!(parts(vec![line(0x1000, WRITE, &accesses, 1)]), Some(vec![(0, 16, 0), (16, 48, 64)]));
    let often = [(0, 8, 1, 500), (16, 8, 2, 500), (0, 64, 0, 400)];
    assert_eq!(parts(vec![line(0x1000, WRITE, &often, 1)]), None);
}

/// Objects of 16 and of 24 bytes, of which one field is fetched often.
#[test]
fn a_cut_is_where_the_next_object_begins() {
    let often = [(4, 4, 1, 500), (20, 4, 2, 500)];
    assert_eq!(parts(vec![line(0x1000, WRITE, &often, 1)]), Some(vec![(0, 16, 0), (16, 48, 64)]), "the roundest");
    let often = [(4, 4, 1, 500), (28, 4, 2, 500)];
    let with = |rare| [&often[..], &[rare]].concat();
    let cut = |rare| parts(vec![line(0x1000, WRITE, &with(rare), 1)]).map(|parts| parts[1].0);
    assert_eq!(cut((16, 8, 1, 1)), Some(24), "the first one's CPU uses up to 24");
    assert_eq!(cut((12, 4, 2, 1)), Some(8), "the second one's CPU uses it from 12 on");
    assert_eq!(cut((12, 4, 3, 1)), Some(16), "another CPU's");
    assert_eq!(cut((0, 64, 1, 1)), Some(16), "it spans both");
}

#[test]
fn elements_of_an_array_are_proposed_once() {
    let all = proposed(vec![line(0x1000, WRITE, &[(0, 8, 1, 50), (8, 8, 2, 50), (16, 8, 3, 50)], 8)]);
    assert!(all[0].layout.starts_with("each of t[0-2]"), "{all:?}");
    assert!(all.iter().all(|one| !one.layout.contains("different CPUs")), "{all:?}");
    // Two of them are one CPU's, and need not be separated.
    let pairs = vec![line(0x1000, WRITE, &[(0, 8, 1, 50), (8, 8, 1, 50), (16, 8, 2, 50), (24, 8, 2, 50)], 8)];
    assert_eq!(parts(pairs), Some(vec![(0, 16, 0), (16, 48, 64)]));
}

#[test]
fn objects_of_one_site_are_cut_where_any_of_them_needs_it() {
    let first = line(0x1000, WRITE, &[(0, 8, 1, 50), (8, 8, 2, 50)], 1);
    let second = line(0x2000, WRITE, &[(0, 8, 3, 40), (8, 8, 3, 40), (16, 8, 4, 40)], 1);
    assert_eq!(parts(vec![first, second]), Some(vec![(0, 8, 0), (8, 8, 64), (16, 48, 128)]));
}
