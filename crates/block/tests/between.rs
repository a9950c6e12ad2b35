// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a build with hooks at accesses alone is estimated to cost, against the plain build.
#[allow(dead_code, reason = "this test uses a part")]
mod support;

use corefold_block::{Trail, between, trace};
use std::collections::HashMap;
use support::{CORE, Compiler, Form, Program, Recorded};

const ROUNDS: f64 = 800.0;

/// Printed but not held to the tolerance, and why.
const LIMITS: [(&str, &str); 5] = [
    ("lists", "plain rounds of the outer loop overlap, which hook by hook cannot show"),
    ("matrix", "plain rounds of the outer loop overlap, which hook by hook cannot show"),
    ("call", "a loop without an access: nothing tells how many rounds it makes"),
    ("polynomial", "a loop without an access: nothing tells how many rounds it makes"),
    ("generator", "a loop without an access: nothing tells how many rounds it makes"),
];

/// Cycles a round, as the engine adds them up.
fn estimated(program: &Program, recorded: &Recorded) -> f64 {
    let mut known: HashMap<(u64, u64), f64> = HashMap::new();
    let mut trail = Trail::default();
    let mut cycles = 0.0;
    let mut events = recorded.addresses.iter().copied();
    while let Some(event) = events.next() {
        let mut address = || events.next().expect("an address follows");
        let pairs = match event {
            2 => trail.enter(address(), address()),
            3 => trail.exit(address(), address()),
            _ => trail.pass(address()),
        };
        for (from, to) in pairs.into_iter().flatten() {
            cycles += *known.entry((from, to)).or_insert_with(|| between(&program.image, from, to, &CORE).cycles());
        }
    }
    (cycles + f64::from(recorded.atomics * CORE.rmw)) / ROUNDS
}

fn compare(flags: &[&str]) -> Vec<String> {
    let (plain, instrumented) =
        (support::plain(Compiler::Gcc, flags), support::instrumented(Compiler::Gcc, Form::Accesses, flags));
    println!("{flags:?}\n{:16} {:>8} {:>9} {:>7}", "loop", "plain", "estimate", "error");
    let mut missed = Vec::new();
    for (name, recorded) in &plain.loops {
        let base = trace(&plain.image, &recorded.addresses, &CORE).cycles() / ROUNDS;
        let estimate = estimated(&instrumented, &instrumented.loops[name]);
        let error = estimate / base * 100.0 - 100.0;
        println!("{name:16} {base:8.2} {estimate:9.2} {error:6.1}%");
        if let Some((_, reason)) = LIMITS.iter().find(|(limit, _)| limit == name) {
            println!("{:16} not asserted: {reason}", "");
        } else if error.abs() > 20.0 {
            missed.push(format!("{name}: {error:.1} %"));
        }
    }
    missed
}

#[test]
fn loops_cost_about_what_they_do() {
    assert_eq!(compare(&["-O2"]), [""; 0]);
}

#[test]
fn hooks_through_the_offset_table() {
    assert_eq!(compare(&["-O2", "-fno-plt"]), [""; 0]);
}
