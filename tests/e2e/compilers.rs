// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever compiles a program, it runs, and reports name the same things.
use crate::harness::{Compiler, Place, Program, Report, Simulation, corefold, native_with, programs, said, stress};
use crate::programs::check_built;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// For atomics of 16 bytes.
const WIDE: &[&str] = &["-mcx16", "-Wl,--no-as-needed,-latomic"];

fn checked(compiler: Compiler, sources: &[String]) {
    for source in sources {
        let checked = check_built(source, &native_with(source, WIDE), &compiler.program(source, WIDE));
        assert_eq!(checked, Ok(()), "{compiler:?}");
    }
}

#[test]
fn cxx20_with_every_compiler() {
    let sources = programs("cxx20");
    assert!(sources.len() >= 3, "{sources:?}");
    for (number, compiler) in Compiler::installed().enumerate() {
        // In `make test` another one for each compiler.
        let one = number % sources.len();
        checked(compiler, if stress() { &sources } else { &sources[one..=one] });
    }
}

/// A few of what others check with gcc at length.
#[test]
fn threads_with_clang() {
    let sources = ["pthread/mutex.c", "pthread/once.cpp"].map(String::from);
    Compiler::installed().filter(|c| *c != Compiler::Gcc).for_each(|compiler| checked(compiler, &sources));
}

fn demo(compiler: Compiler) -> Report {
    let program = compiler.program(&format!("{ROOT}/demo/counters.c"), &[]);
    Simulation::of(&program).cpus("1,80").args("{cpus}").report()
}

/// What a report says of the line that moves most: object, sharing, and the place with its line and field.
fn culprit(report: &Report) -> Vec<String> {
    let run = report.at(80);
    let line = run.lines().next().expect("a line");
    let site = &line.sites()[0];
    let mut said = vec![line.text("object").to_owned(), line.text("sharing").to_owned()];
    said.extend(["function", "file", "line", "kind"].map(|key| site[key].to_string()));
    // Which elements move most is a matter of nanoseconds.
    said.push(site["field"].as_str().expect("a field").split('[').next().unwrap_or_default().to_owned());
    said
}

#[test]
fn the_same_culprit_whatever_the_compiler() {
    let expected = culprit(&demo(Compiler::Gcc));
    assert!(expected[0].starts_with("struct counter at counters.c:"), "{expected:?}");
    for compiler in Compiler::installed() {
        let report = demo(compiler);
        assert_eq!(culprit(&report), expected, "{compiler:?}");
        let text = report.0["finding"]["text"].as_str().unwrap();
        for words in ["False sharing: count_request (counters.c:", "counter.delta["] {
            assert!(text.contains(words), "{compiler:?}: {words:?} is not in {text}");
        }
    }
}

/// Heap objects get their types from the statement that allocates, which every compiler describes in its own way.
#[test]
fn fields_of_heap_objects_whatever_the_compiler() {
    for compiler in Compiler::installed() {
        for (source, how, object, fields) in [
            ("names/heap.c", "malloc", "struct mailbox at heap.c:", ["mailbox.sent", "mailbox.received"]),
            ("names/heap.cpp", "new", "shop::Till at heap.cpp:", ["Till.sales", "Till.returns"]),
            ("names/heap.cpp", "vector", "shop::Till[5] at heap.cpp:", ["Till[3].sales", "Till[3].returns"]),
        ] {
            let program: Program = compiler.program(source, &[]);
            let report = Simulation::of(&program).cpus("2").args(how).report();
            let line = report.at(2).lines().next().expect("a line");
            assert!(line.text("object").starts_with(object), "{compiler:?} {how}: {}", line.text("object"));
            assert_eq!(line.fields()[..2], fields, "{compiler:?} {how}");
        }
    }
}

/// Every hook that the instrumentation of LLVM has a name for is one of the runtime's.
#[test]
fn the_runtime_has_every_hook_of_llvm() {
    let runtime = corefold().with_file_name("libcorefold_rt.so");
    let listed = said(Place::new().command("nm").args(["-D", "--defined-only"]).arg(runtime));
    let has = |hook: &String| listed.out.lines().any(|line| line.split_whitespace().nth(2) == Some(hook));
    let missing: Vec<String> = hooks_of_llvm().into_iter().filter(|hook| !has(hook)).collect();
    assert_eq!(missing, [""; 0]);
}

fn hooks_of_llvm() -> Vec<String> {
    let mut all: Vec<String> =
        ["init", "func_entry", "func_exit", "ignore_thread_begin", "ignore_thread_end", "vptr_read", "vptr_update"]
            .iter()
            .chain(&["memcpy", "memmove", "memset", "atomic_thread_fence", "atomic_signal_fence"])
            .map(|name| format!("__tsan_{name}"))
            .collect();
    all.push("__sanitizer_cov_trace_pc".into());
    for bytes in [1, 2, 4, 8, 16] {
        for kind in ["read", "write"] {
            all.extend(
                ["", "volatile_", "unaligned_", "unaligned_volatile_"].map(|how| format!("__tsan_{how}{kind}{bytes}")),
            );
        }
        all.extend(["", "unaligned_"].map(|how| format!("__tsan_{how}read_write{bytes}")));
        for operation in ["load", "store", "exchange", "compare_exchange_val"] {
            all.push(format!("__tsan_atomic{}_{operation}", bytes * 8));
        }
        for operation in ["add", "sub", "and", "or", "xor", "nand"] {
            all.push(format!("__tsan_atomic{}_fetch_{operation}", bytes * 8));
        }
    }
    all
}

/// The list above is not all that clang calls, if it ever learns more: this looks at what it does call.
#[test]
fn the_runtime_has_every_hook_that_clang_calls() {
    let source = Path::new(ROOT).join("tests/programs/hooks/every.cpp");
    for compiler in Compiler::installed().filter(|c| *c != Compiler::Gcc) {
        for options in ["-O0", "-O2", "-O3 -march=x86-64-v3", "-O1 -mllvm -tsan-distinguish-volatile"] {
            let place = Place::new();
            let built = said(
                place
                    .command(corefold())
                    .arg("c++")
                    .args(options.split(' '))
                    .args(["-mcx16", "-shared", "-fPIC", "-Wl,-z,defs", "-o", "every.so"])
                    .arg(&source)
                    .env("COREFOLD_CXX", compiler.cxx()),
            );
            assert_eq!((built.code, built.err.as_str()), (Some(0), ""), "{compiler:?} {options}");
            let calls = place.sh("nm -D -u every.so").out;
            for hook in ["__tsan_unaligned_", "__tsan_atomic128_compare_exchange_val", "__tsan_vptr_update"] {
                assert!(calls.contains(hook), "{compiler:?} {options}: {hook} is not among {calls}");
            }
        }
    }
}
