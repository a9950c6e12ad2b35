// SPDX-License-Identifier: MIT OR Apache-2.0
#[test]
fn all_are_counted() {
    assert_eq!(pool::count(4), 4 * 10_000);
}

#[test]
#[should_panic(expected = "at the end")]
fn panics_unwind() {
    assert_eq!(pool::mixed(1), 1, "at the end");
}

#[test]
fn the_package_is_the_directory() {
    assert!(std::path::Path::new("c/mix.c").is_file());
}
