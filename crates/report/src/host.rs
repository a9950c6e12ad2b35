// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host time that is not in the simulation: in code without hooks, and in the kernel.
//!
//! It is measured, so it differs from run to run. It comes from a note beside the recording, and is said only where it
//! is more than [`WORTH_TELLING`] of the program's work.
use crate::curve::Curve;
use crate::units;
use corefold_explain::{base_name, listed};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Of the program's CPU time on the host.
const WORTH_TELLING: f64 = 0.05;
/// Less, over all counts, is within the resolution of the kernel's accounts.
const LEAST_SECONDS: f64 = 0.02;

/// What one run took of the host. All figures are rounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRun {
    pub cpus: u32,
    /// Why code without hooks could not be looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// Code without hooks, by the file it is in.
    pub libraries: Vec<HostLibrary>,
    /// Kernel time, without what the runtime needed for itself. Null where the two cannot be told apart.
    pub kernel_seconds: Option<f64>,
    /// First touches of the program's memory, and what these take on this host.
    pub page_faults: u64,
    pub page_fault_seconds: f64,
    /// System calls that the runtime made for the program.
    pub calls: BTreeMap<String, u64>,
    /// Files that this run and others opened for writing, while runs were simulated at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLibrary {
    /// Empty for machine code that the program has written to memory.
    pub path: String,
    /// Only a part of the file has no hooks.
    pub part: bool,
    pub seconds: f64,
}

/// The sentence about it.
pub(crate) struct Lost<'a> {
    pub text: String,
    pub runs: &'a [HostRun],
}

/// Over all counts together: what a program calls does not depend on the CPUs, and short runs add up.
pub(crate) fn lost<'a>(runs: &'a [HostRun], curve: &Curve) -> Option<Lost<'a>> {
    let all = Totals::of(runs, curve);
    let told = |seconds: f64| seconds >= LEAST_SECONDS && seconds > WORTH_TELLING * all.everything();
    let mut sentences: Vec<String> = shared_files(runs).into_iter().collect();
    if told(all.unhooked()) {
        sentences.push(all.libraries_in_words());
    }
    if told(all.kernel) {
        sentences.push(all.kernel_in_words());
    }
    if let Some(why) = runs.iter().find_map(|run| run.not_measured.as_ref()) {
        sentences.push(format!("How much time passes in code without hooks was not measured: {why}."));
    }
    (!sentences.is_empty()).then(|| Lost { text: sentences.join(" "), runs })
}

/// Runs that are simulated at the same time are processes that share the host's files.
fn shared_files(runs: &[HostRun]) -> Option<String> {
    let all = |run: &HostRun| run.shared_files.clone();
    let files: Vec<String> = runs.iter().flat_map(all).collect::<BTreeSet<String>>().into_iter().collect();
    let sharing = runs.iter().filter(|run| !run.shared_files.is_empty());
    let counts: Vec<String> = sharing.map(|run| run.cpus.to_string()).collect();
    (!files.is_empty()).then(|| {
        format!(
            "The runs at {} CPUs were simulated at the same time and opened the same files for writing ({}): each may have \
             met what another wrote. Put {{cpus}}, which stands for the number of CPUs, into the name of the file, or simulate \
             the runs one after another (--jobs 1).",
            listed(&counts),
            listed(&files)
        )
    })
}

#[derive(Default)]
struct Totals<'a> {
    /// Is the program (in part) of Rust?
    of_rust: bool,
    /// Computing that the simulation timed, in seconds of the simulated machine.
    simulated: f64,
    /// By file; the largest first.
    libraries: Vec<(&'a HostLibrary, f64)>,
    kernel: f64,
    page_faults: u64,
    page_fault_seconds: f64,
    calls: BTreeMap<&'a str, u64>,
}

/// No system call that computes takes longer: what the kernel had beyond that is the runtime's.
const LONGEST_CALL: f64 = 0.001;

/// The program's kernel time: no more than its page faults and system calls can have taken.
fn kernel_seconds(run: &HostRun) -> f64 {
    let calls: u64 = run.calls.values().sum();
    let most = run.page_fault_seconds + calls as f64 * LONGEST_CALL;
    run.kernel_seconds.map_or(run.page_fault_seconds, |known| known.min(most))
}

impl<'a> Totals<'a> {
    fn of(runs: &'a [HostRun], curve: &Curve) -> Totals<'a> {
        let mut functions = curve.points.iter().flat_map(|point| &point.explained.functions);
        let of_rust = functions.any(|function| function.file.as_ref().is_some_and(|file| file.ends_with(".rs")));
        let mut all = Totals { of_rust, ..Totals::default() };
        for run in runs {
            let point = curve.points.iter().find(|point| point.explained.run.cpus == run.cpus);
            let Some(simulated) = point.map(|point| &point.explained.run) else { continue };
            all.simulated += simulated.time.compute as f64 / simulated.clock_hz.max(1) as f64;
            all.kernel += kernel_seconds(run);
            all.page_faults += run.page_faults;
            all.page_fault_seconds += run.page_fault_seconds;
            run.calls.iter().for_each(|(name, count)| *all.calls.entry(name).or_default() += count);
            run.libraries.iter().for_each(|library| all.add(library));
        }
        all.libraries.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.path.cmp(&b.0.path)));
        all
    }

    fn add(&mut self, library: &'a HostLibrary) {
        let same = |known: &&mut (&HostLibrary, f64)| (&known.0.path, known.0.part) == (&library.path, library.part);
        match self.libraries.iter_mut().find(same) {
            Some(known) => known.1 += library.seconds,
            None => self.libraries.push((library, library.seconds)),
        }
    }

    fn unhooked(&self) -> f64 {
        self.libraries.iter().map(|(_, seconds)| seconds).sum()
    }

    fn everything(&self) -> f64 {
        self.simulated + self.unhooked() + self.kernel
    }

    /// `about 31%`: whole percents, as more is not known.
    fn percent(&self, seconds: f64) -> String {
        let percent = 100.0 * seconds / self.everything();
        if percent > 99.0 { "over 99%".into() } else { format!("about {percent:.0}%") }
    }

    fn libraries_in_words(&self) -> String {
        const NAMED: usize = 3;
        const NEARLY_ALL: f64 = 0.9;
        // One that has nearly all stands for all; else the largest, each with its share.
        let first = self.libraries.first().map_or(0.0, |(_, seconds)| *seconds);
        let most = if first > NEARLY_ALL * self.unhooked() { 1 } else { NAMED };
        let (named, others) = self.libraries.split_at(most.min(self.libraries.len()));
        let place = match named {
            [(library, _)] => format!("{}, which has no hooks", self.name(library)),
            several => {
                let each = several.iter().map(|(library, s)| format!("{} {}", self.name(library), self.percent(*s)));
                let others = (!others.is_empty()).then(|| format!("{} more", others.len()));
                format!("code without hooks ({})", each.chain(others).collect::<Vec<_>>().join(", "))
            }
        };
        let (stds, rest): (Vec<_>, Vec<_>) = named.iter().partition(|(library, _)| self.may_be_rusts(library));
        let own: Vec<&str> = rest
            .iter()
            .filter(|(library, _)| can_be_compiled(library))
            .map(|(library, _)| base_name(&library.path))
            .collect();
        let mut advice = Vec::new();
        match own.as_slice() {
            [] => {}
            [_] if named.len() == 1 => advice.push("Compile it with corefold cc.".to_string()),
            names => advice.push(format!("Compile {} with corefold cc.", names.join(" and "))),
        }
        if !stds.is_empty() {
            let line = "cargo +nightly corefold run -Zbuild-std (docs/rust.md).";
            advice.push(format!("Nightly compiles Rust's standard library with hooks: {line}"));
        }
        if advice.is_empty() {
            advice.push(
                "Of the system's libraries, some functions have a fixed cost here (docs/libc.md), others none.".into(),
            );
        }
        let advice = advice.join(" ");
        let share = capitalised(&self.percent(self.unhooked()));
        format!(
            "{share} of the program's CPU time on this host passed in {place}: it is neither timed nor observed, and \
             the figures below cover the rest only. {advice}"
        )
    }

    fn may_be_rusts(&self, library: &HostLibrary) -> bool {
        self.of_rust && library.part
    }

    fn name(&self, library: &HostLibrary) -> String {
        match (library.path.as_str(), library.part) {
            ("", _) => "machine code that the program writes to memory".into(),
            (path, _) if self.may_be_rusts(library) => {
                format!("a part of {} (Rust's precompiled standard library, or a static library)", base_name(path))
            }
            (path, true) => format!("a part of {} that was compiled without corefold cc", base_name(path)),
            (path, false) => base_name(path).into(),
        }
    }

    fn kernel_in_words(&self) -> String {
        let matter = self.page_fault_seconds > self.kernel / 10.0;
        let faults = matter.then(|| {
            let (count, seconds) = (units::count(self.page_faults as f64), units::duration(self.page_fault_seconds));
            format!("about {count} page faults, {seconds} on this host")
        });
        let mut calls: Vec<(&&str, &u64)> = self.calls.iter().collect();
        calls.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let calls = calls.into_iter().take(3).map(|(name, count)| format!("{} {name}", units::count(*count as f64)));
        let calls = Some(calls.collect::<Vec<_>>().join(", ")).filter(|calls| !calls.is_empty());
        let work: Vec<String> = faults.into_iter().chain(calls).collect();
        let work = if work.is_empty() { String::new() } else { format!(" ({})", work.join("; ")) };
        format!(
            "{} of the program's CPU time on this host passed in the kernel{work}. The kernel is not simulated: a system \
             call has a fixed cost in the simulation, however many CPUs make it, and a page fault has none.",
            capitalised(&self.percent(self.kernel))
        )
    }
}

/// Not what glibc and the compiler consist of, nor code that the program makes as it runs.
fn can_be_compiled(library: &HostLibrary) -> bool {
    const SYSTEMS: [&str; 13] = [
        "libc.so",
        "libm.so",
        "libmvec.so",
        "ld-linux",
        "libpthread.so",
        "librt.so",
        "libdl.so",
        "linux-vdso",
        "libstdc++.so",
        "libc++",
        "libgcc_s.so",
        "libgomp.so",
        "libomp",
    ];
    !library.path.is_empty() && !SYSTEMS.iter().any(|known| base_name(&library.path).starts_with(known))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Work, sample};
    use corefold_explain::Function;

    /// Of a program that computed for 0.1 s in the simulation, on one CPU and on two.
    fn told(libraries: &[(&str, bool, f64)], kernel: Option<f64>) -> Option<String> {
        let runs = [sample::timed(1, 200_000_000), sample::timed(2, 100_000_000)];
        let library = |&(path, part, seconds): &(&str, bool, f64)| HostLibrary { path: path.into(), part, seconds };
        let host = |cpus| HostRun {
            cpus,
            libraries: libraries.iter().map(library).collect(),
            kernel_seconds: kernel,
            page_faults: 12_000,
            page_fault_seconds: 0.005,
            calls: BTreeMap::from([
                ("mmap".into(), 400),
                ("munmap".into(), 500),
                ("read".into(), 3),
                ("write".into(), 2),
            ]),
            ..HostRun::default()
        };
        lost(&[host(1), host(2)], &Curve::new(&runs, Work::Total)).map(|lost| lost.text)
    }

    #[test]
    fn little_is_not_told() {
        assert_eq!(told(&[("/lib/libz.so.1", false, 0.004)], Some(0.004)), None);
        assert!(told(&[("/lib/libz.so.1", false, 0.02)], Some(0.0)).is_some());
        // Many files with little each add up.
        let few = [("/lib/liba.so", false, 0.002), ("/lib/libb.so", false, 0.0024), ("/lib/libc.so.6", false, 0.006)];
        let text = told(&few, Some(0.0)).unwrap();
        assert!(text.starts_with("About 9% "), "{text}");
        assert!(text.contains("libc.so.6 about 5%, libb.so about 2%, liba.so about 2%"), "{text}");
        assert!(text.ends_with("Compile libb.so and liba.so with corefold cc."), "{text}");
        // Ticks of the kernel's clock, in a run that is over at once.
        let run = sample::timed(1, 2000);
        let libraries = vec![HostLibrary { path: "/lib/libz.so.1".into(), part: false, seconds: 0.012 }];
        let host = HostRun { cpus: 1, libraries, ..HostRun::default() };
        assert!(lost(&[host], &Curve::new(&[run], Work::Total)).is_none());
    }

    #[test]
    fn a_library_is_told_with_its_share() {
        assert_eq!(
            told(&[("/usr/lib/libz.so.1.2.13", false, 0.1)], Some(0.0)).unwrap(),
            "About 50% of the program's CPU time on this host passed in libz.so.1.2.13, which has no hooks: it is \
             neither timed nor observed, and the figures below cover the rest only. Compile it with corefold cc."
        );
        let text = told(&[("/usr/lib/libm.so.6", false, 0.3), ("/a/tool", true, 0.1)], Some(0.0)).unwrap();
        assert!(
            text.contains(
                "code without hooks (libm.so.6 about 60%, a part of tool that was compiled without corefold cc about 20%)"
            ),
            "{text}"
        );
        assert!(text.ends_with("Compile tool with corefold cc."), "{text}");
        let text = told(&[("/usr/lib/libc.so.6", false, 300.0)], Some(0.0)).unwrap();
        assert!(text.starts_with("Over 99% ") && text.ends_with("have a fixed cost here (docs/libc.md), others none."));
        assert!(told(&[("", false, 0.3)], None).unwrap().contains("machine code that the program writes to memory"));
    }

    #[test]
    fn the_part_without_hooks_of_a_rust_program_is_its_standard_library() {
        let mut run = sample::timed(1, 200_000_000);
        run.functions = vec![Function { file: Some("/a/src/main.rs".into()), ..Function::default() }];
        let library = |path: &str, part| HostLibrary { path: path.into(), part, seconds: 0.1 };
        let told = |libraries| {
            let host = HostRun { cpus: 1, libraries, ..HostRun::default() };
            lost(&[host], &Curve::new(&[run.clone()], Work::Total)).unwrap().text
        };
        let text = told(vec![library("/a/tool", true)]);
        assert!(
            text.contains("a part of tool (Rust's precompiled standard library, or a static library), which"),
            "{text}"
        );
        assert!(text.ends_with("cargo +nightly corefold run -Zbuild-std (docs/rust.md)."), "{text}");
        let text = told(vec![library("/a/tool", true), library("/usr/lib/libz.so", false)]);
        assert!(text.contains("Compile libz.so with corefold cc. Nightly compiles"), "{text}");
    }

    #[test]
    fn the_kernel_is_told_with_what_it_did() {
        assert_eq!(
            told(&[], Some(0.1)).unwrap(),
            "About 50% of the program's CPU time on this host passed in the kernel (1.00k munmap, 800 \
             mmap, 6 read). The kernel is not simulated: a system call has a fixed cost in the \
             simulation, however many CPUs make it, and a page fault has none."
        );
        assert_eq!(told(&[], None), None, "page faults alone are 5 %");
    }

    #[test]
    fn files_that_runs_share_are_told() {
        let host = |cpus, files: &[&str]| HostRun {
            cpus,
            shared_files: files.iter().map(ToString::to_string).collect(),
            ..HostRun::default()
        };
        let runs = [sample::timed(1, 200_000_000), sample::timed(2, 100_000_000)];
        let curve = Curve::new(&runs, Work::Total);
        let text = lost(&[host(1, &["/a/b.db"]), host(2, &[]), host(8, &["/a/b.db"])], &curve).unwrap().text;
        assert!(text.starts_with("The runs at 1 and 8 CPUs were simulated at the same time"), "{text}");
        assert!(text.contains("for writing (/a/b.db): ") && text.contains("--jobs 1"), "{text}");
        assert!(lost(&[host(1, &[]), host(2, &[])], &curve).is_none());
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let host = HostRun { cpus: 1, not_measured: Some("no timer".into()), ..HostRun::default() };
        let runs = [sample::timed(1, 200_000_000)];
        let text = lost(&[host], &Curve::new(&runs, Work::Total)).unwrap().text;
        assert_eq!(text, "How much time passes in code without hooks was not measured: no timer.");
    }
}
