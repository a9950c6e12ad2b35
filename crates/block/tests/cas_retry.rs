// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops through a compare-and-swap, as bytes: what comes round is what comes after its success.
#[path = "support/bytes.rs"]
mod bytes;

use bytes::{ATOMIC, BLOCK, Bytes, COMPARE, COMPARE_WORD, CORE, START};
use corefold_block::cost;

const MOV_RDI_RBX: &[u8] = &[0x48, 0x89, 0xdf];
const MOV_RSI_R13: &[u8] = &[0x4c, 0x89, 0xee];
const TEST_AL: &[u8] = &[0x84, 0xc0];
const CMP_RAX_R13: &[u8] = &[0x4c, 0x39, 0xe8];
/// setne al; movzx ebp, al; test ebp, ebp
const KEEP_UNEQUAL: &[u8] = &[0x0f, 0x95, 0xc0, 0x0f, 0xb6, 0xe8, 0x85, 0xed];
const EQUAL: u8 = 0x74;
const UNEQUAL: u8 = 0x75;

/// What the head of a loop takes that loads a word and then does `update` to it. Where the branch is taken, the next
/// round is about another word; where it is not, it is about this one, and its load waits for the update.
fn head(update: Bytes, branch: u8) -> f64 {
    const ADD_R12_AT_RBX: &[u8] = &[0x4c, 0x03, 0x23];
    const ADD_RBX_64: &[u8] = &[0x48, 0x83, 0xc3, 0x40];
    const DEC_R15: &[u8] = &[0x49, 0xff, 0xcf];
    let begin = Bytes::new().call(BLOCK).then(ADD_R12_AT_RBX).then(MOV_RDI_RBX);
    let mut code = begin.then(&update.0).then(&[branch, 11]);
    for next in [DEC_R15.to_vec(), [ADD_RBX_64, DEC_R15].concat()] {
        code = code.call(BLOCK).then(&next);
        let back = -(code.0.len() as i32 + 2);
        code = code.then(&[UNEQUAL, back as u8, 0xc3]);
    }
    cost(&code, START + 5, &CORE).cycles()
}

/// A call as [`head`] places it, and what comes after.
fn called(target: u64, before: &[u8], after: &[u8]) -> Bytes {
    const PLACE: usize = 5 + 3 + 3;
    let placed = Bytes(vec![0x90; PLACE]).then(before).call(target).then(after);
    Bytes(placed.0[PLACE..].to_vec())
}

#[test]
fn the_next_round_is_that_after_success() {
    let either = head(called(ATOMIC, &[], TEST_AL), EQUAL);
    let always = head(called(COMPARE, &[], TEST_AL), EQUAL);
    let never = head(called(COMPARE, &[], TEST_AL), UNEQUAL);
    assert!(always > 5.0 && never < 2.0, "{always} {never}");
    assert_eq!(either, (always + never) / 2.0, "nothing tells which way is the usual one");
}

#[test]
fn a_branch_may_compare_what_was_found() {
    let word = |after: &[u8]| called(COMPARE_WORD, MOV_RSI_R13, after);
    let sense = |after: &[u8], failing, other| {
        let (always, never) = (head(word(after), failing), head(word(after), other));
        assert!(always > 5.0 && never < always - 1.0, "{always} {never}");
    };
    sense(CMP_RAX_R13, UNEQUAL, EQUAL);
    sense(&[CMP_RAX_R13, KEEP_UNEQUAL].concat(), UNEQUAL, EQUAL);
    // With 0, which it did not look for.
    let other = head(word(&[0x48, 0x85, 0xc0]), UNEQUAL);
    assert!((3.0..5.0).contains(&other), "{other}");
}

#[test]
fn a_locked_instruction_tells_by_its_flags() {
    // lock cmpxchg [rbx], r14
    let locked = || Bytes(vec![0xf0, 0x4c, 0x0f, 0xb1, 0x33]);
    assert!(head(locked(), UNEQUAL) > head(locked(), EQUAL) + 4.0);
}
