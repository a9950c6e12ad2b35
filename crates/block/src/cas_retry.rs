// SPDX-License-Identifier: MIT OR Apache-2.0
//! After a compare-and-swap the path of success counts: that of failure (CAS retry) is taken only where another CPU came
//! in between, and its cost counts where it is taken.
use crate::op::{Builder, Kind, Op};
use crate::path::build;
use crate::set::{FLAGS, PLACES, Place};
use crate::values::Value;
use crate::walk::{Step, Walk};
use crate::{Core, Hook};
use alloc::vec::Vec;
use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic};

const RAX: Place = 0;
const RSI: Place = 6;

/// What a register or flag says about the last compare-and-swap.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Nothing,
    /// A register: not zero if it succeeded, or if it failed. Of the flags: not equal.
    NotZero {
        success: bool,
    },
    /// What it found; it succeeded if that was this.
    Found(Value),
}
use Answer::{Found, NotZero, Nothing};

/// Of each conditional branch of the block, whether it is taken when the compare-and-swap that it hangs on succeeds;
/// none if it hangs on no such.
pub fn taken_on_success(block: &Walk, core: &Core) -> Vec<Option<bool>> {
    if !block.steps.iter().any(compares_and_swaps) {
        return alloc::vec![None; block.exits.len()];
    }
    let mut builder = Builder::new(core);
    let mut answers = [Nothing; PLACES];
    let mut found = Vec::new();
    for step in &block.steps {
        let told = swap(step, &builder);
        let op = build(&mut builder, step, core);
        if op.instruction.flow_control() == FlowControl::ConditionalBranch {
            found.push(on_success(&op.instruction, answers[usize::from(FLAGS)]));
        }
        let after = told.unwrap_or_else(|| told_by(&op, &answers, &builder));
        op.writes.iter().for_each(|place| answers[usize::from(place)] = Nothing);
        after.into_iter().for_each(|(place, answer)| answers[usize::from(place)] = answer);
    }
    found
}

/// Whether the way on through the block, past its exits, is that of a failure.
pub fn goes_on_failing(block: &Walk, core: &Core) -> bool {
    let exits = block.exits.iter().zip(taken_on_success(block, core));
    exits.into_iter().any(|(exit, success)| success == Some(exit.taken))
}

fn compares_and_swaps(step: &Step) -> bool {
    match step {
        Step::Hook(hook, _) => matches!(hook, Hook::CompareSwap | Hook::CompareSwapWord),
        Step::Run(i, _) | Step::Announced(i) => i.mnemonic() == Mnemonic::Cmpxchg && i.has_lock_prefix(),
        Step::Call(..) | Step::Before(_) => false,
    }
}

type Answers = [(Place, Answer); 2];

/// What a compare-and-swap leaves behind.
fn swap(step: &Step, builder: &Builder) -> Option<Answers> {
    Some(match step {
        _ if !compares_and_swaps(step) => return None,
        Step::Hook(Hook::CompareSwap, _) => [(RAX, NotZero { success: true }), (FLAGS, Nothing)],
        Step::Hook(..) => [(RAX, Found(builder.values.at(RSI))), (FLAGS, Nothing)],
        _ => [(RAX, Found(builder.values.at(RAX))), (FLAGS, NotZero { success: false })],
    })
}

/// What any other operation makes of what is known.
fn told_by(op: &Op, answers: &[Answer; PLACES], builder: &Builder) -> Answers {
    let only = |set: crate::set::Set| set.iter().next();
    let of = |place: Option<Place>| place.map_or(Nothing, |place| answers[usize::from(place)]);
    let i = &op.instruction;
    let to = only(op.writes).unwrap_or(FLAGS);
    let copies = op.kind == Kind::Copy || i.mnemonic() == Mnemonic::Movzx && op.load.is_none();
    let answer = match (i.mnemonic(), of(Some(FLAGS))) {
        _ if copies => of(only(op.reads)),
        (Mnemonic::Sete, NotZero { success }) => NotZero { success: !success },
        (Mnemonic::Setne, flags) => flags,
        (Mnemonic::Cmp | Mnemonic::Test, _) => compared(op, answers, builder),
        _ => Nothing,
    };
    [(to, answer), (to, answer)]
}

/// What the flags tell after a comparison.
fn compared(op: &Op, answers: &[Answer; PLACES], builder: &Builder) -> Answer {
    let i = &op.instruction;
    let itself = i.mnemonic() == Mnemonic::Test && i.op0_register() == i.op1_register();
    let constant = if itself { Some(0) } else { i.try_immediate(1).ok().filter(|_| i.mnemonic() == Mnemonic::Cmp) };
    let equals = |expected: Value, place: Place| match constant {
        Some(constant) => expected == Value::absolute(constant),
        None => op.reads.iter().any(|other| other != place && builder.values.at(other) == expected),
    };
    let tell = |place: Place| match answers[usize::from(place)] {
        NotZero { success } if constant == Some(0) => Some(NotZero { success }),
        Found(expected) if equals(expected, place) => Some(NotZero { success: false }),
        _ => None,
    };
    op.reads.iter().find_map(tell).unwrap_or(Nothing)
}

fn on_success(branch: &Instruction, flags: Answer) -> Option<bool> {
    let NotZero { success } = flags else { return None };
    match branch.condition_code() {
        ConditionCode::ne => Some(success),
        ConditionCode::e => Some(!success),
        _ => None,
    }
}
