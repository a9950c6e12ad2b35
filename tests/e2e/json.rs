// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON document has the documented shape.
use crate::harness::{Simulation, program};
use serde_json::Value;

/// `value` has exactly the type that `shape` shows by example; of a list, every element; `null` beside a
/// number means that it may be missing.
fn check(value: &Value, shape: &Value, at: &str) {
    match (value, shape) {
        (Value::Object(value), Value::Object(shape)) => {
            for (key, shape) in shape {
                let inner = value.get(key).unwrap_or_else(|| panic!("{at}.{key} is missing"));
                check(inner, shape, &format!("{at}.{key}"));
            }
        }
        (Value::Array(values), Value::Array(shape)) => {
            assert!(!values.is_empty(), "{at} is empty");
            values.iter().for_each(|value| check(value, &shape[0], &format!("{at}[]")));
        }
        _ => assert_eq!(std::mem::discriminant(value), std::mem::discriminant(shape), "{at}: {value}"),
    }
}

#[test]
fn every_documented_key_is_there() {
    let shape = serde_json::json!({
        "schema": 1, "machine": "",
        "runs": [{
            "cpus": 1, "cycles": 1, "seconds": 0.1, "throughput": 0.1, "speedup": 0.1,
            "time": { "compute": 1, "stall": 1, "spin": 1, "block": 1 },
            "functions": [{ "name": "", "self_percent": 0.1, "total_percent": 0.1 }],
            "lines": [{
                "address": 1, "object": "", "fields": [""], "transfers": 1, "stall_percent": 0.1,
                "sites": [{ "function": "", "file": "", "line": 1, "kind": "" }]
            }],
            "locks": [{ "name": "", "acquisitions": 1, "contended": 1, "wait_cycles": 1, "hold_cycles": 1 }]
        }]
    });
    let report = Simulation::of(&program("truths/tas.c")).cpus("2,8").args("{cpus} 8000").report();
    check(&report.0, &shape, "document");
    assert_eq!((&report.0["schema"], &report.0["machine"]), (&1.into(), &"skylake-2s-80".into()));
}

/// Without progress points there is no throughput, and speed-up comes from time, as `--work` says.
#[test]
fn without_progress_there_is_no_throughput() {
    let run = |work: &str| {
        let simulation = Simulation::of(&program("endings/ends.c")).cpus("1,2").args("1 exit");
        simulation.option("--work", work).report()
    };
    let (total, per_cpu) = (run("total"), run("per-cpu"));
    assert!(total.at(2).0["throughput"].is_null());
    let speedup = |of: &crate::harness::Report| of.at(2).0["speedup"].as_f64().expect("a number");
    assert!((speedup(&per_cpu) / speedup(&total) - 2.0).abs() < 1e-9);
}

/// Standard output carries the document alone.
#[test]
fn a_document_can_be_piped() {
    let simulation = Simulation::of(&program("endings/ends.c")).cpus("1").args("1 exit");
    let said = simulation.json_to_stdout().run().said;
    let document: Value = serde_json::from_str(&said.out).expect("JSON and nothing else");
    assert_eq!(document["schema"], 1);
}
