// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold fix`: what a layout is said to gain is what it gains.
use crate::harness::{Place, Program, corefold, program, program_with, said, stress};
use serde_json::Value;

const PROGRAM: &str = "truths/layouts.c";

/// Records the program into the place, and passes these arguments to `corefold fix`.
struct Recorded {
    place: Place,
}

impl Recorded {
    fn new(program: &Program, args: &str) -> Recorded {
        let place = Place::new();
        record(&place, program, args, "a.rec");
        Recorded { place }
    }

    fn fix(&self, options: &str) -> Value {
        let said = self.place.corefold(&format!("fix a.rec --json - {options}"));
        assert_eq!(said.code, Some(0), "{}", said.err);
        serde_json::from_str(&said.out).expect("a JSON document")
    }
}

/// Virtual seconds of the run.
fn record(place: &Place, program: &Program, args: &str, name: &str) -> f64 {
    let mut command = place.command(corefold());
    command.args(["run", "--cpus", "8", "--no-host-time", "--json", "-", "-o", name, "--"]);
    let said = said(command.arg(program).args(args.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).expect("a JSON document");
    document["runs"][0]["seconds"].as_f64().expect("seconds")
}

fn layouts(document: &Value) -> Vec<(&str, f64)> {
    let all = document["layouts"].as_array().expect("a list").iter();
    all.map(|one| (one["layout"].as_str().expect("text"), one["gain"].as_f64().expect("a number"))).collect()
}

fn gain_of(document: &Value, layout: &str) -> f64 {
    let all = layouts(document);
    all.iter().find(|(name, _)| *name == layout).unwrap_or_else(|| panic!("{layout} is not in {all:?}")).1
}

#[test]
fn a_layout_gains_in_the_source_what_it_gains_in_a_trial() {
    let mends = [
        ("8 counters", "each of slot[0-7] on lines of its own", "-DSLOTS", 0.2),
        ("8 bytes", "bytes of pool[0-119] that different CPUs use on lines of their own", "-DROOM=64", 0.2),
        ("8 statistics", "statistics.hits on a line of its own", "-DAPART", 0.1),
    ];
    for (args, layout, mend, least) in mends {
        let recorded = Recorded::new(&program(PROGRAM), args);
        let document = recorded.fix("");
        assert_eq!(document["recorded_seconds"], document["seconds"], "the same program, the same run");
        assert_eq!(recorded.fix(""), document, "the same each time");
        let (first, promised) = layouts(&document)[0];
        let mended = record(&recorded.place, &program_with(PROGRAM, &[mend]), args, "b.rec");
        let gained = document["seconds"].as_f64().expect("seconds") / mended - 1.0;
        assert_eq!(first, layout, "{document}");
        assert!(promised > least && (promised - gained).abs() < 0.02, "{layout}: {promised} promised, {gained} gained");
    }
}

/// The other line of a pair may be one whose parts are simulated elsewhere.
#[test]
fn layouts_are_tried_where_lines_are_fetched_in_pairs() {
    for (args, layout, least) in
        [("8 bytes", "bytes of pool[0-119] that", 0.2), ("8 statistics", "statistics.hits on", 0.07)]
    {
        let document = Recorded::new(&program(PROGRAM), args).fix("--machine skx-8s-8176");
        let all = layouts(&document);
        assert!(all[0].0.starts_with(layout) && all[0].1 > least, "{all:?}");
    }
}

/// No two fields of one object do: `layout --diff` tells of the elements.
#[test]
fn elements_that_another_build_has_apart_are_told() {
    let [close, apart] = [&[][..], &["-DPAD"]].map(|flags| program_with("truths/elements.c", flags));
    let recorded = Recorded::new(&close, "");
    let mut command = recorded.place.command(corefold());
    command.args(["layout", "--json", "-", "--hot", "a.rec", "--diff"]).args([&close, &apart]);
    let said = said(&mut command);
    let document: Value = serde_json::from_str(&said.out).expect("a JSON document");
    let change = &document["changes"][0];
    let elements = ["old_share", "new_share"].map(|key| change["elements"][key].as_f64());
    assert_eq!((change["name"].as_str(), elements), (Some("slot"), [Some(0.75), Some(0.0)]), "{document}");
    // Three quarters of what waited are told, as many as no longer share a line.
    let stall = change["elements"]["stall_share"].as_f64();
    assert!(stall.is_some_and(|share| share > 0.7), "{document}");
}

/// One is mended, and the line that it was on costs as much as before: what else is there comes next.
#[test]
fn what_waits_once_the_first_is_mended_is_found_too() {
    let recorded = Recorded::new(&program(PROGRAM), "8 hidden");
    let document = recorded.fix("");
    let mended = record(&recorded.place, &program_with(PROGRAM, &["-DALONE"]), "8 hidden", "b.rec");
    let gained = document["seconds"].as_f64().expect("seconds") / mended - 1.0;
    let (first, promised) = layouts(&document)[0];
    let with = document["layouts"][0]["with"].as_array().expect("layouts of others").len();
    assert_eq!(with, 2, "with two others, so that each of the four is alone: {document}");
    assert!(promised > 1.0 && (promised / gained - 1.0).abs() < 0.05, "{first}: {promised} promised, {gained} gained");
}

/// Who has taken the lock has its line, and what it guards with it.
#[test]
fn a_lock_is_better_off_beside_what_it_guards() {
    let recorded = Recorded::new(&program(PROGRAM), "8 queue");
    let document = recorded.fix("");
    assert!(gain_of(&document, "queue.lock on a line of its own") < -0.05, "{document}");
    assert!(layouts(&document)[0].1 < 0.05, "{document}");
}

#[test]
fn what_helps_one_recording_is_weighed_by_others() {
    let recorded = Recorded::new(&program(PROGRAM), "8 counters");
    record(&recorded.place, &program(PROGRAM), "8 queue", "other.rec");
    let document = recorded.fix("--also other.rec");
    let also = &document["layouts"][0]["also"][0];
    assert_eq!(also["recording"], "other.rec");
    assert!(also["gain"].as_f64().expect("a number").abs() < 0.01, "it uses none of these: {document}");
    let said = recorded.place.corefold("fix a.rec --also other.rec");
    assert!(said.out.contains("other.rec") && said.out.contains("on lines of its own"), "{}", said.out);
}

/// A lock beside what it guards: who only looks at that gains by their separation, who takes the lock for it loses.
#[test]
fn what_hurts_another_recording_is_said() {
    let recorded = Recorded::new(&program(PROGRAM), "8 watch");
    record(&recorded.place, &program(PROGRAM), "8 queue", "other.rec");
    let said = recorded.place.corefold("fix a.rec --no-slots --also other.rec --json a.json");
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = std::fs::read_to_string(recorded.place.path("a.json")).expect("a document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let apart = "queue.lock on a line of its own";
    let one = document["layouts"].as_array().expect("a list").iter().find(|one| one["layout"] == apart);
    let also = one.and_then(|one| one["also"][0]["gain"].as_f64()).unwrap_or_else(|| panic!("no {apart}: {document}"));
    assert!(gain_of(&document, apart) > 0.05 && also < -0.02, "{document}");
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("{apart}: +")) && words.contains("for other.rec"), "{}", said.out);
}

#[test]
fn what_cannot_be_tried_is_said() {
    let recorded = Recorded::new(&program(PROGRAM), "1 counters");
    let said = recorded.place.corefold("fix a.rec");
    assert!(said.code == Some(0) && said.out.contains("no object causes enough stall and spin"), "{}", said.out);
    let said = recorded.place.corefold("fix a.rec --cpus 9");
    assert!(said.code != Some(0) && said.err.contains("a.rec has no run at 9 CPUs"), "{}", said.err);
    let said = recorded.place.corefold("fix missing.rec");
    assert!(said.code != Some(0) && said.err.contains("missing.rec"), "{}", said.err);
}

/// Objects of two sizes from one place in the code: the smaller one has nothing to be laid out anew.
#[test]
fn objects_of_one_site_may_differ_in_size() {
    let recorded = Recorded::new(&program(PROGRAM), "8 mixed");
    let document = recorded.fix("");
    let all = layouts(&document);
    assert!(all.len() > 1 && all.iter().all(|(_, gain)| gain.is_finite()), "{document}");
    assert!(all.iter().any(|(layout, _)| layout.starts_with("mixed.")), "{document}");
}

/// The source is changed as was proposed, and the program built again in its place.
#[test]
fn what_was_promised_is_verified_by_the_rebuilt_program() {
    let place = Place::new();
    for (file, define) in [("p", "-DAPART"), ("mended", "-DSLOTS")] {
        std::fs::copy(program_with(PROGRAM, &[define]), place.path(file)).expect("a copy");
    }
    let script = "$corefold run --cpus 8 --no-host-time -o a.rec -- ./p 8 counters";
    assert_eq!(place.sh(script).code, Some(0));
    let said = place.corefold("fix a.rec --verify true");
    assert!(said.code != Some(0) && said.err.contains("the program is the same after `true`"), "{}", said.err);
    let said = place.corefold("fix a.rec --verify false");
    assert!(said.code != Some(0) && said.err.contains("`false` failed (exit status: 1)"), "{}", said.err);
    let said = place.sh("mkdir other && cd other && $corefold fix ../a.rec");
    assert!(said.code == Some(2) && said.err.contains("./p does not exist here: run `corefold fix`"), "{}", said.err);
    // The program is as it was after each.
    let spoilt = |command: &str| {
        place.sh(&format!(
            "cp p kept; code=0; $corefold fix a.rec --verify '{command}' || code=$?; cp kept p; exit $code"
        ))
    };
    let said = spoilt("rm p");
    assert!(said.code != Some(0) && said.err.contains("after `rm p`: ./p does not exist"), "{}", said.err);
    let said = spoilt("echo \"int main(void) { return 3; }\" >q.c; $corefold cc -g q.c -o p");
    assert!(said.code != Some(0) && said.err.contains("ends differently: exited with"), "{}", said.err);
    let said = place.sh("$corefold fix a.rec --json a.json --verify 'echo built; mv mended p'");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("Verified: after `echo built; mv mended p` the gain is +"), "{}", said.out);
    assert!(said.err.contains("built") && !said.out.contains("built\n"), "{}", said.err);
    let text = std::fs::read_to_string(place.path("a.json")).expect("a document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let gained = document["verified"]["gain"].as_f64().expect("a number");
    let promised = layouts(&document)[0].1;
    assert!(promised > 0.2 && (promised - gained).abs() < 0.02, "{promised} promised, {gained} gained");
}

/// Virtual seconds of `program` in the place.
fn seconds(place: &Place, program: &str, args: &str) -> f64 {
    let said = place.corefold(&format!("run --cpus 8 --no-host-time --json - -o {program}.rec -- ./{program} {args}"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).expect("a JSON document");
    document["runs"][0]["seconds"].as_f64().expect("seconds")
}

/// The patch is applied by patch(1), and the rebuilt program waits no more than its innocent twin does: an array on the heap
/// whose hottest members share a line of the source, a static array of C++, an array within a heap object, and heap objects
/// that lie side by side and beside another.
#[test]
fn the_source_patch_ends_false_sharing() {
    let culprits = concat!(env!("CARGO_MANIFEST_DIR"), "/../accuracy/culprits");
    for (file, compiler, changed) in [
        ("linear_regression.c", "cc", "+\tlong long : 64, "),
        ("spinlock_pool.cc", "c++", "+\talignas(64) int v_;"),
        ("cache_shards.c", "cc", "+\tlong long : 64, "),
        ("cache_scratch.cc", "c++", "+\tlong long : 64, "),
    ] {
        let place = Place::new();
        std::fs::copy(format!("{culprits}/{file}"), place.path(file)).expect("a copy");
        let build = |options: &str| format!("$corefold {compiler} -O2 -g -pthread {file} {options}");
        assert_eq!(place.sh(&format!("{}; {}", build("-o p"), build("-DTWIN -o twin"))).code, Some(0), "{file}");
        let (args, rebuild) = (if stress() { "8 300000" } else { "8 160000" }, build("-o p"));
        let (before, twin) = (seconds(&place, "p", args), seconds(&place, "twin", args));
        let script = format!(
            "$corefold fix p.rec --no-slots --json f.json --patch f.diff --verify 'patch -p1 <f.diff; {rebuild}'"
        );
        let said = place.sh(&script);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let diff = std::fs::read_to_string(place.path("f.diff")).expect("a patch");
        assert!(diff.contains(changed) && said.out.contains(&diff), "{file}: {}", said.out);
        let document = std::fs::read_to_string(place.path("f.json")).expect("a document");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let (verified, promised) = (&document["verified"], layouts(&document)[0].1);
        let after = verified["seconds"].as_f64().expect("seconds");
        assert!(before - after >= 0.9 * (before - twin), "{file}: {before} before, {after} after, twin {twin}");
        let gained = verified["gain"].as_f64().expect("a gain");
        assert!((1.0 + gained) / (1.0 + promised) > 0.9, "{file}: {promised} promised, {gained} gained");
        assert_eq!(document["patch"]["by_hand"], serde_json::json!([]), "{file}");
    }
}

/// Elements in a heap object, behind a word that all read: the padding parts the first of them from that as well.
#[test]
fn the_source_patch_parts_elements_from_what_precedes_them() {
    let place = Place::new();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/programs/truths/pool.c"), place.path("pool.c"))
        .expect("a copy");
    let build = "$corefold cc -O2 -g -pthread pool.c -o pool";
    assert_eq!(place.sh(build).code, Some(0));
    seconds(&place, "pool", "8");
    let verify = format!("patch -p1 <f.diff; {build}");
    let said = place.sh(&format!("$corefold fix pool.rec --no-slots --json - --patch f.diff --verify '{verify}'"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let json = said.out.find('{').map_or("", |begin| &said.out[begin..]);
    let document: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(layouts(&document)[0].0, "each of pool.workers[0-7] on lines of its own");
    assert_eq!(document["patch"]["diff"].as_str().map(|diff| diff.matches("bytes of padding").count()), Some(2));
    let (promised, gained) = (layouts(&document)[0].1, document["verified"]["gain"].as_f64().expect("a gain"));
    assert!(((1.0 + gained) / (1.0 + promised) - 1.0).abs() < 0.1, "{promised} promised, {gained} gained");
}

const MEMBERS: &str = "truths/members.c";

/// The order of members: a written one to a line that nobody uses, and hot ones together. The structure keeps its size.
#[test]
fn members_in_another_order_gain_in_the_source_what_they_gain_in_a_trial() {
    let mends = [
        ("8 limits", "server.hits moved to the end", "-DMOVED"),
        ("8 list", "hot fields record.key and record.next together, apart from cold ones", "-DTOGETHER"),
    ];
    for (args, layout, mend) in mends {
        let recorded = Recorded::new(&program(MEMBERS), args);
        let document = recorded.fix("--no-slots");
        let one = document["layouts"].as_array().expect("a list").iter().find(|one| one["layout"] == layout);
        let one = one.unwrap_or_else(|| panic!("{layout} is not in {document}"));
        assert_eq!(one["more_bytes"], 0, "{document}");
        let mended = record(&recorded.place, &program_with(MEMBERS, &[mend]), args, "b.rec");
        let gained = document["seconds"].as_f64().expect("seconds") / mended - 1.0;
        let promised = one["gain"].as_f64().expect("a number");
        assert!(promised > 0.1 && (promised - gained).abs() < 0.05, "{layout}: {promised} promised, {gained} gained");
        // The innocent twin: its members are in that order.
        let twin = Recorded::new(&program_with(MEMBERS, &[mend]), args);
        let said = twin.fix("--no-slots");
        let accused = |(name, gain): &(&str, f64)| (name.contains("moved") || name.contains("hot")) && *gain > 0.02;
        assert!(!layouts(&said).iter().any(accused), "{said}");
    }
}

/// Hot fields that lie apart, brought together in the source by patch(1).
#[test]
fn the_source_patch_splits_hot_fields_from_cold_ones() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/truths/members.c");
    std::fs::copy(source, place.path("members.c")).expect("a copy");
    let build = "$corefold cc -O2 -g -pthread members.c -o p";
    assert_eq!(place.sh(build).code, Some(0));
    let before = seconds(&place, "p", "8 list");
    let script =
        format!("$corefold fix p.rec --no-slots --json - --patch f.diff --verify 'patch -p1 <f.diff && {build}'");
    let said = place.sh(&script);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).expect("JSON");
    let patch = &document["patch"];
    assert!(patch["layout"].as_str().is_some_and(|layout| layout.starts_with("hot fields")), "{document}");
    assert!(patch["diff"].as_str().is_some_and(|diff| diff.contains("-\tstruct record *next;\n")), "{document}");
    assert_eq!(patch["by_hand"], serde_json::json!([]), "{document}");
    let promised = gain_of(&document, patch["layout"].as_str().expect("text"));
    let gained = document["verified"]["gain"].as_f64().expect("a gain");
    assert!(promised > 0.1 && (promised - gained).abs() < 0.02, "{promised} promised, {gained} gained");
    assert!((before / seconds(&place, "p", "8 list") - 1.0 - gained).abs() < 1e-6, "the program is the rebuilt one");
}

/// The compiler puts a member that moves to before an aligned one into the hole there, on its old line.
#[test]
fn no_member_moves_where_the_compiler_would_not_put_it() {
    let recorded = Recorded::new(&program_with(MEMBERS, &["-DALIGNED"]), "8 limits");
    let document = recorded.fix("--no-slots");
    let all = layouts(&document);
    assert!(!all.iter().any(|(name, _)| name.contains("moved")), "{document}");
    assert!(gain_of(&document, "server.hits on a line of its own") > 0.1, "{document}");
}

/// Numbers that are no members of a structure: the file is empty, and no command is run.
#[test]
fn without_a_source_patch_it_is_said_what_to_do() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../accuracy/culprits/count_odds.cc");
    std::fs::copy(source, place.path("count_odds.cc")).expect("a copy");
    assert_eq!(place.sh("$corefold c++ -O2 -g -pthread -o p count_odds.cc").code, Some(0));
    seconds(&place, "p", "8 300000");
    let said = place.corefold("fix p.rec --no-slots --patch f.diff --verify false");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("no source patch for ") && said.out.contains("aligned to 64 bytes"), "{}", said.out);
    assert_eq!(std::fs::read_to_string(place.path("f.diff")).expect("a file"), "");
}

#[test]
fn a_program_that_is_no_more_the_same_is_refused() {
    let place = Place::new();
    let build = |define: &str| {
        let built = program_with(PROGRAM, &[define]);
        std::fs::copy(&built, place.path("p")).expect("a copy");
    };
    build("-DSLOTS");
    let script = "$corefold run --cpus 8 --no-host-time -o a.rec -- ./p 8 counters";
    assert_eq!(place.sh(script).code, Some(0));
    build("-DAPART");
    let said = place.corefold("fix a.rec");
    assert!(said.code != Some(0) && said.err.contains("p has changed since it was recorded"), "{}", said.err);
    std::fs::remove_file(place.path("p")).expect("it is there");
    let said = place.corefold("fix a.rec");
    assert!(said.code != Some(0) && said.err.contains("./p does not exist"), "{}", said.err);
}

const SLAB: &str = "truths/slab.c";

/// Objects of an own allocator are found by the name that it gave them, at each place on a line where they may begin.
#[test]
fn how_much_of_a_result_is_the_luck_of_the_slot() {
    let recorded = Recorded::new(&program(SLAB), "2 0");
    let document = recorded.fix("");
    let luck = &document["luck"][0];
    let gains = |of: &Value| -> Vec<(u64, f64)> {
        let pairs = of["gains"].as_array().expect("a list").iter();
        pairs.map(|pair| (pair[0].as_u64().expect("a slot"), pair[1].as_f64().expect("a gain"))).collect()
    };
    // Three of four places are as bad as today's, and at +48 the two fields are apart.
    let by_slot = gains(luck);
    assert_eq!(by_slot.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [0, 16, 32, 48]);
    assert!(by_slot[..3].iter().all(|(_, gain)| gain.abs() < 0.05) && by_slot[3].1 > 0.5, "{document}");
    assert!(luck["luck"].as_f64().expect("a number") < -0.1, "{document}");
    let best = &document["layouts"][0];
    let by_slot = gains(&best["slots"]);
    assert!(by_slot[..3].iter().all(|(_, gain)| *gain > 0.5) && by_slot[3].1.abs() < 0.05, "{document}");
    let (average, worst) = (&best["slots"]["average"], &best["slots"]["worst"]);
    assert_eq!(worst.as_f64(), Some(by_slot[3].1), "{document}");
    assert!((0.3..1e3).contains(&average.as_f64().expect("a number")), "{document}");
    assert_eq!(best["live"], 55, "{document}");
    let said = recorded.place.corefold("fix a.rec");
    assert!(said.out.contains("Placement luck of struct node (slab, one every 592 bytes)"), "{}", said.out);
    let without = recorded.fix("--no-slots");
    assert!(without["luck"] == serde_json::json!([]) && without["layouts"][0]["gain"] == best["gain"], "{without}");
}
