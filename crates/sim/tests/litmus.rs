// SPDX-License-Identifier: MIT OR Apache-2.0
//! Litmus tests (`litmus/`), without a compiled program, against an independent machine of x86-TSO (`common/tso.rs`).
mod common;

use common::program::{Litmus, Pattern};
use common::schedule::Schedule;
use common::walker::{Start, walk};
use common::{in_time, tso};
use std::path::Path;

fn tests() -> Vec<Litmus> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus");
    let mut files: Vec<_> = folder.read_dir().expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).expect("a text");
    files.iter().map(|path| Litmus::parse(&path.file_stem().expect("a name").to_string_lossy(), &read(path))).collect()
}

/// All atomic, all plain, and every other one.
const PLAIN: [u32; 4] = [0, !0, 0x5555_5555, 0xaaaa_aaaa];
const STARTS: [Start; 5] = [Start::Shared, Start::Untouched, Start::Owned(0), Start::Owned(1), Start::Held(0)];
const SKIPS_AFTER: u32 = 3;

#[test]
fn the_oracle_allows_what_the_files_say() {
    for test in tests() {
        let outcomes = tso::outcomes(&test, true);
        let seen = |pattern: &Pattern| outcomes.iter().any(|outcome| pattern.matches(outcome));
        let wrong = test.allowed.iter().filter(|p| !seen(p)).chain(test.forbidden.iter().filter(|p| seen(p)));
        let wrong: Vec<&str> = wrong.map(|pattern| &pattern.text[..]).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}; {outcomes:x?}", test.name);
    }
}

#[test]
fn the_orders_of_atomic_accesses_have_the_outcomes_that_the_oracle_allows() {
    for test in tests() {
        for (start, together) in [(Start::Shared, false), (Start::Untouched, true)] {
            let variant = test.variant(0, together);
            assert_eq!(walk(&variant, start), tso::outcomes(&variant, true), "{}, {start:?}", test.name);
        }
    }
}

/// A plain store does not wait unless an older store of its CPU does. That is part of what x86-TSO allows.
#[test]
fn the_orders_of_plain_accesses_have_the_outcomes_of_stores_that_only_wait_behind_others() {
    for test in tests() {
        for plain in &PLAIN[1..] {
            let variant = test.variant(*plain, false);
            assert_eq!(walk(&variant, Start::Shared), tso::outcomes(&variant, false), "{}, {plain:x}", test.name);
        }
    }
}

/// Another CPU's first look at a line that its owner has modified commits the owner's stores: not all orders are left.
#[test]
fn the_orders_on_lines_that_a_cpu_owns_have_only_outcomes_that_the_oracle_allows() {
    for test in tests().iter().filter(|test| test.cpus.len() < 4) {
        let allowed = tso::outcomes(test, true);
        for (plain, owner) in PLAIN.into_iter().flat_map(|plain| [(plain, 0), (plain, 1)]) {
            let seen = walk(&test.variant(plain, false), Start::Owned(owner));
            assert!(seen.is_subset(&allowed), "{}, {plain:x}, {owner}: {seen:x?}", test.name);
        }
    }
}

#[test]
fn schedules_have_no_outcomes_that_the_oracle_forbids() {
    for test in tests() {
        let allowed = tso::outcomes(&test, true);
        for number in 0..200 {
            let (plain, start) = (PLAIN[number as usize % 4], STARTS[number as usize / 4 % 5]);
            let variant = test.variant(plain, number % 7 == 0);
            let (outcome, done) = Schedule::new(&variant, start, number).run(&variant, SKIPS_AFTER);
            assert!(allowed.contains(&outcome), "{}, schedule {number}, {start:?}: {outcome:x?}\n{done:#?}", test.name);
        }
    }
}

/// Of atomic accesses to lines that all have seen: the first look at a line that nobody or one CPU has is exempt.
#[test]
fn schedules_show_stores_in_the_order_of_time() {
    for test in tests() {
        for number in 0..200 {
            let variant = test.variant(0, number % 7 == 0);
            let start = [Start::Shared, Start::Held(0), Start::Held(1)][number as usize % 3];
            let (_, done) = Schedule::new(&variant, start, number / 3).run(&variant, SKIPS_AFTER);
            let breach = in_time::breach(&done);
            assert_eq!(breach, None, "{}, schedule {number}, {start:?}: {done:#?}", test.name);
        }
    }
}
