// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of several instrumented shared libraries, linked and loaded while they run, of one compiler and of two.
use crate::harness::{Compiler, Place, Report, Simulation};
use std::path::Path;

const PARTS: [&str; 4] = ["main.c", "ledger.c", "audit.cpp", "plugin.c"];

/// A place with the program built: the main part and the plug-in by one compiler, the libraries by another.
fn built(main: Compiler, libraries: Compiler) -> Place {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/libraries");
    for part in PARTS.iter().chain(&["ledger.h"]) {
        std::fs::copy(source.join(part), place.path(part)).unwrap();
    }
    let script = format!(
        "export COREFOLD_CC={} COREFOLD_CXX={}
         $corefold cc $FLAGS -shared -fPIC -o libledger.so ledger.c
         $corefold c++ $FLAGS -std=c++20 -shared -fPIC -o libaudit.so audit.cpp -L. -lledger
         export COREFOLD_CC={}
         $corefold cc $FLAGS -shared -fPIC -o plugin.so plugin.c -L. -lledger
         $corefold cc $FLAGS -o accounts main.c -L. -lledger -laudit -Wl,-rpath,. -pthread -ldl",
        libraries.cc(),
        libraries.cxx(),
        main.cc()
    );
    let made = place.sh(&format!("FLAGS='-O2 -g -Wall -Werror'; {script}"));
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""), "{main:?} {libraries:?}: {}", made.out);
    place
}

fn simulated(place: &Place, cpus: &str) -> Report {
    let directory = place.directory().to_owned();
    let simulation = Simulation::of(&place.path("accounts")).cpus(cpus);
    let change = |command: &mut std::process::Command| {
        command.current_dir(directory);
    };
    let simulated = simulation.with(change).run();
    assert_eq!(simulated.said.code, Some(0), "{}{}", simulated.said.out, simulated.said.err);
    assert_eq!(simulated.printed(), "4000 booked, 4000 audited, 4000 rated\n");
    simulated.report()
}

/// It does what it does by itself, and each library's functions, lines and fields have their names.
fn check(main: Compiler, libraries: Compiler) {
    let place = built(main, libraries);
    assert_eq!(place.sh("./accounts").out, "4000 booked, 4000 audited, 4000 rated\n");
    let report = simulated(&place, "8");
    let run = report.at(8);
    let functions: Vec<&str> =
        run.0["functions"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str()).collect();
    for name in ["ledger_book", "audit_note", "plugin_rate"] {
        assert!(functions.contains(&name), "{main:?} {libraries:?}: {name} is not among {functions:?}");
    }
    let fields: Vec<String> = run.lines().flat_map(|l| l.fields()).map(String::from).collect();
    for field in ["ledger.booked", "journal.noted", "rates.asked"] {
        assert!(fields.iter().any(|f| f == field), "{main:?} {libraries:?}: {field} is not among {fields:?}");
    }
}

#[test]
fn shared_libraries_of_one_compiler() {
    Compiler::installed().for_each(|compiler| check(compiler, compiler));
}

#[test]
fn shared_libraries_of_two_compilers() {
    for clang in Compiler::installed().filter(|c| *c != Compiler::Gcc) {
        check(Compiler::Gcc, clang);
        check(clang, Compiler::Gcc);
    }
}

#[test]
fn a_library_in_the_place_of_another_is_left_as_it_is() {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/libraries");
    for part in ["replaced.c", "replaced_part.c"] {
        std::fs::copy(source.join(part), place.path(part)).unwrap();
    }
    let made = place.sh("echo 'char data[1 << 16];' >zero.c
         echo 'int data[1 << 14] = { 1 };' >one.c
         for part in zero one; do $corefold cc -O2 -g -shared -fPIC -o $part.so replaced_part.c $part.c; done
         $corefold cc -O2 -g -o replaced replaced.c -ldl
         $corefold run --cpus 1 -- ./replaced ./zero.so ./one.so ./zero.so");
    assert_eq!(made.code, Some(0), "{}{}", made.out, made.err);
    let printed = format!("{}{}", made.out, made.err);
    assert_eq!(printed.lines().filter(|line| *line == "0 changed").count(), 3, "{printed}");
}

/// Threads end, and libc frees their blocks under a lock, in the heap of the runtime or in the program's own; another
/// thread loads libraries with static thread-local storage, for which the loader takes the same lock.
#[test]
fn libraries_with_static_thread_local_storage_are_loaded_beside_threads_that_end() {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/libraries");
    for part in ["static_tls.c", "static_tls_part.c", "own_heap.c"] {
        std::fs::copy(source.join(part), place.path(part)).unwrap();
    }
    let made = place.sh("$corefold cc -O2 -g -shared -fPIC -o 1.so static_tls_part.c
         for part in 2 3 4 5 6 7 8; do cp 1.so $part.so; done
         $corefold cc -O2 -g -pthread -o theirs static_tls.c -ldl
         $corefold cc -O2 -g -fno-builtin -pthread -o own static_tls.c own_heap.c -ldl");
    assert_eq!(made.code, Some(0), "{}{}", made.out, made.err);
    for program in ["theirs", "own"] {
        let run = place.sh(&format!("$corefold run --cpus 2,16 --timeout 60 -- ./{program} ./[1-8].so"));
        assert_eq!(run.code, Some(0), "{program}: {}{}", run.out, run.err);
        assert!(run.err.contains("8 loaded"), "{program}: {}", run.err);
    }
}

/// The operators of a library are used, and by those for arrays, too.
#[test]
fn operators_of_a_library_are_used() {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/libraries");
    for part in ["pool.cpp", "pooled.cpp"] {
        std::fs::copy(source.join(part), place.path(part)).unwrap();
    }
    let made = place.sh("$corefold c++ -O2 -g -shared -fPIC -o libpool.so pool.cpp
         $corefold c++ -O2 -g -fno-builtin -o pooled pooled.cpp -L. -lpool -Wl,-rpath,.
         ./pooled
         $corefold run --cpus 2 -- ./pooled");
    assert_eq!(made.code, Some(0), "{}{}", made.out, made.err);
    let printed = format!("{}{}", made.out, made.err);
    assert_eq!(printed.matches("20 taken, 0 left, 0 wrong").count(), 2, "{printed}");
}

/// liburcu's does: the kernel knows, as the simulation begins after a library's constructors.
#[test]
fn what_a_library_registers_for_as_it_is_loaded_is_known() {
    let place = Place::new();
    place.file(
        "library.c",
        "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <unistd.h>\n\
         __attribute__((constructor)) static void begin(void) { syscall(SYS_membarrier, 16, 0, 0); }\n\
         long barrier(void) { return syscall(SYS_membarrier, 8, 0, 0); }\n",
    );
    place.file("main.c", "long barrier(void);\nint main(void) { return barrier() != 0; }\n");
    for compiler in ["$corefold cc", "gcc"] {
        let made = place.sh(&format!(
            "{compiler} -O2 -shared -fPIC -o library.so library.c && $corefold cc -O2 main.c ./library.so -o main"
        ));
        assert_eq!(made.code, Some(0), "{}", made.err);
        let simulated = place.sh("./main && $corefold run --cpus 4 -- ./main");
        assert_eq!(simulated.code, Some(0), "{compiler}: {}", simulated.out);
    }
}

/// Calls of a library's constructor, before the simulation begins, know the process by the ID that `getpid` returns there.
#[test]
fn ids_in_constructors_of_libraries_are_the_runs() {
    let place = Place::new();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    for part in ["libraries/early_ids.c", "libc/check.h"] {
        std::fs::copy(programs.join(part), place.path(part.rsplit('/').next().unwrap())).unwrap();
    }
    place.file("main.c", "void check_again(void);\nint main(void) { check_again(); return 0; }\n");
    for compiler in ["$corefold cc", "gcc"] {
        let made = place.sh(&format!(
            "{compiler} -O2 -shared -fPIC -o library.so early_ids.c && $corefold cc -O2 main.c ./library.so -o main"
        ));
        assert_eq!(made.code, Some(0), "{}", made.err);
        let run = place.sh("./main && $corefold run --cpus 4,80 -- ./main");
        assert_eq!(run.code, Some(0), "{compiler}: {}{}", run.out, run.err);
    }
}
