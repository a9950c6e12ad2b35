// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that terminals obey, inputs that are no files, disks that are full.
use crate::common;
use crate::common::{Place, Said, corefold, ended};
use corefold_recording::{Label, Module, Note, Progress, Run, Status, encode, encode_run};
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// Sets a title, a colour in 7 bits and in 8, turns text round, rings.
const HOSTILE: &str = "x\x1b]0;title\x07\x1b[31m\u{9b}32m\u{202e}\r";

#[track_caller]
fn is_harmless(what: &str, text: &str) {
    let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
    assert_eq!(bad, None, "{what}: {text:?}");
}

fn run_with_hostile_names() -> Run {
    let text = || HOSTILE.to_string();
    Run {
        argv: vec![format!("./{HOSTILE}"), text(), format!("a\nb{HOSTILE}")],
        machine: text(),
        clock_hz: 1_000_000_000,
        cpus: 2,
        threads: 2,
        cycles: 1000,
        status: Status::Unsupported { what: text(), stack: Vec::new() },
        progress: vec![Progress { name: text(), visits: 3 }, Progress { name: format!("{HOSTILE}2"), visits: 3 }],
        labels: vec![Label { address: 64, bytes: 64, name: text(), stride: 0 }],
        modules: vec![Module { path: format!("/no/{HOSTILE}"), build_id: vec![1, 2], base: 0, start: 0, end: 4096 }],
        notes: vec![Note { text: text(), pc: 9, count: 2 }],
        ..Run::default()
    }
}

#[test]
fn names_that_a_terminal_obeys_are_shown() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.file(
        "a.rec",
        encode(&[run_with_hostile_names(), Run { cpus: 4, status: Status::Exited(0), ..run_with_hostile_names() }]),
    );
    for options in ["", "--json - ", "--json other "] {
        let said = place.corefold(&format!("report {options}a.rec"));
        assert_eq!(said.code, Some(0), "{}", said.err);
        is_harmless("report", &said.out);
        is_harmless("report", &said.err);
        assert!(said.out.contains("␛]0;title␇") || said.out.contains(r"\u001b]0;title\u0007"), "{}", said.out);
    }
    is_harmless("the document", &std::fs::read_to_string(place.path("other")).unwrap());
    let in_toml: String = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    place.file("mine.toml", format!("name = \"{in_toml}\"\n\"{in_toml}\" = 1\n"));
    let words: [&[&str]; 9] = [
        &["run", "--cpus", "1", "--", "./good", HOSTILE],
        &["run", "--cpus", "1,2", "--", "./good", HOSTILE],
        &["run", "--cpus", HOSTILE, "--", "./good"],
        &["run", "--machine", HOSTILE, "--", "./good"],
        &["run", "--machine", "./mine.toml", "--", "./good"],
        &["run", "-o", &format!("/no/{HOSTILE}/a"), "--", "./good"],
        &["run", "--", &format!("./{HOSTILE}")],
        &["report", HOSTILE],
        &[HOSTILE, "--json", HOSTILE],
    ];
    for words in words {
        let said = common::said(place.command(corefold()).args(words));
        is_harmless(&format!("{words:?}"), &said.out);
        is_harmless(&format!("{words:?}"), &said.err);
    }
}

/// Refused within a moment, whatever it is.
#[test]
fn inputs_that_are_no_files_are_refused() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    place.sh("mkfifo pipe; mkdir dir.toml; truncate -s 100G huge; cp huge huge.toml; chmod +x huge pipe");
    // The command waits a while for what comes from a pipe, so that these are few.
    refused(&place, "run --machine ./pipe -- ./good");
    refused(&place, "report ./pipe");
    refused(&place, "run -- ./pipe");
    for input in ["./dir.toml", "./huge.toml", "/dev/zero", "/dev/null", "/dev/tty"] {
        refused(&place, &format!("run --machine {input} -- ./good"));
        refused(&place, &format!("machine show {input}"));
        refused(&place, &format!("explore --machine {input} -- ./good"));
        refused(&place, &format!("report {input}"));
        refused(&place, &format!("run -- {input}"));
    }
    refused(&place, "run -o pipe -- ./good");
    refused(&place, "run --json pipe -- ./good");
    let begun = Instant::now();
    let one = Run { modules: vec![module(&place, "pipe"), module(&place, "/dev/zero")], ..run_with_hostile_names() };
    place.file("a.rec", encode(&[one]));
    assert_eq!(place.corefold("report a.rec").code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5));
    // What a shell passes for `<(command)` is read.
    place.file("b.rec", encode(&[Run { cpus: 1, ..Run::default() }]));
    let piped = common::said(place.command("bash").args(["-c", &format!("'{}' report <(cat b.rec)", corefold())]));
    assert_eq!(piped.code, Some(0), "{}", piped.err);
}

fn module(place: &Place, file: &str) -> Module {
    Module { path: place.path(file).display().to_string(), build_id: Vec::new(), base: 0, start: 0, end: 4096 }
}

#[track_caller]
fn refused(place: &Place, line: &str) {
    let mut command = place.command(corefold());
    command.args(line.split_whitespace()).stdin(std::process::Stdio::null());
    let said = ended::output_within(&mut command, Duration::from_secs(20));
    assert_eq!(said.status.code(), Some(2), "{line}: {}", String::from_utf8_lossy(&said.stderr));
}

/// Files of the command may not grow beyond so many bytes: what a full disk does to them, without one.
fn limited(place: &Place, bytes: u64, script: &str) -> Said {
    let mut command = place.command("sh");
    command.args(["-ec", script]).env("corefold", corefold());
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: a system call that reads the structure.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
        Ok(())
    };
    // SAFETY: the closure only makes a system call.
    unsafe { command.pre_exec(limit) };
    common::said(&mut command)
}

#[test]
fn a_full_disk_keeps_neither_the_report_back_nor_the_old_document() {
    let place = Place::new();
    place.build("good", "int main(void) { return 0; }");
    let long = Run {
        argv: vec!["./good".into(), "x".repeat(40_000)],
        cpus: 1,
        status: Status::Exited(0),
        cycles: 9,
        clock_hz: 9,
        ..Run::default()
    };
    place.file("made.run", encode_run(&long));
    place.file("corefold.rec", "the recording before");
    place.file("curve.json", "the document before");
    let said =
        place.sh(&format!("STUB_RUN=made.run '{}' run --cpus 1 -o /dev/full -- ./good || echo code $?", corefold()));
    assert!(said.out.contains("good") && said.out.contains("virtual time"), "the report: {}", said.out);
    assert!(said.err.contains("No space left") && said.out.ends_with("code 8\n"), "{}{}", said.out, said.err);
    // The engine's own recording fits, ours does not: it is of the same size but for the file's head.
    let bytes = encode_run(&long).len() as u64 + 4;
    let said = limited(
        &place,
        bytes,
        "STUB_RUN=made.run \"$corefold\" run --cpus 1 --json curve.json -- ./good || echo code $?",
    );
    assert!(said.out.contains("virtual time") && said.out.ends_with("code 8\n"), "{}{}", said.out, said.err);
    assert!(said.err.contains("cannot write the recording") && said.err.contains("File too large"), "{}", said.err);
    let kept = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(kept("corefold.rec"), "the recording before");
    assert_eq!(kept("curve.json"), "the document before");
    place.file("a.rec", encode(&[long]));
    let said = limited(&place, 1000, "\"$corefold\" report --json curve.json a.rec || echo code $?");
    assert!(said.out.contains("virtual time") && said.out.ends_with("code 8\n"), "{}{}", said.out, said.err);
    assert!(said.err.contains("cannot write the JSON document"), "{}", said.err);
    assert_eq!(kept("curve.json"), "the document before");
    let said = place.sh(&format!("'{}' report --json - a.rec > /dev/full || echo code $?", corefold()));
    assert!(said.out == "code 8\n" && said.err.contains("No space left"), "{}{}", said.out, said.err);
    let files: Vec<String> =
        std::fs::read_dir(place.path("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!files.iter().any(|name| name.starts_with(".corefold-")), "{files:?}");
}
