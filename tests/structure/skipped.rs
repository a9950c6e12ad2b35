// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run of tests skips is listed at its end.
#[path = "../skipped.rs"]
#[allow(dead_code, reason = "none is skipped here")]
mod list;

use std::path::Path;
use std::process::Command;

/// What `scripts/skipped` prints around a shell script, and its exit code.
fn run(script: &str) -> (String, Option<i32>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(root.join("scripts/skipped"));
    command.args(["sh", "-c", script]).current_dir(root).env_remove("COREFOLD_SKIPPED");
    let output = command.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn the_list_is_at_the_end_each_once_and_in_order() {
    let says = |name: &str| format!("echo 'SKIPPED {name}: no compiler' >>\"$COREFOLD_SKIPPED\"; ");
    let script = [&says("second"), &says("first"), &says("second"), "echo passed"].concat();
    let printed = "passed\nSKIPPED, in whole or in part: 2\n  first: no compiler\n  second: no compiler\n";
    assert_eq!(run(&script), (printed.into(), Some(0)));
    // As `make stress`, whose parts have a list each when they are run by themselves.
    assert_eq!(run(&format!("scripts/skipped sh -c \"$(cat <<'END'\n{script}\nEND\n)\"")), (printed.into(), Some(0)));
}

#[test]
fn without_any_it_says_so_and_failures_stay_failures() {
    assert_eq!(run("echo passed"), ("passed\nno test was skipped\n".into(), Some(0)));
    // Tests that have not run have not been skipped.
    assert_eq!(run("exit 3"), (String::new(), Some(3)));
    let (printed, code) = run("echo SKIPPED one: why >>\"$COREFOLD_SKIPPED\"; exit 3");
    assert!(printed.ends_with("  one: why\n") && code == Some(3), "{printed} {code:?}");
}

#[test]
fn tests_that_skip_at_once_lose_no_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("list");
    // Longer than a block, which a buffer would part.
    let line = |n: usize| format!("SKIPPED {n}: {}\n", "long ".repeat(1000));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let path = &path;
            scope.spawn(move || (0..20).for_each(|n| list::append(path, &line(thread * 20 + n))));
        }
    });
    let written = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = written.split_inclusive('\n').collect();
    let mut expected: Vec<String> = (0..160).map(line).collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}
