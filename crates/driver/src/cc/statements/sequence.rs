// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls around instructions, as text.
use super::cfa::Cfa;
use super::memory::Memory;
use corefold_block::inline_assembly::{FUNCTION, RED_ZONE, Word};

/// A call that says `word`.
pub fn call(word: Word, cfa: &Cfa) -> String {
    down(cfa) + &told(word, cfa) + &up(cfa)
}

/// A call that says what the next instruction does to `operand`.
pub fn with_operand(word: Word, operand: &Memory, cfa: &Cfa) -> String {
    let pushed = 8;
    format!(
        "{}\tpushq %rdi\n{}\tleaq {}, %rdi\n{}\tpopq %rdi\n{}{}",
        down(cfa),
        cfa.moved(8),
        operand.after(RED_ZONE + pushed),
        told(word, cfa),
        cfa.moved(-8),
        up(cfa),
    )
}

fn down(cfa: &Cfa) -> String {
    format!("\tleaq -{RED_ZONE}(%rsp), %rsp\n{}", cfa.moved(RED_ZONE as i32))
}

fn up(cfa: &Cfa) -> String {
    format!("\tleaq {RED_ZONE}(%rsp), %rsp\n{}", cfa.moved(-(RED_ZONE as i32)))
}

/// The callee takes the word off the stack.
fn told(word: Word, cfa: &Cfa) -> String {
    let Word(word) = word;
    format!("\tpushq ${word:#x}\n{}\tcall *{FUNCTION}@GOTPCREL(%rip)\n{}", cfa.moved(8), cfa.moved(-8))
}
