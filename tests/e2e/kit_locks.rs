// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kit's locks and slab caches under many schedules, and whom they pass by in the plain one.
use crate::case::{SLEEPY, explore_kit, kit_program, seeds};
use crate::harness::{Place, stress};

/// Short spins, so that waiters yield, leave the spinners' queue and sleep within a run.
const SHORT: [&str; 1] = ["-DCF_LOCK_SPINS=16"];

#[test]
fn locks_exclude_under_many_schedules() {
    let kinds = ["ticket", "mcs", "qspin", "mutex", "rwsem", "brlock", "seqlock"];
    let arguments = kinds.map(|kind| format!("{kind} mix 60"));
    explore_kit("locks", &SHORT, 4, seeds("1-8"), &arguments.each_ref().map(String::as_str));
    explore_kit("locks", &SHORT, 4, seeds("1-4"), &["osq mix 40"]);
}

#[test]
fn sleeping_waiters_of_locks_are_woken() {
    let arguments = ["queued mix 60", "qspin mix 60", "mutex mix 60", "rwsem mix 60", "brlock mix 60"];
    explore_kit("locks", &SLEEPY, 6, seeds("1-6"), &arguments);
}

/// On more CPUs than many schedules can be tried on: one takes seconds.
#[test]
fn locks_exclude_on_80_cpus() {
    let seeds = if stress() { "1-60" } else { "1-2" };
    let arguments = ["qspin mix 800", "mutex mix 800", "rwsem mix 800", "brlock mix 80", "seqlock mix 800"];
    explore_kit("locks", &SHORT, 80, seeds, &arguments);
}

#[test]
fn objects_have_one_owner_under_many_schedules() {
    explore_kit("slab", &SHORT, 4, seeds("1-4"), &["1 100", "2 100", "8 150"]);
}

/// First come, first served: nobody is passed more often than once or twice by each of the others.
#[test]
#[ignore = "takes long: make stress runs it"]
fn nobody_is_passed_by() {
    let program = kit_program("locks", &[]);
    let turns = if stress() { 4000 } else { 1200 };
    for kind in ["queued", "ticket", "mcs", "qspin", "brlock", "seqlock"] {
        for cpus in [1, 8, 80] {
            let run = format!("run --machine xeon-4s-80 --cpus {cpus} -- {} {kind} queue {turns}", program.display());
            let said = Place::new().corefold(&run);
            assert_eq!(said.code, Some(0), "{kind}, {cpus} CPUs: {}{}", said.out, said.err);
        }
    }
}
