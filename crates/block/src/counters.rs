// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that a loop steps by a constant. A plain build addresses several arrays with one index and
//! ends the loop on it; with hooks, which take addresses, gcc steps a pointer for each array and a counter
//! beside them. The extra ones are not the program's.
use crate::instruction::step;
use crate::op::Op;
use crate::set::{Place, place};
use alloc::vec::Vec;
use iced_x86::{Mnemonic, OpKind};

struct Stepped {
    /// Where it is stepped.
    ip: u64,
    by: i64,
    /// Only compared, not computed or addressed with.
    counts: bool,
    /// Addresses and is compared, nothing else.
    points: bool,
}

/// Leaves out steps that another step makes superfluous.
pub fn merge(ops: &mut [Op]) {
    let stepped = stepped(ops);
    for (at, one) in stepped.iter().enumerate() {
        let others = stepped.iter().enumerate().filter(|&(other, _)| other != at);
        let superfluous = others.into_iter().any(|(other, two)| {
            let stands_for_count = one.counts && !two.counts && two.by % one.by == 0;
            let same_pointer = one.points && two.points && one.by == two.by && other < at;
            stands_for_count || same_pointer
        });
        if superfluous {
            ops.iter_mut().filter(|op| op.instruction.ip() == one.ip).for_each(Op::leave_out);
        }
    }
}

fn stepped(ops: &[Op]) -> Vec<Stepped> {
    let mut found: Vec<Stepped> = Vec::new();
    for op in ops {
        let Some((register, by)) = stepping(op) else {
            continue;
        };
        let ip = op.instruction.ip();
        if found.iter().all(|known| known.ip != ip) && written_only_at(ops, register, ip) {
            found.push(classify(ops, register, ip, by));
        }
    }
    found
}

fn stepping(op: &Op) -> Option<(Place, i64)> {
    let by = step(&op.instruction).filter(|&by| by != 0)?;
    (op.instruction.op1_kind() != OpKind::Register).then_some((place(op.instruction.op0_register())?, by))
}

fn written_only_at(ops: &[Op], register: Place, ip: u64) -> bool {
    ops.iter().filter(|op| op.writes.contains(register)).all(|op| op.instruction.ip() == ip)
}

fn classify(ops: &[Op], register: Place, ip: u64, by: i64) -> Stepped {
    let elsewhere = || ops.iter().filter(move |op| op.instruction.ip() != ip);
    let compares = |op: &Op| matches!(op.instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
    let only_compared = elsewhere().filter(|op| op.reads.contains(register)).all(compares);
    let compared = elsewhere().any(|op| op.reads.contains(register) && compares(op));
    let addresses = elsewhere().any(|op| op.address.contains(register));
    let points = only_compared && addresses;
    Stepped { ip, by, counts: only_compared && compared && !addresses, points }
}
