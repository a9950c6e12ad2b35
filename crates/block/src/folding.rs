//! Instructions that share an issue slot.
use crate::op::{Kind, Op};
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
