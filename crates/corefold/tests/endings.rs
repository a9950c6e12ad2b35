// SPDX-License-Identifier: MIT OR Apache-2.0
//! How runs end: exit codes, time-outs, and nothing left behind.
mod common;
use common::{Place, corefold};
use corefold_driver::save;
use corefold_recording::{Run, Status, encode_run};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The engine's recording in every run of this place.
fn records(place: &Place, run: &Run) -> String {
    format!("STUB_RUN='{}'", place.file("made.run", encode_run(run)).display())
}

fn saved(place: &Place) -> Vec<Run> {
    save::load(&place.path("corefold.rec")).unwrap()
}

#[test]
fn exit_codes_tell_how_runs_ended() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.build("crash", "int main(void) { *(volatile int *)0 = 1; return 0; }");
    let said = place.corefold("run --cpus 1,2 -- ./crash");
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(matches!(saved(&place)[1].status, Status::Crashed { signal: 11, .. }));
    for (status, code) in [
        (Status::Exited(0), 0),
        (Status::Exited(7), 1),
        (Status::Deadlock { waiters: Vec::new() }, 4),
        (Status::TimedOut { running: Vec::new(), waiters: Vec::new(), advances: false, unseen: None }, 5),
        (Status::Livelock { spin: true, running: Vec::new(), waiters: Vec::new() }, 9),
        (Status::Unsupported { what: "fork".into(), stack: Vec::new() }, 6),
        (Status::OutOfMemory { bytes: 9, stack: Vec::new() }, 7),
        (Status::Unfinished, 8),
    ] {
        let made = records(&place, &Run { status: status.clone(), cpus: 1, ..Run::default() });
        let said = place.sh(&format!("{made} '{}' run --cpus 1 -- ./good", corefold()));
        assert_eq!(said.code, Some(code), "{status:?}: {}", said.err);
        assert_eq!(saved(&place)[0].status, status);
        assert_eq!(place.corefold("report corefold.rec").out, said.out, "the report again");
    }
}

#[test]
fn the_engines_damaged_recording_is_an_error_of_ours() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.file("made.run", [0xff; 9]);
    let said = place.sh(&format!("STUB_RUN=made.run '{}' run --cpus 1 -- ./good", corefold()));
    assert_eq!(said.code, Some(8));
    assert!(said.out.contains("cut short or damaged"), "{}", said.out);
    place.file("bad.rec", "corefold\u{2}x");
    assert_eq!(place.corefold("report bad.rec").code, Some(2));
    place.file("bad.rec", "text");
    assert_eq!(place.corefold("report bad.rec").code, Some(2));
}

#[test]
fn a_run_that_never_ends_is_ended() {
    let place = Place::new();
    place.build("long", "#include <unistd.h>\nint main(void) { for (;;) pause(); }");
    let start = Instant::now();
    let said = place.corefold("run --cpus 1,2 --timeout 0.3 -- ./long");
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(start.elapsed() < Duration::from_secs(3), "it heeds SIGTERM");
    assert!(saved(&place).iter().all(|r| matches!(r.status, Status::TimedOut { .. })));
}

/// Whether a process of that program is left, by the unique path of its directory.
fn left(place: &Place, program: &str) -> bool {
    let path = place.path(program).canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|p| std::fs::read_link(p.path().join("exe")).ok()).any(|exe| exe == path)
}

#[track_caller]
fn soon(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_run_that_ignores_the_request_is_killed_with_what_it_started() {
    let place = Place::new();
    let source = "
        #include <signal.h>
        #include <unistd.h>
        int main(void) { signal(SIGTERM, SIG_IGN); if (fork() >= 0) for (;;) pause(); return 1; }";
    place.build("deaf", source);
    let said = place.corefold("run --cpus 1,2 --timeout 0.3 -- ./deaf");
    assert_eq!(said.code, Some(5), "{}", said.err);
    soon("a process was left", || !left(&place, "deaf"));
}

#[test]
fn no_child_outlives_corefold() {
    let place = Place::new();
    place.build("long", "#include <unistd.h>\nint main(void) { for (;;) pause(); }");
    for (signal, code) in [(libc::SIGINT, Some(130)), (libc::SIGTERM, Some(143)), (libc::SIGKILL, None)] {
        let _ = std::fs::remove_file(place.path("corefold.rec"));
        let mut command = place.command(corefold());
        command.args(["run", "--cpus", "1,2", "--jobs", "2", "--", "./long"]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        soon("the program did not start", || left(&place, "long"));
        // SAFETY: kill touches no memory; the child is ours and has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert_eq!(child.wait().unwrap().code(), code);
        soon("a child was left", || !left(&place, "long"));
        assert_eq!(place.path("corefold.rec").exists(), code.is_some(), "what was simulated is saved");
    }
}

#[test]
fn a_full_disk_is_said() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    let said = place.corefold("run --cpus 1 -o /dev/full -- ./good");
    assert_eq!(said.code, Some(8));
    assert!(
        said.err.contains("cannot write the recording /dev/full") && said.err.contains("No space left"),
        "{}",
        said.err
    );
}
