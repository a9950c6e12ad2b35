// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which blocks end in a branch that a core has to guess.
#[path = "support/bytes.rs"]
mod bytes;

use bytes::{ATOMIC, BLOCK, Bytes, COMPARE, CORE, START};
use corefold_block::branch_paths;

const TEST_AL_AL: &[u8] = &[0x84, 0xc0];
const STORE_RAX: &[u8] = &[0x48, 0x89, 0x03];
const LOAD_R12: &[u8] = &[0x4c, 0x8b, 0x23];
const INC_EBX: &[u8] = &[0xff, 0xc3];

/// A block that begins with `first` and, by the flags that this leaves, goes round `arm` or through it.
fn around(first: Bytes, arm: &[u8]) -> (Bytes, [u64; 2]) {
    let start = START + first.0.len() as u64;
    let arm_length = arm.len() as u8;
    let code = first.then(&[0x74, 5 + arm_length]).call(BLOCK).then(arm).call(BLOCK).then(&[0xc3]);
    (code, [start + 12 + u64::from(arm_length), start + 7])
}

fn is_guessed(first: Bytes, arm: &[u8]) -> bool {
    let (code, paths) = around(first, arm);
    let found = branch_paths(&code, START, &CORE);
    assert!(found.is_none_or(|found| found == paths), "{found:x?} {paths:x?}");
    found.is_some()
}

fn tested() -> Bytes {
    Bytes::new().then(TEST_AL_AL)
}

#[test]
fn a_branch_around_an_access_is_guessed() {
    assert!(is_guessed(tested(), STORE_RAX));
    assert!(is_guessed(tested(), LOAD_R12));
}

#[test]
fn what_compilers_choose_without_a_branch_is_not() {
    assert!(!is_guessed(tested(), INC_EBX));
    assert!(!is_guessed(tested(), &[INC_EBX, INC_EBX].concat()));
    assert!(is_guessed(tested(), &[INC_EBX, INC_EBX, INC_EBX].concat()), "too much to do in vain");
}

#[test]
fn what_an_update_finds_is_for_other_threads_to_say() {
    assert!(!is_guessed(Bytes::new().call(ATOMIC).then(TEST_AL_AL), STORE_RAX));
    assert!(!is_guessed(Bytes::new().call(COMPARE).then(TEST_AL_AL), STORE_RAX));
    let tests_another = Bytes::new().call(ATOMIC).then(&[0x48, 0x85, 0xdb]);
    assert!(is_guessed(tests_another, STORE_RAX));
}

#[test]
fn a_block_that_goes_on_one_way_is_not() {
    let code = Bytes::new().then(INC_EBX).call(BLOCK).then(&[0xc3]);
    assert_eq!(branch_paths(&code, START, &CORE), None);
}
