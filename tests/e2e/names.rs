// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory is called what the program calls it, in a real run: type and field of heap objects, functions,
//! labels.
use crate::harness::{Report, Simulation, program};

/// Simulates a program whose two threads fight for two fields, and gives the report of it.
fn fight(source: &str, how: &str) -> Report {
    Simulation::of(&program(source)).cpus("2").args(how).report()
}

/// The line that moves most is one of `object`, and above all it is these fields of it, updated in `hammer`.
#[track_caller]
fn check(source: &str, how: &str, object: &str, fields: [&str; 2]) {
    let report = fight(source, how);
    let line = report.at(2).lines().next().expect("a line");
    assert!(line.text("object").starts_with(object), "{how}: {} is no {object}", line.text("object"));
    assert_eq!(line.fields()[..2], fields, "{how}");
    assert_eq!(line.text("sharing"), "false sharing", "{how}");
    for site in &line.sites()[..2] {
        let file = site["file"].as_str().unwrap_or_default();
        assert!(site["function"].as_str().unwrap_or_default().starts_with("hammer"), "{how}: {site}");
        assert!(file.ends_with(source) && site["kind"] == "atomic rmw", "{how}: {site}");
    }
}

#[test]
fn heap_objects_of_c() {
    let direct = ["mailbox.sent", "mailbox.received"];
    for how in ["malloc", "calloc", "wrapper"] {
        check("names/heap.c", how, "struct mailbox at heap.c:", direct);
    }
    // 64 bytes hold two.
    let first = ["mailbox[0].sent", "mailbox[0].received"];
    check("names/heap.c", "aligned", "struct mailbox[2] at heap.c:", first);
    let nested = ["server[1].boxes[2].sent", "server[1].boxes[2].received"];
    check("names/heap.c", "nested", "struct server[4] at heap.c:", nested);
}

#[test]
fn heap_objects_of_cxx() {
    for how in ["new", "unique"] {
        check("names/heap.cpp", how, "shop::Till at heap.cpp:", ["Till.sales", "Till.returns"]);
    }
    check("names/heap.cpp", "template", "shop::Pair<long> at heap.cpp:", ["Pair<long>.low", "Pair<long>.high"]);
    check("names/heap.cpp", "vector", "shop::Till[5] at heap.cpp:", ["Till[3].sales", "Till[3].returns"]);
}

#[test]
fn labels_go_before_types() {
    let report = fight("names/heap.c", "label");
    let object = report.at(2).lines().next().expect("a line").text("object").to_owned();
    assert!(object.contains("the arena"), "{object}");
}

#[test]
fn functions_by_share() {
    let report = fight("names/heap.c", "malloc");
    let functions = report.at(2).0["functions"].as_array().unwrap();
    assert_eq!(functions[0]["name"], "hammer");
    assert!(functions[0]["self_percent"].as_f64() > Some(80.0), "{}", functions[0]);
    let main = functions.iter().find(|f| f["name"] == "main").expect("main");
    assert!(main["total_percent"].as_f64() > Some(30.0), "{main}");
}

#[test]
fn a_variable_of_a_function_that_waits_in_a_library() {
    check("names/locals.cpp", "", "queue in main (stack of thread 0, locals.cpp:", ["queue.entered", "queue.left"]);
}

/// It is no caller's: only the runtime calls it.
#[test]
fn a_thread_s_function_that_is_named_like_a_lock() {
    let report = Simulation::of(&program("names/lock_worker.c")).cpus("8").report();
    let locks = report.at(8).0["locks"].as_array().expect("locks");
    let word = locks.iter().find(|lock| lock["name"] == "word").unwrap_or_else(|| panic!("{locks:?}"));
    assert_eq!(word["waited_at"]["function"], "lock_worker", "{word}");
}

/// Others write to the node while its thread spins or waits for its turn: where that is stands on its stack only.
#[test]
fn a_variable_of_every_thread_that_spins() {
    let report = Simulation::of(&program("names/nodes.c")).cpus("8").args("8 3000").report();
    let of_stacks = report.at(8).lines().filter(|line| line.text("object").contains("stack of thread"));
    let (named, bare): (Vec<_>, Vec<_>) = of_stacks
        .filter(|line| line.0["transfers"].as_u64() > Some(100))
        .map(|line| line.text("object").to_owned())
        .partition(|object| object.starts_with("mine in take_turns (stack of thread "));
    assert!(named.len() >= 8 && bare.is_empty(), "{named:?} {bare:?}");
}

#[test]
fn memory_that_is_freed_before_the_end() {
    let report = fight("names/freed.c", "");
    let line = report.at(2).lines().next().expect("a line");
    let names = line.text("object");
    assert!(names.contains("struct early at freed.c:") && names.contains("struct late at freed.c:"), "{names}");
    let passed = report.at(2).0["passed"].as_array().unwrap();
    let list = passed.iter().find(|entry| entry["at"]["function"] == "consume");
    let object = &list.unwrap_or_else(|| panic!("{passed:?}"))["object"];
    assert!(object.as_str().unwrap_or_default().starts_with("struct item at freed.c:"), "{object}");
}

/// What is done for a thread at its end is named after the function that it was started with.
#[test]
fn the_end_of_a_thread_has_a_name() {
    let simulation = Simulation::of(&program("truths/ends_holding.c")).cpus("8").args("8");
    let report = simulation.option("--sample-period", "16").report();
    let functions = report.at(8).0["functions"].as_array().expect("functions");
    let names: Vec<&str> = functions.iter().map(|function| function["name"].as_str().expect("a name")).collect();
    assert!(names.contains(&"hold") && !names.iter().any(|name| name.starts_with("0x")), "{names:?}");
}
