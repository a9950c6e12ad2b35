// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time that passes on the host and not in the simulation, in code without hooks and in the kernel, is told first; and
//! the recording is the same whether it is measured or not.
use crate::harness::{Place, Report, Said, Simulation, printed_natively, program, program_with};
use std::path::Path;

/// What makes `sums`, which has a function called whose code may lie elsewhere.
const LIBRARY: &str = "gcc -O2 -shared -fPIC -o libchecksum.so.1 checksum.c
    $corefold cc -O2 -g -pthread -o sums sums.c -L. -l:libchecksum.so.1 -Wl,-rpath,.";
const OBJECT: &str = "gcc -O2 -c checksum.c; ar rc libchecksum.a checksum.o
    $corefold cc -O2 -g -pthread -o sums sums.c -L. -lchecksum";
const HOOKED: &str = "$corefold cc -O2 -g -pthread -o sums sums.c checksum.c";

fn built(script: &str) -> Place {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/host");
    for part in ["checksum.c", "checksum.h", "sums.c"] {
        std::fs::copy(source.join(part), place.path(part)).unwrap();
    }
    let made = place.sh(script);
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""), "{}", made.out);
    place
}

/// The report, on 1 and 4 CPUs; each round takes about a millisecond of the host.
fn summed(place: &Place, options: &str, rounds: u32) -> Said {
    let line = format!("run --cpus 1,4 --timeout 100 {options} -- ./sums {{cpus}} {rounds}");
    let said = place.corefold(&line);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    said
}

/// The report's second paragraph, behind the command.
fn first_words(said: &Said) -> String {
    let paragraph = said.out.split("\n\n").nth(1).unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Threads are real ones then, and the runtime's memory has no lock.
#[test]
fn where_nothing_is_simulated_the_runtime_allocates_nothing() {
    assert_eq!(printed_natively(&program("host/unsimulated.c"), ""), "");
}

#[test]
fn a_library_without_hooks_is_named_first() {
    let place = built(LIBRARY);
    let said = summed(&place, "--json report.json", 150);
    let told = first_words(&said);
    assert!(told.ends_with("Compile it with corefold cc."), "{}", said.out);
    assert!(
        told.contains("of the program's CPU time on this host passed in libchecksum.so.1, which has no hooks"),
        "{told}"
    );
    // A billion additions took microseconds in the simulation.
    let percent = told.split('%').next().unwrap().split_whitespace().last().unwrap().parse::<u32>().unwrap();
    assert!(percent >= 80, "{told}");
    let report = Report::read(&place.path("report.json"));
    assert_eq!(report.0["host"]["text"].as_str(), Some(told.as_str()));
    let run = &report.0["host"]["runs"][1];
    assert_eq!(run["cpus"], 4);
    let library = &run["libraries"][0];
    assert!(library["path"].as_str().unwrap().ends_with("/libchecksum.so.1") && library["part"] == false, "{run}");
    // The same work at each count: about the same time.
    let seconds = |at: usize| report.0["host"]["runs"][at]["libraries"][0]["seconds"].as_f64().unwrap();
    assert!(seconds(0) > 0.02 && (0.3..3.0).contains(&(seconds(0) / seconds(1))), "{} {}", seconds(0), seconds(1));
    // It comes from beside the recording, and is not of it.
    assert_eq!(place.corefold("report corefold.rec").out, said.out);
    assert!(!place.corefold("report --no-host-time corefold.rec").out.contains("on this host"));
    std::fs::remove_file(place.path("corefold.rec.host")).unwrap();
    let without = place.corefold("report --json without.json corefold.rec");
    assert!(!without.out.contains("on this host"), "{}", without.out);
    assert!(Report::read(&place.path("without.json")).0.get("host").is_none());
}

/// A static library, or any object file of another compiler: the file has hooks, and that code has none.
#[test]
fn code_without_hooks_in_the_program_is_reported() {
    let told = first_words(&summed(&built(OBJECT), "", 150));
    let expected = "passed in a part of sums that was compiled without corefold cc";
    assert!(told.contains(expected) && told.ends_with("Compile it with corefold cc."), "{told}");
}

#[test]
fn nothing_is_reported_where_all_code_has_hooks() {
    let place = built(HOOKED);
    let said = summed(&place, "--json report.json", 20);
    assert!(!said.out.contains("on this host"), "{}", said.out);
    assert!(Report::read(&place.path("report.json")).0.get("host").is_none());
    assert!(place.path("corefold.rec.host").exists(), "what was measured is written all the same");
}

#[test]
fn page_faults_and_the_calls_that_cause_them_are_reported() {
    let report = Simulation::of(&program("host/mappings.c")).cpus("1,2").args("{cpus} 1500").report();
    let told = report.0["host"]["text"].as_str().expect("something to tell");
    assert!(told.contains("on this host passed in the kernel") && told.contains("page faults"), "{told}");
    assert!(told.contains("mmap") && told.contains("munmap"), "{told}");
    let run = &report.0["host"]["runs"][0];
    assert_eq!((&run["calls"]["mmap"], &run["calls"]["munmap"]), (&1500.into(), &1500.into()));
    // 64 pages a round, and not many of the runtime's.
    let faults = run["page_faults"].as_f64().unwrap();
    assert!((96_000.0..130_000.0).contains(&faults), "{faults}");
    assert!(run["kernel_seconds"].as_f64().unwrap() > 0.02, "{run}");
}

/// What the kernel does in a call has a fixed cost, whatever it does.
#[test]
fn system_calls_are_reported() {
    let report = Simulation::of(&program("host/writes.c")).cpus("1,2").args("{cpus} 40000").report();
    let told = report.0["host"]["text"].as_str().expect("something to tell");
    assert!(told.contains("in the kernel (120k pwrite") && !told.contains("page faults,"), "{told}");
    assert_eq!(report.0["host"]["runs"][1]["calls"]["pwrite"], 80_000);
}

/// What comes before the region of interest does not count, here either.
#[test]
fn the_region_of_interest_counts() {
    let work = |option: &str| {
        let report = Simulation::of(&program_with("host/region.c", &[option])).cpus("1").report();
        report.0["host"]["text"].as_str().unwrap_or_default().to_owned()
    };
    assert!(work("-DINSIDE").contains("libc.so.6"));
    assert_eq!(work("-DBEFORE"), "");
    assert_eq!(work("-DBEHIND"), "");
}

/// Copies and the like are done by libc, and their time is accounted for.
#[test]
fn copies_are_not_reported() {
    let report = Simulation::of(&program("host/copies.c")).cpus("1").report();
    assert!(report.0.get("host").is_none(), "{}", report.0["host"]);
}

#[test]
fn the_recording_is_the_same_with_and_without() {
    for (source, args) in [
        ("determinism/sleepers.c", "{cpus}"),
        ("determinism/exchange.cpp", "{cpus} 50"),
        ("host/mappings.c", "{cpus} 300"),
        ("host/region.c", ""),
    ] {
        let record = |options: &[&str]| {
            let simulation = Simulation::of(&program(source)).cpus("1,3,20").args(args);
            let simulated = simulation.with(|command| _ = command.args(options)).run();
            assert_eq!(simulated.said.code, Some(0), "{source}: {}{}", simulated.said.out, simulated.said.err);
            assert_eq!(simulated.recording().with_extension("host").exists(), options.is_empty(), "{source}");
            let report = simulated.report();
            (std::fs::read(simulated.recording()).unwrap(), report)
        };
        let (with, without) = (record(&[]), record(&["--no-host-time"]));
        assert!(with.0 == without.0, "{source}: the recording depends on what is measured");
        let mut document = with.1.0;
        document.as_object_mut().unwrap().remove("host");
        assert_eq!(document, without.1.0, "{source}");
    }
}

/// Where the kernel gives no timer, the run is as good, and the report says what it does not know.
#[test]
fn a_timer_that_is_not_permitted_is_reported() {
    let place = built(HOOKED);
    let said = place.sh("prlimit --sigpending=0 $corefold run --cpus 1 -- ./sums 1 1");
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let told = first_words(&said);
    assert!(
        told.starts_with("How much time passes in code without hooks was not measured: the kernel refuses"),
        "{told}"
    );
    assert!(!place.corefold("report --no-host-time corefold.rec").out.contains("measured"));
}

/// Runs that are simulated at the same time are processes that share files, by whatever call these are opened. What is only
/// read, made anew, or named by the number of CPUs is no matter, nor is anything where runs follow one another.
#[test]
fn files_that_runs_share_are_told() {
    let place = Place::new();
    std::fs::write(place.path("input"), "").unwrap();
    let binary = program("host/shared_file.c");
    let told = |jobs: u32, how: &str, file: &str| {
        let said = place.corefold(&format!("run --cpus 1,4 --jobs {jobs} -- {} {how} {file} input", binary.display()));
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        first_words(&said)
    };
    for how in ["stdio", "descriptor", "creat"] {
        let words = told(2, how, "written");
        assert!(words.starts_with("The runs at 1 and 4 CPUs were simulated at the same time and opened"), "{words}");
        assert!(words.contains("/written): ") && !words.contains("input"), "{words}");
    }
    for (jobs, how, file) in [(1, "stdio", "written"), (2, "fresh", "new"), (2, "descriptor", "of-{cpus}")] {
        let words = told(jobs, how, file);
        assert!(!words.contains("at the same time"), "{how} {file}: {words}");
    }
}
