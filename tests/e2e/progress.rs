// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs say of the work that they do.
use crate::harness::{Place, Simulation, program};

/// A transaction is one piece of work, and not one where it begins and another where it ends.
#[test]
fn transactions_of_coz_count_once() {
    for (how, name) in [("transactions", "transaction"), ("visits", "visit"), ("both", "visit")] {
        let report = Simulation::of(&program("progress/coz.c")).cpus("1").args(how).report();
        let points = &report.at(1).0["progress"];
        assert_eq!(*points, serde_json::json!([{ "name": name, "visits": 1000 }]), "{how}");
    }
}

/// Each access of the traced thread, with its true size and kind, and none of another's; the same with delays of a seed.
#[test]
fn a_trace_has_each_access_of_its_thread() {
    let program = program("progress/trace.c");
    for seed in ["0", "1", "2"] {
        let said = Place::new().corefold(&format!("run --cpus 2 --seed {seed} -- {}", program.display()));
        assert_eq!(said.code, Some(0), "seed {seed}: {}{}", said.out, said.err);
        assert!(said.err.contains("0 failures"), "seed {seed}: {}{}", said.out, said.err);
    }
}
