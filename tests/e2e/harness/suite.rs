// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test suites of public projects (`tests/suites/*.toml`): their Debian source packages, built by their own makefiles
//! with `corefold cc`, their programs simulated with the arguments that their makefiles give them.
use super::{Place, Program, Simulation, corefold, said, skipped, stress};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Other tests may wait for the same build.
const PARALLEL: &str = "-j2";

/// The numbers of CPUs that each program is simulated with.
const CPUS: [u32; 1] = [32];
const STRESS_CPUS: [u32; 3] = [2, 8, 32];

fn cpus() -> &'static [u32] {
    if stress() { &STRESS_CPUS } else { &CPUS }
}

/// Runs of each quick program by itself, with its hooks, in two threads; no more of them after so long.
const NATIVELY: usize = 40;
const NATIVE_TIME: Duration = Duration::from_millis(150);
/// What `tests/suites/unpack` exits with when the package cannot be had on this machine.
const UNAVAILABLE: i32 = 75;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    package: String,
    version: String,
    /// SHA-256 of each file of the source package: for `unpack`.
    #[serde(rename = "sha256")]
    _sha256: BTreeMap<String, String>,
    /// Run in the unpacked source before programs are built.
    prepare: String,
    /// `make`, with the arguments that every call needs.
    make: String,
    /// A program that prints one of these has failed, whatever its exit code.
    failures: Vec<String>,
    tests: Vec<Tests>,
    left_out: Vec<LeftOut>,
    together: Option<Together>,
}

/// How it is compiled together with a program, without its own build.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// In the folder `src`.
    pub sources: Vec<String>,
    pub flags: Vec<String>,
    /// What its configure script would write.
    pub configuration: String,
}

/// Programs of one directory that take the same arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tests {
    directory: String,
    /// Make targets and files.
    programs: Vec<String>,
    /// Each program is run with each of these. `{cpus}` and `{half}` stand for the number of CPUs and half of it.
    #[serde(default = "none")]
    arguments: Vec<String>,
    /// Those of `programs` that are run, with the first arguments, unless in `make stress`, which runs all.
    #[serde(default)]
    quick: Vec<String>,
}

fn none() -> Vec<String> {
    vec![String::new()]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    directory: String,
    /// None: all of the directory.
    #[serde(default)]
    programs: Vec<String>,
    reason: String,
}

/// Simulates the suite `name`. Without its source package it is skipped.
pub fn run_suite(name: &str) {
    let suite = Suite::read(name);
    let place = Place::new();
    if let Err(reason) = Suite::unpack(name, &place.path("source")) {
        return skipped(&format!("test suite {name}: {reason}"));
    }
    let mut built = suite.build(place);
    if stress() {
        suite.check_complete(&built);
    }
    let (runs, failed) = suite.run(&mut built);
    tell(&suite.summary(runs, failed.len()));
    assert!(failed.is_empty(), "{} of {runs} runs failed:\n{}", failed.len(), failed.join("\n"));
}

/// The source of suite `name`, unpacked, for as long as this test run lasts; or why its source package cannot be had.
pub fn unpacked(name: &str) -> Result<(PathBuf, Option<Together>), String> {
    let suite = Suite::read(name);
    let to = super::compile::output().join(name);
    Suite::unpack(name, &to).map(|()| (to, suite.together))
}

/// Past the capture of test output, so that it is in the output of every run.
pub fn tell(text: &str) {
    // Nothing can be done about a closed stream.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("suites")
}

impl Suite {
    fn read(name: &str) -> Suite {
        let path = directory().join(name).with_extension("toml");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The source, unpacked in a folder that does not exist yet: by `tests/suites/unpack`, which downloads the package once and
    /// checks it. What it keeps is in the target directory.
    fn unpack(name: &str, to: &Path) -> Result<(), String> {
        // One download at a time: all share the lists of packages.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites");
        let done = said(Command::new(directory().join("unpack")).arg(name).arg(cache).arg(to));
        match done.code {
            Some(0) => Ok(()),
            Some(UNAVAILABLE) => Err(done.err.trim().to_owned()),
            _ => panic!("unpack {name}: {done:?}"),
        }
    }

    /// The programs that this run needs, built in the unpacked source.
    fn build(&self, place: Place) -> Place {
        // configure scripts keep only the first word of a compiler's name.
        std::os::unix::fs::symlink(corefold(), place.path("corefold-cc")).unwrap();
        let mut script = format!("export CC=\"$PWD/corefold-cc\"; cd source\n{}\n", self.prepare);
        for tests in &self.tests {
            let programs = tests.chosen().collect::<Vec<_>>().join(" ");
            if !programs.is_empty() {
                writeln!(script, "{} -C {} {programs}", self.make, tests.directory).expect("a string");
            }
        }
        let mut build = place.command("sh");
        build.args(["-ec", &script]).env("SHORT_H", directory().join("short.h")).env("MAKEFLAGS", PARALLEL);
        let done = said(&mut build);
        assert_eq!(done.code, Some(0), "{script}\n{}{}", done.out, done.err);
        place
    }

    /// Every program that the suite's makefiles build is either run or left out with a reason.
    fn check_complete(&self, built: &Place) {
        let mut directories: Vec<&str> = self.tests.iter().map(|tests| tests.directory.as_str()).collect();
        directories.sort_unstable();
        directories.dedup();
        for directory in directories {
            let make = format!("{} -C source/{directory} all", self.make);
            let all = said(built.command("sh").args(["-ec", &make]).env("MAKEFLAGS", PARALLEL));
            assert_eq!(all.code, Some(0), "{}{}", all.out, all.err);
            let mut entries = std::fs::read_dir(built.path("source").join(directory)).unwrap().flatten();
            let unknown = entries.find(|entry| is_program(&entry.path()) && !self.knows(directory, &entry.path()));
            assert!(unknown.is_none(), "{unknown:?} is neither run nor left out");
        }
    }

    fn knows(&self, directory: &str, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in Unicode");
        let is = |program: &String| program == name;
        self.tests.iter().any(|tests| tests.directory == directory && tests.programs.iter().any(is))
            || self.left_out.iter().any(|out| out.directory == directory && out.programs.iter().any(is))
    }

    /// The number of runs, and which failed. Each failure is told as it happens: the whole may take an hour.
    fn run(&self, built: &mut Place) -> (usize, Vec<String>) {
        let mut runs = 0;
        let mut failed = Vec::new();
        for tests in &self.tests {
            let each = if stress() { &tests.arguments[..] } else { &tests.arguments[..1] };
            for (program, arguments) in tests.chosen().flat_map(|p| each.iter().map(move |a| (p, a))) {
                let path = built.path("source").join(&tests.directory).join(program);
                let begin = Instant::now();
                let is_quick = tests.quick.iter().any(|quick| quick == program);
                let natively = is_quick.then(|| (", not simulated".to_owned(), self.natively(&path, arguments)));
                let simulated =
                    cpus().iter().map(|cpus| (format!(" at {cpus} CPUs"), self.simulate(&path, arguments, *cpus)));
                for (how, result) in natively.into_iter().chain(simulated) {
                    runs += 1;
                    if let Err(told) = result {
                        // What was built stays, for the command that repeats it.
                        built.keep();
                        tell(&format!("test suite {}: {told}\n", self.package));
                        failed.push(format!("{program} {arguments}{how}"));
                    }
                }
                if stress() {
                    tell(&format!("  {} {program} {arguments}: {:.0?}\n", self.package, begin.elapsed()));
                }
            }
        }
        (runs, failed)
    }

    /// Runs it many times with real threads: hooks must change nothing that one of them sees. What is to be said of a failure.
    /// (Not those of `make stress`: some of them may hang natively, with hooks and without.)
    fn natively(&self, program: &Program, arguments: &str) -> Result<(), String> {
        let arguments = arguments.replace("{cpus}", "2").replace("{half}", "1");
        let (place, begin) = (Place::new(), Instant::now());
        let times = if stress() { 10 } else { 1 };
        for _ in (0..NATIVELY * times).take_while(|_| begin.elapsed() < NATIVE_TIME * times as u32) {
            let mut command = place.command("timeout");
            let said = said(command.arg("60").arg(program).args(arguments.split_whitespace()));
            let has = |text: &String| said.out.contains(text) || said.err.contains(text);
            if said.code != Some(0) || self.failures.iter().any(has) {
                return Err(format!("FAILED: {} {arguments}\n{said:#?}", program.display()));
            }
        }
        Ok(())
    }

    /// What is to be said of a failure.
    fn simulate(&self, program: &Program, arguments: &str, cpus: u32) -> Result<(), String> {
        let arguments = arguments.replace("{cpus}", &cpus.to_string()).replace("{half}", &(cpus / 2).to_string());
        let simulation = Simulation::of(program).cpus(&cpus.to_string()).args(&arguments);
        let simulated = simulation.timeout(Duration::from_secs(if stress() { 600 } else { 120 })).run();
        let printed = simulated.printed();
        if simulated.said.code == Some(0) && !self.failures.iter().any(|text| printed.contains(text)) {
            return Ok(());
        }
        let (command, program) = (corefold().display(), program.display());
        Err(format!("FAILED: {command} run --cpus {cpus} -- {program} {arguments}\n{:#?}", simulated.said))
    }

    fn summary(&self, runs: usize, failed: usize) -> String {
        let count = |programs: fn(&Tests) -> usize| self.tests.iter().map(programs).sum::<usize>();
        let (chosen, all) = (count(|tests| tests.chosen().count()), count(|tests| tests.programs.len()));
        let rest = if chosen < all { "; make stress runs all" } else { "" };
        let mut summary = format!(
            "test suite {} {}: {chosen} of {all} programs in {runs} runs, natively and at {:?} CPUs, {failed} failed{rest}\n",
            self.package,
            self.version,
            cpus()
        );
        for out in &self.left_out {
            let programs = if out.programs.is_empty() { "all".into() } else { out.programs.join(", ") };
            writeln!(summary, "  left out of {}: {programs}: {}", out.directory, out.reason).expect("a string");
        }
        summary
    }
}

impl Tests {
    /// The programs that this run builds and simulates.
    fn chosen(&self) -> impl Iterator<Item = &str> {
        let chosen = if stress() { &self.programs } else { &self.quick };
        chosen.iter().map(String::as_str)
    }
}

/// A shared library may have its version behind `.so`.
fn is_program(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let linked = !name.ends_with(".o") && !name.ends_with(".so") && !name.contains(".so.");
    linked && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}
