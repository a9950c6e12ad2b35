// SPDX-License-Identifier: MIT OR Apache-2.0
//! LMDB as its authors ship it, many readers beside a writer: the right results, a curve that LMDB's own
//! design explains, and the culprit named in LMDB's own words.
use crate::harness::{
    Place, Program, Report, Run, Simulation, corefold, native_with, package, printed_natively, program_with, stress,
};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

const DRIVER: &str = "../lmdb/driver.c";

/// Where LMDB's source is.
fn source() -> PathBuf {
    package("lmdb", "lmdb-master-sys").join("lmdb/libraries/liblmdb")
}

fn with_source<T>(build: impl FnOnce(&[&str]) -> T) -> T {
    let path = |name: &str| source().join(name).into_os_string().into_string().expect("a path in Unicode");
    let include = format!("-I{}", path(""));
    build(&[&include, &path("mdb.c"), &path("midl.c")])
}

fn simulated() -> Program {
    with_source(|options| program_with(DRIVER, options))
}

fn native() -> Program {
    with_source(|options| native_with(DRIVER, options))
}

/// The report at three counts, at each of which the result is the native one.
fn curve(mode: &str, transactions: u64) -> Report {
    let run = Simulation::of(&simulated()).cpus("1,8,80").args(&format!("{{cpus}} {mode} {transactions}")).run();
    assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
    let expected = [1, 8, 80].map(|cpus| {
        let args = format!("{cpus} {mode} {transactions}");
        let expected = printed_natively(&native(), &args);
        assert!(expected.contains("10000 found"), "{expected}");
        assert_eq!(printed_natively(&simulated(), &args), expected, "{args}, instrumented but not simulated");
        format!("--- output at {cpus} CPU{} ---\n{expected}---\n", if cpus == 1 { "" } else { "s" })
    });
    assert_eq!(run.printed(), expected.concat(), "{mode}, simulated");
    run.report()
}

/// The functions of a run, with what they and theirs share.
fn functions(run: Run<'_>) -> impl Iterator<Item = (&str, f64)> {
    let all = run.0["functions"].as_array().expect("functions").iter();
    all.map(|f| (f["name"].as_str().expect("a name"), f["total_percent"].as_f64().expect("a share")))
}

/// The places of all accesses to moving lines: function, file and line.
fn sites(run: Run<'_>) -> impl Iterator<Item = (&str, &str, u64)> {
    let sites = run.lines().flat_map(|line| line.sites());
    sites.filter_map(|s| Some((s["function"].as_str()?, s["file"].as_str()?, s["line"].as_u64()?)))
}

/// A reader that keeps its slot writes to a line of its own and reads what nobody writes but at a commit.
#[test]
fn readers_that_keep_their_slots_scale() {
    for mode in if stress() { &["renew", "tls"][..] } else { &["renew"] } {
        let report = curve(mode, 500);
        assert!(report.gain(8, 1) > 6.0, "{mode}: {}", report.gain(8, 1));
        // 40 cores whose second threads add a quarter each. The run lasts half a millisecond, of which threads that begin
        // late miss up to a quarter: 30 to 42 were seen, by what varies the transfers.
        assert!(report.gain(80, 1) > 28.0, "{mode}: {}", report.gain(80, 1));
        let run = report.at(80);
        for name in ["mdb_txn_renew0", "mdb_page_search_root", "mdb_node_search", "mdb_get"] {
            assert!(functions(run).any(|f| f.0 == name), "{mode}: {name} is not among the functions");
        }
        assert!(functions(run).any(|f| f.0 == "mdb_get" && f.1 > 50.0), "{mode}: most time goes to lookups");
    }
}

/// Every transaction claims a slot, under the mutex of the reader table; the mutex lies in a mapped file,
/// beside what every reader reads at every transaction.
#[test]
fn claiming_a_slot_for_each_transaction_collapses_at_the_reader_mutex() {
    let each = if stress() { 500 } else { 150 };
    let report = curve("begin", each);
    assert!(report.gain(80, 8) < 0.6, "{}", report.gain(80, 8));
    let run = report.at(80);
    let lock = &run.0["locks"][0];
    let name = lock["name"].as_str().expect("a name");
    assert!(name.starts_with("MDB_txninfo.") && name.contains("mtb_rmutex"), "{name}");
    assert!(lock["acquisitions"].as_u64() >= Some(80 * each), "{lock}");
    assert!(lock["contended"].as_u64() > Some(80 * each / 5), "{lock}");

    let line = run.lines().next().expect("a line");
    assert!(line.text("object").contains("mapping of lock.mdb"), "{}", line.text("object"));
    let has = |part: &str| line.fields().iter().any(|field| field.contains(part));
    assert!(has("mtb_rmutex") && has("mtb_txnid"), "{:?}", line.fields());
    assert!(
        sites(run)
            .any(|(function, file, line)| { function == "mdb_txn_renew0" && file.ends_with("/mdb.c") && line > 3000 })
    );
}

#[test]
#[ignore = "takes long: make stress runs it"]
fn recordings_are_the_same_wherever_they_are_made() {
    let record = || {
        let place = Place::new();
        let simulation = Simulation::of(&simulated()).cpus("1,8,80").args("{cpus} begin 100");
        let simulation = simulation
            .with(|command| {
                command.current_dir(place.directory());
            })
            .run();
        assert_eq!(simulation.said.code, Some(0), "{}", simulation.said.err);
        std::fs::read(simulation.recording()).unwrap()
    };
    assert!(record() == record(), "two recordings differ");
}

/// The peak resident size of a command and of what it starts, in bytes.
// Waited for by wait4, which alone tells the peak.
#[allow(clippy::zombie_processes)]
fn peak_memory(command: &mut Command) -> u64 {
    let child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut status = 0;
    // SAFETY: plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a child of ours that nobody else waits for, and two variables of the right types.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    assert_eq!(waited, child.id() as i32);
    assert!(std::process::ExitStatus::from_raw(status).success(), "{command:?}");
    usage.ru_maxrss as u64 * 1024
}

#[test]
#[ignore = "takes long: make stress runs it"]
fn at_80_cpus_memory_is_the_programs_own_half_as_much_again_and_200_megabytes() {
    let place = Place::new();
    for mode in if stress() { &["renew", "begin"][..] } else { &["begin"] } {
        let own = peak_memory(Command::new(native()).args(["80", mode]));
        let mut simulation = place.command(corefold());
        simulation.args(["run", "--cpus", "80", "--"]).arg(simulated()).args(["80", mode]);
        let all = peak_memory(&mut simulation);
        assert!(all <= own * 3 / 2 + 200_000_000, "{mode}: {all} bytes, {own} natively");
    }
}
