// SPDX-License-Identifier: MIT OR Apache-2.0
//! False against true sharing.
mod common;
use common::*;
use corefold_explain::{HotLine, Sharing};
use corefold_recording::AccessKind::{self, *};

const C: &str = r#"
struct { long a, b; long slots[6]; } hot __attribute__((aligned(64)));
void one(void) {}
void two(void) {}
int main(void) { return hot.a; }
"#;

/// Function, kind, offset, CPUs, transfers.
type Touch = (&'static str, AccessKind, u8, u32, u64);

fn judged(cpus: u32, touches: &[Touch]) -> HotLine {
    let program = Program::new("sharing.c", C, &["-O0"]);
    let mut run = program.run();
    let sites = touches.iter().map(|(function, kind, offset, cpus, transfers)| {
        let mut site = site(program.symbol(function) + 1, *kind, *offset, 8, *cpus);
        (site.transfers, site.stall) = (*transfers, *transfers * 100);
        site
    });
    run.lines.push(line(program.symbol("hot"), cpus, sites.collect()));
    told(&run).lines.remove(0)
}

#[test]
fn one_slot_for_each_cpu_is_false_sharing() {
    let slots: Vec<Touch> = (0..6).map(|slot| ("one", Rmw, 16 + 8 * slot, 1, 100)).collect();
    let line = judged(6, &slots);
    assert_eq!(line.verdict.sharing, Sharing::False);
    assert_eq!(line.verdict.written.len(), 6);
    assert_eq!(line.verdict.sentence, "different CPUs write `hot.slots[0…5]`, which lie on one line");
}

#[test]
fn plain_increments_of_own_slots_are_false_sharing() {
    let touches =
        [("one", Read, 0, 1, 50), ("one", Write, 0, 1, 50), ("two", Read, 8, 1, 50), ("two", Write, 8, 1, 50)];
    assert_eq!(judged(2, &touches).verdict.sharing, Sharing::False);
}

#[test]
fn a_counter_beside_what_others_only_read_is_false_sharing() {
    let line = judged(9, &[("one", Write, 0, 1, 100), ("two", Read, 8, 8, 800)]);
    assert_eq!(line.verdict.sharing, Sharing::False);
    assert_eq!(line.verdict.sentence, "`hot.a` is written, and takes the line from readers of `hot.b`");
}

#[test]
fn one_counter_for_all_is_true_sharing() {
    let line = judged(80, &[("one", Rmw, 0, 80, 800), ("two", AtomicLoad, 0, 3, 3)]);
    assert_eq!(line.verdict.sharing, Sharing::True);
    assert_eq!(line.verdict.sentence, "80 CPUs use `hot.a`, which some of them write");
    assert_eq!((line.fields[0].readers, line.fields[0].writers), (80, 80));
}

#[test]
fn one_writer_and_one_reader_of_the_same_bytes_are_true_sharing() {
    assert_eq!(
        judged(2, &[("one", AtomicStore, 0, 1, 100), ("two", AtomicLoad, 0, 1, 100)]).verdict.sharing,
        Sharing::True
    );
}

#[test]
fn fields_written_under_one_lock_are_true_sharing() {
    // Who takes the lock has the line, so what it protects costs little more.
    let touches = [("one", Rmw, 0, 8, 1000), ("one", Write, 8, 8, 20), ("one", Write, 16, 8, 10)];
    assert_eq!(judged(8, &touches).verdict.sharing, Sharing::True);
}

#[test]
fn two_shared_counters_on_one_line_are_both() {
    let line = judged(8, &[("one", Rmw, 0, 4, 500), ("two", Rmw, 8, 4, 500)]);
    assert_eq!(line.verdict.sharing, Sharing::Both);
    assert_eq!(line.verdict.written, ["hot.a", "hot.b"]);
}

#[test]
fn a_rare_sum_over_the_slots_does_not_hide_false_sharing() {
    let mut touches: Vec<Touch> = (0..4).map(|slot| ("one", Rmw, 16 + 8 * slot, 1, 1000)).collect();
    touches.extend((0..4).map(|slot| ("two", Read, 16 + 8 * slot, 4, 20)));
    assert_eq!(judged(4, &touches).verdict.sharing, Sharing::False);
}

#[test]
fn what_nobody_writes_is_only_read() {
    assert_eq!(judged(80, &[("one", Read, 0, 80, 80)]).verdict.sharing, Sharing::ReadOnly);
}

#[test]
fn fields_stand_in_the_order_of_the_line() {
    let line = judged(3, &[("one", Write, 24, 1, 10), ("one", Write, 0, 1, 90), ("two", Read, 8, 1, 40)]);
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
    run.lines.push(line(program.symbol("hot"), 9, vec![store, load]));
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
        site
    };
    let mut run = program.run();
    run.lines.push(line(program.symbol("both"), 4, vec![at(40, 1), at(56, 1), at(0, 9000), at(4, 9000), at(12, 9000)]));
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
    };
    run.labels = labels.map(label).to_vec();
    let at = |offset, stall| {
        let mut site = site(program.symbol("one") + 1, Rmw, offset, 8, 4);
        (site.stall, site.transfers) = (stall, 1);
        site
    };
    run.lines.push(line(program.symbol("hot"), 4, vec![at(8, 10), at(16, 4000), at(24, 9000)]));
    assert_eq!(told(&run).lines[0].object, "hot, warm and 1 more");
}
