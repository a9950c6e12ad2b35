// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in reports of Rust programs: locks by their types, and places as their callers.
use crate::cargo::Workspace;
use crate::harness::{Line, Report};
use serde_json::Value;

const THREADS: u64 = 8;

/// The report of a program at a number of CPUs as large as that of its threads.
fn report(workspace: &Workspace, program: &str, kind: &str) -> (Report, String) {
    let line = format!(
        "run --release --offline --bin {program} --no-host-time --cpus {THREADS} --json {kind}.json -- {kind} {{cpus}}"
    );
    let done = workspace.corefold(&line);
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

#[test]
fn locks_are_named_by_what_they_are() {
    let workspace = Workspace::of("programs/rust_locks", "");
    let expected = [
        ("mutex", "queue", "Mutex", "Mutex::lock_contended"),
        ("rwlock", "config", "RwLock", "RwLock::write_contended"),
        ("condvar", "turn.passed", "Condvar", "Condvar::wait"),
        ("barrier", "all_here", "Barrier", "Barrier::wait"),
        ("once", "ready", "Once", "Once::call"),
    ];
    for (kind, field, type_name, place) in expected {
        let (report, _) = report(&workspace, "std_locks", kind);
        let (found, waited) = lock(&report, &format!("ArcInner<Pool>.data.{field}"));
        assert_eq!(found, type_name, "{kind}");
        assert!(waited.starts_with(place), "{kind}: {waited}");
        let finding = report.0["finding"]["text"].as_str().expect("a finding");
        let named =
            finding.contains(&format!("waits for the {type_name} ArcInner<Pool>.data.{field}, longest in {place}"));
        // Of the other two, the start costs more.
        assert!(named || ["rwlock", "once"].contains(&kind), "{kind}: {finding}");
    }
    let shown = |options: &str| workspace.0.corefold(&format!("report corefold.rec --json - {options}")).out;
    let whole = "std::sys::sync::once::futex::Once";
    assert!(!shown("").contains(whole) && shown("--full-names").contains(whole), "{}", shown("--full-names"));
    // Locks of crates: lines name them, waits the place.
    for (kind, field) in [("mutex", "queue (parking_lot Mutex)"), ("rwlock", "config (parking_lot RwLock)")] {
        let (report, _) = report(&workspace, "crate_locks", kind);
        let name = format!("ArcInner<Pool>.data.{field}");
        let hot = report.at(THREADS).lines().any(|line| line.fields().contains(&name.as_str()));
        assert!(hot, "{kind}: no {name} in {:#?}", report.at(THREADS).lines().map(|l| l.fields()).collect::<Vec<_>>());
    }
    let (report, text) = report(&workspace, "crate_locks", "channel");
    let named = |line: Line| line.text("object").contains("Channel<u64>");
    assert!(report.at(THREADS).lines().any(named), "{text}");
}
