// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions, lines and percentages.
use crate::common::*;
use corefold_recording::*;

const C: &str = r#"
#include <stdlib.h>
long total;
static inline __attribute__((always_inline)) void add(long n) {
    __atomic_fetch_add(&total, n, 0);
    rand();
}
__attribute__((noinline)) void work(int depth) {
    add(1);
    if (depth) { work(depth - 1); rand(); abs(depth); }
    rand();
}
int main(void) { work(3); return rand(); }
"#;

fn stack(frames: &[u64], compute: u64, block: u64) -> Stack {
    Stack { frames: frames.to_vec(), time: Time { compute, block, ..Time::default() }, latency: 0 }
}

#[test]
fn self_and_total_shares() {
    let program = Program::new("code.c", C, &["-fno-optimize-sibling-calls"]);
    let (in_add, in_main) = (program.calls("work", "rand")[0], program.call("main", "work"));
    let recursive = program.call("work", "work");
    let mut run = program.run();
    run.stacks =
        vec![stack(&[in_add - 1, recursive, recursive, in_main], 60, 0), stack(&[program.symbol("main")], 40, 900)];
    let explained = told(&run);
    let shares: Vec<(&str, f64, f64)> =
        explained.functions.iter().map(|f| (f.name.as_str(), f.self_percent, f.total_percent)).collect();
    assert_eq!(shares, [("add", 60.0, 60.0), ("main", 40.0, 100.0), ("work", 0.0, 60.0)]);
    let add = &explained.functions[0];
    assert!(add.file.as_deref().unwrap().ends_with("/code.c"));
    assert_eq!(add.line, Some(4));
    assert_eq!(explained.functions[1].self_time.block, 900);
}

#[test]
fn latency_is_of_the_runs_time_and_names_what_runs_alone() {
    let program = Program::new("code.c", C, &["-fno-optimize-sibling-calls"]);
    let (in_add, in_main) = (program.calls("work", "rand")[0], program.call("main", "work"));
    let of = |frames: &[u64], compute, latency| Stack { latency, ..stack(frames, compute, 0) };
    let mut run = program.run();
    // 80 cycles by one thread, and 120 by four at once, as samples have them: half of what they were.
    run.stacks = vec![of(&[in_add - 1, in_main], 40, 40), of(&[program.symbol("main")], 60, 15)];
    (run.cycles, run.time) = (110, Time { compute: 200, ..Time::default() });
    let explained = told(&run);
    let of = |name: &str| {
        explained.functions.iter().find(|f| f.name == name).and_then(|f| f.latency_percent).map(f64::round)
    };
    assert_eq!((of("work"), of("main")), (Some(73.0), Some(100.0)));
    let stage = explained.stage.expect("a stage");
    assert_eq!((stage.name.as_str(), stage.percent.round()), ("add", 73.0));
    // More than the run's time cannot be right.
    run.stacks[1].latency = 40;
    let explained = told(&run);
    assert!(explained.stage.is_none() && explained.functions.iter().all(|f| f.latency_percent.is_none()));
}

#[test]
fn a_return_address_means_the_call_before_it() {
    let program = Program::new("code.c", C, &["-fno-optimize-sibling-calls"]);
    let mut run = program.run();
    let pc = program.calls("work", "rand")[0];
    run.lines.push(line(
        program.symbol("total") & !63,
        vec![site(pc, AccessKind::Rmw, (program.symbol("total") & 63) as u8, 8, 4)],
    ));
    let explained = told(&run);
    let site = &explained.lines[0].sites[0];
    assert_eq!((site.function.as_str(), site.line, site.field.as_str()), ("add", Some(6), "total"));
    assert_eq!(site.inlined_into.iter().map(ToString::to_string).collect::<Vec<_>>(), ["work (code.c:9)"]);
    assert_eq!(explained.lines[0].stall_percent, 100.0);
}

#[test]
fn shares_of_a_line_are_of_all_waiting() {
    let program = Program::new("code.c", C, &[]);
    let mut run = program.run();
    run.time = Time { stall: 1500, spin: 500, ..Time::default() };
    let mut hot = line(program.symbol("total") & !63, vec![site(program.symbol("work") + 1, AccessKind::Rmw, 0, 8, 4)]);
    hot.spin = 250;
    run.lines.push(hot);
    let explained = told(&run);
    assert_eq!((explained.lines[0].stall_percent, explained.lines[0].spin_percent), (50.0, 12.5));
}

#[test]
fn a_stripped_program_keeps_its_symbols() {
    let program = Program::new("code.c", C, &[]).stripped();
    let mut run = program.run();
    run.stacks = vec![stack(&[program.symbol("work") + 4], 10, 0)];
    let explained = told(&run);
    assert_eq!((explained.functions[0].name.as_str(), &explained.functions[0].file), ("work", &None));
    let notes: Vec<&str> = explained.run.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("no debug information"), "{notes:?}");
}

#[test]
fn a_missing_file_leaves_offsets() {
    let program = Program::new("code.c", C, &[]);
    let mut run = program.run();
    run.modules[0].path = "/nowhere/program".to_owned();
    run.stacks = vec![stack(&[BASE + 0x1234], 10, 0), stack(&[0x10], 5, 0)];
    run.notes.push(Note { text: "a note".to_owned(), pc: BASE + 0x2000, count: 3 });
    run.lines.push(line(BASE + 0x4000, vec![site(BASE + 0x1234, AccessKind::Read, 8, 8, 2)]));
    let explained = told(&run);
    let names: Vec<&str> = explained.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["program+0x1234", "0x10"]);
    assert_eq!(explained.lines[0].fields[0].name, "program+0x4008");
    assert_eq!(explained.run.notes[0].at.as_ref().unwrap().function, "program+0x1fff");
    assert!(explained.run.notes[1].text.contains("cannot read"), "{:?}", explained.run.notes);
}

#[test]
fn a_changed_file_is_noted() {
    let program = Program::new("code.c", C, &["-Wl,--build-id"]);
    let mut run = program.run();
    assert_eq!(told(&run).run.notes, []);
    run.modules[0].build_id[0] ^= 1;
    run.stacks = vec![stack(&[program.symbol("work") + 4], 10, 0)];
    let explained = told(&run);
    assert!(explained.run.notes[0].text.contains("changed since the run"));
    assert!(explained.functions[0].name.starts_with("program+0x"), "{:?}", explained.functions[0]);
}

#[test]
fn split_debug_information_is_noted() {
    let program = Program::new("code.c", C, &["-gsplit-dwarf"]);
    let mut run = program.run();
    run.stacks = vec![stack(&[program.symbol("work") + 4], 10, 0)];
    run.lines.push(line(
        program.symbol("total") & !63,
        vec![site(BASE, AccessKind::Read, (program.symbol("total") & 63) as u8, 8, 2)],
    ));
    let explained = told(&run);
    assert_eq!(explained.functions[0].name, "work");
    assert_eq!(explained.lines[0].fields[0].name, "total");
    assert!(explained.run.notes[0].text.contains("-gsplit-dwarf"), "{:?}", explained.run.notes);
}

const CPP: &str = r#"
#include <cstdlib>
template <class F> __attribute__((noinline)) int call(F f) { return f() + f(); }
int main() {
    auto outer = [] {
        auto inner = []() __attribute__((noinline)) { return rand(); };
        return inner() + inner();
    };
    return call(outer);
}
"#;

#[test]
fn lambdas_are_called_after_the_function_that_they_stand_in() {
    let program = Program::new("lambda.cpp", CPP, &[]);
    let mut run = program.run();
    let inner = program.symbol_with("clEvENKUlvE_clEv");
    run.stacks = vec![stack(&[inner], 60, 0)];
    assert_eq!(told(&run).functions[0].name, "main::{lambda:5}::{lambda:6}");
}

const MAP: &str = r#"
#include <map>
#include <string>
std::map<std::string, int> table;
int main(int argc, char **argv) { return table.count(argv[0]); }
"#;

#[test]
fn inlined_library_functions_count_for_the_one_that_the_program_calls() {
    let program = Program::new("map.cpp", MAP, &[]);
    let mut run = program.run();
    // Comparing two strings is deep within the map's search, all of it inlined into `main`.
    let compare = program.calls("main", "memcmp")[0] - 1;
    run.stacks = vec![stack(&[compare], 60, 0)];
    let names: Vec<String> = told(&run).functions.into_iter().map(|function| function.name).collect();
    assert_eq!(names, ["std::map<…>::count", "main"]);
}
