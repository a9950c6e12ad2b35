// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in reports of Rust programs: locks by their types, and places as their callers.
use crate::cargo::Workspace;
use crate::harness::{Line, Report, said, stress};
use serde_json::Value;

const THREADS: u64 = 8;

/// The report of a program at a number of CPUs as large as that of its threads.
fn report(workspace: &Workspace, program: &str, kind: &str) -> (Report, String) {
    let line = format!(
        "run --release --offline --bin {program} --no-host-time --cpus {THREADS} --json {kind}.json -- {kind} {{cpus}}"
    );
    let done = workspace.corefold(&line);
    assert!(!done.err.contains("Warning:"), "of the assembler: {}", done.err);
    (Report::read(&workspace.0.path(&format!("{kind}.json"))), done.out)
}

fn locks(report: &Report) -> &[Value] {
    report.at(THREADS).0["locks"].as_array().expect("locks")
}

/// The lock of this name: its type, and where it was waited for.
#[track_caller]
fn lock<'a>(report: &'a Report, name: &str) -> (&'a str, &'a str) {
    let found = locks(report).iter().find(|lock| lock["name"] == name && lock["contended"] != 0);
    let found = found.unwrap_or_else(|| panic!("no {name} in {:#?}", locks(report)));
    let text = |value: &'a Value| value.as_str().unwrap_or_else(|| panic!("{found:#}"));
    (text(&found["type_name"]), text(&found["waited_at"]["function"]))
}

/// What was waited for at this place of the program: names and types.
fn waited_for<'a>(report: &'a Report, place: &str) -> Vec<(&'a str, Option<&'a str>)> {
    let there = locks(report).iter().filter(|lock| lock["contended"] != 0 && lock["waited_at"]["function"] == place);
    there.map(|lock| (lock["name"].as_str().expect("a name"), lock["type_name"].as_str())).collect()
}

#[test]
fn locks_are_named_by_what_they_are() {
    let workspace = Workspace::of("programs/rust_locks", "");
    let fetched = said(&mut workspace.cargo("fetch --locked"));
    assert_eq!(fetched.code, Some(0), "{}", fetched.err);
    let expected = [
        ("mutex", "queue", "Mutex", "Pool::push [Mutex::lock]"),
        ("rwlock", "config", "RwLock", "Pool::reconfigure [RwLock::write]"),
        ("condvar", "turn.passed", "Condvar", "Pool::take_turn [Condvar::wait]"),
        ("barrier", "all_here", "Barrier", "Pool::meet [Barrier::wait]"),
        ("once", "ready", "Once", "Pool::prepare [Once::call_once]"),
    ];
    for (kind, field, type_name, place) in expected {
        let (report, _) = report(&workspace, "std_locks", kind);
        let (found, waited) = lock(&report, &format!("ArcInner<Pool>.data.{field}"));
        assert_eq!((found, waited), (type_name, place), "{kind}");
        let finding = report.0["finding"]["text"].as_str().expect("a finding");
        let named =
            finding.contains(&format!("waits for the {type_name} ArcInner<Pool>.data.{field}, longest in {place}"));
        // Of the other two, the start costs more.
        assert!(named || ["rwlock", "once"].contains(&kind), "{kind}: {finding}");
    }
    let shown = |options: &str| workspace.0.corefold(&format!("report corefold.rec --json - {options}")).out;
    let whole = "std::sys::sync::once::futex::Once";
    assert!(!shown("").contains(whole) && shown("--full-names").contains(whole), "{}", shown("--full-names"));
    sleep(&workspace);
    locks_of_crates(&workspace);
    lock_of_a_list(&workspace);
    parked_threads(&workspace);
    lock_on_a_stack(&workspace);
    tasks(&workspace);
    fields(&workspace);
    deadlock(&workspace);
    if stress() {
        tests_of_crates(&workspace);
    }
}

/// The compiled part of std, in which threads sleep, lies in the program's own file.
fn sleep(workspace: &Workspace) {
    let line = "run --release --offline --bin std_locks --no-host-time --cpus 1,8 -- sleep {cpus}";
    let text = workspace.corefold(line).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("as threads slept, longest in Pool::rest (std_locks.rs:"), "{text}");
}

/// Tests that the crates ship, unmodified: `tests/crates/run` has more of them.
fn tests_of_crates(workspace: &Workspace) {
    let known = said(&mut workspace.cargo("metadata --offline --format-version 1"));
    let known: Value = serde_json::from_str(&known.out).expect("metadata");
    for (name, test) in [("crossbeam-channel", "ready"), ("crossbeam-utils", "wait_group")] {
        let package = known["packages"].as_array().unwrap().iter().find(|package| package["name"] == name);
        let manifest = std::path::Path::new(package.unwrap()["manifest_path"].as_str().unwrap());
        let source = manifest.with_file_name("tests").join(test).with_added_extension("rs");
        let source = std::fs::read_to_string(source).unwrap();
        workspace.0.file(&format!("tests/{test}.rs"), &source);
        let line = format!("test --release --offline --test {test} --cpus 1,8,80 --no-host-time --json {test}.json");
        let done = workspace.corefold(&line);
        let report = Report::read(&workspace.0.path(&format!("{test}.json")));
        let passed = format!("{} passed; 0 failed", source.matches("#[test]").count());
        assert!(done.err.contains(&passed), "{}", done.err);
        assert!([1, 8, 80].iter().all(|cpus| report.at(*cpus).0["finished"] == true), "{test}: {}", done.out);
    }
}

/// The compiled part of std, in which both threads wait, is between the wait and the program.
fn deadlock(workspace: &Workspace) {
    let done = said(&mut workspace.cargo("corefold run --release --offline --bin abba --no-host-time --cpus 2"));
    let text = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "waits for Mutex `ArcInner<Accounts>.data.to` in futex, at Accounts::pay [Mutex::lock] (abba.rs:",
        "waits for Mutex `ArcInner<Accounts>.data.from` in futex, at Accounts::pay_back [Mutex::lock] (abba.rs:",
        "Mutex::lock_contended (futex.rs:",
    ] {
        assert!(text.contains(expected), "{expected}: {}{}", done.out, done.err);
    }
}

fn locks_of_crates(workspace: &Workspace) {
    // Who has to wait in parking_lot waits on a word of its own, and has parked with the lock's address.
    let parked = |field: &str, kind: &str| (format!("ArcInner<Pool>.data.{field}"), format!("parking_lot {kind}"));
    let expected = [
        ("mutex", Some("queue (parking_lot Mutex)"), "Pool::push [Mutex::lock]", parked("queue", "Mutex")),
        (
            "rwlock",
            Some("config (parking_lot RwLock)"),
            "Pool::reconfigure [RwLock::write]",
            parked("config", "RwLock"),
        ),
        (
            "condvar",
            Some("turn.passed (parking_lot Condvar)"),
            "Pool::take_turn [Condvar::wait]",
            parked("turn.passed", "Condvar"),
        ),
        ("once", None, "Pool::prepare [Once::call_once]", parked("ready", "Once")),
        (
            "spin",
            Some("spun (spin Mutex)"),
            "Pool::bump [Mutex::lock]",
            ("ArcInner<Pool>.data.spun".into(), "spin Mutex".into()),
        ),
        (
            "sharded",
            None,
            "Pool::republish [ShardedLock::write]",
            ("CachePadded<Shard>[0].value.lock".into(), "RwLock".into()),
        ),
        ("mpsc", None, "crate_locks::answer [Receiver::recv]", ("Parker of a thread".into(), "Parker".into())),
    ];
    for (kind, field, place, (name, type_name)) in expected {
        let (report, text) = report(workspace, "crate_locks", kind);
        let waited = waited_for(&report, place);
        let is = |found: &(&str, Option<&str>)| found.0.starts_with(&name) && found.1.unwrap_or_default() == type_name;
        assert!(waited.iter().any(is), "{kind}: {waited:?} of {:#?}", locks(&report));
        let hot = |name: &str| report.at(THREADS).lines().any(|line| line.fields().contains(&name));
        let field = field.map(|field| format!("ArcInner<Pool>.data.{field}"));
        assert!(field.is_none_or(|field| hot(&field)), "{kind}: {text}");
    }
    let (report, text) = report(workspace, "crate_locks", "channel");
    let named = |line: Line| line.text("object").contains("Channel<u64>");
    assert!(report.at(THREADS).lines().any(named), "{text}");
}

/// parking_lot's lists of sleeping threads have locks, and who waits for one of these does so on a word of its own stack.
fn lock_of_a_list(workspace: &Workspace) {
    let line = "run --release --offline --bin crate_locks --no-host-time --cpus 80 --json list.json -- mutex {cpus}";
    workspace.corefold(line);
    let report = Report::read(&workspace.0.path("list.json"));
    let locks = report.at(80).0["locks"].as_array().expect("locks").clone();
    let waits = |is: &dyn Fn(&str) -> bool| {
        let of_name = locks.iter().filter(|lock| is(lock["name"].as_str().expect("a name")));
        of_name.map(|lock| lock["contended"].as_u64().expect("a count")).sum::<u64>()
    };
    let lists = |name: &str| name.starts_with("Bucket[") && name.ends_with("].mutex");
    assert!(waits(&lists) > 0 && waits(&|name| name.contains("thread_data")) == 0, "{locks:#?}");
    let list = locks.iter().find(|lock| lists(lock["name"].as_str().unwrap())).expect("a list");
    assert_eq!(list["type_name"], "parking_lot WordLock");
}

fn parked_threads(workspace: &Workspace) {
    for (kind, place, name) in [
        ("std", "Ring::pass_std [functions::park]", "Parker of a thread"),
        ("crossbeam", "Ring::pass_crossbeam [Parker::park]", "ArcInner<Inner>.data.cvar"),
    ] {
        let (report, _) = report(workspace, "parked", kind);
        let waited = waited_for(&report, place);
        assert!(waited.len() as u64 == THREADS && waited.iter().all(|found| found.0.starts_with(name)), "{waited:?}");
    }
}

fn lock_on_a_stack(workspace: &Workspace) {
    let report = of_threads(workspace, "on_stack", 80);
    let finding = report.0["finding"]["text"].as_str().expect("a finding");
    assert!(finding.contains("the Barrier solver.step_done in on_stack::main"), "{finding}");
}

/// By the functions that their futures are of: in places, waits and heap objects.
fn tasks(workspace: &Workspace) {
    let report = of_threads(workspace, "tasks", THREADS);
    let lines = || report.at(THREADS).lines();
    let task = |line: &Line| line.text("object").contains("tasks::serve (async) at tasks.rs:");
    let task = lines().find(task).unwrap_or_else(|| panic!("no task in {:#?}", report.0));
    assert!(task.fields().iter().any(|field| field.starts_with("serve (async).")), "{:?}", task.fields());
    let counted = |line: &Line| line.fields().contains(&"ArcInner<Server>.data.requests");
    let counter = lines().find(counted).expect("the counter");
    let handles = |site: &Value| site["function"] == "Server::handle (async)";
    assert!(counter.sites().iter().any(handles), "{:#?}", counter.sites());
}

/// The report of a program whose argument is the number of its threads.
fn of_threads(workspace: &Workspace, program: &str, threads: u64) -> Report {
    let options = format!("--no-host-time --cpus {threads} --json {program}.json");
    workspace.corefold(&format!("run --release --offline --bin {program} {options} -- {{cpus}}"));
    Report::read(&workspace.0.path(&format!("{program}.json")))
}

/// One word that all count in: the object and the field of the line that moved most.
fn fields(workspace: &Workspace) {
    for (kind, object, field) in [
        ("enum", "ArcInner<Option<State>> at fields.rs:", "ArcInner<Option<State>>.data.Some.0.Busy.steps"),
        ("tuple", "ArcInner<(u64, AtomicU64)> at fields.rs:", "ArcInner<(u64, AtomicU64)>.data.1"),
        (
            "generic",
            "ArcInner<Slot<Option<Entry>>> at fields.rs:",
            "ArcInner<Slot<Option<Entry>>>.data.value.Some.0.hits",
        ),
        ("cell", "fields::Shared at fields.rs:", "Shared.0.hits"),
        ("padded", "CachePadded<Entry>[20] at ", "CachePadded<Entry>[3].value.hits"),
        ("vec", "fields::Entry[20] at fields.rs:", "Entry[5].hits"),
        ("map", "(u32, fields::Entry)[32] at ", "(u32, fields::Entry)["),
        ("static", "fields::TOTALS (fields.rs:", "fields::TOTALS.requests"),
        ("maximum", "fields::TOTALS (fields.rs:", "fields::TOTALS.largest"),
        ("thread_local", "fields::OWN (fields.rs:", "fields::OWN."),
    ] {
        let (report, text) = report(workspace, "fields", kind);
        let line = report.at(THREADS).lines().max_by_key(|line| line.0["transfers"].as_u64()).expect("a line");
        assert!(line.text("object").contains(object), "{kind}: {}\n{text}", line.text("object"));
        assert!(line.fields().iter().any(|found| found.starts_with(field)), "{kind}: {:?}", line.fields());
    }
}
