// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold cc` and `corefold c++` over clang, in the versions that scripts/setup.sh installs.
use crate::common::{Place, Said, corefold, is_ours, said};
use crate::skipped::skipped;

const VERSIONS: [&str; 2] = ["14", "19"];

const PROGRAM: &str = "\
#include <stdio.h>
int shared;
int main(void) { __atomic_fetch_add(&shared, 1, __ATOMIC_SEQ_CST); printf(\"%d\\n\", shared); return 0; }
";

/// Those that are here. Without one, its part of a test is skipped.
fn installed() -> impl Iterator<Item = &'static str> {
    VERSIONS.into_iter().filter(|version| {
        let found = std::process::Command::new(format!("clang++-{version}")).arg("--version").output().is_ok();
        if !found {
            skipped(&format!("clang-{version} is not installed (scripts/setup.sh test installs it)"));
        }
        found
    })
}

/// A script in which `$CC` and `$CXX` are ours, over clang of this version.
fn sh(place: &Place, version: &str, script: &str) -> Said {
    let mut command = place.command("sh");
    command.args(["-ec", script]).env("CC", format!("{} cc", corefold())).env("CXX", format!("{} c++", corefold()));
    said(command.env("COREFOLD_CC", format!("clang-{version}")).env("COREFOLD_CXX", format!("clang++-{version}")))
}

#[track_caller]
fn builds(place: &Place, version: &str, script: &str) {
    let built = sh(place, version, script);
    assert_eq!((built.code, built.out.as_str(), built.err.as_str()), (Some(0), "", ""), "clang-{version}: {script}");
}

#[test]
fn every_way_to_build_gives_a_program_with_hooks() {
    for version in installed() {
        let place = Place::new();
        place.file("a.c", PROGRAM);
        place.file("a.cpp", PROGRAM);
        place.file("rsp", "-O2 -o f a.c");
        for (name, script) in [
            ("a", "$CC -Weverything -Wno-missing-variable-declarations -Werror -o a a.c"),
            ("b", "$CC -c -o b.o a.c; $CC -Werror -o b b.o"),
            ("c", "$CC -S -o c.s a.c; $CC -Werror -o c c.s"),
            ("d", "$CC -E -o d.i a.c; $CC -o d d.i"),
            ("e", "cat a.c | $CC -x c -o e -"),
            ("f", "$CC @rsp"),
            ("g", "$CC -fsanitize=thread -o g a.c"),
            ("h", "$CC -O2 -flto=thin -o h a.c"),
            ("j", "$CC -no-pie -fno-pie -g3 -o j a.c"),
            ("k", "$CC -Os -g0 -s -save-temps=obj -o k a.c"),
            ("l", "$CXX -pipe -fno-plt -o l a.cpp"),
            ("m", "$CXX -std=c++20 -O2 -c -o m.o a.cpp; $CXX -o m m.o"),
            ("n", "$CC -static-libgcc -Wl,-Bstatic -lgcc -Wl,-Bdynamic -Wl,--as-needed -o n a.c"),
            ("o", "$CC -O2 -fintegrated-as -march=x86-64-v3 -o o a.c"),
            ("p", "$CXX -x c++-header -o p.h.pch common.h; $CXX -include-pch p.h.pch -o p a.cpp"),
        ] {
            place.file("common.h", "#include <vector>\n");
            builds(&place, version, script);
            is_ours(&place, name);
        }
    }
}

#[test]
fn libraries_are_built_shared_and_static() {
    for version in installed() {
        let place = Place::new();
        place.file("lib.c", "int shared; int add(void) { return __atomic_fetch_add(&shared, 1, 5); }");
        place.file("main.c", "int add(void); int main(void) { return add(); }");
        builds(
            &place,
            version,
            "$CC -shared -fPIC -Wl,-z,defs -o libone.so lib.c; $CC -o one main.c -L. -lone -Wl,-rpath,. ; ./one
             $CC -c lib.c; ar rcs libtwo.a lib.o; $CC -o two main.c libtwo.a; ./two
             $CC -nostdlib -shared -fPIC -Wl,-z,defs -o three.so lib.c
             $CC -r -nostdlib -o four.o lib.o",
        );
    }
}

#[test]
fn compiling_alone_warns_of_nothing_and_needs_no_runtime() {
    for version in installed() {
        let place = Place::new();
        place.file("a.c", PROGRAM);
        place.file("a.h", "#include <stdio.h>\n");
        for line in ["-c a.c", "-S a.c", "-E a.c", "-M a.c", "-MM a.c", "-fsyntax-only a.c", "-c -MD -MF a.d a.c"] {
            let script = format!("unset COREFOLD_RUNTIME; $CC -Wall -Wextra -Werror {line} -o out");
            builds(&place, version, &format!("{script} > printed"));
        }
        builds(&place, version, "unset COREFOLD_RUNTIME; $CC -Werror a.h; $CC -Werror -c -static a.c");
    }
}

#[test]
fn debug_information_is_at_least_what_reports_need() {
    for version in installed() {
        let place = Place::new();
        place.file("a.c", PROGRAM);
        for option in ["", "-g0", "-g1", "-gline-tables-only", "-g3 -fdebug-macro", "-ggdb3"] {
            builds(&place, version, &format!("$CC -c {option} -o a.o a.c"));
            let info = place.sh("readelf --debug-dump=info a.o").out;
            assert!(info.contains("DW_TAG_base_type"), "{option}: no types");
            let macros = place.sh("readelf -S a.o").out.contains(".debug_macro");
            assert_eq!(macros, option.contains("-fdebug-macro"), "{option}");
        }
    }
}

/// Programs ask in three ways whether TSan looks on, and take another path if it does.
#[test]
fn the_program_does_not_notice_tsan() {
    let source = "
        #if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer) || __has_feature(__thread_sanitizer__)
        #error \"takes the path for TSan\"
        #endif
        #if __COREFOLD__ != 1
        #error \"cannot tell that it is simulated\"
        #endif
        int main(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); return __has_feature(thread_sanitizer); }\n";
    for version in installed() {
        let place = Place::new();
        place.file("a.c", source);
        builds(&place, version, "$CC -O2 -Weverything -pedantic-errors -Werror -fsanitize=thread -o a a.c; ./a");
    }
}

/// Everything else that clang has is there as ever, in every version of the languages.
#[test]
fn other_features_are_told_as_clang_tells_them() {
    let names = "address_sanitizer blocks c_alignas c_atomic c_generic_selections c_static_assert c_thread_local \
                 cxx_atomic cxx_auto_type cxx_binary_literals cxx_exceptions cxx_explicit_conversions cxx_init_captures \
                 cxx_lambdas cxx_nullptr cxx_override_control cxx_range_for cxx_rtti cxx_rvalue_references \
                 cxx_variable_templates cxx_variadic_templates enumerator_attributes gnu_asm is_pod matrix_types \
                 modules nullability nonsense objc_arc tls";
    let tests = names.split_whitespace().map(|name| format!("__has_feature({name}) __has_extension({name})\n"));
    let asked = tests.map(|test| {
        let (feature, extension) = test.trim().split_once(' ').unwrap();
        format!("#if {feature}\nyes {feature:?}\n#endif\n#if {extension}\nyes {extension:?}\n#endif\n")
    });
    for version in installed() {
        let place = Place::new();
        place.file("a.c", asked.clone().collect::<String>());
        for language in ["-x c -std=c89", "-x c -std=c17", "-x c++ -std=c++98", "-x c++ -std=c++20", "-x c -fmodules"] {
            let ours = sh(&place, version, &format!("$CC -E -P {language} a.c"));
            let theirs = sh(&place, version, &format!("$COREFOLD_CC -E -P {language} a.c"));
            assert!(theirs.out.contains("yes"), "{}", theirs.err);
            assert_eq!((ours.out, ours.err), (theirs.out, theirs.err), "clang-{version} {language}");
        }
    }
}

#[test]
fn questions_to_clang_are_answered_as_clang_does() {
    for version in installed() {
        let place = Place::new();
        for question in ["--version", "-dumpversion", "-dumpmachine", "-print-prog-name=ld", "-print-file-name=libc.so"]
        {
            let ours = sh(&place, version, &format!("$CC {question}"));
            let theirs = sh(&place, version, &format!("$COREFOLD_CC {question}"));
            assert_eq!((ours.code, ours.out, ours.err), (Some(0), theirs.out, String::new()), "{question}");
        }
        assert!(sh(&place, version, "$CC -v").err.contains("clang version"));
        place.file("a.c", PROGRAM);
        let steps = sh(&place, version, "$CC -### -o a a.c").err;
        assert!(steps.contains("libcorefold_rt.so") && !steps.contains("libclang_rt.tsan"), "{steps}");
        for wrong in ["$CC", "$CC -c nothing.c"] {
            assert_eq!(sh(&place, version, wrong).code, Some(1), "{wrong}");
        }
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    for version in installed() {
        let place = Place::new();
        place.file("a.c", PROGRAM);
        for (script, reason) in [
            ("$CC -static -o a a.c", "corefold cc: error: -static: a fully static program has its own copy of libc"),
            ("$CXX -fsanitize=memory -o a a.c", "-fsanitize=memory cannot be combined"),
            ("$CC --target=aarch64-linux-gnu -c a.c", "--target=aarch64-linux-gnu: corefold simulates x86-64"),
            ("$CC -target i686-linux-gnu -c a.c", "-target i686-linux-gnu: corefold simulates x86-64"),
        ] {
            let refused = sh(&place, version, script);
            assert_eq!(refused.code, Some(2), "{script}: {}", refused.err);
            assert!(refused.err.contains(reason), "{script}: {}", refused.err);
        }
    }
}
