// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate `corefold`, and the example repository that uses it.
use crate::cargo::Workspace;
use crate::harness::{Place, Said, said};
use std::path::Path;

/// The folder `rust` of the repository, as two folders beside each other.
fn example() -> Workspace {
    Workspace::of("../rust", "")
}

/// `cargo test` in the example repository.
fn tested(workspace: &Workspace, line: &str, path: Option<&str>) -> Said {
    let mut cargo = workspace.cargo(&format!("test --offline {line}"));
    if let Some(path) = path {
        cargo.env("PATH", path);
    }
    said(cargo.current_dir(workspace.0.path("example")))
}

#[test]
fn a_scaling_test_passes_fails_with_the_finding_and_is_skipped_aloud() {
    let workspace = example();
    let fine = tested(&workspace, "", None);
    assert_eq!(fine.code, Some(0), "{}{}", fine.out, fine.err);
    assert!(fine.out.contains("a_queue_for_each_thread_scales ... ok"), "{}", fine.out);
    assert!(!fine.err.contains("SKIPPED"), "{}", fine.err);
    let shown = workspace.0.corefold("report example/target/corefold/bench_pool.rec");
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("visits of `requests` per second"), "{}", shown.out);
    // The bound that one queue misses: a benchmark's test, with the finding in the panic's message.
    let missed = tested(&workspace, "--test scaling -- --ignored", None);
    assert_eq!(missed.code, Some(101), "{}{}", missed.out, missed.err);
    let panic = missed.out.split("panicked at").nth(1).unwrap_or_else(|| panic!("{}", missed.out));
    assert!(panic.contains("bench_one_lock: the speed-up from 1 CPU to 16 CPUs is "), "{panic}");
    assert!(panic.contains("below 8.0×") && panic.contains("Mutex queues.waiting"), "{panic}");
    // Without the command: as on a machine where it was never installed.
    let tool = Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    let without = tested(&workspace, "--test scaling -- --include-ignored", Some(&format!("{tool}:/usr/bin:/bin")));
    assert_eq!(without.code, Some(0), "{}{}", without.out, without.err);
    for target in ["bench_pool", "bench_one_lock"] {
        let line = format!("SKIPPED: the scaling test of {target}: corefold is not installed (error: no such command");
        assert!(without.err.contains(&line), "{}", without.err);
    }
}

/// With the marks and without them, rustc makes the same code.
#[test]
fn marks_cost_nothing_natively() {
    let place = Place::new();
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rust/corefold/src/lib.rs");
    let rustc = |words: &str| {
        let mut rustc = place.command("rustc");
        rustc.args(["--edition", "2021", "-O", "--crate-type", "lib"]).args(words.split(' '));
        let done = said(&mut rustc);
        assert_eq!(done.code, Some(0), "{}", done.err);
    };
    rustc(&format!("--crate-name corefold --out-dir {} {}", place.directory().display(), library.display()));
    let source = |marks: [&str; 4]| {
        let [begin, label, progress, end] = marks;
        format!(
            "#[no_mangle] pub fn work(all: &[u64]) -> u64 {{ {begin} {label} let mut sum = 0;\n\
             for one in all {{ sum ^= std::hint::black_box(*one); {progress} }}\n{end} sum }}\n"
        )
    };
    let marks =
        ["corefold::begin!();", "corefold::label(all, \"all\");", "corefold::progress!(\"one\");", "corefold::end!();"];
    let code = |name: &str, marks: [&str; 4]| {
        place.file(&format!("{name}.rs"), source(marks));
        rustc(&format!("--crate-name program --extern corefold=libcorefold.rlib --emit asm={name}.s {name}.rs"));
        let text = std::fs::read_to_string(place.path(&format!("{name}.s"))).unwrap();
        let body = text.split("\nwork:\n").nth(1).expect("the function").split("\n.Lfunc_end").next().unwrap();
        assert!(body.contains("ret"), "{text}");
        body.to_owned()
    };
    assert_eq!(code("marked", marks), code("plain", [""; 4]));
}

#[test]
fn the_workflow_names_what_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let workflow = read("rust/example/.github/workflows/scaling.yml");
    assert!(workflow.contains("cargo corefold --version") && workflow.contains("cargo test --locked"), "{workflow}");
    assert!(read("rust/example/Cargo.lock").contains("name = \"request-pool\""), "--locked needs it");
    let version =
        read("rust/corefold/Cargo.toml").lines().find_map(|line| line.strip_prefix("version = ").map(String::from));
    let version = version.expect("a version");
    assert_eq!(version.trim_matches('"'), env!("CARGO_PKG_VERSION"), "of the crate, and of the command");
    assert!(workflow.contains(&format!("COREFOLD: v{}\n", version.trim_matches('"'))), "{workflow}");
}
