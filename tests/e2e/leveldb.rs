// SPDX-License-Identifier: MIT OR Apache-2.0
//! LevelDB's own benchmark, built by LevelDB's own CMakeLists.txt: what every reader of one database waits
//! for is found and named (docs/leveldb.md).
use crate::harness::{Place, Report, Simulation, package, said, stress};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The benchmark, built once, and beside it a database that every run gets a copy of.
fn built() -> &'static Path {
    static BUILT: OnceLock<Place> = OnceLock::new();
    let place = BUILT.get_or_init(|| {
        let place = Place::new();
        let source = package("leveldb", "leveldb-sys").join("deps/leveldb-1.22");
        let script = format!(
            r#"CC="$corefold cc" CXX="$corefold c++" cmake -S {} -B build \
                -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLEVELDB_BUILD_TESTS=OFF
            cmake --build build --parallel 2 --target db_bench
            build/db_bench --benchmarks=fillseq,compact --num=10000 --db=filled"#,
            source.display()
        );
        let told = place.sh(&script);
        assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
        place
    });
    place.directory()
}

/// `db_bench` with as many threads as CPUs, each reading so often, on databases filled alike.
fn read(benchmark: &str, cpus: &str, reads: u32) -> Report {
    let place = Place::new();
    for count in cpus.split(',') {
        let copied = said(Command::new("cp").arg("-a").arg(built().join("filled")).arg(place.path(count)));
        assert_eq!(copied.code, Some(0), "{}", copied.err);
    }
    let database = place.path("{cpus}");
    let args = format!(
        "--benchmarks={benchmark} --use_existing_db=1 --num=10000 --reads={reads} --threads={{cpus}} --db={}",
        database.display()
    );
    let simulation = Simulation::of(&built().join("build/db_bench")).cpus(cpus).option("--work", "per-cpu");
    let simulated = simulation.args(&args).run();
    assert_eq!(simulated.said.code, Some(0), "{}{}", simulated.said.out, simulated.said.err);
    assert!(simulated.said.err.contains(&format!("{benchmark} ")), "{}", simulated.said.err);
    simulated.report()
}

fn speed_up(report: &Report, cpus: u64) -> f64 {
    cpus as f64 * report.at(1).cycles() as f64 / report.at(cpus).cycles() as f64
}

/// `DBImpl::Get` takes the database's mutex twice for each read.
#[test]
#[ignore = "a public program: make stress runs it"]
fn random_reads_wait_for_the_mutex_of_the_database() {
    let report = read("readrandom", "1,80", if stress() { 2000 } else { 200 });
    assert!(speed_up(&report, 80) < 3.0, "{}", speed_up(&report, 80));
    let run = report.at(80);
    // It and the mutex of one shard of the table cache, where all look up the one table file, are waited for most: which of
    // the two more depends on how long the run is.
    let locks = || (0..2).map(|at| &run.0["locks"][at]);
    let named = |lock: &&serde_json::Value| lock["name"].as_str().expect("a name").to_owned();
    let lock = locks().find(|lock| named(lock) == "DBImpl.mutex_.mu_").expect("the database's mutex");
    // Not port::Mutex::Lock, which all locks of LevelDB go through.
    assert_eq!(lock["waited_at"]["function"], "leveldb::DBImpl::Get");
    assert!(lock["waited_at"]["file"].as_str().is_some_and(|file| file.ends_with("/db/db_impl.cc")), "{lock}");
    assert!(lock["acquisitions"].as_u64() >= Some(2 * 80 * 200), "{lock}");
    assert!(run.share("block") > 0.8, "{}", run.share("block"));

    let of_shard = |name: String| name.starts_with("ShardedLRUCache.shard_[") && name.ends_with("].mutex_.mu_");
    assert!(locks().any(|lock| of_shard(named(&lock))), "{:?}", locks().map(|lock| named(&lock)).collect::<Vec<_>>());

    let line = run.lines().take(2).find(|line| line.text("object").starts_with("leveldb::DBImpl at "));
    let line = line.expect("a line of the database's object");
    assert!(line.fields().contains(&"DBImpl.mutex_.mu_"), "{:?}", line.fields());
    let counts = run.lines().flat_map(|line| line.fields()).any(|field| field == "Version.refs_");
    assert!(counts, "the reference counts under that mutex move, too");
}

/// An iterator takes the mutex once, whatever it reads.
#[test]
#[ignore = "a public program: make stress runs it"]
fn reading_in_sequence_does_not() {
    let report = read("readseq", "1,8", 4000);
    assert!(speed_up(&report, 8) > 4.5, "{}", speed_up(&report, 8));
    let lock = report.at(8).0["locks"].as_array().expect("locks").iter().find(|l| l["name"] == "DBImpl.mutex_.mu_");
    assert!(lock.is_some_and(|lock| lock["acquisitions"].as_u64() < Some(100)), "{lock:?}");
}
