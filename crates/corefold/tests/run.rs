//! `corefold run` around a runtime that simulates nothing: what it refuses, how it starts programs, and
//! what it makes of their ends.
mod common;
use common::{Place, corefold};
use corefold_driver::save;
use corefold_recording::{Run, Status, encode_run};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The engine's recording in every run of this place.
fn records(place: &Place, run: &Run) -> String {
    format!(
        "STUB_RUN='{}'",
        place.file("made.run", encode_run(run)).display()
    )
}

fn saved(place: &Place) -> Vec<Run> {
    save::load(&place.path("corefold.rec")).unwrap()
}

#[test]
fn what_cannot_be_simulated_is_refused_before_it_starts() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.file("text", "hello");
    place.file("a.c", "int x; int main(void) { return x; }");
    let mut elf32 = std::fs::read(place.path("good")).unwrap();
    elf32[4] = 1;
    place.file("elf32", &elf32);
    let mut other = std::fs::read(place.path("good")).unwrap();
    other[18] = 183; // EM_AARCH64
    place.file("arm", &other);
    place.file("cut", &other[..100]);
    place.file("script", "#!/bin/sh\n./good\n");
    place.sh("gcc -o plain a.c; gcc -static -o static a.c; gcc -c -o object a.c; chmod +x text elf32 arm cut script object");
    place.sh("cp good suid; chmod u+s suid; echo x > data; mkdir dir");
    for (program, reason) in [
        (
            "./plain",
            "./plain is not instrumented, so its memory accesses cannot be seen: compile and link it with",
        ),
        ("./static", "./static is linked statically"),
        ("./object", "is an ELF file but not a program"),
        ("./text", "./text is not an ELF program"),
        ("./script", "./script is a script"),
        ("./elf32", "./elf32 is built for a 32-bit processor"),
        (
            "./arm",
            "./arm is built for Aarch64: corefold simulates x86-64",
        ),
        ("./cut", "./cut is a damaged ELF file"),
        ("./data", "./data is not executable"),
        ("./dir", "./dir is not a file"),
        ("./suid", "./suid is set-user-ID"),
        ("./nothing", "./nothing does not exist"),
        ("good", "for the one in this directory say ./good"),
        (
            "no-such-program",
            "there is no program no-such-program in PATH",
        ),
    ] {
        let refused = place.corefold(&format!("run -- {program}"));
        assert_eq!(
            (refused.code, refused.out.as_str()),
            (Some(2), ""),
            "{program}: {}",
            refused.err
        );
        assert!(refused.err.contains(reason), "{program}: {}", refused.err);
    }
    assert!(
        !place.path("corefold.rec").exists(),
        "nothing was simulated"
    );
}

#[test]
fn programs_on_tsans_own_runtime_are_refused() {
    let place = Place::new();
    place.file("a.c", "int x; int main(void) { return x; }");
    if place.sh("gcc -fsanitize=thread -o dynamic a.c").code == Some(0) {
        assert!(
            place
                .corefold("run -- ./dynamic")
                .err
                .contains("linked with TSan's runtime (libtsan)")
        );
    }
    // What a static libtsan looks like from outside.
    place.file(
        "b.c",
        "void __tsan_init(void) {} int main(void) { __tsan_init(); return 0; }",
    );
    place.sh("gcc -rdynamic -o static b.c");
    assert!(
        place
            .corefold("run -- ./static")
            .err
            .contains("has TSan's own runtime linked into it")
    );
}

#[test]
fn bad_arguments_are_refused() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.file(
        "bad.toml",
        "name = \"bad\"\ndescription = \"x\"\n[latency]\nsmt = 3\n",
    );
    for (line, reason) in [
        ("--cpus 0", "0 CPUs: a run needs at least 1"),
        (
            "--cpus 5000",
            "5000 CPUs: skylake-2s-80 has 80; the largest machine, generic-1024, has 1024",
        ),
        (
            "--cpus 1,100",
            "100 CPUs: skylake-2s-80 has 80; generic-1024 has 1024",
        ),
        ("--cpus 1,x", "--cpus 1,x: \"x\" is neither"),
        ("--machine xeon-4s-8", "did you mean \"xeon-4s-80\"?"),
        (
            "--machine ./bad.toml",
            "./bad.toml:4: latency.smt: must be a table",
        ),
        ("--machine no.toml", "no.toml: cannot read this profile"),
        ("--memory 3X", "unknown suffix"),
        ("--timeout -1", ""),
        ("--jobs 0", ""),
        (
            "-o /no/such/dir/a.rec",
            "cannot write the recording /no/such/dir/a.rec",
        ),
    ] {
        let refused = place.corefold(&format!("run {line} -- ./good"));
        assert_eq!(
            (refused.code, refused.out.as_str()),
            (Some(2), ""),
            "{line}: {}",
            refused.err
        );
        assert!(refused.err.contains(reason), "{line}: {}", refused.err);
    }
}

#[test]
fn runs_are_merged_in_the_order_of_cpus() {
    let place = Place::new();
    place.build("good", "#include <stdio.h>\nint main(int n, char **a) { return printf(\"%d %s\\n\", n, a[1]) < 0; }");
    let done = place.corefold("run --cpus 8,2,4 --seed 5 -- ./good {cpus}of{cpus}");
    let runs = saved(&place);
    assert_eq!(runs.iter().map(|r| r.cpus).collect::<Vec<_>>(), [2, 4, 8]);
    assert_eq!(runs[2].argv, ["./good", "8of8"]);
    assert_eq!(
        (runs[0].seed, runs[0].machine.as_str()),
        (5, "skylake-2s-80")
    );
    // The stub left no recording: that is an error of ours, and said.
    assert_eq!(done.code, Some(8));
    assert!(done.out.contains("left no recording"), "{}", done.out);
    assert!(
        done.err.contains("--- output at 2 CPUs ---\n2 2of2\n---\n"),
        "{}",
        done.err
    );
    assert!(
        !done.err.contains("8of8") && done.err.contains("recording: corefold.rec"),
        "{}",
        done.err
    );
}

#[test]
fn one_count_prints_at_once_and_reads_our_input() {
    let place = Place::new();
    place.build("cat", "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) >= 0) putchar(c); return 0; }");
    let run = format!("'{}' run --json -", corefold());
    let one = place.sh(&format!("echo hello | {run} --cpus 4 -- ./cat || true"));
    assert!(
        one.err.starts_with("hello\n") && one.out.starts_with('{'),
        "{}{}",
        one.err,
        one.out
    );
    let two = place.sh(&format!("echo hello | {run} --cpus 4,5 -- ./cat || true"));
    assert!(!two.err.contains("hello"), "{}", two.err);
}

/// What the engine relies on, seen from inside a child.
#[test]
fn children_start_with_what_the_engine_relies_on() {
    let place = Place::new();
    let source = "
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/personality.h>
        #include <sys/prctl.h>
        #include <sys/resource.h>
        #include <unistd.h>
        int main(void) {
            struct rlimit stack;
            int death = 0;
            getrlimit(RLIMIT_STACK, &stack);
            prctl(PR_GET_PDEATHSIG, &death);
            printf(\"aslr %d\\n\", !(personality(0xffffffff) & ADDR_NO_RANDOMIZE));
            printf(\"stack %lu %lu\\n\", (unsigned long)stack.rlim_cur, (unsigned long)stack.rlim_max);
            printf(\"death %d, group %d\\n\", death, getpgrp() == getpid());
            printf(\"now %s, preload %s\\n\", getenv(\"LD_BIND_NOW\"), getenv(\"LD_PRELOAD\"));
            return access(getenv(\"COREFOLD_LAUNCH\"), R_OK);
        }";
    place.build("look", source);
    let said = common::said(
        place
            .command(corefold())
            .args(["run", "--cpus", "1,2", "--", "./look"])
            .env("LD_PRELOAD", "libc.so.6"),
    );
    for line in [
        "aslr 0",
        "stack 8388608 8388608",
        "death 9, group 1",
        "now 1, preload ",
    ] {
        assert!(
            said.err.contains(&format!("\n{line}")),
            "{line}: {}",
            said.err
        );
    }
    assert!(
        said.err.contains("libcorefold_rt.so:libc.so.6\n"),
        "{}",
        said.err
    );
}

#[test]
fn exit_codes_tell_how_runs_ended() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.build(
        "crash",
        "int main(void) { *(volatile int *)0 = 1; return 0; }",
    );
    let said = place.corefold("run --cpus 1,2 -- ./crash");
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(matches!(
        saved(&place)[1].status,
        Status::Crashed { signal: 11, .. }
    ));
    for (status, code) in [
        (Status::Exited(0), 0),
        (Status::Exited(7), 1),
        (
            Status::Deadlock {
                waiters: Vec::new(),
            },
            4,
        ),
        (
            Status::TimedOut {
                running: Vec::new(),
            },
            5,
        ),
        (
            Status::Unsupported {
                what: "fork".into(),
                stack: Vec::new(),
            },
            6,
        ),
        (
            Status::OutOfMemory {
                bytes: 9,
                stack: Vec::new(),
            },
            7,
        ),
        (Status::Unfinished, 8),
    ] {
        let made = records(
            &place,
            &Run {
                status: status.clone(),
                cpus: 1,
                ..Run::default()
            },
        );
        let said = place.sh(&format!("{made} '{}' run --cpus 1 -- ./good", corefold()));
        assert_eq!(said.code, Some(code), "{status:?}: {}", said.err);
        assert_eq!(saved(&place)[0].status, status);
        assert_eq!(
            place.corefold("report corefold.rec").out,
            said.out,
            "the report again"
        );
    }
}

#[test]
fn a_damaged_recording_is_an_error_of_ours() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.file("made.run", [0xff; 9]);
    let said = place.sh(&format!(
        "STUB_RUN=made.run '{}' run --cpus 1 -- ./good",
        corefold()
    ));
    assert_eq!(said.code, Some(8));
    assert!(said.out.contains("cut short or damaged"), "{}", said.out);
    place.file("bad.rec", "corefold\u{1}x");
    assert_eq!(place.corefold("report bad.rec").code, Some(8));
    place.file("bad.rec", "text");
    assert_eq!(place.corefold("report bad.rec").code, Some(2));
}

#[test]
fn a_run_that_never_ends_is_ended() {
    let place = Place::new();
    place.build(
        "long",
        "#include <unistd.h>\nint main(void) { for (;;) pause(); }",
    );
    let start = Instant::now();
    let said = place.corefold("run --cpus 1,2 --timeout 0.3 -- ./long");
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(start.elapsed() < Duration::from_secs(3), "it heeds SIGTERM");
    assert!(
        saved(&place)
            .iter()
            .all(|r| matches!(r.status, Status::TimedOut { .. }))
    );
}

/// Whether a process of that program is left, by the unique path of its directory.
fn left(place: &Place, program: &str) -> bool {
    let path = place.path(program).canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|p| std::fs::read_link(p.path().join("exe")).ok())
        .any(|exe| exe == path)
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
    place.build(
        "long",
        "#include <unistd.h>\nint main(void) { for (;;) pause(); }",
    );
    for (signal, code) in [
        (libc::SIGINT, Some(130)),
        (libc::SIGTERM, Some(143)),
        (libc::SIGKILL, None),
    ] {
        let _ = std::fs::remove_file(place.path("corefold.rec"));
        let mut command = place.command(corefold());
        command
            .args(["run", "--cpus", "1,2", "--jobs", "2", "--", "./long"])
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        soon("the program did not start", || left(&place, "long"));
        // SAFETY: kill touches no memory; the child is ours and has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert_eq!(child.wait().unwrap().code(), code);
        soon("a child was left", || !left(&place, "long"));
        assert_eq!(
            place.path("corefold.rec").exists(),
            code.is_some(),
            "what was simulated is saved"
        );
    }
}

#[test]
fn a_full_disk_is_said() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    let said = place.corefold("run --cpus 1 -o /dev/full -- ./good");
    assert_eq!(said.code, Some(8));
    assert!(
        said.err.contains("cannot write the recording /dev/full")
            && said.err.contains("No space left"),
        "{}",
        said.err
    );
}
