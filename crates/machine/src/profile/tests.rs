// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const GOOD: &str = include_str!("../../../../machines/skylake-2s-80.toml");

/// The good profile with the line of `key` replaced, and that line's number.
fn with(key: &str, line: &str) -> (String, usize) {
    let at = GOOD.lines().position(|l| l.starts_with(&format!("{key} = "))).expect("the key is in the profile");
    let lines: Vec<&str> = GOOD.lines().enumerate().map(|(i, l)| if i == at { line } else { l }).collect();
    (lines.join("\n"), at + 1)
}

#[track_caller]
fn refused(key: &str, line: &str, expected: &str) {
    let (text, at) = with(key, line);
    let said = parse("m.toml", &text).unwrap_err().to_string();
    assert_eq!(said, format!("m.toml:{at}: {expected}"));
}

#[test]
fn numbers_become_cycles_of_the_clock() {
    let (text, _) = with("local_modified", r#"local_modified = { value = 100, unit = "ns", source = "x" }"#);
    let p = parse("m.toml", &text).unwrap();
    assert_eq!(p.machine.clock_hz, 2_100_000_000);
    assert_eq!(p.machine.latency.local.modified, 210);
    let fact = p.facts.iter().find(|f| f.key == "latency.local_modified").unwrap();
    assert_eq!((fact.value, fact.unit.as_str(), fact.cycles), (100.0, "ns", Some(210)));
    assert_eq!(fact.origin, Origin::Source("x".into()));
}

#[test]
fn rates_are_kept_in_sixteenths_of_a_cycle() {
    let rates = |stored: &str| {
        let line = r#"l2_line = { value = 1.6, unit = "cycles", source = "x" }"#;
        parse("m.toml", &format!("{GOOD}\n[cache]\n{line}\n{stored}")).map(|p| p.machine.caches)
    };
    let like = rates("").unwrap();
    assert_eq!((like.line, like.stored_line), (26, 26));
    // Of a clock of 2.1 GHz.
    assert_eq!(rates(r#"l2_line_stored = { value = 1, unit = "ns", source = "x" }"#).unwrap().stored_line, 34);
    let said = rates(r#"l2_line_stored = { value = 1000.5, unit = "cycles", source = "x" }"#).unwrap_err().to_string();
    assert!(said.ends_with("cache.l2_line_stored: 1000.5 cycles is not within 0 to 1000"), "{said}");
}

#[test]
fn every_fact_is_kept_in_order() {
    let p = parse("m.toml", GOOD).unwrap();
    let shown: Vec<&str> = p.facts.iter().map(|f| f.key.as_str()).collect();
    let given = |name: &&str| GOOD.contains(&format!("\n{} = ", &name[name.find('.').unwrap() + 1..]));
    assert_eq!(shown, crate::keys::names().filter(given).collect::<Vec<_>>());
}

#[test]
fn a_bad_value_names_its_line_and_key() {
    refused(
        "cores_per_socket",
        r#"cores_per_socket = { value = 2048, unit = "count", source = "x" }"#,
        "topology.cores_per_socket: 2048 count is not within 1 to 512",
    );
    refused(
        "smt",
        r#"smt = { value = "2", unit = "cycles", source = "x" }"#,
        r#"latency.smt: "value" must be a number"#,
    );
    refused(
        "smt",
        r#"smt = { value = nan, unit = "ns", source = "x" }"#,
        r#"latency.smt: "value" must be a finite number"#,
    );
    refused(
        "smt",
        r#"smt = { value = -3, unit = "cycles", source = "x" }"#,
        "latency.smt: -3 cycles is not within 0 to 4000000000",
    );
    refused(
        "sockets",
        r#"sockets = { value = 0, unit = "count", source = "x" }"#,
        "topology.sockets: 0 count is not within 1 to 64",
    );
    refused(
        "sockets",
        r#"sockets = { value = 1.5, unit = "count", source = "x" }"#,
        r#"topology.sockets: "value" 1.5 must be a whole number"#,
    );
    refused(
        "line_bytes",
        r#"line_bytes = { value = 96, unit = "bytes", source = "x" }"#,
        "topology.line_bytes: 96 must be 64 or 128",
    );
}

#[test]
fn a_bad_unit_names_the_right_ones() {
    refused(
        "smt",
        r#"smt = { value = 2, unit = "MHz", source = "x" }"#,
        r#"latency.smt: unit "MHz" must be ns or cycles"#,
    );
    refused(
        "clock",
        r#"clock = { value = 2, unit = "GHz", source = "x" }"#,
        r#"topology.clock: unit "GHz" must be MHz"#,
    );
}

#[test]
fn a_number_must_say_where_it_comes_from() {
    refused(
        "smt",
        r#"smt = { value = 2, unit = "ns" }"#,
        r#"latency.smt: needs "source" (where the value is published) or "estimated" (what it is estimated from)"#,
    );
    refused("smt", r#"smt = { value = 2, unit = "ns", source = " " }"#, r#"latency.smt: "source" must not be empty"#);
    refused(
        "smt",
        r#"smt = { value = 2, unit = "ns", source = "x", estimated = "y" }"#,
        r#"latency.smt: has both "source" and "estimated": give one of them"#,
    );
    refused("smt", r#"smt = { unit = "ns", source = "x" }"#, r#"latency.smt: has no "value""#);
    refused("smt", r#"smt = { value = 2, source = "x" }"#, r#"latency.smt: has no "unit""#);
    refused("smt", "smt = 2", r#"latency.smt: must be a table: { value = …, unit = "…", source = "…" }"#);
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    refused(
        "smt",
        r#"stm = { value = 2, unit = "ns", source = "x" }"#,
        "latency.stm: unknown key; did you mean latency.smt?",
    );
    refused("smt", r#"smt = { value = 2, unit = "ns", sauce = "x" }"#, r#"latency.smt: unknown field "sauce""#);
    refused("name", "colour = \"red\"", "colour: unknown key; a profile describes only the machine");
}

#[test]
fn what_is_missing_is_named() {
    let (text, _) = with("smt", "");
    assert_eq!(parse("m.toml", &text).unwrap_err().to_string(), "m.toml: latency.smt is missing");
    let (text, _) = with("name", "");
    assert_eq!(parse("m.toml", &text).unwrap_err().to_string(), "m.toml: name is missing");
    let (text, _) = with("clock", "");
    assert_eq!(parse("m.toml", &text).unwrap_err().to_string(), "m.toml: topology.clock is missing");
}

#[test]
fn a_syntax_error_names_its_line() {
    let (text, at) = with("smt", "smt = { value = 2,, }");
    let said = parse("m.toml", &text).unwrap_err().to_string();
    assert!(said.starts_with(&format!("m.toml:{at}: ")) && !said.contains('\n'), "{said}");
}

#[test]
fn a_key_given_twice_is_refused() {
    let (text, at) = with("local_clean", r#"smt = { value = 2, unit = "ns", source = "x" }"#);
    let said = parse("m.toml", &text).unwrap_err().to_string();
    assert!(said.starts_with(&format!("m.toml:{at}: ")), "{said}");
}

#[test]
fn the_split_of_a_transfer_cannot_exceed_it() {
    refused(
        "snoop_percent",
        r#"snoop_percent = { value = 80, unit = "percent", source = "x" }"#,
        "latency.snoop_percent: the sum with latency.request_percent is 105, more than 100",
    );
}

#[test]
fn unordered_latencies_are_allowed_and_said() {
    let (text, _) = with("smt", r#"smt = { value = 70, unit = "cycles", source = "x" }"#);
    let p = parse("m.toml", &text).unwrap();
    assert_eq!(p.warnings, ["m.toml: latency.smt (70 cycles) is longer than latency.local_clean (61 cycles)"]);
}

#[test]
fn what_is_left_out_is_like_something_else_or_not_there() {
    let p = parse("m.toml", GOOD).unwrap().machine;
    assert_eq!((p.cores_per_cluster, p.sockets_per_group), (p.cores_per_socket, p.sockets));
    assert_eq!((p.latency.cluster, p.latency.away), (p.latency.local, p.latency.local));
    assert_eq!((p.latency.far, p.latency.remote_memory), (p.latency.remote, p.latency.memory));
    assert!(p.latency.queueing && p.latency.home_node && !p.core.adjacent_line && !p.caches.are_finite());
}

#[test]
fn a_machine_of_several_sockets_says_how_far_it_is_between_them() {
    let (text, _) = with("remote_clean", "");
    assert_eq!(parse("m.toml", &text).unwrap_err().to_string(), "m.toml: latency.remote_clean is missing");
    let one = text.replace("sockets = { value = 2", "sockets = { value = 1");
    let p = parse("m.toml", &one).unwrap().machine;
    assert_eq!(p.latency.remote.clean, p.latency.local.clean);
}

#[test]
fn clusters_and_groups_divide_what_they_are_parts_of() {
    let line = r#"cores_per_cluster = { value = 7, unit = "count", source = "x" }"#;
    let (text, at) =
        with("line_bytes", &format!("{line}\nline_bytes = {{ value = 64, unit = \"bytes\", source = \"x\" }}"));
    let said = parse("m.toml", &text).unwrap_err().to_string();
    let expected = "topology.cores_per_cluster: 7 must divide topology.cores_per_socket, 20";
    assert_eq!(said, format!("m.toml:{at}: {expected}"));
}

#[test]
fn caches_have_whole_sets_and_all_levels() {
    let cache = |l1: u32, l3: u32| {
        let number = |key: &str, n: u32| format!("{key} = {{ value = {n}, unit = \"bytes\", source = \"x\" }}\n");
        format!("{GOOD}\n[cache]\n{}{}{}", number("l1", l1), number("l2", 1 << 20), number("l3", l3))
    };
    assert!(parse("m.toml", &cache(32 << 10, 1 << 24)).unwrap().machine.caches.are_finite());
    let said = parse("m.toml", &cache(1000, 1 << 24)).unwrap_err().to_string();
    assert!(said.ends_with("cache.l1: 1000 bytes is not a whole number of sets of 512 bytes"), "{said}");
    let said = parse("m.toml", &cache(32 << 10, 0)).unwrap_err().to_string();
    assert!(said.ends_with("cache.l3 is missing"), "{said}");
}

/// The queue of clocks has room for so many CPUs; of a larger machine, two would be taken for one.
#[test]
fn a_machine_of_more_cpus_than_can_be_simulated_is_refused() {
    let of = |cores: u32| {
        let (text, _) = with(
            "cores_per_socket",
            &format!(r#"cores_per_socket = {{ value = {cores}, unit = "count", source = "x" }}"#),
        );
        let threads = GOOD.lines().find(|l| l.starts_with("threads_per_core = ")).unwrap();
        text.replace(threads, r#"threads_per_core = { value = 4, unit = "count", source = "x" }"#)
    };
    assert_eq!(parse("m.toml", &of(512)).unwrap().machine.cpus(), 4096);
    let larger = of(512).replace("sockets = { value = 2,", "sockets = { value = 4,");
    let said = parse("m.toml", &larger).unwrap_err().to_string();
    let expected = "topology.cores_per_socket: 4 sockets of 512 cores of 4 threads are 8192 CPUs, and 4096 is the most that can be simulated";
    assert!(said.ends_with(expected), "{said}");
}
