// SPDX-License-Identifier: MIT OR Apache-2.0
//! What registers hold that a loop does not change: the address of a variable, which hooks need in a register. Without
//! hooks, the program names the variable relative to the program counter, and no core is known to recognise the word of
//! such a store early: not Zen 2 (Fog's manual of microarchitectures), Ice Lake (where a global counter is published to
//! take twice as long as one of the thread's own), or Golden Cove (measured: 7 cycles a round, and 1 by a register).
use crate::instruction::access;
use crate::op::Op;
use crate::set::{Place, Set, place};
use crate::walk::{Step, Unit, unit};
use crate::{Code, Core, path, target};
use alloc::vec::Vec;
use iced_x86::{Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic};

/// How far ahead of a loop its registers are looked for, in bytes of code.
const REACH: usize = 4096;
/// `lea` of 64 bits, relative to the program counter.
const LEA: usize = 7;

/// The instructions ahead of the loop at `head`, whose paths round are `paths`, that put the addresses of variables into
/// registers, as steps that take no time. Only where that decides how soon a load has what was stored.
pub fn before<'a>(code: &impl Code, head: u64, paths: impl Iterator<Item = &'a [Step]>, core: &Core) -> Vec<Step> {
    if core.renamed == core.forward {
        return Vec::new();
    }
    let (mut used, mut written, mut first) = (Set::EMPTY, Set::EMPTY, head);
    for steps in paths {
        let ops = path::build_all(steps, core);
        let reloads = |op: &Op| op.store.is_some_and(|at| at.is_direct() && ops.iter().any(|op| op.load == Some(at)));
        if ops.iter().any(reloads) {
            used = ops.iter().fold(used, |used, op| used.union(op.address).union(op.reads));
        }
        written = ops.iter().fold(written, |written, op| written.union(op.writes));
        first = steps.iter().map(Step::ip).filter(|ip| head.abs_diff(*ip) < REACH as u64).fold(first, u64::min);
    }
    // A hook is a call to the compiler: what stays beyond one is in a register that calls keep.
    let held = Set::KEPT.iter().filter(|&register| used.contains(register) && !written.contains(register));
    held.filter_map(|register| Some(Step::Before(address_of_variable(code, first, register)?))).collect()
}

/// The instruction that gives `register` the address of a variable, if that is the last to change it ahead of `end`.
fn address_of_variable(code: &impl Code, end: u64, register: Place) -> Option<Instruction> {
    let bytes = code.bytes_before(end, REACH);
    let wanted = [0x48 | register >> 3 << 2, 0x8d, register << 3 & 0x38 | 5];
    let at = bytes.windows(LEA).rposition(|bytes| bytes[..3] == wanted)?;
    let lea = target::decode(code, end - (bytes.len() - at) as u64)?;
    stays(code, lea.next_ip(), end, register).then_some(lea)
}

/// Whether the code from `at` to `end` is one function's, and leaves the register as it is. Where it restores it,
/// it goes on in the caller.
fn stays(code: &impl Code, mut at: u64, end: u64, register: Place) -> bool {
    let mut info = InstructionInfoFactory::new();
    while at < end {
        let instruction = match unit(code, at) {
            Some(Unit::Inline(_, next)) => {
                at = next;
                continue;
            }
            Some(Unit::Instruction(instruction)) => instruction,
            None => return false,
        };
        at = instruction.next_ip();
        let of_it = |r| place(r) == Some(register);
        let writes = |info: &InstructionInfo| {
            info.used_registers().iter().any(|used| of_it(used.register()) && access(used.access()).1)
        };
        let changes = match instruction.mnemonic() {
            Mnemonic::Pop => false,
            Mnemonic::Push => of_it(instruction.op0_register()),
            _ => writes(info.info(&instruction)),
        };
        if changes {
            return false;
        }
    }
    true
}
