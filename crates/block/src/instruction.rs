// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kind of instruction it is, apart from where it stands.
use crate::set::{Place, Set, place};
use iced_x86::{Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register};

/// The constant that an instruction adds to its register.
pub fn step(instruction: &Instruction) -> Option<i64> {
    if instruction.op0_kind() != OpKind::Register || partial(instruction.op0_register()) {
        return None;
    }
    match instruction.mnemonic() {
        Mnemonic::Inc => Some(1),
        Mnemonic::Dec => Some(-1),
        Mnemonic::Add => instruction.try_immediate(1).ok().map(|by| by as i64),
        Mnemonic::Sub => instruction.try_immediate(1).ok().map(|by| (by as i64).wrapping_neg()),
        _ => None,
    }
}

pub fn is_plain_move(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let moves = matches!(
        instruction.mnemonic(),
        Mov | Movaps
            | Movapd
            | Movups
            | Movupd
            | Movdqa
            | Movdqu
            | Movsd
            | Movss
            | Movq
            | Movd
            | Vmovaps
            | Vmovapd
            | Vmovups
            | Vmovupd
            | Vmovdqa
            | Vmovdqu
            | Vmovsd
            | Vmovss
            | Vmovq
            | Vmovd
    );
    moves && !converts(instruction) && !instruction.has_rep_prefix()
}

/// Whether a move goes between general and vector registers. Not so when a call keeps the general one:
/// that is how gcc keeps a vector value across hooks, a spill.
fn converts(instruction: &Instruction) -> bool {
    let (to, from) = (instruction.op0_register(), instruction.op1_register());
    let registers = instruction.op_kinds().all(|kind| kind == OpKind::Register);
    let general = if to.is_gpr() { to } else { from };
    let kept = place(general).is_some_and(|place| !Set::CALLER_SAVED.contains(place));
    registers && to.is_gpr() != from.is_gpr() && !kept
}

/// Loads and stores that do nothing more: extension is part of the load.
pub fn is_transfer(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    is_plain_move(instruction) || matches!(instruction.mnemonic(), Movzx | Movsx | Movsxd)
}

/// Not sent to execution at all: padding, landing pads, adjustment of the stack pointer.
pub fn unissued(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let padding = matches!(instruction.mnemonic(), Nop | Endbr64 | Leave | Push | Pop);
    padding || instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP
}

pub fn moves_stack(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop | Mnemonic::Call | Mnemonic::Ret)
        || instruction.op0_register() == Register::RSP && step(instruction).is_some()
}

pub fn is_zeroing(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let idiom = matches!(instruction.mnemonic(), Xor | Sub | Pxor | Xorps | Xorpd);
    idiom && instruction.op1_kind() == OpKind::Register && instruction.op0_register() == instruction.op1_register()
}

pub fn address_registers(instruction: &Instruction) -> Set {
    let mut set = Set::EMPTY;
    for register in [instruction.memory_base(), instruction.memory_index()] {
        if let Some(place) = place(register) {
            set.insert(place);
        }
    }
    set
}

/// Whether a register that is part of the address is also an operand that is read.
pub fn op_reads(info: &InstructionInfo, instruction: &Instruction, wanted: Place) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && place(instruction.op_register(operand)) == Some(wanted)
            && access(info.op_access(operand)).0
    })
}

/// Whether an access reads, and whether it writes. What is written only sometimes keeps its old value
/// otherwise, and so is read.
pub fn access(access: OpAccess) -> (bool, bool) {
    match access {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite | OpAccess::CondWrite => (true, true),
        OpAccess::None | OpAccess::NoMemAccess => (false, false),
    }
}

/// A write to part of a register merges with the rest.
pub fn partial(register: Register) -> bool {
    register.is_gpr8() || register.is_gpr16()
}
