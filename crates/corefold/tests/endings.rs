// SPDX-License-Identifier: MIT OR Apache-2.0
//! How runs end: exit codes, time-outs, and nothing left behind.
use crate::common;
use crate::common::{Place, corefold, ended};
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
    processes(place, program) > 0
}

fn processes(place: &Place, program: &str) -> usize {
    let path = place.path(program).canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|p| std::fs::read_link(p.path().join("exe")).ok()).filter(|exe| *exe == path).count()
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
        assert_eq!(ended::wait_for(&mut child, Duration::from_secs(20)).code(), code);
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

/// A temporary directory of the runs' own, so that what is left in it can be seen.
fn runs_in(place: &Place) -> std::process::Command {
    std::fs::create_dir_all(place.path("tmp")).unwrap();
    let mut command = place.command(corefold());
    command.env("TMPDIR", place.path("tmp"));
    command
}

fn entries(place: &Place, directory: &str) -> Vec<String> {
    let all = std::fs::read_dir(place.path(directory)).unwrap();
    all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_run_leaves_no_temporary_files_however_it_ends() {
    let place = Place::new();
    place.build("long", "#include <unistd.h>\nint main(void) { for (;;) pause(); }");
    place.build("good", "int main(void) { return 0; }");
    std::fs::create_dir(place.path("out")).unwrap();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGKILL] {
        let mut command = runs_in(&place);
        command.args(["run", "--cpus", "1,2", "--jobs", "2", "-o", "out/rec", "--", "./long"]).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        soon("the program did not start", || left(&place, "long"));
        // SAFETY: as above.
        unsafe { libc::kill(child.id() as i32, signal) };
        ended::wait_for(&mut child, Duration::from_secs(20));
        soon("a child was left", || !left(&place, "long"));
        if [libc::SIGQUIT, libc::SIGKILL].contains(&signal) {
            // Nothing can be done by who is killed; the next one does it, and takes nothing of who still runs.
            assert_eq!(entries(&place, "tmp").len(), 1);
            let next = || common::said(runs_in(&place).args(["run", "--cpus", "1", "-o", "out/rec", "--", "./good"]));
            assert_eq!(next().code, Some(8), "the stub leaves no recording: {}", next().err);
            // A child that was just forked holds the lock, too, until the kernel has ended it.
            soon("a directory was left", || entries(&place, "tmp").is_empty() || next().code.is_none());
        }
        assert!(entries(&place, "tmp").is_empty(), "signal {signal}: {:?}", entries(&place, "tmp"));
        let strange: Vec<String> = entries(&place, "out").into_iter().filter(|name| !name.starts_with("rec")).collect();
        assert!(strange.is_empty(), "signal {signal}: {strange:?}");
    }
}

/// `start` a command with a shell's `trap ''` of these signals, or with them blocked.
fn unusual(command: &mut std::process::Command, blocked: bool) {
    use std::os::unix::process::CommandExt;
    const ALL: [i32; 6] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE, libc::SIGCHLD, libc::SIGALRM];
    let change = move || {
        // SAFETY: plain system calls; the set is initialised before it is used.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in ALL {
                libc::sigaddset(&mut set, signal);
                libc::signal(signal, if blocked { libc::SIG_DFL } else { libc::SIG_IGN });
            }
            libc::sigprocmask(
                libc::SIG_SETMASK,
                if blocked { &set } else { &std::mem::zeroed() },
                std::ptr::null_mut(),
            );
        }
        Ok(())
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(change) };
}

/// What the command was started with neither changes how runs are watched nor reaches the programs.
#[test]
fn signals_that_were_ignored_or_blocked_change_nothing() {
    let place = Place::new();
    let source = "
        #include <signal.h>
        #include <stdio.h>
        int main(void) {
            struct sigaction action;
            sigset_t mask;
            int ignored = 0, blocked = 0;
            sigprocmask(SIG_BLOCK, 0, &mask);
            for (int s = 1; s < 32; s++) {
                ignored += !sigaction(s, 0, &action) && action.sa_handler == SIG_IGN;
                blocked += sigismember(&mask, s) == 1;
            }
            printf(\"ignored %d, blocked %d\\n\", ignored, blocked);
            return 7;
        }";
    place.build("look", source);
    place.build("long", "#include <unistd.h>\nint main(void) { for (;;) pause(); }");
    let made = place.file("made.run", encode_run(&Run { status: Status::Exited(7), cpus: 1, ..Run::default() }));
    for blocked in [false, true] {
        let mut command = place.command(corefold());
        command.env("STUB_RUN", &made).args(["run", "--cpus", "1,2", "--", "./look"]);
        unusual(&mut command, blocked);
        let said = common::said(&mut command);
        assert_eq!(said.code, Some(1), "{}", said.err);
        assert!(said.err.contains("\nignored 0, blocked 0\n"), "{}", said.err);
        let mut command = place.command(corefold());
        command.args(["run", "--cpus", "1,2", "--timeout", "0.3", "--", "./long"]);
        unusual(&mut command, blocked);
        let said = common::said(&mut command);
        assert_eq!(said.code, Some(5), "{}", said.err);
    }
    // What is blocked is heeded; what is ignored stays so, as `nohup` wants it.
    let mut command = place.command(corefold());
    command.args(["run", "--cpus", "1,2", "--", "./long"]).stderr(Stdio::null());
    unusual(&mut command, true);
    let mut child = command.spawn().unwrap();
    soon("the program did not start", || left(&place, "long"));
    // SAFETY: as above.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(ended::wait_for(&mut child, Duration::from_secs(20)).code(), Some(143));
}

#[test]
fn what_was_interrupted_is_told_from_what_had_ended() {
    let place = Place::new();
    let source = "
        #include <fcntl.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int n, char **a) {
            close(open(a[1], O_CREAT, 0600));
            if (atoi(a[1]) > 1) for (;;) pause();
            return 0;
        }";
    place.build("some", source);
    let made = place.file("made.run", encode_run(&Run { status: Status::Exited(0), cpus: 1, ..Run::default() }));
    let mut command = place.command(corefold());
    command.env("STUB_RUN", &made).args(["run", "--cpus", "1-3", "--jobs", "3", "--", "./some", "{cpus}"]);
    let mut child =
        command.stdout(Stdio::null()).stderr(std::fs::File::create(place.path("said")).unwrap()).spawn().unwrap();
    // Each says that it has started: the first may end before it is seen to run.
    soon("the programs did not start", || ["1", "2", "3"].iter().all(|name| place.path(name).exists()));
    soon("the first did not end", || processes(&place, "some") == 2);
    // SAFETY: as above.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(ended::wait_for(&mut child, Duration::from_secs(20)).code(), Some(130));
    let said = std::fs::read_to_string(place.path("said")).unwrap();
    assert!(
        said.contains("interrupted; 1 of 3 runs had completed; corefold.rec has these and 2 incomplete ones"),
        "{said}"
    );
    assert!(matches!(saved(&place)[1].status, Status::Interrupted { .. }));
    let report = place.corefold("report corefold.rec").out;
    assert!(report.contains("interrupted before it ended") && !report.contains("time limit"), "{report}");
}
