// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold run` around a runtime that simulates nothing: what it refuses, and how it starts programs.
use crate::common;
use crate::common::{Place, corefold};
use corefold_driver::save;
use corefold_recording::Run;

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
    place.sh(
        "gcc -o plain a.c; gcc -static -o static a.c; gcc -c -o object a.c; chmod +x text elf32 arm cut script object",
    );
    place.sh("cp good suid; chmod u+s suid; echo x > data; mkdir dir");
    for (program, reason) in [
        ("./plain", "./plain is not instrumented, so its memory accesses cannot be seen: compile and link it with"),
        ("./static", "./static is linked statically"),
        ("./object", "is an ELF file but not a program"),
        ("./text", "./text is not an ELF program"),
        ("./script", "./script is a script"),
        ("./elf32", "./elf32 is built for a 32-bit processor"),
        ("./arm", "./arm is built for Aarch64: corefold simulates x86-64"),
        ("./cut", "./cut is a damaged ELF file"),
        ("./data", "./data is not executable"),
        ("./dir", "./dir is not a file"),
        ("./suid", "./suid is set-user-ID"),
        ("./nothing", "./nothing does not exist"),
        ("good", "for the one in this directory write ./good"),
        ("no-such-program", "there is no program no-such-program in PATH"),
    ] {
        let refused = place.corefold(&format!("run -- {program}"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{program}: {}", refused.err);
        assert!(refused.err.contains(reason), "{program}: {}", refused.err);
    }
    assert!(!place.path("corefold.rec").exists(), "nothing was simulated");
}

#[test]
fn programs_with_tsans_runtime_in_them_are_refused() {
    let place = Place::new();
    // What a static libtsan looks like from outside.
    place.file("b.c", "void __tsan_init(void) {} int main(void) { __tsan_init(); return 0; }");
    for options in ["-rdynamic", "-O0"] {
        place.sh(&format!("gcc {options} -o static b.c"));
        assert!(place.corefold("run -- ./static").err.contains("has TSan's own runtime linked into it"));
    }
}

#[test]
fn bad_arguments_are_refused() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.file("bad.toml", "name = \"bad\"\ndescription = \"x\"\n[latency]\nsmt = 3\n");
    for (line, reason) in [
        ("--cpus 0", "0 CPUs: a run needs at least 1"),
        ("--cpus 2000", "2000 CPUs: skylake-2s-80 has 80; the largest machine, generic-1024, has 1024"),
        ("--cpus 5000", "5000 CPUs: 4096 is the most that can be simulated"),
        ("--cpus 1,100", "100 CPUs: skylake-2s-80 has 80; icx-2s-8375c has 128"),
        ("--cpus 1,x", "--cpus 1,x: \"x\" is neither"),
        ("--cpus 8-4", "\"8-4\" ends before it begins: write 4-8"),
        ("--machine skylake", "did you mean \"skylake-2s-80\"? Known:"),
        ("--machine xeon-4s-8", "did you mean \"xeon-4s-80\"?"),
        ("--machine ./bad.toml", "./bad.toml:4: latency.smt: must be a table"),
        ("--machine no.toml", "no.toml: cannot read this profile"),
        ("--memory 3X", "unknown suffix"),
        ("--memory 1K", "at least 16M"),
        ("--timeout -1", ""),
        ("--jobs 0", ""),
        (
            "-o /no/such/dir/a.rec",
            "cannot write the recording /no/such/dir/a.rec: the directory /no/such/dir does not exist",
        ),
    ] {
        let refused = place.corefold(&format!("run {line} -- ./good"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{line}: {}", refused.err);
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
    assert_eq!((runs[0].seed, runs[0].machine.as_str()), (5, "skylake-2s-80"));
    // The stub left no recording: that is an error of ours, and said.
    assert_eq!(done.code, Some(8));
    assert!(done.out.contains("left no recording"), "{}", done.out);
    assert!(done.err.contains("--- output at 2 CPUs ---\n2 2of2\n---\n"), "{}", done.err);
    assert!(
        done.err.contains("--- output at 8 CPUs ---\n2 8of8\n---\n") && done.err.contains("recording: corefold.rec"),
        "{}",
        done.err
    );
}

/// A check that the program makes of itself and that fails at the largest count only.
#[test]
fn a_failure_at_one_count_is_shown_and_fails_the_run() {
    let place = Place::new();
    let source = "
        #include <stdio.h>
        #include <stdlib.h>
        int main(int n, char **a) {
            int wrong = atoi(a[1]) == 80;
            puts(\"checking\");
            puts(wrong ? \"left inside: 1\" : \"all is well\");
            return wrong && n > 2 ? 3 : 0;
        }";
    place.build("check", source);
    let done = place.corefold("run --cpus 1,8,80 -- ./check {cpus}");
    assert!(done.err.contains("--- output at 1 and 8 CPUs ---\nchecking\nall is well\n---\n"), "{}", done.err);
    assert!(done.err.contains("--- output at 80 CPUs, from line 2 on ---\nleft inside: 1\n---\n"), "{}", done.err);
    let ended = |code| {
        corefold_recording::encode_run(&Run {
            status: corefold_recording::Status::Exited(code),
            cpus: 80,
            ..Run::default()
        })
    };
    place.file("0.run", ended(0));
    place.file("3.run", ended(3));
    let script = format!("STUB_RUN=$1.run '{}' run --cpus 1,80 -- ./check {{cpus}}", corefold());
    for (code, expected) in [("0", 0), ("3", 1)] {
        let done = common::said(place.command("sh").args(["-c", &script, "sh", code]));
        assert_eq!(done.code, Some(expected), "{}", done.err);
    }
}

#[test]
fn a_mistaken_placeholder_is_pointed_out() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    let note = "`{cpu}` is passed unchanged; write {cpus} for the number of CPUs";
    assert!(place.corefold("run --cpus 1 -- ./good {cpu}").err.contains(note));
    assert!(!place.corefold("run --cpus 1 -- ./good {cpus}").err.contains("is passed unchanged"));
}

#[test]
fn how_the_work_grows_is_kept() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    let run =
        Run { cpus: 1, cycles: 100, clock_hz: 1000, status: corefold_recording::Status::Exited(0), ..Run::default() };
    place.file("made.run", corefold_recording::encode_run(&run));
    let said = place.sh(&format!("STUB_RUN=made.run '{}' run --cpus 1 --work per-cpu -- ./good", corefold()));
    assert!(said.out.contains("same work per CPU"), "{}", said.out);
    assert_eq!(place.corefold("report corefold.rec").out, said.out);
    assert!(place.corefold("report --work total corefold.rec").out.contains("same total work"));
}

#[test]
fn one_count_prints_at_once_and_reads_our_input() {
    let place = Place::new();
    place.build(
        "cat",
        "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) >= 0) putchar(c); return 0; }",
    );
    let run = format!("'{}' run --json -", corefold());
    let one = place.sh(&format!("echo hello | {run} --cpus 4 -- ./cat || true"));
    assert!(one.err.starts_with("hello\n") && one.out.starts_with('{'), "{}{}", one.err, one.out);
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
        place.command(corefold()).args(["run", "--cpus", "1,2", "--", "./look"]).env("LD_PRELOAD", "libc.so.6"),
    );
    for line in ["aslr 0", "stack 8388608 8388608", "death 9, group 1", "now 1, preload "] {
        assert!(said.err.contains(&format!("\n{line}")), "{line}: {}", said.err);
    }
    // First the runtime, last what was asked for; between them what stands for TSan's.
    let preloaded = said.err.lines().find_map(|line| line.split("preload ").nth(1)).expect("a list");
    assert!(preloaded.starts_with("libcorefold_rt.so:") && preloaded.ends_with(":libc.so.6"), "{preloaded}");
}
