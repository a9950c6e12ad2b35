// SPDX-License-Identifier: MIT OR Apache-2.0
//! What passed on the host and is not in the simulation: time in code without hooks, and in the kernel.
//!
//! It is measured, so it differs from run to run. It comes from a note beside the recording, and is said only where it
//! is more than [`WORTH_TELLING`] of the program's work.
use crate::curve::Curve;
use crate::units;
use corefold_explain::base_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLibrary {
    /// Empty for machine code that the program has written to memory.
    pub path: String,
    /// Only a part of the file has no hooks.
    pub part: bool,
    pub seconds: f64,
}

/// What there is to say of it.
pub(crate) struct Lost<'a> {
    pub text: String,
    pub runs: &'a [HostRun],
}

/// Over all counts together: what a program calls does not depend on the CPUs, and short runs add up.
pub(crate) fn lost<'a>(runs: &'a [HostRun], curve: &Curve) -> Option<Lost<'a>> {
    let all = Totals::of(runs, curve);
    let told = |seconds: f64| seconds >= LEAST_SECONDS && seconds > WORTH_TELLING * all.everything();
    let mut sentences = Vec::new();
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

#[derive(Default)]
struct Totals<'a> {
    /// Computing that the simulation timed, in seconds of the simulated machine.
    simulated: f64,
    /// By file; the largest first.
    libraries: Vec<(&'a HostLibrary, f64)>,
    kernel: f64,
    page_faults: u64,
    page_fault_seconds: f64,
    calls: BTreeMap<&'a str, u64>,
}

impl<'a> Totals<'a> {
    fn of(runs: &'a [HostRun], curve: &Curve) -> Totals<'a> {
        let mut all = Totals::default();
        for run in runs {
            let point = curve.points.iter().find(|point| point.explained.run.cpus == run.cpus);
            let Some(simulated) = point.map(|point| &point.explained.run) else { continue };
            all.simulated += simulated.time.compute as f64 / simulated.clock_hz.max(1) as f64;
            all.kernel += run.kernel_seconds.unwrap_or(0.0);
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
        // Those that are worth a word of their own; at least one is, or all together would not be.
        let (many, few): (Vec<_>, Vec<_>) =
            self.libraries.iter().partition(|(_, seconds)| *seconds > WORTH_TELLING / 2.0 * self.everything());
        let named = if many.is_empty() { &few } else { &many };
        let place = match named.as_slice() {
            [(library, _)] => format!("{}, which has no hooks", name(library)),
            several => {
                let each = several.iter().map(|(library, s)| format!("{} {}", name(library), self.percent(*s)));
                format!("code without hooks ({})", each.collect::<Vec<_>>().join(", "))
            }
        };
        let own: Vec<_> = named.iter().filter(|(library, _)| can_be_compiled(library)).collect();
        let advice = match own.as_slice() {
            [] => {
                "Of the system's libraries, some functions have a fixed cost here (docs/libc.md), others none.".into()
            }
            [_] if named.len() == 1 => "Compile it with corefold cc.".to_string(),
            several => {
                let names: Vec<&str> = several.iter().map(|(library, _)| base_name(&library.path)).collect();
                format!("Compile {} with corefold cc.", names.join(" and "))
            }
        };
        let share = capitalised(&self.percent(self.unhooked()));
        format!(
            "{share} of the program's CPU time on this host passed in {place}: it is neither timed nor observed, and \
             the figures below are those of the rest. {advice}"
        )
    }

    fn kernel_in_words(&self) -> String {
        let faults = (self.page_faults > 0).then(|| {
            let seconds = units::duration(self.page_fault_seconds);
            format!("{} page faults, which take about {seconds} here", units::count(self.page_faults as f64))
        });
        let mut calls: Vec<(&&str, &u64)> = self.calls.iter().filter(|(name, _)| **name != "other").collect();
        calls.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let calls = calls.into_iter().take(3).map(|(name, count)| format!("{} {name}", units::count(*count as f64)));
        let work: Vec<String> = faults.into_iter().chain(calls).collect();
        let work = if work.is_empty() { String::new() } else { format!(" ({})", work.join(", ")) };
        format!(
            "{} of the program's CPU time on this host passed in the kernel{work}, which is not simulated: a system call \
             has a fixed cost here, whatever it does and whoever else makes one, and a page fault has none.",
            capitalised(&self.percent(self.kernel))
        )
    }
}

fn name(library: &HostLibrary) -> String {
    match (library.path.as_str(), library.part) {
        ("", _) => "machine code that the program writes to memory".into(),
        (path, true) => format!("a part of {} that was compiled without corefold cc", base_name(path)),
        (path, false) => base_name(path).into(),
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
