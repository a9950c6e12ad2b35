// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kit's name cache: what a path walk moves between CPUs, how it scales, and many schedules of it.
use crate::case;
use crate::harness::{
    Line, Place, Program, Report, Simulation, liburcu, native_with, objects, program_with, sources_in, stress,
};
use serde_json::Value;
use std::path::Path;

pub fn kit(path: &str) -> String {
    format!("{}/../kit/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// What the kit's own sources are compiled with: the same for all programs, which share the objects. Those with `defines` are
/// for many schedules, not for speed: with less optimisation they compile in two thirds of the time.
pub fn kit_flags<'a>(include: &'a str, defines: &[&'a str]) -> Vec<&'a str> {
    let optimised: &[&str] = if defines.is_empty() { &[] } else { &["-O1"] };
    [optimised, &["-I", include, "-D_GNU_SOURCE"], defines].concat()
}

/// A program over the caches, built with a locking policy. Of the options, those for the kit (`-DCF_…`) are for its objects,
/// too. `None` without liburcu's source.
pub fn cache_program(source: &str, policy: u32, options: &[&str]) -> Option<Program> {
    let (urcu_sources, urcu): (Vec<String>, Vec<String>) =
        liburcu()?.iter().cloned().partition(|option| option.ends_with(".c"));
    let urcu: Vec<&str> = urcu.iter().map(String::as_str).collect();
    let (defines, own): (Vec<&str>, Vec<&str>) = options.iter().partition(|option| option.starts_with("-DCF_"));
    let (include, policy) = (kit("include"), format!("-DCF_VFS_POLICY={policy}"));
    // Each source with only those that it knows: several programs share the objects.
    let kit_flags = kit_flags(&include, &defines);
    let flags = [urcu.as_slice(), &kit_flags, &[policy.as_str()]].concat();
    let [lower, vfs] = ["src", "src/vfs"].map(|folder| sources_in(Path::new(&kit(folder))));
    let parts = [(&lower, &kit_flags), (&vfs, &flags), (&urcu_sources, &urcu)];
    let objects: Vec<String> = parts.iter().flat_map(|(sources, flags)| objects(sources, flags)).collect();
    let all: Vec<&str> = flags.iter().chain(&own).copied().chain(objects.iter().map(String::as_str)).collect();
    Some(program_with(&kit(source), &all))
}

pub const SCALED: u32 = 5;
pub const TWIN: u32 = 0;

fn walks(program: &Program, what: &str, cpus: &str, turns: u32) -> Report {
    Simulation::of(program).cpus(cpus).args(&format!("{what} {{cpus}} {turns}")).report()
}

/// Transfers in the measured region, without the barriers at its ends.
fn transfers(report: &Report, cpus: u64) -> u64 {
    let of = |line: &Value| line["transfers"].as_u64().expect("transfers");
    let barrier = |line: &Line| ["ready ", "warm "].iter().any(|name| line.text("object").starts_with(name));
    report.at(cpus).lines().filter(|line| !barrier(line)).map(|line| of(line.0)).sum()
}

/// What a walk reads is in the cache of its CPU, and stays there. So does the reference that an open file is: on a line
/// that nobody else has.
#[test]
fn a_hit_moves_no_line() {
    let Some(program) = cache_program("bench/walk.c", SCALED, &[]) else { return };
    for what in ["different", "same", "missing", "open"] {
        let report = walks(&program, what, "2,8,80", if stress() { 100 } else { 40 });
        for cpus in [2, 8, 80] {
            let moved = transfers(&report, cpus);
            assert_eq!(moved, 0, "{what}: {moved} transfers at {cpus} CPUs");
        }
    }
}

/// At least 95 % of what threads reach that share nothing, at 80 CPUs, and 90 % at 448 (`make stress`); the twin below 2 CPUs'
/// worth.
#[test]
fn walks_scale_as_private_work_does_and_the_twin_does_not() {
    let Some(scaled) = cache_program("bench/walk.c", SCALED, &[]) else { return };
    let turns = if stress() { 400 } else { 40 };
    let share = |machine: &str, cpus: u64| {
        let [different, private] = ["different", "private"].map(|what| {
            let simulation = Simulation::of(&scaled).cpus(&cpus.to_string()).option("--machine", machine);
            simulation.args(&format!("{what} {{cpus}} {turns}")).report().throughput(cpus)
        });
        different / private
    };
    let bounds = [("skylake-2s-80", 80, 0.95), ("skx-8s-8176", 448, 0.90)];
    for (machine, cpus, least) in &bounds[..if stress() { 2 } else { 1 }] {
        let reached = share(machine, *cpus);
        assert!(reached >= *least, "{reached} at {cpus} CPUs");
    }
    let twin = cache_program("bench/walk.c", TWIN, &[]).expect("liburcu");
    let report = walks(&twin, "different", "1,80", 60);
    let gain = report.gain(80, 1);
    assert!(gain < 2.0, "{gain}");
    // Its slab caches have the names of structures, so that the report has the fields.
    let of_slabs = report.at(80).lines().filter(|line| line.text("object").contains("(slab, one every"));
    let fields: Vec<&str> = of_slabs.flat_map(|line| line.fields()).collect();
    assert!(fields.iter().any(|name| name.starts_with("cf_dentry.")), "{fields:?}");
}

/// The workloads of kit/bench/vfs on the kit's file system, with a locking policy and further options for the compiler.
fn workloads(policy: u32, more: &[&str]) -> Option<Program> {
    let mut options = sources_in(Path::new(&kit("bench/vfs")));
    options.retain(|path| !path.ends_with("/main.c"));
    let others = ["-DBENCH_VFS_KIT", "-Wl,--no-as-needed", "-lm", "-I"].map(str::to_owned);
    options.extend(others.into_iter().chain([kit("bench/vfs")]));
    let options: Vec<&str> = options.iter().map(String::as_str).chain(more.iter().copied()).collect();
    cache_program("bench/vfs/main.c", policy, &options)
}

/// Operations a second, of a thread on each CPU.
fn rate(program: &Program, machine: &str, cpus: u64, arguments: &str) -> f64 {
    let arguments = format!("--quiet --threads {{cpus}} --batches 1 {arguments}");
    Simulation::of(program)
        .cpus(&cpus.to_string())
        .option("--machine", machine)
        .args(&arguments)
        .report()
        .throughput(cpus)
}

/// At least 85 % of what threads reach of which each has a file system of its own.
#[test]
#[ignore = "takes long: make stress runs it"]
fn opening_and_closing_different_files_scales_as_private_work_does() {
    let Some(scaled) = workloads(SCALED, &[]) else { return };
    let of =
        |workload: &str| rate(&scaled, "skylake-2s-80", 80, &format!("--operations 60 --warm 10 --files 2 {workload}"));
    let (open, private) = (of("open"), of("open-private"));
    assert!(open >= 0.85 * private, "{open} {private}");
}

/// What the scaled form does to be scaled costs at most 3 % of the twin's speed where there is nobody else.
#[test]
#[ignore = "takes long: make stress runs it"]
fn on_one_cpu_the_scaled_form_is_as_fast_as_the_twin() {
    let (Some(scaled), Some(twin)) = (workloads(SCALED, &[]), workloads(TWIN, &[])) else { return };
    for workload in [
        "lookup",
        "open",
        "create-one",
        "create-many",
        "rename-one",
        "rename-across",
        "rename-trees",
        "writes",
        "socket",
    ] {
        let of = |program| rate(program, "xeon-4s-80", 1, &format!("--operations 200 --warm 20 --files 16 {workload}"));
        let (fast, unscaled) = (of(&scaled), of(&twin));
        assert!(fast >= 0.97 * unscaled, "{workload}: {fast} {unscaled}");
    }
}

/// Short spins make rare paths common, and with few hashes names of directories collide; the kit's test points are compiled in.
const RARE: [&str; 3] = ["-DCF_LOCK_SPINS=16", "-DCF_TEST_POINTS", "-DCF_MEMORY_HASH_BITS=2"];

/// Renames, replacements, removals and the shrinker beside walks. The twin's rare paths are `make stress`'s: kit objects take long.
#[test]
fn names_are_right_under_many_schedules() {
    let seeds = case::seeds("1");
    let twins: &[&str] = if stress() { &RARE } else { &[] };
    let all = [(SCALED, 8, RARE.as_slice()), (TWIN, 4, twins), (SCALED, 4, &RARE)];
    for (policy, cpus, defines) in &all[..if stress() { 3 } else { 2 }] {
        let Some(program) = cache_program("tests/explore/names.c", *policy, defines) else { return };
        let explore = format!("explore --machine xeon-4s-80 --cpus {cpus} --seeds {seeds}");
        let turns = if stress() { 200 } else { 100 };
        let said = Place::new().corefold(&format!("{explore} -- {} {turns}", program.display()));
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    }
}

/// What judges histories, compiled by the compiler alone: the search takes no virtual time.
fn judge() -> Program {
    let mut sources = sources_in(Path::new(&kit("tests/vfs/model")));
    sources.retain(|path| !path.ends_with("/kernel.c") && !path.ends_with("/history.c"));
    let include = kit("include");
    let options = sources.iter().map(String::as_str).chain(["-r", "-I", &include]);
    native_with(&kit("tests/vfs/model/history.c"), &options.collect::<Vec<_>>())
}

/// The results of concurrent calls are the model's in some order of the calls, but for the exceptions that cf_vfs.h lists.
/// Each run has 50 small programs, each with delays of its own: 100,000 schedules in `make stress`.
#[test]
fn concurrent_calls_take_effect_one_by_one() {
    let judge = judge().display().to_string();
    let defines = [RARE.as_slice(), &[judge.as_str()]].concat();
    let Some(program) = cache_program("tests/explore/vfs_histories.c", SCALED, &defines) else { return };
    let seeds = if stress() { "1-2000" } else { "1-2" };
    let explore = format!("explore --cpus 4 --seeds {seeds} -- {} 50", program.display());
    let said = Place::new().corefold(&explore);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}
