// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a call or jump really goes: through stubs of the linkage table to their targets.
use crate::Code;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

const LONGEST: usize = 15;

/// The instruction at `address`; none where nothing readable or decodable is.
pub fn decode(code: &impl Code, address: u64) -> Option<Instruction> {
    let bytes = code.bytes(address, LONGEST);
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// The target of `branch`, a call or jump, if its bytes and the offset table determine it. A slot of lazy binding
/// that is not bound yet leads into the stub again, and so to an address that is no hook.
pub fn target(code: &impl Code, branch: &Instruction) -> Option<u64> {
    if branch.is_ip_rel_memory_operand() {
        return slot(code, branch.ip_rel_memory_address());
    }
    let direct = matches!(branch.op0_kind(), iced_x86::OpKind::NearBranch64);
    direct.then(|| stub(code, branch.near_branch_target()).unwrap_or(branch.near_branch_target()))
}

/// Whether a branch leaves through a stub or a slot: for another module, whose blocks have costs of their own.
pub fn leaves_module(code: &impl Code, branch: &Instruction) -> bool {
    branch.is_ip_rel_memory_operand() || stub(code, branch.near_branch_target()).is_some()
}

/// Whether the call that returns to `pc` is seen to leave its module.
pub fn call_leaves(code: &impl Code, pc: u64) -> bool {
    const DIRECT: u64 = 5;
    const BY_SLOT: u64 = 6;
    let calls = [DIRECT, BY_SLOT].into_iter().filter_map(|length| decode(code, pc - length));
    let mut calls = calls.filter(|i| i.next_ip() == pc && i.mnemonic() == Mnemonic::Call);
    calls.any(|call| leaves_module(code, &call))
}

fn slot(code: &impl Code, address: u64) -> Option<u64> {
    code.bytes(address, 8).try_into().ok().map(u64::from_le_bytes)
}

/// The target of the stub `[endbr64] [bnd] jmp *[rip+d]` at `address`.
fn stub(code: &impl Code, address: u64) -> Option<u64> {
    let mut first = decode(code, address)?;
    if first.mnemonic() == Mnemonic::Endbr64 {
        first = decode(code, first.next_ip())?;
    }
    let jumps = first.flow_control() == FlowControl::IndirectBranch && first.is_ip_rel_memory_operand();
    jumps.then(|| slot(code, first.ip_rel_memory_address())).flatten()
}
