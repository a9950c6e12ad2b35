// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build systems that take `corefold cc` for a compiler: make, CMake, and what configure scripts do.
use crate::common::{Place, corefold};

const MAIN: &str = "int add(void); int main(void) { return add(); }\n";
const LIB: &str = "int shared; int add(void) { return __atomic_fetch_add(&shared, 1, 5); }\n";

fn project() -> Place {
    let place = Place::new();
    place.file("main.c", MAIN);
    place.file("lib.c", LIB);
    place
}

#[track_caller]
fn built(place: &Place, script: &str, program: &str) {
    let done = place.sh(script);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let symbols = place.sh(&format!("./{program}; readelf -W --dyn-syms {program}")).out;
    assert!(symbols.contains("corefold_block_unknown"), "{symbols}");
}

#[test]
fn make_with_its_implicit_rules() {
    let place = project();
    place.file("Makefile", "CFLAGS = -O2 -Wall -Werror\nmain: main.o libadd.a(lib.o)\n");
    built(&place, &format!("CC='{} cc' make -e", corefold()), "main");
}

#[test]
fn cmake_takes_it_from_the_environment_and_as_a_list() {
    let place = project();
    place.file(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)
         project(tiny C CXX)
         find_package(Threads REQUIRED)
         add_library(add SHARED lib.c)
         add_executable(main main.cpp)
         target_link_libraries(main add Threads::Threads)
         include(CheckCSourceCompiles)
         check_c_source_compiles(\"int main(void) { return 0; }\" WORKS)
         if(NOT WORKS)
           message(FATAL_ERROR \"a program does not compile\")
         endif()",
    );
    place.file("main.cpp", "extern \"C\" int add(void);\nint main() { return add(); }\n");
    let command = corefold();
    built(&place, &format!("CC='{command} cc' CXX='{command} c++' cmake -B one && cmake --build one"), "one/main");
    let lists =
        format!("-DCMAKE_C_COMPILER='{command};cc' -DCMAKE_CXX_COMPILER='{command};c++' -DCMAKE_BUILD_TYPE=Release");
    built(&place, &format!("cmake -B two {lists} && cmake --build two"), "two/main");
}

/// The probes of an autoconf script, in its order, each on its own terms.
#[test]
fn a_configure_script_accepts_it() {
    let place = project();
    let script = "
        $CC --version > /dev/null; $CC -v 2> /dev/null
        echo 'int main(void) { return 0; }' > conftest.c
        $CC conftest.c; test -f a.out; ./a.out                       # works, and is no cross compiler
        $CC -o conftest conftest.c; ./conftest
        $CC -c conftest.c; test -f conftest.o                        # object files end in .o
        echo '#ifndef __GNUC__\nchoke me\n#endif' > gnu.c; $CC -c gnu.c
        $CC -E conftest.c > conftest.i; grep -q 'int main' conftest.i
        echo '#include <no/such.h>' > no.c; ! $CC -E no.c > /dev/null 2>&1
        echo 'char floor(); int main(void) { return floor(); }' > m.c; $CC -o m m.c -lm
        echo 'char no_such(); int main(void) { return no_such(); }' > n.c; ! $CC -o n n.c > /dev/null 2>&1
        $CC -MT x.o -MD -MP -MF x.d -c -o x.o conftest.c; test -f x.d
        $CC -print-search-dirs > /dev/null; test -x \"$($CC -print-prog-name=ld)\" -o -n \"$($CC -print-prog-name=ld)\"
        $CC -shared -fPIC -o libadd.so lib.c -Wl,-soname -Wl,libadd.so.1
        $CC -o main main.c lib.c";
    built(&place, &format!("CC='{} cc'; {script}", corefold()), "main");
}

/// The command by its one-word names, in a directory of a place.
fn wrappers(place: &Place) -> String {
    std::fs::create_dir(place.path("bin")).unwrap();
    std::fs::copy(corefold(), place.path("bin/corefold")).unwrap();
    let makefile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Makefile");
    let made = place.sh(&format!("make -s -f '{makefile}' wrappers BUILT=\"$PWD/bin\""));
    assert_eq!(made.code, Some(0), "{}", made.err);
    place.path("bin").display().to_string()
}

/// ck's configure keeps the first word of CC only; other scripts quote it, or look it up with `command -v`.
#[test]
fn one_word_names_work_where_two_words_do_not() {
    let place = project();
    let bin = wrappers(&place);
    let configure = "
        CC=`echo $CC | cut -d' ' -f1`
        test -x \"`command -v \"$CC\"`\"
        \"$CC\" --version | head -1 | grep -q gcc
        \"$CC\" -O2 -Wall -Werror -o main main.c lib.c";
    built(&place, &format!("PATH='{bin}':$PATH CC=corefold-cc; {configure}"), "main");
    // As links and under other names, as compiler caches are put in front.
    let links = "mkdir front; ln -s ../bin/corefold-cc front/gcc; ln -s \"$PWD/bin/corefold\" front/corefold-c++
        PATH=\"$PWD/front:$PATH\"; ln -s bin/corefold-cc cc; COREFOLD_CC=/usr/bin/gcc; export COREFOLD_CC";
    built(
        &place,
        &format!("{links}; gcc -O2 -o one main.c lib.c; ./cc -c lib.c; ./cc -c main.c; gcc -o two main.o lib.o"),
        "two",
    );
    place.file("main.cpp", "extern \"C\" int add(void);\nint main() { return add(); }\n");
    built(
        &place,
        "gcc -c -O2 lib.c -o lib.o; PATH=\"$PWD/front:$PATH\"; corefold-c++ -O2 -o three main.cpp lib.o",
        "three",
    );
    let alone = place.sh("mkdir alone; ln bin/corefold-cc alone/; ./alone/corefold-cc -c lib.c || echo code $?");
    assert!(alone.out == "code 2\n" && alone.err.contains("needs the command corefold beside it"), "{}", alone.err);
}

#[test]
fn cmake_takes_the_one_word_names() {
    let place = project();
    let bin = wrappers(&place);
    place.file("main.cpp", "extern \"C\" int add(void);\nint main() { return add(); }\n");
    place.file(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(tiny C CXX)\nfind_package(Threads REQUIRED)
         add_library(add STATIC lib.c)\nadd_executable(main main.cpp)\ntarget_link_libraries(main add Threads::Threads)",
    );
    let script = format!("PATH='{bin}':$PATH CC=corefold-cc CXX=corefold-c++ cmake -B one && cmake --build one");
    built(&place, &script, "one/main");
}
