// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs with another allocator than the C library's: in the program itself, in a library that it is linked with,
//! and in one that is preloaded. libc's own requests go to it, too, some of them under locks of libc's.
use crate::harness::{Program, Simulation, package, program, program_with, skipped, stress};
use std::path::Path;

const TRADE: &str = "allocators/trade.c";
const PRINTED: &str = "1920 objects, 0 wrong\n";

/// Runs to its end at all counts, and prints the same. Returns the last report.
fn trades(program: &Program, preloaded: Option<&str>) -> String {
    let (counts, rounds) = if stress() { (["2", "8", "32", "80"].as_slice(), 20) } else { (["32"].as_slice(), 2) };
    let mut report = String::new();
    for cpus in counts {
        let simulation = Simulation::of(program).cpus(cpus).args(&format!("32 {rounds}"));
        let run = simulation.with(|command| _ = preloaded.map(|library| command.env("LD_PRELOAD", library))).run();
        assert_eq!(run.said.code, Some(0), "{preloaded:?} at {cpus} CPUs: {}{}", run.said.err, run.said.out);
        assert_eq!(run.printed(), PRINTED, "{preloaded:?} at {cpus} CPUs");
        report = run.said.out.clone();
    }
    report
}

fn mimalloc(options: &[&str], source: &str) -> Program {
    let directory = package("mimalloc", "libmimalloc-sys").join("c_src/mimalloc/v3");
    let path = |name: &str| directory.join(name).into_os_string().into_string().expect("a path in Unicode");
    let include = ["include", "src"].map(|directory| format!("-I{}", path(directory)));
    let all = path("src/static.c");
    // All of it is one source, which takes long to optimise.
    let own = ["-O0", "-DNDEBUG", "-DMI_MALLOC_OVERRIDE", "-fno-builtin-malloc", &include[0], &include[1], &all];
    program_with(source, &[&own, options].concat())
}

fn text(program: &Program) -> &str {
    program.to_str().expect("a path in Unicode")
}

/// mimalloc with hooks: its own accesses are simulated, wherever it is.
#[test]
fn an_allocator_with_hooks_is_simulated() {
    let sees_it = |report: String| assert!(report.contains("mi_"), "{report}");
    sees_it(trades(&mimalloc(&[], TRADE), None));
    let shared = ["-shared", "-fPIC", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT", "-ftls-model=initial-exec"];
    let library = mimalloc(&shared, "allocators/nothing.c");
    sees_it(trades(&program(TRADE), Some(text(&library))));
    sees_it(trades(&program_with(TRADE, &["-Wl,--no-as-needed", text(&library)]), None));
}

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

/// Where Debian's packages have them, and what else their archives need.
const WITHOUT_HOOKS: [(&str, &str, &str); 2] = [
    ("libjemalloc.so.2", "libjemalloc.a", "libjemalloc-dev"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc_minimal.a", "libgoogle-perftools-dev"),
];

/// jemalloc and tcmalloc as they come: linked into the program they are used; as libraries the runtime's heap stands in
/// for them, and the report says so.
#[test]
fn allocators_without_hooks() {
    for (library, archive, package) in WITHOUT_HOOKS {
        let [library, archive] = [library, archive].map(|name| format!("{LIBRARIES}/{name}"));
        if !Path::new(&library).exists() || !Path::new(&archive).exists() {
            skipped(&format!("{package} is not installed (scripts/setup.sh test installs it)"));
            continue;
        }
        trades(&program_with(TRADE, &[&archive, "-lstdc++", "-lm"]), None);
        let linked = program_with(TRADE, &["-Wl,--no-as-needed", &library]);
        for report in [trades(&program(TRADE), Some(&library)), trades(&linked, None)] {
            assert!(report.contains("has no hooks: the runtime's heap"), "{library}: {report}");
        }
    }
}
