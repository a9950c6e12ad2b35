// SPDX-License-Identifier: MIT OR Apache-2.0
//! An allocator under stress: mimalloc as its authors ship it. Nothing is lost, and what is fought over is
//! named by its source.
use crate::harness::{Program, Report, Run, Simulation, native_with, package, printed_natively, program_with, stress};

const DRIVER: &str = "../mimalloc/driver.c";

fn with_source<T>(build: impl FnOnce(&[&str]) -> T) -> T {
    let source = package("mimalloc", "libmimalloc-sys").join("c_src/mimalloc/v3");
    let path = |name: &str| source.join(name).into_os_string().into_string().expect("a path in Unicode");
    let include = ["include", "src"].map(|directory| format!("-I{}", path(directory)));
    build(&["-DNDEBUG", &include[0], &include[1], &path("src/static.c")])
}

fn simulated() -> Program {
    with_source(|options| program_with(DRIVER, options))
}

fn native() -> Program {
    with_source(|options| native_with(DRIVER, options))
}

fn curve(mode: &str) -> Report {
    let rounds = if stress() { 200 } else { 20 };
    Simulation::of(&simulated()).cpus("1,8,80").args(&format!("{{cpus}} {mode} {rounds}")).report()
}

/// The share of a run's transfers that each place of the source causes: function, file, transfers.
fn places(run: Run<'_>) -> Vec<(&str, &str, u64)> {
    let sites = run.lines().flat_map(|line| line.sites());
    sites.filter_map(|s| Some((s["function"].as_str()?, s["file"].as_str()?, s["transfers"].as_u64()?))).collect()
}

#[test]
#[ignore = "a public program: make stress runs it"]
fn the_result_is_the_native_one() {
    for mode in ["own", "next", "deal"] {
        for cpus in ["1", "8", "80"] {
            let args = format!("{cpus} {mode}");
            let expected = printed_natively(&native(), &args);
            assert!(expected.contains("blocks"), "{expected}");
            assert_eq!(printed_natively(&simulated(), &args), expected, "{args}, instrumented but not simulated");
            let simulation = Simulation::of(&simulated()).cpus(cpus).args(&args).run();
            assert_eq!(simulation.said.code, Some(0), "{}{}", simulation.said.out, simulation.said.err);
            assert_eq!(simulation.printed(), expected, "{args}, simulated");
        }
    }
}

/// Blocks that go back to the thread they came from move no line but the arena's.
#[test]
#[ignore = "a public program: make stress runs it"]
fn blocks_freed_by_their_own_thread_cause_no_contention() {
    let report = curve("own");
    assert!(report.gain(8, 1) > 5.5, "{}", report.gain(8, 1));
    let run = report.at(80);
    assert!(!places(run).iter().any(|place| place.0 == "mi_free_block_mt"), "no block is another thread's");
}

/// Blocks that other threads allocated go on their page's list, one by one: each free writes to a line that
/// the neighbour uses.
#[test]
#[ignore = "a public program: make stress runs it"]
fn blocks_of_others_move_the_lines_of_their_pages() {
    let (own, next) = (curve("own"), curve("next"));
    assert!(next.gain(80, 1) < 0.7 * own.gain(80, 1), "{} {}", next.gain(80, 1), own.gain(80, 1));
    let run = next.at(80);
    let lists: u64 = places(run).iter().filter(|place| place.0 == "mi_free_block_mt").map(|place| place.2).sum();
    assert!(lists > 5000, "{lists}");
}

/// `xthread_free` of one page is what all threads free to.
#[test]
#[ignore = "a public program: make stress runs it"]
fn remote_frees_contend_for_the_list_of_a_page() {
    let report = curve("deal");
    assert!(report.gain(80, 8) < 1.0, "{}", report.gain(80, 8));
    let run = report.at(80);
    assert!(run.share("stall") > 0.8, "{}", run.share("stall"));
    let line = run.lines().next().expect("a line");
    let site = &line.sites()[0];
    assert_eq!((&site["function"], &site["kind"]), (&"mi_free_block_mt".into(), &"atomic rmw".into()), "{site}");
    assert!(site["file"].as_str().is_some_and(|file| file.ends_with("/src/free.c")), "{site}");
    assert!(line.text("object").contains("mapping"), "{}", line.text("object"));
}
