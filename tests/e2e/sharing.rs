// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who disturbs whom on a cache line, and what is a spin: as recorded, of real runs.
use crate::harness::{Compiler, Line, Report, Simulation, program};
use serde_json::Value;

fn shared(cpus: &str, how: &str) -> Report {
    Simulation::of(&program("truths/sharing.c")).cpus(cpus).args(&format!("{{cpus}} {how}")).report()
}

fn line<'a>(report: &'a Report, cpus: u64, object: &str) -> Line<'a> {
    let mut lines = report.at(cpus).lines();
    lines.find(|line| line.text("object").starts_with(object)).unwrap_or_else(|| panic!("no line of {object}"))
}

fn text(report: &Report) -> &str {
    report.0["finding"]["text"].as_str().expect("a text")
}

#[test]
fn a_sum_after_the_join_does_not_hide_false_sharing() {
    for cpus in [3, 8, 32] {
        let report = shared(&cpus.to_string(), "2000 statistics");
        let line = line(&report, cpus, "counts (");
        let said = line.text("verdict");
        assert_eq!(line.text("sharing"), "false sharing", "{cpus} CPUs: {said}");
        assert!(said.contains("padding would separate") && said.contains("counts["), "{said}");
        let uses = line.0["field_uses"].as_array().expect("fields");
        assert!(uses.iter().all(|field| field["writers"].as_u64() <= Some(1)), "{uses:?}");
    }
}

#[test]
fn a_rare_writer_beside_a_read_mostly_word_has_its_name() {
    let report = shared("16", "4000 config");
    let line = line(&report, 16, "config (");
    assert_eq!(line.text("sharing"), "false sharing", "{}", line.text("verdict"));
    assert!(line.text("verdict").contains("read-mostly word beside a written one"), "{}", line.text("verdict"));
    let words = "config.changes, and so takes the line from configured (sharing.c:";
    assert!(
        text(&report).contains(words) && text(&report).contains("config.changes from config.limit"),
        "{}",
        text(&report)
    );
    // Its readers do not wait for it to change.
    assert!(report.at(16).share("spin") < 0.01 && report.0["finding"]["cause"] == "lines", "{}", text(&report));
}

/// Its loop looks like a spin: the same word, unchanged, with no store between but to the stack.
#[test]
fn readers_wait_for_the_line_of_a_word_that_nobody_writes() {
    let report = shared("8", "4000 steps");
    let (run, line) = (report.at(8), line(&report, 8, "config ("));
    assert!(run.share("stall") > 0.4 && run.share("spin") < 0.1, "{}", run.0["time"]);
    assert_eq!(line.text("sharing"), "false sharing", "{}", line.text("verdict"));
    assert!(line.text("verdict").contains("read-mostly word beside a written one"), "{}", line.text("verdict"));
    let uses = line.0["field_uses"].as_array().expect("fields");
    let stall =
        |name: &str| uses.iter().find(|field| field["name"] == name).map(|field| field["stall_cycles"].as_u64());
    assert!(stall("config.limit") > stall("config.changes"), "{uses:?}");
}

/// Such an update changes nothing, as that of a taken lock does; but nobody waits for the word to change.
#[test]
fn an_update_that_changes_nothing_is_no_spin() {
    let report = shared("8", "4000 mark");
    let (run, line) = (report.at(8), line(&report, 8, "marked ("));
    assert!(run.share("stall") > 0.5 && run.share("spin") < 0.2, "{}", run.0["time"]);
    assert_eq!(line.text("sharing"), "true sharing", "{}", line.text("verdict"));
    assert!(text(&report).contains("waits for one cache line of marked"), "{}", text(&report));
}

#[test]
fn a_flag_and_what_it_announces_are_shared_truly() {
    let report = shared("2", "1000 mailbox");
    assert_eq!(line(&report, 2, "mailbox (").text("sharing"), "true sharing");
}

#[test]
fn the_field_with_most_of_the_wait_comes_first_with_its_share() {
    let report = shared("16", "1000 ring");
    let said = text(&report);
    let (before, after) = said.split_once("% of it for ring.enqueued, ").unwrap_or_else(|| panic!("{said}"));
    let share: f64 = before.rsplit(' ').next().and_then(|share| share.parse().ok()).expect("a share");
    assert!((60.0..=99.0).contains(&share) && after.contains("for 2 other fields"), "{said}");
}

#[test]
fn a_place_in_the_code_has_all_cpus_that_came_through() {
    let report = Simulation::of(&program("truths/sharing.c")).cpus("8").args("{cpus} 5000 statistics").run();
    let row =
        report.said.out.lines().find(|line| line.contains("write") && line.contains("sharing.c:")).map(str::to_owned);
    let row = row.unwrap_or_else(|| panic!("{}", report.said.out));
    assert_eq!(row.split_whitespace().nth(2), Some("7"), "{row}");
}

#[test]
fn a_loop_that_computes_is_no_spin() {
    for how in ["constant", "uneven", "stop", "uneven_stop"] {
        let report = shared("8", &format!("4000 {how}"));
        let run = report.at(8);
        assert!(run.share("spin") < 0.02 && run.share("compute") > 0.9, "{how}: {}", run.0["time"]);
        let locks = run.0["locks"].as_array().expect("locks");
        // All threads wait for the signal to begin.
        let begin = |lock: &&Value| lock["name"] != "team.go";
        assert!(locks.iter().filter(begin).all(|lock| lock["kind"] != "spun word"), "{how}: {locks:?}");
    }
    for how in ["wait", "backs_off"] {
        let run = shared("8", &format!("4000 {how}"));
        assert!(run.at(8).share("spin") > 0.5, "{how}: {}", run.at(8).0["time"]);
    }
}

fn neighbours(how: &str) -> Report {
    Simulation::of(&program("truths/neighbours.c")).cpus("8").args(&format!("{{cpus}} 2000 {how}")).report()
}

/// Padding between the fields of each element would separate nothing here.
#[test]
fn elements_that_belong_to_one_thread_each_are_to_be_aligned() {
    let report = neighbours("own");
    let said = text(&report);
    assert!(said.contains("elements of one array, each used by one CPU, share lines; aligning struct both (16 bytes) to 64 bytes would separate the elements"), "{said}");
    assert!(!said.contains("padding would separate"), "{said}");
    let line = line(&report, 8, "own (");
    assert!(line.text("verdict").contains("aligning struct both (16 bytes) to 64 bytes"), "{}", line.text("verdict"));
}

/// The arrays are on different lines: no padding between them separates anything.
#[test]
fn elements_of_two_arrays_are_to_be_separated_from_their_like() {
    let report = neighbours("columns");
    let said = text(&report);
    assert!(
        said.contains("padding would separate the elements of columns.reads[0-7] and columns.writes[0-7]"),
        "{said}"
    );
}

#[test]
fn heap_objects_that_belong_to_one_thread_each_need_lines_of_their_own() {
    let report = neighbours("objects");
    let said = text(&report);
    let words = "separate heap objects, each used by one CPU, share lines; allocating struct both (16 bytes) on lines of \
                 its own, aligned to 64 bytes, would separate them";
    assert!(said.contains(words), "{said}");
}

#[test]
fn fields_of_one_element_that_two_threads_use_are_to_be_padded() {
    let report = neighbours("crossed");
    let said = text(&report);
    assert!(said.contains("different CPUs write different fields of one line; padding would separate"), "{said}");
    assert!(said.contains("both.reads") && said.contains("both.writes") && !said.contains("aligning"), "{said}");
}

#[test]
fn a_reader_that_takes_the_lines_from_their_writers_is_named() {
    let report = neighbours("monitor");
    let said = text(&report);
    assert!(said.contains("count (neighbours.c:") && said.contains("which add_up (neighbours.c:"), "{said}");
    assert!(said.contains("reads on other CPUs; each is used by at most 2 CPUs"), "{said}");
}

/// A store to a bit-field reads the word as well, which gcc's hook does not say.
#[test]
fn bit_fields_share_lines_as_words_that_masks_change() {
    let compiled = Compiler::installed().map(|compiler| (compiler, "-O2")).chain([(Compiler::Gcc, "-O0")]);
    for (compiler, level) in compiled {
        let program = compiler.program("truths/bit_fields.c", &[level]);
        let of = |how: &str| Simulation::of(&program).cpus("8").args(&format!("{{cpus}} 2000 {how}")).report();
        let [fields, masks] = ["fields", "masks"].map(of);
        let ratio = fields.at(8).cycles() as f64 / masks.at(8).cycles() as f64;
        assert!((0.9..1.1).contains(&ratio), "{compiler:?} {level}: {ratio}");
        let said = text(&fields);
        assert!(said.contains("separate the elements"), "{compiler:?} {level}: {said}");
        let line = line(&fields, 8, "status (");
        let kinds: Vec<_> = line.sites().iter().map(|site| &site["kind"]).collect();
        assert!(kinds.contains(&&"read".into()) && kinds.contains(&&"write".into()), "{compiler:?} {level}: {kinds:?}");
    }
}

/// The wait for such a store is for the lock's, whose line others have taken.
#[test]
fn a_plain_store_behind_an_atomic_one_is_a_write_with_transfers() {
    let report = neighbours("behind");
    let run = report.at(8);
    let on_plain = run.lines().filter(|line| line.text("object").starts_with("plain ("));
    let sites: Vec<_> = on_plain.flat_map(|line| line.sites()).collect();
    assert!(!sites.is_empty());
    for site in sites {
        assert_eq!(site["kind"], "write", "{site}");
        assert!(site["transfers"].as_u64() > Some(0) || site["stall_cycles"] == 0, "{site}");
    }
}

/// An own allocator names its objects: their fields are shown, by where the objects begin on a line.
#[test]
fn objects_of_an_own_allocator_have_fields_and_slots() {
    let simulation = Simulation::of(&program("truths/slab.c")).cpus("4").args("{cpus} 0 1");
    let report = simulation.report();
    let mut slots = Vec::new();
    for line in report.at(4).lines().filter(|line| line.text("object") == "struct node (slab, one every 592 bytes)") {
        for field in line.0["field_uses"].as_array().expect("fields") {
            assert!(["node.sent", "node.received"].contains(&field["name"].as_str().expect("a name")), "{field}");
            assert_eq!(field["sharing"], "false", "{field}");
            slots.push(field["slot"].as_u64().expect("a slot"));
        }
    }
    slots.sort_unstable();
    assert_eq!(slots, [0, 0, 16, 16]);
}

/// Who holds a lock writes what is beside it on a line that is there already: written by all all the same.
#[test]
fn a_write_that_hits_is_a_write() {
    let report = Simulation::of(&program("truths/pool.c")).cpus("8").args("8").report();
    let lines: Vec<Line> = report.at(8).lines().collect();
    let mut uses = lines.iter().flat_map(|line| line.0["field_uses"].as_array().expect("fields"));
    let count = uses.find(|field| field["name"] == "pool.allocations").expect("the count beside the lock");
    assert_eq!(count["writers"], 8, "{count}");
}
