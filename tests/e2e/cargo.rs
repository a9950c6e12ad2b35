// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo corefold`: a workspace of a program, a library, a procedural macro, build scripts and C.
use crate::harness::{Place, Report, Said, corefold, said, skipped, stress};
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// What the user of a test run may have set, and cargo for the tests.
const USERS: &[&str] = &[
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WRAPPER",
    "CC",
    "CXX",
    "LD_LIBRARY_PATH",
];

/// A copy of a workspace, and the commands as `make install` puts them.
pub struct Workspace(pub Place);

impl Workspace {
    fn new() -> Workspace {
        Workspace::of("programs/cargo", "")
    }

    /// Of what lies in a folder beside this package's files, in a folder of the place.
    pub fn of(folder: &str, within: &str) -> Workspace {
        let place = Place::new();
        let to = place.path(within);
        std::fs::create_dir_all(&to).unwrap();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &to);
        std::fs::create_dir(place.path("bin")).unwrap();
        for name in ["corefold", "corefold-cc", "corefold-c++", "cargo-corefold"] {
            link(corefold(), &place.path("bin").join(name));
        }
        link(&corefold().with_file_name("libcorefold_rt.so"), &place.path("bin/libcorefold_rt.so"));
        Workspace(place)
    }

    /// `cargo` with the words of a line.
    pub fn cargo(&self, line: &str) -> Command {
        let mut cargo = self.called(env!("CARGO"));
        cargo.args(line.split_whitespace());
        cargo
    }

    /// A program that finds the commands.
    fn called(&self, name: &str) -> Command {
        let mut command = self.0.command(name);
        USERS.iter().for_each(|name| _ = command.env_remove(name));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        command
    }

    #[track_caller]
    pub fn corefold(&self, line: &str) -> Said {
        let done = said(&mut self.cargo(&format!("corefold {line}")));
        assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
        done
    }

    /// The files in the target directory that are named so: with the target's name in the path, and without.
    fn built(&self, named: impl Fn(&str) -> bool) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut files = Vec::new();
        walk(&self.0.path("target/corefold"), &mut files);
        files.retain(|path| named(path.file_name().unwrap().to_str().unwrap()));
        files.into_iter().partition(|path| path.components().any(|part| part.as_os_str() == TRIPLE))
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten().filter(|entry| entry.file_name() != "target") {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A copy, where the file lies on another file system.
fn link(file: &Path, name: &Path) {
    if std::fs::hard_link(file, name).is_err() {
        std::fs::copy(file, name).unwrap();
    }
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => walk(&path, files),
            path => files.push(path),
        }
    }
}

/// The names of hooks that a file calls.
fn hooks(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let names = file.symbols().chain(file.dynamic_symbols()).filter(|symbol| symbol.is_undefined());
    let names = names.filter_map(|symbol| symbol.name().ok().map(String::from));
    let is_hook =
        |name: &String| ["__tsan_", "__sanitizer_cov", "corefold_"].iter().any(|start| name.starts_with(start));
    names.filter(is_hook).collect()
}

#[test]
fn a_workspace_is_built_and_simulated() {
    let workspace = Workspace::new();
    let done = workspace.corefold("run --release --cpus 1,4 --json out.json -o kept.rec -- {cpus}");
    assert!(done.err.contains("counted 10000, mixed 4950, flags: build\n"), "{}", done.err);
    assert!(done.err.contains("counted 40000, mixed 4950, flags: build\n"), "{}", done.err);
    assert!(workspace.0.path("kept.rec").is_file());
    let report = Report::read(&workspace.0.path("out.json"));
    let line = report.at(4).lines().next().expect("a line");
    assert!(line.text("object").contains("ArcInner<Tally> at lib.rs:"), "{}", line.text("object"));
    assert_eq!(line.fields()[0], "ArcInner<Tally>.data.hits");
    let finding = report.0["finding"]["text"].as_str().expect("a finding");
    assert!(finding.contains("100% of it for ArcInner<Tally>.data.hits"), "{finding}");
    assert_eq!(line.sites()[0]["function"], "pool::count::{{closure}}", "{}", line.0);
    // Reads and blocks are inline code, in the program's object and in those of libraries.
    let (programs, _) = workspace.built(|name| name == "host" || name == "pool");
    assert!(!programs.is_empty());
    for path in programs {
        let calls = hooks(&path);
        assert!(!calls.iter().any(|name| name == "__sanitizer_cov_trace_pc" || name == "__tsan_read8"), "{calls:?}");
        assert!(calls.iter().any(|name| name == "corefold_shadow_read8"), "{calls:?}");
    }
    // Once more, nothing is compiled; and by itself the program runs natively.
    let again = workspace.corefold("run --release --cpus 2 -- {cpus}");
    assert!(!again.err.contains("Compiling") && again.err.contains("counted 20000"), "{}", again.err);
    let built = workspace.corefold("build --release");
    let natively = said(workspace.0.command(built.out.trim()).arg("3").env_remove("LD_LIBRARY_PATH"));
    assert_eq!(natively.out, "counted 30000, mixed 4950, flags: build\n", "{}", natively.err);
}

/// Mangled names of the one kind have what a function is generic over, and numbers of closures.
#[test]
fn names_are_the_same_whichever_way_they_are_mangled() {
    let workspace = Workspace::new();
    let mut cargo = workspace.cargo("corefold run --release --cpus 4 --json out.json -- {cpus}");
    let done = said(cargo.env("RUSTFLAGS", "-C symbol-mangling-version=v0"));
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let report = Report::read(&workspace.0.path("out.json"));
    let line = report.at(4).lines().next().expect("a line");
    assert_eq!(line.sites()[0]["function"], "pool::count::{{closure}}", "{}", line.0);
}

/// The same with nightly, where rustup has it.
#[test]
fn nightly_builds_and_names_the_same() {
    let installed = Command::new("rustup").args(["run", "nightly", "rustc", "--version"]).output();
    let version = installed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if !version.contains("1.97.0-nightly") {
        return skipped("rustup has no nightly of 1.97.0");
    }
    nightly("");
    let sources = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    let sources = sources.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let has_sources = sources.is_ok_and(|root| root.join("lib/rustlib/src/rust/library").is_dir());
    match (stress(), has_sources) {
        (true, true) => nightly("-Zbuild-std "),
        (true, false) => skipped("-Zbuild-std: nightly has no rust-src"),
        (false, _) => {}
    }
}

/// With these options of cargo.
fn nightly(options: &str) {
    let workspace = Workspace::new();
    let mut nightly = workspace.called("rustup");
    nightly.env_remove("RUSTUP_TOOLCHAIN");
    let line = format!("run nightly cargo corefold run --release {options}--cpus 4 --json out.json -- {{cpus}}");
    let done = said(nightly.args(line.split(' ')));
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    assert!(done.err.contains("counted 40000") && !done.err.contains("has not been tested"), "{}", done.err);
    let report = Report::read(&workspace.0.path("out.json"));
    let line = report.at(4).lines().next().expect("a line");
    assert_eq!(line.fields()[0], "ArcInner<Tally>.data.hits");
}

/// What another installation has built is built again: its flags may be others, and its runtime lies elsewhere.
#[test]
#[ignore = "takes long: make stress runs it"]
fn another_installation_builds_again() {
    let workspace = Workspace::new();
    workspace.corefold("build");
    workspace.0.sh("mkdir -p lib/corefold; mv bin/*.so lib/corefold/; for f in bin/*; do cp $f new; mv new $f; done");
    let again = workspace.corefold("build");
    assert!(again.err.contains("Compiling tally"), "{}", again.err);
    let natively = said(workspace.0.command(again.out.trim()).arg("1").env_remove("LD_LIBRARY_PATH"));
    assert_eq!(natively.code, Some(0), "{}", natively.err);
}

#[test]
fn what_runs_in_the_build_has_no_hooks() {
    let workspace = Workspace::new();
    workspace.corefold("build --release");
    let is_program =
        |name: &str| name == "build-script-build" || name.starts_with("libderive") && name.ends_with(".so");
    let (target, host) = workspace.built(is_program);
    assert!(target.is_empty() && host.len() >= 3, "{target:?} {host:?}");
    host.iter().for_each(|path| assert_eq!(hooks(path), [""; 0], "{}", path.display()));
    // C is compiled for both.
    let (target, host) = workspace.built(|name| name == "answer.o" || name == "mix.o");
    assert_eq!((target.len(), host.len()), (2, 1), "{target:?} {host:?}");
    host.iter().for_each(|path| assert_eq!(hooks(path), [""; 0], "{}", path.display()));
    for path in target {
        assert!(hooks(&path).iter().any(|name| name == "corefold_block_unknown"), "{}", path.display());
    }
}

#[test]
fn assembly_statements_are_seen() {
    let workspace = Workspace::new();
    workspace.corefold("run --release --example assembly --cpus 4 --json out.json");
    let report = Report::read(&workspace.0.path("out.json"));
    let line = report.at(4).lines().next().expect("a line");
    assert_eq!(line.fields()[0], "assembly::TURNS");
    let by =
        |function: &str| line.sites().iter().any(|site| site["function"] == function && site["kind"] == "atomic rmw");
    assert!(by("assembly::add_intel") && by("assembly::add_att"), "{}", line.0);
}

/// Flags that cargo gives to rustc: from each place that it takes them from.
#[test]
fn the_users_flags_are_kept() {
    let workspace = Workspace::new();
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", TRIPLE.replace('-', "_").to_uppercase());
    let sources = [
        ("RUSTFLAGS", "--cfg from_environment", "environment"),
        ("CARGO_ENCODED_RUSTFLAGS", "--cfg\x1ffrom_environment", "environment"),
        (variable.as_str(), "--cfg from_target_flags", "target"),
    ];
    for (variable, flags, expected) in sources {
        let mut cargo = workspace.cargo("corefold run --cpus 1 --features double -- {cpus}");
        let done = said(cargo.env(variable, flags));
        assert!(done.err.contains(&format!("flags: {expected} double\n")), "{variable}: {}", done.err);
    }
}

#[test]
fn tests_benchmarks_and_schedules() {
    let workspace = Workspace::new();
    let tests = workspace.corefold("test --cpus 1,2 --test counts -- --test-threads {cpus}");
    assert!(tests.err.contains("4 passed"), "{}", tests.err);
    assert!(tests.out.contains("2 CPUs") && workspace.0.path("corefold.rec").is_file(), "{}", tests.out);
    let alone = workspace.corefold("test --cpus 2 --test counts -- a_fence --test-threads 1");
    assert!(alone.err.contains("1 passed"), "{}", alone.err);
    let all = workspace.corefold("test --workspace --cpus 1");
    assert!(all.err.contains("derive-") && all.err.contains("left out: "), "{}", all.err);
    assert_eq!(all.err.matches("4 passed").count(), 1, "{}", all.err);
    assert!(!all.err.contains("Doc-tests"), "{}", all.err);
    let bench = workspace.corefold("bench --bench rate --cpus 2");
    assert!(bench.err.contains("benchmark counted 20000"), "{}", bench.err);
    let explored = said(&mut workspace.cargo("corefold explore --release --example lost --seeds 1-400"));
    assert_eq!(explored.code, Some(10), "{}{}", explored.out, explored.err);
    assert!(explored.out.contains("exited with code 101"), "{}", explored.out);
    assert!(
        workspace.corefold("explore --test counts --seeds 1-2 -- all_are").out.contains("no failing schedule"),
        "explore --test"
    );
}

/// std's condition variable reads its word in code without hooks: a thread is held up before that.
#[test]
fn a_wake_up_that_stds_condition_variable_loses_is_found() {
    let workspace = Workspace::new();
    let command = "corefold explore --release --example asleep --cpus 2 --seeds 1-300";
    let explored = said(&mut workspace.cargo(command));
    assert!(explored.code == Some(10) && explored.out.contains("deadlock: every thread waits"), "{}", explored.out);
}

/// LLVM's pass leaves out accesses of 64 bytes: without hooks a reader would find stores that others do not see yet.
#[test]
fn a_structure_that_is_read_as_a_whole_is_not_torn() {
    let workspace = Workspace::new();
    let done = workspace.corefold("run --release --cpus 2 --example torn --json out.json");
    assert!(done.code == Some(0) && done.err.contains("torn: 0\n"), "{}{}", done.out, done.err);
    let report = Report::read(&workspace.0.path("out.json"));
    let mut sites = report.at(2).lines().flat_map(|line| line.sites());
    assert!(
        sites.any(|site| site["function"] == "Feed::read [ptr::read_volatile]" && site["line"] == 36),
        "{}",
        done.out
    );
}

#[test]
fn errors_come_before_the_build_or_from_cargo() {
    let workspace = Workspace::new();
    let wrong = [
        ("run --cpus 1,x", 2, "\"x\" is neither"),
        ("test --machine nope", 2, "unknown machine"),
        ("explore --seeds x", 2, "--seeds"),
        ("run --target wasm32-unknown-unknown", 2, "only x86_64-unknown-linux-gnu"),
        ("simulate", 2, "no such command: simulate"),
        ("run --bin nope", 101, "no bin target named `nope`"),
    ];
    for (line, code, message) in wrong {
        let done = said(&mut workspace.cargo(&format!("corefold {line}")));
        assert_eq!(done.code, Some(code), "{line}: {}", done.err);
        assert!(done.err.contains(message) && !done.err.contains("Compiling"), "{line}: {}", done.err);
    }
    workspace.0.file("tally/src/lib.rs", "pub struct Tally;\nfn wrong() -> u32 { \"\" }\n");
    for command in ["build", "run --cpus 1"] {
        let broken = said(&mut workspace.cargo(&format!("corefold {command}")));
        assert_eq!(broken.code, Some(101), "{}", broken.err);
        assert!(
            broken.err.contains("error[E0308]") && broken.err.contains("could not compile `tally`"),
            "{}",
            broken.err
        );
    }
}

/// The user's wrapper is called, and here leaves the passes out, as a rustc would that does not know them: the hooks of
/// the program's C do not hide that.
#[test]
fn a_rustc_that_puts_no_hooks_in_is_noticed() {
    let workspace = Workspace::new();
    let script = "#!/bin/bash\nexec \"${@/#passes=*/debuginfo=2}\"\n";
    let wrapper = workspace.0.file("wrapper", script);
    workspace.0.sh("chmod +x wrapper");
    for command in ["run --cpus 1 -- 1", "build"] {
        let refused = said(workspace.cargo(&format!("corefold {command}")).env("RUSTC_WRAPPER", &wrapper));
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("has put no hooks into") && refused.err.contains("LLVM"), "{}", refused.err);
    }
    let plain = said(&mut workspace.cargo("build --bin pool"));
    assert_eq!(plain.code, Some(0), "{}", plain.err);
    let refused = workspace.0.corefold("run --cpus 1 -- target/debug/pool 1");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("build it with `cargo corefold`"), "{}", refused.err);
}
