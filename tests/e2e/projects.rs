// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordinary projects, built by their own build systems with `corefold cc` as the compiler, and run.
use crate::harness::{Place, Report, Simulation};
use std::path::Path;

/// A copy of a project, as its build writes into it.
fn copy(project: &str) -> Place {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/projects").join(project);
    for entry in std::fs::read_dir(source).unwrap().flatten() {
        std::fs::copy(entry.path(), place.path(entry.file_name().to_str().unwrap())).unwrap();
    }
    place
}

fn build(place: &Place, script: &str) {
    let built = place.sh(script);
    assert_eq!(built.code, Some(0), "{}{}", built.out, built.err);
}

fn simulate(place: &Place, program: &str, prints: &str) -> Report {
    let simulated = Simulation::of(&place.path(program)).cpus("2").run();
    assert_eq!(simulated.said.code, Some(0), "{}{}", simulated.said.out, simulated.said.err);
    assert_eq!(simulated.printed(), prints);
    simulated.report()
}

#[test]
fn a_makefile_with_a_static_and_a_shared_library() {
    let place = copy("make");
    build(&place, r#"make -j2 CC="$corefold cc""#);
    let report = simulate(&place, "served", "2000 put, 2000 taken\n");
    let run = report.at(2);
    let functions: Vec<&str> =
        run.0["functions"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str()).collect();
    for name in ["queue_put", "queue_take", "stats_put", "stats_taken"] {
        assert!(functions.contains(&name), "{name} is not among {functions:?}");
    }
    let lines: Vec<String> = run.lines().flat_map(|l| l.fields()).map(String::from).collect();
    for field in ["stats.put", "stats.taken", "queue.lock"] {
        assert!(lines.iter().any(|f| f == field), "{field} is not among {lines:?}");
    }
    let lock = &run.0["locks"][0];
    assert_eq!(lock["name"], "queue.lock");
    assert!(lock["acquisitions"].as_u64() >= Some(4000), "{lock}");
}

#[test]
fn a_cmake_project_of_two_languages() {
    let place = copy("cmake");
    build(&place, r#"CC="$corefold cc" CXX="$corefold c++" cmake -S . -B build && cmake --build build -j2"#);
    let report = simulate(&place, "build/count", "0\n");
    let line = report.at(2).lines().next().expect("a line");
    assert!(line.text("object").starts_with("Tally at main.cpp:"), "{}", line.text("object"));
    assert_eq!(line.fields()[..2], ["Tally.ups_", "Tally.downs_"]);
    let functions: Vec<&str> = line.sites().iter().filter_map(|s| s["function"].as_str()).collect();
    assert!(functions.contains(&"Tally::up") && functions.contains(&"Tally::down"), "{functions:?}");
}

/// What configure scripts ask a compiler.
#[test]
fn questions_are_answered_as_gcc_answers_them() {
    let place = Place::new();
    place
        .file("conftest.c", "#ifndef __GNUC__\nchoke me\n#endif\n#include <pthread.h>\nint main(void) { return 0; }\n");
    let script = r#"
        for question in --version -dumpversion -dumpmachine -print-search-dirs '-v -E -x c /dev/null' '-E -P conftest.c'; do
            gcc $question > theirs 2> /dev/null
            $corefold cc $question > ours 2> /dev/null
            grep -v corefold ours > ours.rest; cmp theirs ours.rest || { echo "$question"; diff theirs ours.rest; exit 1; }
        done
        $corefold cc -c -Wall -Werror conftest.c && $corefold cc -o conftest conftest.o -pthread && ./conftest
        $corefold cc -M conftest.c | grep -q pthread.h
        echo 'int main(void) { return 0; }' | $corefold cc -x c - -o piped && ./piped"#;
    build(&place, script);
}

#[test]
fn a_fully_static_link_is_refused_with_the_reason() {
    let place = Place::new();
    place.file("a.c", "int main(void) { return 0; }");
    let refused = place.corefold("cc -static -o a a.c");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("-static") && refused.err.contains("cannot be taken over"), "{}", refused.err);
    assert!(!place.path("a").exists());
}

/// Nothing of TSan's runtime gets into a program.
#[test]
fn tsans_runtime_is_not_linked() {
    let place = copy("make");
    build(&place, r#"make CC="$corefold cc" && ldd served libstats.so > libraries"#);
    let libraries = std::fs::read_to_string(place.path("libraries")).unwrap();
    assert!(libraries.contains("libcorefold_rt.so") && !libraries.contains("tsan"), "{libraries}");
}
