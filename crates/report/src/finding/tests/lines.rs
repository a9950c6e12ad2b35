// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that are waited for, and who writes what on them.
use super::{found, said, with_line};
use crate::sample::*;
use corefold_explain::{Beside, Explained, FieldUse, HotLine, Neighbours, PassedUse, SiteUse, judge};
use corefold_recording::{AccessKind, CLASSES, LockKind, MOST_LINES};

#[test]
fn a_line_is_named_from_five_percent_on() {
    assert!(said(&with_line(5)).contains("5.0% of CPU time waits for one cache line of counter (c.c:1)"));
    assert!(!said(&with_line(4)).contains("counter (c.c:1)"));
    assert!(said(&with_line(4)).contains("no single object, line or lock stands out"));
}

#[test]
fn lines_that_nobody_else_wants_are_named_where_most_waiting_is_for_them() {
    let mut runs = with_line(4);
    let streamed = |stall| PassedUse {
        object: "table (t.c:3)".into(),
        at: Some(place("sum", "t.c", 9)),
        kind: AccessKind::Read,
        transfers_by_class: [0; CLASSES],
        stall,
        stall_percent: 0.0,
        fields: Vec::new(),
    };
    runs[1].passed = vec![streamed(3_000_000)];
    let text = said(&runs);
    let uncontended = "62% of it for uncontended lines (first touch, read-only or handed over once) of table (t.c:3), in sum (t.c:9): for the";
    assert!(text.contains(&format!("60% of CPU time waits for cache lines, {uncontended}")), "{text}");
    runs[1].passed = vec![streamed(2_000_000)];
    assert!(said(&runs).contains("no single object, line or lock stands out"));
}

#[test]
fn false_sharing_adds_up_over_the_lines_of_an_object() {
    let text = said(&false_sharing());
    assert!(text.starts_with("At 80 CPUs the program is 3.1× as fast as on one; it was fastest at 16 CPUs"), "{text}");
    assert!(text.contains("68% of CPU time waits for 10 cache lines of struct pcc at counter.c:52"), "{text}");
    let who = "False sharing: add (counter.c:31) writes pcc.counters[0-79].delta: different CPUs write different fields \
               of one line; padding would separate the elements of pcc.counters[0-79].delta.";
    assert!(text.contains("(heap, 640 bytes): 100% of it for pcc.counters[0-79].delta. "), "{text}");
    assert!(text.ends_with(who), "{text}");
}

/// The threads of a barrier count themselves, and poll the word that the last of them changes.
#[test]
fn what_is_counted_beside_a_flag_has_a_remedy_too() {
    let mut run = spend(timed(8, 1_000_000), 10, 40, 50, 0);
    let mut line = hot_line(0x1000, "barrier (b.c:3)", 3_200_000);
    line.spin = 4_000_000;
    let arrive = site(&place("arrive", "b.c", 10), AccessKind::Rmw, "barrier.value", 3_200_000, 0);
    let poll = site(&place("poll", "b.c", 20), AccessKind::AtomicLoad, "barrier.sense", 0, 4_000_000);
    line.sites = vec![against(arrive, "barrier.value"), poll];
    let mut sense = lock("barrier.sense", LockKind::SpunWord, 0x1008, 3_000_000);
    sense.acquisitions = 0;
    (run.lines, run.locks) = (vec![line], vec![sense]);
    for (wait, named) in [(3_000_000, "one cache line of barrier"), (4_000_000, "the spun word barrier.sense")] {
        run.locks[0].wait_cycles = wait;
        let text = said(&[timed(1, 1_000_000), run.clone()]);
        assert!(text.contains(named), "{text}");
        assert!(
            text.contains("if a flag, set it sooner; for what is counted beside it, a part for each CPU"),
            "{text}"
        );
    }
}

/// Two functions that use a field each of one line; `against` tells which field the other CPU wrote.
fn pair(right: AccessKind, against: [&str; 2]) -> Vec<Explained> {
    let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
    let mut line = hot_line(0x1000, "pair (pair.c:3)", 1_100_000);
    let site = |name, line, kind, field, stall| site(&place(name, "pair.c", line), kind, field, stall, 0);
    line.sites = vec![
        crate::sample::against(site("left", 10, AccessKind::Rmw, "pair.a", 100_000), against[0]),
        crate::sample::against(site("right", 20, right, "pair.b", 1_000_000), against[1]),
    ];
    run.lines = vec![line];
    vec![timed(1, 1_000_000), run]
}

#[test]
fn a_variable_is_not_told_to_be_all_of_itself() {
    let of = |field: &str| {
        let mut runs = pair(AccessKind::Rmw, [field, field]);
        for line in &mut runs[1].lines {
            line.object = "total (sum.c:3)".into();
            line.fields.iter_mut().for_each(|used| used.name = field.into());
            line.sites.iter_mut().for_each(|site| site.field = field.into());
        }
        said(&runs)
    };
    assert!(of("total").contains("waits for one cache line of total (sum.c:3). "), "{}", of("total"));
    assert!(of("total.n").contains("total (sum.c:3): 100% of it for total.n. "), "{}", of("total.n"));
}

#[test]
fn two_fields_of_one_line_are_both_named_with_their_writers() {
    let text = said(&pair(AccessKind::Rmw, ["pair.b", "pair.a"]));
    assert!(
        text.contains("False sharing: right (pair.c:20) and left (pair.c:10) write pair.b and pair.a: different"),
        "{text}"
    );
    assert!(text.ends_with("padding would separate pair.b from pair.a."), "{text}");
    // And a reader of what nobody writes is the victim.
    let text = said(&pair(AccessKind::Read, ["pair.a", "pair.a"]));
    assert!(text.contains("False sharing: left (pair.c:10) writes pair.a, and"), "{text}");
    assert!(text.contains("so takes the line from right (pair.c:20): a read-mostly word beside a written one; padding would separate pair.a from"), "{text}");
    let text = said(&pair(AccessKind::Rmw, ["pair.a", "pair.b"]));
    assert!(
        text.contains("True sharing: ")
            && text.contains("padding would not separate these uses. To try: a part for each CPU,"),
        "{text}"
    );
}

/// Of the line's false sharing, this share of `left`'s and `right`'s is between elements of an array.
fn beside(percent: u64) -> String {
    let mut runs = pair(AccessKind::Rmw, ["pair.b", "pair.a"]);
    for site in &mut runs[1].lines[0].sites {
        let mut conflict = site.conflicts[0].clone();
        conflict.beside = Some(Beside {
            kind: Neighbours::Elements,
            name: format!("pair[{}]", site.address),
            type_name: Some("struct pair".into()),
            other_type: None,
            address: site.address,
            size: 16,
            line_bytes: 64,
            is_heap: true,
        });
        conflict.count = percent;
        site.conflicts[0].count = 100 - percent;
        site.conflicts.push(conflict);
    }
    runs[1].lines[0].verdict = judge(runs[1].lines[0].sites.iter(), |_| true);
    said(&runs)
}

#[test]
fn elements_beside_each_other_are_told_from_fields_beside_each_other() {
    let (fields, both, elements) = (beside(5), beside(50), beside(95));
    let (padding, aligning) =
        ("padding would separate pair.b from pair.a", "aligning struct pair (16 bytes), and the array, to 64 bytes");
    assert!(fields.ends_with(&format!("{padding}.")), "{fields}");
    assert!(both.ends_with(&format!("{padding}, and {aligning} would separate the elements.")), "{both}");
    assert!(
        elements.contains(": elements of one array share lines; aligning") && !elements.contains(padding),
        "{elements}"
    );
}

#[test]
fn the_field_that_is_waited_for_longest_comes_first_with_its_share() {
    let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
    assert!(said(&runs).contains("pair (pair.c:3): 91% of it for pair.b, 9.1% for pair.a. True"), "{}", said(&runs));
    let sites = &mut runs[1].lines[0].sites;
    for n in 0..4 {
        sites.push(site(&place("rest", "pair.c", 30), AccessKind::Rmw, &format!("pair.rest{n}"), 25_000, 0));
    }
    let text = said(&runs);
    assert!(
        text.contains(": 91% of it for pair.b, 9.1% for pair.a, 2.3% for pair.rest0, 6.8% for 3 other fields."),
        "{text}"
    );
}

#[test]
fn an_object_is_judged_by_all_its_lines_and_its_own_accesses() {
    let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
    // A hotter line of the same object, on which a neighbour is truly shared, and the object suffers for lying there.
    let mut hottest = hot_line(0x1040, "pair (pair.c:3)", 90_000_000);
    let mut neighbour = hottest.objects[0].clone();
    neighbour.name = "beside (pair.c:9)".into();
    hottest.objects.push(neighbour);
    hottest.fields.push(FieldUse { name: "beside".into(), object: Some(1), stall: 1, ..FieldUse::default() });
    let own = site(&place("own", "pair.c", 40), AccessKind::Read, "pair.c", 50_000_000, 0);
    let other = site(&place("other", "pair.c", 50), AccessKind::Rmw, "beside", 40_000_000, 0);
    hottest.sites = vec![against(own, "beside"), SiteUse { field_index: 1, ..against(other, "beside") }];
    runs[1].lines.push(hottest);
    let text = said(&runs);
    assert!(text.contains("and so take the line from own (pair.c:40): a read-mostly word"), "{text}");
}

#[test]
fn clones_of_an_arc_are_updates_of_its_count() {
    let remedy = |field: &str| {
        let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
        let mut line = hot_line(0x1000, "ArcInner<Config> at main.rs:3", 1_100_000);
        let add = site(&place("f", "main.rs", 9), AccessKind::Rmw, field, 300_000, 0);
        line.sites = vec![against(add, field)];
        run.lines = vec![line];
        found(&[timed(1, 1_000_000), run]).remedy
    };
    assert!(remedy("ArcInner<Config>.strong").contains("fewer clones"), "{}", remedy("ArcInner<Config>.strong"));
    assert!(remedy("ArcInner<Config>.data.strong").contains("a part for each CPU, or fewer updates"));
}

/// Readers of a reader-writer lock never wait for it, and all write its line.
#[test]
fn a_line_that_is_a_lock_is_called_one() {
    let with = |kind, name: &str| {
        let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
        let mut lock = lock(name, kind, 0x1000, 0);
        (lock.acquisitions, lock.contended) = (1000, 0);
        runs[1].locks = vec![lock];
        said(&runs)
    };
    let readers = with(LockKind::RwLock, "pair.b");
    assert!(
        readers.contains(
            " pair.b is a rwlock (read locks write its line, too): 0% of its 1.00k acquisitions had to wait."
        ),
        "{readers}"
    );
    assert!(readers.contains("To try: for readers, a lock that they do not write to"), "{readers}");
    assert!(with(LockKind::Mutex, "pair.b").contains("To try: hold it for less time"));
    assert!(!with(LockKind::RwLock, "pair.a").contains("rwlock"), "the other field is what costs");
    assert!(!with(LockKind::RwLock, "pair").contains("To try: hold"), "a part of it");
    let counter = |name: &str| {
        let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
        runs[1].lines[0].sites[1].field = name.into();
        runs[1].locks = vec![lock("pair.b", LockKind::Spinlock, 0x1000, 0)];
        said(&runs)
    };
    assert!(!counter("pair.b_count").contains("spinlock"), "what is called alike: {}", counter("pair.b_count"));
}

#[test]
fn what_to_try_depends_on_who_writes() {
    let remedy = |runs: &[Explained]| found(runs).remedy;
    // False sharing: the verdict says what would separate the fields.
    assert_eq!(remedy(&pair(AccessKind::Rmw, ["pair.b", "pair.a"])), "");
    assert!(remedy(&pair(AccessKind::Rmw, ["pair.a", "pair.b"])).contains("a part for each CPU, or fewer"));
    let shared = pair(AccessKind::Write, ["pair.a", "pair.b"]);
    assert!(remedy(&shared).contains("store only when the value changes"));
    // Of four such objects, each written on one CPU only.
    let mut own = shared;
    let lines = &mut own[1].lines;
    let first = lines[0].clone();
    lines.extend((1..4).map(|i| HotLine { address: 0x1000 * (i + 1), ..first.clone() }));
    let mut both = own.clone();
    both[1].lines.iter_mut().flat_map(|line| &mut line.sites).for_each(|site| site.cpus = (0..4).collect());
    assert!(remedy(&both).contains("store only when the value changes"), "{}", remedy(&both));
    for (cpu, line) in own[1].lines.iter_mut().enumerate() {
        line.sites.iter_mut().for_each(|site| site.cpus = std::iter::once(cpu as u32).collect());
    }
    assert!(remedy(&own).contains("fewer reads of it on the others"), "{}", remedy(&own));
}

/// The recording has room for the hottest lines only: the others may all be the same object's.
#[test]
fn lines_that_are_not_recorded_come_before_a_lock_that_costs_less() {
    let recorded = |lines: u64, locks: u64| {
        let mut runs = with_line(0);
        let whole = runs[1].run.time.total();
        let each = whole / 100 * lines / MOST_LINES as u64;
        runs[1].lines = (0..MOST_LINES as u64).map(|i| hot_line(0x1000 + i * 64, "table (t.c:1)", each)).collect();
        runs[1].locks = vec![lock("done", LockKind::Mutex, 0x10, whole / 100 * locks)];
        runs
    };
    // 60 % of the time is spent stalled.
    let text = said(&recorded(20, 30));
    assert!(
        text.contains("At least 20% of CPU time waits for 1024 cache lines of table (t.c:1) (40% for lines"),
        "{text}"
    );
    let mut few = recorded(2, 30);
    few[1].functions = vec![function("try_lock", 7, 90.0, 90.0, 0.6)];
    few[1].functions[0].self_time.stall = few[1].run.time.stall / 2;
    let text = said(&few);
    assert!(text.contains("60% of CPU time waits for cache lines, most of it in try_lock ("), "{text}");
    assert!(text.contains("no single object, line or lock stands out; 58% waits for lines that are not"), "{text}");
    few[0].run.cycles *= 8;
    assert!(!said(&few).contains("waits for cache lines"), "it scales");
    assert!(said(&recorded(20, 45)).contains("45% of thread time waits for the mutex done"));
    let mut all = recorded(20, 30);
    all[1].lines.pop();
    assert!(said(&all).contains("30% of thread time waits for the mutex done"), "all are recorded");
}
