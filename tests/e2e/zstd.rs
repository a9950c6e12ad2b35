// SPDX-License-Identifier: MIT OR Apache-2.0
//! zstd's own thread pool as its authors ship it: the right result, and what keeps it from scaling named
//! in zstd's words.
use crate::harness::{
    Program, Report, Simulation, native_with, objects, package, printed_natively, program_with, sources_in, stress,
};

const DRIVER: &str = "../zstd/driver.c";
const DIRECTORIES: [&str; 3] = ["common", "compress", "decompress"];
/// Level 1 needs the fast strategy only; the others would take most of the compile time.
const UNUSED: [&str; 7] = ["DFAST", "GREEDY", "LAZY", "LAZY2", "BTLAZY2", "BTOPT", "BTULTRA"];

fn with_source<T>(build: impl FnOnce(&[&str], &[String]) -> T) -> T {
    let source = package("zstd", "zstd-sys").join("zstd/lib");
    let mut options: Vec<String> = ["ZSTD_MULTITHREAD", "ZSTD_DISABLE_ASM", "DYNAMIC_BMI2=0"].map(define).into();
    options.extend(["HUF_FORCE_DECOMPRESS_X1", "ZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT"].map(define));
    options.extend(UNUSED.map(|strategy| define(&format!("ZSTD_EXCLUDE_{strategy}_BLOCK_COMPRESSOR"))));
    options.push(format!("-I{}", source.to_str().expect("a path in Unicode")));
    let sources: Vec<String> = DIRECTORIES.iter().flat_map(|directory| sources_in(&source.join(directory))).collect();
    build(&options.iter().map(String::as_str).collect::<Vec<_>>(), &sources)
}

fn with<'a>(options: &[&'a str], more: &'a [String]) -> Vec<&'a str> {
    options.iter().copied().chain(more.iter().map(String::as_str)).collect()
}

fn define(name: &str) -> String {
    format!("-D{name}")
}

fn simulated() -> Program {
    with_source(|options, sources| program_with(DRIVER, &with(options, &objects(sources, options))))
}

fn native() -> Program {
    with_source(|options, sources| native_with(DRIVER, &with(options, sources)))
}

/// A job is half a megabyte at least: 80 CPUs have all something to do from 40 megabytes on.
fn megabytes() -> u64 {
    if stress() { 40 } else { 8 }
}

fn curve(mode: &str) -> Report {
    Simulation::of(&simulated()).cpus("1,8,80").args(&format!("{{cpus}} {mode} {}", megabytes())).report()
}

#[test]
#[ignore = "a public program: make stress runs it"]
fn the_result_is_the_native_one() {
    for mode in ["plain", "checksum", "long"] {
        let expected = printed_natively(&native(), &format!("2 {mode} 3"));
        assert!(expected.contains("and back"), "{expected}");
        for cpus in ["1", "8", "80"] {
            let args = format!("{cpus} {mode} 3");
            assert_eq!(printed_natively(&native(), &args), expected, "{args}, natively");
            let simulation = Simulation::of(&simulated()).cpus(cpus).args(&args).run();
            assert_eq!(simulation.said.code, Some(0), "{}{}", simulation.said.out, simulation.said.err);
            assert_eq!(simulation.printed(), expected, "{args}, simulated");
        }
    }
}

/// The main thread copies the input into the jobs; workers that have none wait for the pool's queue.
#[test]
#[ignore = "a public program: make stress runs it"]
fn workers_of_a_pool_wait_for_its_producer() {
    let report = curve("plain");
    assert!(report.gain(8, 1) > 4.5, "{}", report.gain(8, 1));
    let run = report.at(80);
    let lock = &run.0["locks"][0];
    assert_eq!(lock["name"], "POOL_ctx.queuePopCond");
    assert_eq!(lock["kind"], "condition variable");
    assert_eq!(lock["waited_at"]["function"], "POOL_thread");
    assert!(run.share("block") > 0.25, "{}", run.share("block"));
}

/// Long-distance matching goes over the jobs one by one, in their order, under a mutex.
#[test]
#[ignore = "a public program: make stress runs it"]
fn long_distance_matching_is_serial() {
    let report = curve("long");
    assert!(report.gain(8, 1) < 4.0, "{}", report.gain(8, 1));
    assert!(report.gain(80, 8) < 1.1, "{}", report.gain(80, 8));
    let lock = &report.at(8).0["locks"][0];
    assert_eq!(lock["name"], "ZSTDMT_CCtx.serial.mutex");
    assert_eq!(lock["waited_at"]["function"], "ZSTDMT_serialState_genSequences");
    assert!(report.at(8).0["locks"][0]["wait_cycles"].as_u64() > Some(report.at(8).cycles()), "{lock}");
}
