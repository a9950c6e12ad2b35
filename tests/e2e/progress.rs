// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs say of the work that they do.
use crate::harness::{Simulation, program};

/// A transaction is one piece of work, and not one where it begins and another where it ends.
#[test]
fn transactions_of_coz_count_once() {
    for (how, name) in [("transactions", "transaction"), ("visits", "visit"), ("both", "visit")] {
        let report = Simulation::of(&program("progress/coz.c")).cpus("1").args(how).report();
        let points = &report.at(1).0["progress"];
        assert_eq!(*points, serde_json::json!([{ "name": name, "visits": 1000 }]), "{how}");
    }
}
