// SPDX-License-Identifier: MIT OR Apache-2.0
//! False against true sharing.
use crate::common::*;
use corefold_explain::{HotLine, Sharing};
use corefold_recording::AccessKind::{self, *};
use corefold_recording::Conflict;
use std::ops::Range;

const C: &str = r#"
struct { long a, b; long slots[6]; } hot __attribute__((aligned(64)));
void one(void) {}
void two(void) {}
int main(void) { return hot.a; }
"#;

/// Function, kind, offset, the CPUs, transfers, and what other CPUs wrote that they were because of, by offset.
type Touch = (&'static str, AccessKind, u8, Range<u32>, u64, &'static [(u8, u64)]);

fn judged(touches: &[Touch]) -> HotLine {
    let program = Program::new("sharing.c", C, &["-O0"]);
    let mut run = program.run();
    let sites = touches.iter().map(|(function, kind, offset, cpus, transfers, against)| {
        let mut site = site(program.symbol(function) + 1, *kind, *offset, 8, 0);
        (site.transfers, site.stall) = (*transfers, *transfers * 100);
        site.cpus = cpus.clone().collect();
        site.conflicts =
            against.iter().map(|(offset, count)| Conflict { offset: *offset, wrote: true, count: *count }).collect();
        site
    });
    run.lines.push(line(program.symbol("hot"), sites.collect()));
    told(&run).lines.remove(0)
}

#[test]
fn one_slot_for_each_cpu_is_false_sharing() {
    let slots: Vec<Touch> = (0..6)
        .map(|slot| ("one", Rmw, 16 + 8 * slot, slot.into()..slot as u32 + 1, 100, &[(16, 50), (56, 50)][..]))
        .collect();
    // The first and the last are taken by each other only.
    let apart = |mut touch: Touch| {
        touch.5 = if touch.2 == 16 { &[(56, 100)] } else { &[(16, 100)] };
        touch
    };
    let line = judged(&slots.into_iter().map(apart).collect::<Vec<_>>());
    assert_eq!(line.verdict.sharing, Sharing::False);
    assert_eq!(line.verdict.written.len(), 6);
    let said = "different CPUs write different fields of one line, `hot.slots[0-5]`; padding would separate the \
                elements of `hot.slots[0-5]`";
    assert_eq!(line.verdict.sentence, said);
    assert_eq!((line.cpus.len(), line.fields[0].writers), (6, 1));
}

/// A total that is written once in a while beside the slots is no party, however little each slot costs by itself.
#[test]
fn a_field_that_is_hardly_written_is_not_what_padding_would_separate() {
    let mut touches: Vec<Touch> = (0..6)
        .map(|slot: u8| ("one", Rmw, 16 + 8 * slot, slot.into()..slot as u32 + 1, 100, &[(16, 50), (56, 50)][..]))
        .collect();
    touches.push(("two", Rmw, 0, 0..6, 4, &[(16, 4)]));
    let line = judged(&touches);
    assert!(line.verdict.sentence.ends_with("separate the elements of `hot.slots[0-5]`"), "{}", line.verdict.sentence);
}

#[test]
fn plain_increments_of_own_slots_are_false_sharing() {
    let touches = [
        ("one", Read, 0, 0..1, 50, &[(8, 50)][..]),
        ("one", Write, 0, 0..1, 50, &[(8, 50)][..]),
        ("one", Read, 8, 1..2, 50, &[(0, 50)][..]),
        ("one", Write, 8, 1..2, 50, &[(0, 50)][..]),
    ];
    assert_eq!(judged(&touches).verdict.sharing, Sharing::False);
}

#[test]
fn a_sum_that_main_takes_after_the_join_changes_nothing() {
    let mut touches: Vec<Touch> = (0..6)
        .map(|slot| ("one", Write, 16 + 8 * slot, slot.into()..slot as u32 + 1, 100, OTHERS[slot as usize]))
        .collect();
    touches.push(("two", Read, 16, 0..1, 1, &[(56, 1)]));
    touches.push(("two", Read, 56, 0..1, 1, &[(56, 1)]));
    let verdict = judged(&touches).verdict;
    assert_eq!((verdict.sharing, verdict.written.len(), verdict.only_read.len()), (Sharing::False, 6, 0));
}

/// What takes a line from each slot: the slot after it.
const OTHERS: [&[(u8, u64)]; 6] = [&[(24, 99)], &[(32, 99)], &[(40, 99)], &[(48, 99)], &[(56, 99)], &[(16, 99)]];

#[test]
fn a_rare_writer_beside_a_read_mostly_word_is_false_sharing_with_a_name_of_its_own() {
    // 80 CPUs fetch the line after each of 20 writes: the writes are little of what moves it.
    let line = judged(&[("one", Write, 0, 0..1, 20, &[]), ("two", Read, 8, 0..80, 1600, &[(0, 1600)])]);
    assert_eq!(line.verdict.sharing, Sharing::False);
    let said = "a read-mostly word beside a written one: each write to `hot.a` takes the line from readers of \
                `hot.b`; padding would separate `hot.a` from `hot.b`";
    assert_eq!(line.verdict.sentence, said);
}

/// Each CPU reads and writes its elements; which of the two fetched the line differs from element to element.
#[test]
fn elements_that_fetched_the_line_by_reads_only_are_no_read_mostly_words() {
    let touches = [
        ("one", Read, 16, 0..1, 50, &[(24, 50)][..]),
        ("one", Write, 24, 1..2, 50, &[(40, 50)][..]),
        ("one", Read, 32, 2..3, 50, &[(40, 50)][..]),
        ("one", Write, 40, 3..4, 50, &[(24, 50)][..]),
    ];
    let verdict = judged(&touches).verdict;
    assert_eq!(verdict.only_read.len(), 0);
    let said =
        "different CPUs write different fields of one line, `hot.slots[1,3]`; padding would separate the elements";
    assert!(verdict.sentence.starts_with(said), "{}", verdict.sentence);
}

#[test]
fn an_element_that_several_cpus_read_beside_a_written_one_is_read_mostly() {
    let touches = [("one", Read, 16, 0..4, 100, &[(24, 100)][..]), ("two", Write, 24, 4..5, 100, &[][..])];
    let verdict = judged(&touches).verdict;
    assert_eq!(
        (verdict.only_read, verdict.written),
        (vec!["hot.slots[0]".to_owned()], vec!["hot.slots[1]".to_owned()])
    );
}

#[test]
fn written_elements_beside_a_read_mostly_word_are_to_be_separated_too() {
    let touches = [
        ("two", Read, 8, 0..4, 100, &[(24, 50), (32, 50)][..]),
        ("one", Write, 24, 0..1, 100, &[(32, 60)][..]),
        ("one", Write, 32, 1..2, 100, &[(24, 60)][..]),
    ];
    let padding = judged(&touches).verdict.padding;
    assert_eq!(padding, "padding would separate `hot.slots[1-2]` from `hot.b`, and the elements of `hot.slots[1-2]`");
    let one = [("two", Read, 16, 0..4, 100, &[(24, 100)][..]), ("one", Write, 24, 0..1, 100, &[][..])];
    assert!(judged(&one).verdict.padding.ends_with("separate `hot.slots[1]` from `hot.slots[0]`"));
}

#[test]
fn padding_is_not_advised_for_what_has_lines_of_its_own_or_is_used_together() {
    // Each waits for the other's head, and for the slot that lies beside its own.
    let queue = [
        ("one", Read, 0, 0..1, 90, &[(0, 90)][..]),
        ("two", Write, 0, 1..2, 90, &[(0, 90)][..]),
        ("one", Write, 24, 0..1, 30, &[(32, 30)][..]),
        ("two", Write, 32, 1..2, 30, &[(24, 30)][..]),
    ];
    let verdict = judged(&queue).verdict;
    assert_eq!(verdict.sharing, Sharing::Both);
    assert_eq!(verdict.padding, "padding would separate the elements of `hot.slots[1-2]`");
    assert!(verdict.separates);
    // One CPU writes a count and a value, and the others read both.
    let sequence = [
        ("one", Write, 0, 0..1, 50, &[(0, 40), (8, 10)][..]),
        ("one", Read, 0, 0..1, 50, &[(0, 40), (8, 10)][..]),
        ("one", Write, 8, 0..1, 50, &[(8, 40), (0, 10)][..]),
        ("two", Read, 0, 0..8, 80, &[(0, 60), (8, 20)][..]),
        ("two", Read, 8, 0..8, 80, &[(8, 60), (0, 20)][..]),
    ];
    let verdict = judged(&sequence).verdict;
    assert_eq!(verdict.sharing, Sharing::Both);
    assert_eq!(verdict.padding, "padding would not separate these uses");
    assert!(!verdict.separates);
}

#[test]
fn a_word_that_was_written_once_is_still_read_mostly() {
    let touches = [
        ("one", Write, 0, 0..1, 400, &[][..]),
        ("one", Write, 8, 0..1, 1, &[][..]),
        ("two", Read, 8, 1..9, 3201, &[(0, 3199), (8, 1)][..]),
    ];
    let verdict = judged(&touches).verdict;
    assert_eq!((verdict.written, verdict.only_read), (vec!["hot.a".to_owned()], vec!["hot.b".to_owned()]));
}

#[test]
fn one_counter_for_all_is_true_sharing() {
    let line = judged(&[("one", Rmw, 0, 0..80, 800, &[(0, 800)]), ("two", AtomicLoad, 0, 0..3, 3, &[(0, 3)])]);
    assert_eq!(line.verdict.sharing, Sharing::True);
    assert_eq!(
        line.verdict.sentence,
        "80 CPUs use `hot.a`, written by some of them; padding would not separate these uses"
    );
    assert_eq!((line.fields[0].readers, line.fields[0].writers), (80, 80));
}

#[test]
fn one_writer_and_one_reader_of_the_same_bytes_are_true_sharing() {
    let touches = [("one", AtomicStore, 0, 0..1, 100, &[][..]), ("two", AtomicLoad, 0, 1..2, 100, &[(0, 100)][..])];
    let verdict = judged(&touches).verdict;
    assert_eq!((verdict.sharing, verdict.users), (Sharing::True, 2));
    assert_eq!(verdict.sentence, "2 CPUs use `hot.a`, written by some of them; padding would not separate these uses");
}

#[test]
fn two_shared_counters_on_one_line_are_both() {
    let half = &[(0, 250), (8, 250)];
    let line = judged(&[("one", Rmw, 0, 0..4, 500, half), ("two", Rmw, 8, 4..8, 500, half)]);
    assert_eq!(line.verdict.sharing, Sharing::Both);
    assert_eq!(line.verdict.written, ["hot.a", "hot.b"]);
    assert!(line.verdict.sentence.starts_with("50% of the wait is true sharing, the rest false sharing"));
}

#[test]
fn what_nobody_writes_is_only_read() {
    let verdict = judged(&[("one", Read, 0, 0..80, 80, &[])]).verdict;
    assert_eq!(verdict.sharing, Sharing::ReadOnly);
    assert_eq!(verdict.sentence, "80 CPUs read `hot.a`; no write was recorded");
    // What is written at all is not called so.
    let verdict = judged(&[("one", Read, 0, 0..80, 80, &[]), ("two", Write, 8, 0..1, 1, &[])]).verdict;
    assert_eq!(verdict.sharing, Sharing::Unknown);
}

#[test]
fn fields_stand_in_the_order_of_the_line() {
    let touches = [
        ("one", Write, 24, 0..1, 10, &[][..]),
        ("one", Write, 0, 0..1, 90, &[][..]),
        ("two", Read, 8, 1..2, 40, &[][..]),
    ];
    let line = judged(&touches);
    let fields: Vec<(&str, i64)> = line.fields.iter().map(|f| (f.name.as_str(), f.offset_in_line)).collect();
    assert_eq!(fields, [("hot.a", 0), ("hot.b", 8), ("hot.slots[1]", 24)]);
    let sites: Vec<(&str, usize)> = line.sites.iter().map(|s| (s.field.as_str(), s.field_index)).collect();
    assert_eq!(sites, [("hot.a", 0), ("hot.b", 1), ("hot.slots[1]", 2)]);
}

#[test]
fn a_writer_whose_stores_wait_for_nothing_is_still_the_one() {
    let program = Program::new("sharing.c", C, &["-O0"]);
    let mut run = program.run();
    let mut store = site(program.symbol("one") + 1, Write, 0, 8, 1);
    (store.transfers, store.stall) = (40, 0);
    let mut load = site(program.symbol("two") + 1, Read, 0, 8, 8);
    (load.transfers, load.stall) = (60, 1_000_000);
    load.conflicts = vec![Conflict { offset: 0, wrote: true, count: 60 }];
    run.lines.push(line(program.symbol("hot"), vec![store, load]));
    let verdict = told(&run).lines.remove(0).verdict;
    assert_eq!((verdict.sharing, verdict.written), (Sharing::True, vec!["hot.a".to_owned()]));
}

const CPP: &str = r#"
#include <mutex>
#include <string>
#include <vector>
struct alignas(64) { std::mutex lock; std::vector<std::string> names; } both;
void one() {}
int main() { std::lock_guard guard(both.lock); return both.names.size(); }
"#;

#[test]
fn words_of_one_lock_or_container_are_one_field() {
    let program = Program::new("sharing.cpp", CPP, &["-O0"]);
    let at = |offset, stall| {
        let mut site = site(program.symbol_with("one") + 1, Rmw, offset, 4, 1);
        site.stall = stall;
        // Each is taken by who uses another word of the lock, or of the container.
        let other = if offset < 40 { (offset + 4) % 16 } else { 40 };
        let count = if offset < 40 { 1000 } else { 1 };
        site.conflicts = vec![Conflict { offset: other, wrote: true, count }];
        site
    };
    let mut run = program.run();
    run.lines.push(line(program.symbol("both"), vec![at(40, 1), at(56, 1), at(0, 9000), at(4, 9000), at(12, 9000)]));
    let line = told(&run).lines.remove(0);
    let names: Vec<&str> = line.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["both.lock", "both.names"]);
    assert_eq!((line.verdict.sharing, line.verdict.written.as_slice()), (Sharing::True, &["both.lock".to_owned()][..]));
}

#[test]
fn the_dearest_object_of_a_line_stands_first() {
    let program = Program::new("sharing.c", C, &["-O0"]);
    let mut run = program.run();
    let labels = [("cold", 8), ("warm", 16), ("hot", 24)];
    let label = |(name, offset): (&str, u64)| corefold_recording::Label {
        address: program.symbol("hot") + offset,
        bytes: 8,
        name: name.to_owned(),
        stride: 0,
    };
    run.labels = labels.map(label).to_vec();
    let at = |offset, stall| {
        let mut site = site(program.symbol("one") + 1, Rmw, offset, 8, 4);
        (site.stall, site.transfers) = (stall, 1);
        site
    };
    run.lines.push(line(program.symbol("hot"), vec![at(8, 10), at(16, 4000), at(24, 9000)]));
    assert_eq!(told(&run).lines[0].object, "hot, warm and 1 more");
}
