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
/// taken to be read but what only hooks were given.
pub fn leave_out(ops: &mut Vec<Op>) {
    let mut live = Set::ALL.without(only_for_hooks(ops));
    let mut atomic = Set::EMPTY;
    let mut needed: Vec<bool> = ops.iter().rev().map(|op| visit(op, &mut live, &mut atomic)).collect();
    needed.reverse();
    let mut needed = needed.into_iter();
    ops.retain(|_| needed.next().unwrap_or(true));
}

/// Registers whose last value is an address that hooks were given and nothing else read: clang keeps the
/// address of an update there for the hook of its read and that of its write, and accesses the memory with an
/// addressing mode of its own.
fn only_for_hooks(ops: &[Op]) -> Set {
    let mut found = Set::EMPTY;
    for place in (0..crate::set::FLAGS).filter(|&place| !Set::CALLER_SAVED.contains(place)) {
        let Some(last) = ops.iter().rposition(|op| op.writes.contains(place)) else { continue };
        let rest = &ops[last + 1..];
        let mut readers = (0..rest.len()).filter(|&at| rest[at].reads.union(rest[at].address).contains(place));
        let first = readers.next();
        if first.is_some_and(|first| is_argument(rest, first) && readers.all(|at| is_argument(rest, at))) {
            found.insert(place);
        }
    }
    found
}

/// Whether the operation at `at` hands a plain access's hook its address.
fn is_argument(ops: &[Op], at: usize) -> bool {
    let given = ops[at].writes;
    let next = ops[at + 1..].iter().find(|op| op.writes.meets(given));
    ops[at].kind == Kind::Copy && given == Set::ADDRESS && next.is_some_and(|op| op.kind == Kind::Hook(Hook::Access))
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
    if matches!(op.kind, Kind::Hook(hook) if hook.is_instruction() && hook != Hook::Fence) {
        *atomic = Set::ATOMIC_OPERANDS;
    }
    needed
}

fn is_constant(op: &Op) -> bool {
    let immediate = !matches!(op.instruction.op1_kind(), OpKind::Register | OpKind::Memory);
    is_zeroing(&op.instruction) || op.instruction.mnemonic() == Mnemonic::Mov && immediate
}
