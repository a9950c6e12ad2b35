// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `xz` program, built by its own CMakeLists.txt: the right result, and why many threads do not help
//! (docs/xz.md).
use crate::harness::{Place, Report, Simulation, package, said};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The program, built once, and something to compress.
fn built() -> &'static Path {
    static BUILT: OnceLock<Place> = OnceLock::new();
    let place = BUILT.get_or_init(|| {
        let place = Place::new();
        let source = package("xz", "liblzma-sys").join("xz");
        let script = format!(
            r#"CC="$corefold cc" cmake -S {} -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
                "-DXZ_ENCODERS=lzma1;lzma2" "-DXZ_DECODERS=lzma1;lzma2"
            cmake --build build --parallel 2 --target xz
            seq 300000 > numbers"#,
            source.display()
        );
        let told = place.sh(&script);
        assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
        place
    });
    place.directory()
}

fn xz() -> Command {
    let mut command = Command::new(built().join("build/xz"));
    command.current_dir(built());
    command
}

/// Compresses with as many threads as CPUs, and decompresses the result of each again.
fn compress(cpus: &str, options: &str) -> Report {
    let (place, numbers) = (Place::new(), built().join("numbers"));
    let counts: Vec<&str> = cpus.split(',').collect();
    for count in &counts {
        std::fs::copy(&numbers, place.path(count)).unwrap();
    }
    let args = format!("-0 -T{{cpus}} -k {options} {}", place.path("{cpus}").display());
    let report = Simulation::of(&built().join("build/xz")).cpus(cpus).args(&args).report();
    for count in counts {
        let told = said(xz().arg("-dc").arg(place.path(&format!("{count}.xz"))));
        assert_eq!(told.code, Some(0), "{}", told.err);
        assert!(told.out.as_bytes() == std::fs::read(&numbers).unwrap(), "{count} CPUs: not what was compressed");
    }
    report
}

fn speed_up(report: &Report, cpus: u64) -> f64 {
    report.at(1).cycles() as f64 / report.at(cpus).cycles() as f64
}

/// A block is a megabyte at level 0, and a thread does a block: two megabytes keep two threads busy.
#[test]
#[ignore = "a public program: make stress runs it"]
fn two_blocks_are_work_for_two_threads() {
    let report = compress("1,8,80", "");
    assert!((1.5..2.1).contains(&speed_up(&report, 80)), "{}", speed_up(&report, 80));
    let run = report.at(80);
    assert_eq!(run.0["threads"], 3, "two workers and the main thread");
    let finding = report.0["finding"]["text"].as_str().expect("a sentence");
    assert!(finding.contains("of the 80 CPUs had a thread to run, as the program has 3 threads."), "{finding}");
    // The main thread is what waits, for the workers.
    let lock = &run.0["locks"][0];
    assert_eq!(lock["waited_at"]["function"], "wait_for_work", "{lock}");
    assert!(lock["waited_at"]["file"].as_str().is_some_and(|file| file.ends_with("/stream_encoder_mt.c")), "{lock}");
}

#[test]
#[ignore = "a public program: make stress runs it"]
fn smaller_blocks_keep_more_threads_busy() {
    let report = compress("1,80", "--block-size=64KiB");
    assert!(speed_up(&report, 80) > 12.0, "{}", speed_up(&report, 80));
    assert_eq!(report.at(80).0["threads"], 32);
}

/// xz gives up its rights before it opens the file; the runtime has to write the recording after that.
#[test]
#[ignore = "a public program: make stress runs it"]
fn the_sandbox_is_left_out_with_a_note() {
    let report = compress("1", "--block-size=1MiB");
    let notes = report.at(1).0["notes"].to_string();
    assert!(notes.contains("landlock_create_ruleset is not simulated"), "{notes}");
}
