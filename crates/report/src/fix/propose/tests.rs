// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::sample::run;
use corefold_explain::{Element, FieldUse};

/// An object of so many bytes at 0x1000, and what was accessed there: name, offset, bytes, writers, cycles.
fn line(bytes: u64, storage: Storage, accessed: &[(&str, u64, u64, u32, u64)], element: u64) -> HotLine {
    let object = ObjectUse { name: "table (t.c:3)".into(), address: 0x1000, bytes, storage, ..ObjectUse::default() };
    let field = |&(name, offset, size, writers, stall): &(&str, u64, u64, u32, u64)| FieldUse {
        name: name.into(),
        object: Some(0),
        offset_in_object: offset,
        size,
        writers,
        stall,
        transfers: stall,
        elements: (element > 0)
            .then(|| Element {
                name: name.split_inclusive(']').next().unwrap_or(name).into(),
                address: 0x1000 + offset / element * element,
                size: element,
                of_object: !name.split('[').next().unwrap_or(name).contains('.'),
                ..Element::default()
            })
            .into_iter()
            .collect(),
        ..FieldUse::default()
    };
    let fields: Vec<FieldUse> = accessed.iter().map(field).collect();
    let stall = fields.iter().map(|field| field.stall).sum();
    HotLine { address: 0x1000, bytes: 64, objects: vec![object], fields, stall, ..HotLine::default() }
}

fn proposed(line: HotLine) -> Vec<Candidate> {
    let mut run = run(4);
    (run.run.time.stall, run.lines) = (line.stall, vec![line]);
    candidates(&run)
}

/// What it is called, and old and new size.
fn sizes(candidate: &Candidate) -> (&str, u64, u64) {
    (&candidate.layout, candidate.stride, candidate.new_stride)
}

#[test]
fn a_written_field_is_parted_from_a_read_one() {
    let fields = [("t.hits", 0, 8, 1, 90), ("t.limit", 8, 4, 0, 40), ("t.seldom", 16, 8, 1, 1)];
    let all = proposed(line(64, Storage::Heap, &fields, 0));
    let [alone, apart] = &all[..] else { panic!("{all:?}") };
    assert_eq!(sizes(alone), ("t.hits on a line of its own", 64, 64));
    assert_eq!(sizes(apart), ("t.limit apart from what is written beside", 64, 64));
    // What lies beside the read field goes along, but for what is written.
    assert_eq!((&alone.parts[..], &apart.parts[..]), (&[(0, 8, 0)][..], &[(8, 8, 8), (24, 40, 24)][..]));
}

#[test]
fn the_elements_of_an_array_are_parted_and_none_alone() {
    let fields = [("t[0].n", 0, 8, 1, 50), ("t[1].n", 16, 8, 1, 50)];
    let all = proposed(line(64, Storage::Global, &fields, 16));
    assert_eq!(sizes(&all[0]), ("each of t[0-1] on lines of its own", 16, 64));
    assert!(all[0].parts == [(0, 16, 0)] && all.iter().all(|one| !one.layout.contains("t[0]")), "{all:?}");
}

/// Where small objects lie on one line, a slot for each would part them, and no slot is luck.
#[test]
fn objects_that_share_a_line_have_no_luck() {
    let fields = [("t.n", 0, 8, 1, 50), ("t.m", 8, 8, 0, 50)];
    let alone = line(24, Storage::Heap, &fields, 0);
    let mut beside = alone.clone();
    beside.objects.push(ObjectUse { address: 0x1020, ..beside.objects[0].clone() });
    assert!(proposed(beside.clone()).iter().all(|one| one.slot_step == 16), "the other one is not used");
    beside.fields.push(FieldUse { object: Some(1), ..beside.fields[0].clone() });
    assert!(proposed(alone).iter().all(|one| one.slot_step == 16));
    let all = proposed(beside);
    assert!(!all.is_empty() && all.iter().all(|one| one.slot_step == 0), "{all:?}");
}

#[test]
fn why_nothing_is_tried_is_told() {
    let why = |storage, stall: u64| {
        let line = line(8, storage, &[("t.n", 0, 8, 1, stall)], 0);
        let mut run = run(4);
        (run.run.time, run.lines) = (Time { compute: 1000, stall, ..Time::default() }, vec![line]);
        nothing(&run)
    };
    assert_eq!(why(Storage::Heap, 1), "no object causes enough stall and spin to try another layout");
    let much = |storage| why(storage, 1_000_000);
    assert!(much(Storage::Stack).ends_with(" as stall and spin, but fix does not try layouts of stack variables"));
    assert!(much(Storage::Unknown).contains("built without -g"));
    assert!(much(Storage::Global).contains("none of the layouts"));
}

/// The object is the structure, and not an array of its first member's elements.
#[test]
fn an_array_that_a_structure_begins_with_is_one_of_its_members() {
    let fields = [("t.w[0].n", 0, 8, 1, 50), ("t.w[1].n", 16, 8, 1, 50)];
    let all = proposed(line(40, Storage::Global, &fields, 16));
    assert_eq!(sizes(&all[0]), ("each of t.w[0-1] on lines of its own", 40, 128));
    assert_eq!((all[0].element, all[0].more_bytes), (Some((0, 16)), 96));
}

/// A vectorised loop that sets the elements up accesses two at once.
#[test]
fn who_sets_elements_up_does_not_hide_that_they_are_an_array() {
    let with = |cost| {
        let fields = [("t[0]", 0, 8, 1, 500), ("t[1]", 8, 8, 1, 500), ("t[0-1]", 0, 16, 1, cost)];
        let mut line = line(64, Storage::Heap, &fields, 8);
        line.fields[2].elements.clear();
        proposed(line)
    };
    assert_eq!(sizes(&with(1)[0]), ("each of t[0-1] on lines of its own", 8, 64));
    assert!(with(500).iter().all(|one| one.stride == 64), "it costs as much as the elements alone");
}

#[test]
fn two_arrays_are_not_one_and_one_element_is_none() {
    let arrays = [("t.a[0]", 8, 8, 1, 50), ("t.a[1]", 16, 8, 1, 50), ("t.b[0]", 40, 8, 1, 50)];
    let all = proposed(line(72, Storage::Global, &arrays, 8));
    assert!(all.iter().all(|one| !one.layout.starts_with("each")), "{all:?}");
    let one = [("t[0].n", 0, 8, 1, 50), ("t[0].m", 8, 8, 1, 50)];
    let all = proposed(line(64, Storage::Heap, &one, 24));
    assert!(!all.is_empty() && all.iter().all(|one| one.stride == 64 && !one.layout.starts_with("each")), "{all:?}");
}

#[test]
fn two_written_fields_are_never_put_together() {
    let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50), ("t.c", 16, 8, 0, 50), ("t.d", 24, 8, 0, 50)];
    for Candidate { layout, parts, .. } in proposed(line(80, Storage::Global, &fields, 0)) {
        // The line that a byte is on in the new layout; what is no part stays where it was, apart from all parts.
        let line = |at: u64| {
            let part = parts.iter().find(|(from, bytes, _)| (*from..from + bytes).contains(&at));
            part.map(|(from, _, to)| (to + at - from) / 64)
        };
        let whole = parts == [(0, 80, 0)];
        assert!(whole || line(0).is_none() || line(8).is_none() || line(0) != line(8), "{layout}: {parts:?}");
    }
}

#[test]
fn nothing_is_proposed_for_stacks_and_for_what_costs_nothing() {
    let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50)];
    assert!(proposed(line(64, Storage::Stack, &fields, 0)).is_empty());
    let mut idle = run(4);
    (idle.run.time.compute, idle.lines) = (10_000, vec![line(64, Storage::Heap, &fields, 0)]);
    assert!(candidates(&idle).is_empty());
}

/// What follows a written field goes with it, what is before stays together.
#[test]
fn padding_goes_before_a_field() {
    let fields = [("t.a", 0, 8, 1, 50), ("t.b", 24, 8, 1, 70)];
    let all = proposed(line(72, Storage::Global, &fields, 0));
    let padded: Vec<_> = all.iter().filter(|one| one.layout.starts_with("padding before")).collect();
    assert_eq!(padded.len(), 1, "nothing is before t.a: {all:?}");
    assert_eq!((padded[0].layout.as_str(), padded[0].new_stride), ("padding before t.b", 128));
    assert_eq!(padded[0].parts, [(0, 24, 0), (24, 48, 64)]);
}

/// A lock's queue spins for its owner, who stalls on another line.
#[test]
fn what_stalls_those_who_do_not_spin_is_tried_too() {
    let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50)];
    let mut run = run(4);
    (run.run.time.spin, run.run.time.stall, run.run.time.compute) = (100_000, 500, 500);
    run.lines = vec![line(64, Storage::Heap, &fields, 0)];
    assert!(!candidates(&run).is_empty(), "100 of the 1000 cycles that are not spun");
    run.run.time.compute = 50_000;
    assert!(candidates(&run).is_empty());
}

/// A line that is fetched for what lies before the object, too.
#[test]
fn what_is_used_before_an_object_on_its_line_is_known() {
    let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50)];
    let beside = |address, is_used: bool| {
        let mut line = line(64, Storage::Heap, &fields, 0);
        line.objects.push(ObjectUse { name: "other".into(), address, bytes: 16, ..ObjectUse::default() });
        line.fields.extend(is_used.then(|| FieldUse { object: Some(1), size: 8, transfers: 1, ..FieldUse::default() }));
        proposed(line)[0].follows
    };
    assert_eq!([beside(0xff0, true), beside(0xff0, false), beside(0x1040, true)], [true, false, false]);
}

/// Where an object begins on a line is luck if its allocator packs it without regard to lines.
#[test]
fn slots_are_as_the_allocator_aligns() {
    let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50)];
    let steps = |storage, stride| {
        let mut line = line(584, storage, &fields, 0);
        line.objects[0].stride = stride;
        proposed(line)[0].slot_step
    };
    assert_eq!(steps(Storage::Heap, 0), 16);
    assert_eq!([584, 592, 608, 640].map(|stride| steps(Storage::Slab, stride)), [8, 16, 32, 0]);
    assert_eq!(steps(Storage::Global, 0), 0);
}
