// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that share an issue slot, and those that would if no hook stood between them.
//!
//! A hook wants an address in a register before the access, and clobbers what the access loaded. So gcc
//! cannot fold addresses and updates into memory operands as it does in a plain build.
use crate::Hook;
use crate::instruction::is_plain_move;
use crate::op::{Kind, Op};
use crate::set::Place;
use iced_x86::{FlowControl, Mnemonic, OpKind};

/// A comparison and the conditional branch on it issue as one.
pub fn fuse(ops: &mut [Op]) {
    let mut compared = false;
    for op in ops.iter_mut().filter(|op| op.timing.slots > 0) {
        if compared && op.instruction.flow_control() == FlowControl::ConditionalBranch {
            op.timing.slots = 0;
        }
        compared = op.kind == Kind::Pure && fuses(op);
    }
}

fn fuses(op: &Op) -> bool {
    use Mnemonic::*;
    let compares = matches!(op.instruction.mnemonic(), Cmp | Test | Add | Sub | And | Inc | Dec);
    let with_constant = op.load.is_some() && op.instruction.op1_kind() != OpKind::Register;
    compares && !with_constant
}

/// Instructions of two operands overwrite one. A plain build loads one operand and computes on it with an
/// invariant; with hooks gcc fetches the invariant from where it is kept and computes on that with the
/// other operand in memory. The fetch is free here, so the load is counted apart.
pub fn unfold(ops: &mut [Op]) {
    for at in 0..ops.len() {
        let invariant = ops[at].kind == Kind::Copy && !ops.iter().any(|op| op.writes.meets(ops[at].reads));
        let Some(place) = result(&ops[at]).filter(|_| invariant) else {
            continue;
        };
        let reader = ops[at + 1..].iter_mut().find(|op| op.reads.contains(place));
        if let Some(op) = reader.filter(|op| op.load.is_some() && op.writes.contains(place)) {
            op.timing.slots += 1;
            op.instructions += 1;
        }
    }
}

/// Folds addresses and updates that only hooks kept apart.
pub fn fold(ops: &mut [Op]) {
    for at in 0..ops.len() {
        if is_address(ops, at) {
            ops[at].leave_out();
            ops[at].timing.latency = 0;
        } else if let Some(store) = update(ops, at) {
            ops[at].leave_out();
            ops[store].instructions = 0; // the operation between them stands for all three
        }
    }
}

/// Whether the `lea` at `at` only addresses accesses that come after a hook, or are one.
fn is_address(ops: &[Op], at: usize) -> bool {
    if ops[at].instruction.mnemonic() != Mnemonic::Lea {
        return false;
    }
    let place = result(&ops[at]);
    let mut hooked = false;
    let mut addresses = false;
    for op in &ops[at + 1..] {
        hooked |= matches!(op.kind, Kind::Hook(Hook::Access | Hook::AtomicLoad));
        if place.is_none_or(|place| op.reads.contains(place)) {
            return false;
        }
        addresses |= hooked && place.is_some_and(|place| op.address.contains(place));
        if place.is_some_and(|place| op.writes.contains(place)) {
            break;
        }
    }
    addresses
}

/// If the load at `at` feeds one operation, whose result only goes back to the same address: that store.
fn update(ops: &[Op], at: usize) -> Option<usize> {
    let address = ops[at].load.filter(|_| is_plain_move(&ops[at].instruction))?;
    let operation = only_reader(ops, at)?;
    let changes = &ops[operation];
    if changes.kind != Kind::Pure || changes.load.is_some() || changes.timing.slots != 1 {
        return None;
    }
    let store = only_reader(ops, operation)?;
    let hooked = ops[at..store].iter().any(|op| op.kind == Kind::Hook(Hook::Access));
    (hooked && ops[store].store == Some(address) && is_plain_move(&ops[store].instruction)).then_some(store)
}

/// The one operation that reads the result of the one at `at`, and reads it as an operand.
fn only_reader(ops: &[Op], at: usize) -> Option<usize> {
    let place = result(&ops[at])?;
    let mut reader = None;
    for (index, op) in ops.iter().enumerate().skip(at + 1) {
        if op.address.contains(place) || (op.reads.contains(place) && reader.is_some()) {
            return None;
        }
        if op.reads.contains(place) {
            reader = Some(index);
        }
        if op.writes.contains(place) {
            break;
        }
    }
    reader
}

/// The register that an operation gives, beside flags.
fn result(op: &Op) -> Option<Place> {
    op.writes.iter().next().filter(|&place| place < crate::set::FLAGS)
}
