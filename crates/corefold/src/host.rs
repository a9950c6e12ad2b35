// SPDX-License-Identifier: MIT OR Apache-2.0
//! The note beside a recording: what its runs took of the host. It is a file of its own, as a recording is the same each
//! time and what is measured is not; figures are rounded to what is known of them.
use crate::screen;
use corefold_driver::run::{Finished, host};
use corefold_recording::{HostUse, Run, Unhooked, encode};
use corefold_report::{HostLibrary, HostRun};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const ABOUT: &str =
    "Measured on the host during the run that wrote the recording beside it: rounded, and different in each run.";
/// Fewer samples of a file's code, in all counts together, tell nothing.
const LEAST_SAMPLES: u64 = 5;
/// Of the simulation's whole CPU time: less kernel time cannot be told from the runtime's.
const LEAST_KERNEL_SHARE: f64 = 0.1;

#[derive(Serialize, Deserialize)]
struct Note {
    about: String,
    /// Which recording it belongs to.
    recording: String,
    runs: Vec<HostRun>,
}

/// `corefold.rec.host`.
fn beside(recording: &Path) -> PathBuf {
    let mut name = OsString::from(recording);
    name.push(".host");
    name.into()
}

/// Writes the note. A recording is as good without one, so that it cannot be written is only said.
pub fn save(finished: &Finished, recording: &Path) {
    if !recording.is_file() {
        return;
    }
    if let Err(error) = write(finished, recording) {
        screen::note(&format!("corefold: cannot write {}: {error}", beside(recording).display()));
    }
}

fn write(finished: &Finished, recording: &Path) -> io::Result<()> {
    let (note, old) = (beside(recording), beside(&PathBuf::from(format!("{}.old", recording.display()))));
    // As its recording has gone.
    match fs::rename(&note, old) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ if finished.host.is_empty() => return Ok(()),
        _ => {}
    }
    let mut runs = rounded(&finished.host, host::page_fault());
    if finished.at_once > 1 {
        share(&mut runs, &finished.host);
    }
    let text = Note { about: ABOUT.into(), recording: fingerprint(&finished.runs), runs };
    fs::write(note, serde_json::to_string_pretty(&text).expect("strings, numbers and lists") + "\n")
}

/// What was measured of the runs of this recording, if its note is there.
pub fn load(recording: &Path, runs: &[Run]) -> Vec<HostRun> {
    let text = fs::read(beside(recording)).unwrap_or_default();
    let note: Option<Note> = serde_json::from_slice(&text).ok();
    note.filter(|note| note.recording == fingerprint(runs)).map(|note| note.runs).unwrap_or_default()
}

/// Of the recording's bytes (FNV-1a).
fn fingerprint(runs: &[Run]) -> String {
    let bytes = encode(runs);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

fn rounded(all: &BTreeMap<u32, HostUse>, page_fault: Option<f64>) -> Vec<HostRun> {
    let mut samples: BTreeMap<(&str, bool), u64> = BTreeMap::new();
    for one in all.values().flat_map(|host| &host.unhooked) {
        *samples.entry((&one.path, one.part)).or_default() += one.samples;
    }
    let enough = |one: &&Unhooked| samples[&(one.path.as_str(), one.part)] >= LEAST_SAMPLES;
    let page_fault = page_fault.unwrap_or(0.0);
    let known = is_kernel_time_known(all, page_fault);
    all.iter().map(|(cpus, host)| run(*cpus, host, page_fault, known, enough)).collect()
}

/// Files that several runs opened for writing.
fn share(runs: &mut [HostRun], all: &BTreeMap<u32, HostUse>) {
    let by = |file: &String| all.values().filter(|host| host.written.contains(file)).count();
    for run in runs {
        run.shared_files = all[&run.cpus].written.iter().filter(|file| by(file) > 1).cloned().collect();
    }
}

/// Kernel time that is not the runtime's, in nanoseconds. May be below zero, as the kernel counts it in ticks.
fn kernel(host: &HostUse, page_fault: f64) -> f64 {
    host.kernel as f64 - page_fault * host.faults_own as f64 - host.kernel_own as f64
}

/// Is the kernel time more than what a process that simulates, and calls nothing, has as well: interrupts, faults of
/// memory that the runtime gave back, the rounding to ticks?
fn is_kernel_time_known(all: &BTreeMap<u32, HostUse>, page_fault: f64) -> bool {
    let sum = |part: &dyn Fn(&HostUse) -> f64| all.values().map(part).sum::<f64>();
    let whole = sum(&|host| (host.user + host.kernel) as f64);
    !all.values().any(|host| host.kernel_mixed) && sum(&|host| kernel(host, page_fault)) > LEAST_KERNEL_SHARE * whole
}

fn run(cpus: u32, host: &HostUse, page_fault: f64, known: bool, enough: impl Fn(&&Unhooked) -> bool) -> HostRun {
    let sample = host.user as f64 / host.samples.max(1) as f64;
    let library = |one: &Unhooked| HostLibrary {
        path: one.path.clone(),
        part: one.part,
        seconds: seconds(one.samples as f64 * sample),
    };
    HostRun {
        cpus,
        not_measured: Some(host.refused.clone()).filter(|why| !why.is_empty()),
        libraries: host.unhooked.iter().filter(enough).map(library).collect(),
        kernel_seconds: known.then(|| seconds(kernel(host, page_fault))),
        page_faults: two_digits(host.faults as f64) as u64,
        page_fault_seconds: seconds(page_fault * host.faults as f64),
        calls: host.calls.iter().cloned().collect(),
        shared_files: Vec::new(),
    }
}

/// Of nanoseconds; two digits are more than is known.
fn seconds(nanoseconds: f64) -> f64 {
    two_digits(nanoseconds / 1e3) / 1e6
}

fn two_digits(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powi(x.log10().floor() as i32 - 1).max(1.0);
    (x / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(samples: u64) -> HostUse {
        let unhooked = vec![Unhooked { path: "/lib/libz.so.1".into(), part: false, samples }];
        HostUse { user: 123_456_789, kernel: 55_555_555, samples: 30, unhooked, faults: 12_345, ..HostUse::default() }
    }

    #[test]
    fn figures_are_rounded_and_single_samples_are_left_out() {
        let runs = rounded(&BTreeMap::from([(1, host(10)), (4, host(1))]), Some(1000.0));
        assert_eq!(runs[0].libraries[0].seconds, 0.041);
        assert_eq!(runs[1].libraries[0].seconds, 0.0041);
        assert_eq!((runs[0].kernel_seconds, runs[0].page_faults), (Some(0.056), 12_000));
        assert_eq!(runs[0].page_fault_seconds, 0.012);
        assert!(rounded(&BTreeMap::from([(1, host(4))]), None)[0].libraries.is_empty());
    }

    #[test]
    fn what_the_runtime_needs_is_not_the_programs() {
        let kernel = |host: HostUse| rounded(&BTreeMap::from([(1, host)]), Some(100.0))[0].kernel_seconds;
        assert_eq!(kernel(HostUse { faults_own: 50_000, kernel_own: 1_000_000, ..host(0) }), Some(0.05));
        assert_eq!(kernel(HostUse { faults_own: 500_000, ..host(0) }), None);
        assert_eq!(kernel(HostUse { kernel_mixed: true, ..host(0) }), None);
        // A long simulation has its interrupts.
        assert_eq!(kernel(HostUse { user: 1_000_000_000, ..host(0) }), None);
    }

    #[test]
    fn a_file_of_one_run_alone_is_not_shared() {
        let host = |files: &[&str]| HostUse { written: files.iter().map(ToString::to_string).collect(), ..host(10) };
        let all = BTreeMap::from([(1, host(&["/a", "/own"])), (4, host(&[])), (8, host(&["/a"]))]);
        let mut runs = rounded(&all, None);
        share(&mut runs, &all);
        assert_eq!(runs.iter().map(|run| run.shared_files.len()).collect::<Vec<_>>(), [1, 0, 1]);
        assert_eq!(runs[0].shared_files, ["/a"]);
    }

    /// A note is believed only beside its own recording, and goes where that goes.
    #[test]
    fn a_note_belongs_to_one_recording() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.rec");
        let finished = |cpus| Finished {
            runs: vec![Run { cpus, ..Run::default() }],
            host: BTreeMap::from([(cpus, host(10))]),
            at_once: 1,
            interrupted: None,
        };
        for cpus in [2, 4] {
            fs::write(&path, "a recording").unwrap();
            save(&finished(cpus), &path);
            assert_eq!(load(&path, &finished(cpus).runs)[0].cpus, cpus);
        }
        assert_eq!(load(&directory.path().join("a.rec.old"), &finished(2).runs)[0].cpus, 2);
        assert!(load(&path, &finished(8).runs).is_empty());
        fs::write(beside(&path), "no note").unwrap();
        assert!(load(&path, &finished(4).runs).is_empty());
        save(&finished(8), &directory.path().join("none.rec"));
        assert!(!directory.path().join("none.rec.host").exists());
    }
}
