// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaving out what only instrumentation needs: results that hooks alone would read.
use crate::Hook;
use crate::instruction::is_zeroing;
use crate::op::{Kind, Op};
use crate::set::Set;
use alloc::vec::Vec;
use iced_x86::{Mnemonic, OpKind};

/// Removes operations whose results nothing reads, if hooks read nothing. A hook clobbers the
/// caller-saved registers, so whatever was put there for it is dead. After the last operation, all is
/// taken to be read.
pub fn leave_out(ops: &mut Vec<Op>) {
    let mut live = Set::ALL;
    let mut atomic = Set::EMPTY;
    let mut needed: Vec<bool> = ops.iter().rev().map(|op| visit(op, &mut live, &mut atomic)).collect();
    needed.reverse();
    let mut needed = needed.into_iter();
    ops.retain(|_| needed.next().unwrap_or(true));
}

/// Goes back over `op`: whether it is needed, and what is live before it. `atomic` are the registers
/// that only an atomic hook reads: values computed for it are the program's, while constants would be
/// immediates of the atomic instruction.
fn visit(op: &Op, live: &mut Set, atomic: &mut Set) -> bool {
    let read = op.writes.meets(*live) || (op.writes.meets(*atomic) && !is_constant(op));
    let needed = read || !matches!(op.kind, Kind::Pure | Kind::Copy);
    *atomic = atomic.without(op.writes);
    if needed {
        *live = live.without(op.writes).union(op.reads).union(op.address);
    }
    if op.kind == Kind::Hook(Hook::Atomic) {
        *atomic = Set::ATOMIC_OPERANDS;
    }
    needed
}

fn is_constant(op: &Op) -> bool {
    let immediate = !matches!(op.instruction.op1_kind(), OpKind::Register | OpKind::Memory);
    is_zeroing(&op.instruction) || op.instruction.mnemonic() == Mnemonic::Mov && immediate
}
