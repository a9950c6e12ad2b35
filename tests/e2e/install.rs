// SPDX-License-Identifier: MIT OR Apache-2.0
//! `make install`: what others find by pkg-config and CMake, and the commands.
use crate::harness::{Place, corefold, skipped};
use std::path::Path;

const USES_KIT: &str = "#include <corefold/cf_space.h>
int main(void) { return cf_cpu_count() ? 0 : 1; }
";
const USES_VFS: &str = "#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>
int main(void)
{
    struct cf_vfs *fs;
    int error;
    cf_rcu_register_thread();
    error = cf_vfs_new(&fs, 0);
    if (!error)
        cf_vfs_free(fs);
    cf_rcu_unregister_thread();
    return error ? 1 : 0;
}
";
const PROJECT: &str = "cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(corefold_kit REQUIRED)
add_executable(uses_kit uses_kit.c)
target_link_libraries(uses_kit PRIVATE corefold::kit)
if(TARGET corefold::vfs)
  add_executable(uses_vfs uses_vfs.c)
  target_link_libraries(uses_vfs PRIVATE corefold::vfs)
endif()
";

#[test]
#[ignore = "takes long: make stress runs it"]
fn what_is_installed_is_found_and_runs() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = corefold().parent().expect("a directory").display();
    place.file("uses_kit.c", USES_KIT);
    place.file("uses_vfs.c", USES_VFS);
    place.file("CMakeLists.txt", PROJECT);
    let installed = place.sh(&format!(
        "make -s -o build -C {} install PREFIX=$PWD/usr BUILT={built} CARGO_TARGET_DIR=$PWD/target",
        root.display()
    ));
    assert_eq!(installed.code, Some(0), "{}{}", installed.out, installed.err);
    let script = r#"
        PATH=$PWD/usr/bin:$PATH
        export PKG_CONFIG_PATH=$(find $PWD/usr -name pkgconfig)
        corefold --version
        cargo corefold --help | grep -q Examples:
        with_pkg_config() { # PROGRAM PACKAGE
            command -v pkg-config >log || { echo "left out: pkg-config is not installed"; return; }
            cc $1.c $(pkg-config --cflags --libs $2) -o $1
            ./$1
        }
        with_pkg_config uses_kit corefold-kit
        cmake -S . -B build -DCMAKE_PREFIX_PATH=$PWD/usr >log && cmake --build build >>log && build/uses_kit
        if [ -e usr/include/corefold/cf_vfs.h ] && [ -n "$(find usr -name 'libcorefold_vfs*')" ]; then
            with_pkg_config uses_vfs corefold-vfs
            build/uses_vfs
        else
            echo "$0" | grep "install: without libcorefold_vfs"
        fi
        if [ -e usr/bin/corefold-fs ]; then
            corefold-fs --help | grep -q Examples: && [ -n "$(find usr/share/doc -name corefold-fs.md)" ]
        else
            echo "$0" | grep "install: without corefold-fs"
        fi
    "#;
    let used = place.command("sh").args(["-ec", script, &installed.out]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(used.status.success(), "{}{}{}", installed.out, text(&used.stdout), text(&used.stderr));
    if text(&used.stdout).contains("left out: ") {
        skipped("pkg-config is not installed");
    }
}
