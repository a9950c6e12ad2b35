// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold cc` and `corefold c++`, over the gcc of this machine.
use crate::common;
use crate::common::{Place, corefold, is_ours};

const PROGRAM: &str = "\
#include <stdio.h>
int shared;
int main(void) { __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST); printf(\"%d\\n\", shared); return 0; }
";

#[test]
fn every_way_to_build_gives_a_program_with_hooks() {
    let place = Place::new();
    place.file("a.c", PROGRAM);
    place.file("a.cpp", PROGRAM);
    place.file("rsp", "-O2 -o f a.c");
    let cc = format!("{} cc", corefold());
    for (name, script) in [
        ("a", "$CC -Wall -Wextra -Werror -o a a.c"),
        ("b", "$CC -c -o b.o a.c; $CC -o b b.o"),
        ("c", "$CC -S -o c.s a.c; $CC -o c c.s"),
        ("d", "$CC -E -o d.i a.c; $CC -o d d.i"),
        ("e", "cat a.c | $CC -x c -o e -"),
        ("f", "$CC @rsp"),
        ("g", "$CC -fsanitize=thread -o g a.c"),
        ("h", "$CC -O2 -flto -fuse-linker-plugin -o h a.c"),
        ("i", "$CC -c -flto -ffat-lto-objects -o i.o a.c; $CC -flto -o i i.o"),
        ("j", "$CC -no-pie -fno-pie -g3 -o j a.c"),
        ("k", "$CC -Os -g0 -s -save-temps=obj -o k a.c"),
        ("l", "$CXX -o l a.cpp"),
        ("m", "$CXX -std=c++20 -O2 -c -o m.o a.cpp; $CXX -o m m.o"),
        ("n", "$CC -static-libgcc -Wl,-Bstatic -lgcc -Wl,-Bdynamic -Wl,--as-needed -o n a.c"),
    ] {
        let built = place.sh(&format!("CC='{cc}'; CXX='{}'; {script}", cc.replace(" cc", " c++")));
        assert_eq!((built.code, built.out.as_str(), built.err.as_str()), (Some(0), "", ""), "{script}");
        is_ours(&place, name);
    }
}

#[test]
fn libraries_are_built_shared_and_static() {
    let place = Place::new();
    place.file("lib.c", "int shared; int add(void) { return __atomic_fetch_add(&shared, 1, 5); }");
    place.file("main.c", "int add(void); int main(void) { return add(); }");
    let built = place.sh(&format!(
        "CC='{} cc'
         $CC -shared -fPIC -Wl,-z,defs -Wl,--no-undefined -o libone.so lib.c; $CC -o one main.c -L. -lone -Wl,-rpath,. ; ./one
         $CC -c lib.c; ar rcs libtwo.a lib.o; $CC -o two main.c libtwo.a; ./two
         $CC -nostdlib -shared -fPIC -Wl,-z,defs -o three.so lib.c
         $CC -r -nostdlib -o four.o lib.o",
        corefold()
    ));
    assert_eq!((built.code, built.err.as_str()), (Some(0), ""));
}

#[test]
fn compiling_alone_warns_of_nothing_and_needs_no_runtime() {
    let place = Place::new();
    place.file("a.c", PROGRAM);
    for options in ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-c -MD -MF a.d", "-c -static"] {
        let line = format!("cc -Wall -Wextra -Werror {options} -o out a.c");
        let mut command = place.command(corefold());
        let done = common::said(command.args(line.split(' ')).env_remove("COREFOLD_RUNTIME"));
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn debug_information_is_at_least_what_reports_need() {
    let place = Place::new();
    place.file("a.c", PROGRAM);
    for (option, macros) in [("", false), ("-g0", false), ("-g1", false), ("-g3", true), ("-ggdb3", true)] {
        assert_eq!(place.corefold(&format!("cc -c {option} -o a.o a.c")).code, Some(0));
        let info = place.sh("readelf --debug-dump=info a.o").out;
        assert!(info.contains("DW_TAG_base_type"), "{option}: no types");
        let sections = place.sh("readelf -S a.o").out;
        assert_eq!(sections.contains(".debug_macro"), macros, "{option}");
    }
}

/// gcc warns that TSan ignores fences, and defines a macro by which programs avoid them.
#[test]
fn the_program_does_not_notice_tsan() {
    let place = Place::new();
    let source = "
        #ifdef __SANITIZE_THREAD__
        #error \"takes the path for TSan\"
        #endif
        #if __COREFOLD__ != 1
        #error \"cannot tell that it is simulated\"
        #endif
        int main(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); return 0; }";
    place.build("a", source);
    assert_eq!(place.corefold("cc -O2 -Wall -Wextra -Werror -o a a.c").err, "");
    assert_eq!(place.corefold("cc -fsanitize=thread -E a.c").code, Some(0));
}

#[test]
fn questions_to_gcc_are_answered_as_gcc_does() {
    let place = Place::new();
    for question in ["--version", "-dumpversion", "-dumpmachine", "-print-prog-name=ld", "-print-file-name=libc.so"] {
        let ours = place.corefold(&format!("cc {question}"));
        assert_eq!((ours.code, ours.err), (Some(0), String::new()), "{question}");
        assert_eq!(ours.out, place.sh(&format!("gcc {question}")).out, "{question}");
    }
    assert!(place.corefold("cc -v").err.contains("gcc version"));
    assert!(place.corefold("c++ --version").out.starts_with("g++"));
    assert!(place.corefold("cc --help").out.starts_with("Usage: gcc"));
    assert_eq!(place.corefold("cc").code, place.sh("gcc").code);
    assert_eq!(place.corefold("cc -c nothing.c").code, Some(1));
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    let place = Place::new();
    place.file("a.c", PROGRAM);
    place.file("rsp", "-O2 \"-static\"");
    for (line, reason) in [
        ("cc -static -o a a.c", "corefold cc: error: -static: a fully static program has its own copy of libc"),
        ("cc -o a a.c @rsp", "-static: "),
        ("c++ -static-pie -o a a.c", "-static-pie: "),
        ("cc -fsanitize=address -o a a.c", "-fsanitize=address cannot be combined"),
        ("cc -m32 -c a.c", "-m32: "),
    ] {
        let refused = place.corefold(line);
        assert_eq!(refused.code, Some(2), "{line}");
        assert!(refused.err.contains(reason), "{line}: {}", refused.err);
        assert!(!place.path("a").exists());
    }
}

#[test]
fn a_compiler_or_runtime_that_is_not_there_is_said() {
    let place = Place::new();
    place.file("a.c", PROGRAM);
    let with = |variable: &str, value: &str| {
        common::said(place.command(corefold()).args(["cc", "a.c"]).env(variable, value)).err
    };
    assert!(with("COREFOLD_CC", "no-such-gcc").contains("cannot start no-such-gcc"));
    assert!(with("COREFOLD_CC", "no-such-clang").contains("cannot start no-such-clang"));
    assert!(with("COREFOLD_RUNTIME", "/no/such.so").contains("COREFOLD_RUNTIME names /no/such.so"));
    assert_eq!(with("COREFOLD_CC", "env LC_ALL=C gcc"), "");
}

/// Distributions build packages without a home directory.
#[test]
fn no_home_is_needed() {
    let place = Place::new();
    place.file("a.c", PROGRAM);
    let mut command = place.command(corefold());
    // In /proc, where not even root can create it.
    command.args(["cc", "-o", "a", "a.c"]).env_remove("XDG_CACHE_HOME").env("HOME", "/proc/no-home");
    command.env("TMPDIR", place.path("lib"));
    let built = common::said(&mut command);
    assert_eq!((built.code, built.err.as_str()), (Some(0), ""));
    is_ours(&place, "a");
}

#[test]
fn the_header_is_found_and_silent_without_the_runtime() {
    let place = Place::new();
    let source = "
        #include <corefold.h>
        #include <stdio.h>
        #ifdef __cplusplus
        extern \"C\" { int stub_progress; }
        #else
        int stub_progress;
        #endif
        int main(void) {
            int word = 0;
            COREFOLD_BEGIN();
            if (word == 0) COREFOLD_PROGRESS(\"unit\"); else COREFOLD_LABEL(&word, sizeof word, \"word\");
            COREFOLD_ACCESS_READ(&word, sizeof word);
            COREFOLD_ACCESS_WRITE(&word, sizeof word);
            COREFOLD_ACCESS_RMW(&word, sizeof word);
            COREFOLD_END();
            printf(\"%d\\n\", stub_progress);
            return 0;
        }";
    place.file("a.c", source);
    place.file("a.cpp", source);
    let strict = "-Wall -Wextra -Wpedantic -Wshadow -Werror";
    for (line, visits) in [("cc -std=c99", "1\n"), ("c++ -std=c++11", "1\n")] {
        let file = if line.starts_with("cc") { "a.c" } else { "a.cpp" };
        let built = place.corefold(&format!("{line} {strict} -o a {file}"));
        assert_eq!((built.code, built.err.as_str()), (Some(0), ""));
        assert_eq!(place.sh("./a").out, visits);
    }
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../driver/include");
    let plain = place.sh(&format!("gcc {strict} -I{include} -o b a.c; ./b; g++ {strict} -I{include} -o c a.cpp; ./c"));
    assert_eq!((plain.out.as_str(), plain.err.as_str()), ("0\n0\n", ""));
}
