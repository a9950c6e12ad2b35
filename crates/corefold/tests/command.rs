// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command's own words: help, machines, versions.
use crate::common::{Place, corefold};

#[test]
fn help_has_examples_and_exit_codes() {
    let place = Place::new();
    let help = place.corefold("--help");
    assert_eq!(help.code, Some(0));
    for words in ["Examples:", "CC=\"corefold cc\"", "Exit codes:", "4  deadlock"] {
        assert!(help.out.contains(words), "{words}");
    }
    assert!(place.corefold("run --help").out.contains("{cpus} stands for the number of CPUs"));
    assert_eq!(place.corefold("").code, Some(2));
    assert_eq!(place.corefold("simulate").code, Some(2));
}

#[test]
fn machines_are_listed_and_shown() {
    let place = Place::new();
    let list = place.corefold("machine list").out;
    assert!(list.starts_with("skylake-2s-80 ") && list.lines().count() == 15, "{list}");
    for name in list.lines().filter_map(|l| l.split_whitespace().next()) {
        let shown = place.corefold(&format!("machine show {name}"));
        assert!(shown.out.contains("latency.local_modified") && shown.err.is_empty(), "{name}");
    }
    assert_eq!(place.corefold("machine show pdp11").code, Some(2));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let said = Place::new().sh(&format!("'{}' machine show generic-1024 | head -1", corefold()));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    // 8: the stub left no recording. A panic would be 134.
    let script = format!("('{}' run --cpus 1 -- ./good || echo $? > code) 2>&1 | true; cat code", corefold());
    assert_eq!(place.sh(&script).out, "8\n");
}

#[test]
fn this_host_is_measured_and_simulated() {
    let place = Place::new();
    let home = "XDG_CONFIG_HOME=$PWD/config";
    let before = place.sh(&format!("{home} '{}' machine show host", corefold()));
    assert_eq!((before.code, before.err.contains("corefold machine calibrate")), (Some(2), true), "{}", before.err);
    let said = place.sh(&format!("{home} '{}' machine calibrate --passes 4", corefold()));
    assert_eq!(said.code, Some(0), "{}", said.err);
    for key in ["core.rmw", "latency.local_modified", "core.store_buffer", "system.wake", "L1 hit"] {
        assert!(said.out.lines().any(|l| l.starts_with(key)), "{key}: {}", said.out);
    }
    let shown = place.sh(&format!("{home} '{}' machine show host", corefold()));
    assert!(shown.out.starts_with("host: this host, ") && shown.out.contains("median"), "{}", shown.out);
}
