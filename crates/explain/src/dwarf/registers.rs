// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers that a function's variables are addressed by.
//!
//! Most compilers count from the canonical frame address, which is known. Functions that align their
//! stack (`alignas(64)` variables) and those of LLVM count from `rsp` or `rbp`; what these hold is found
//! by going through the function's first instructions, which set them once for all.
use super::code::Code;
use gimli::X86_64;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// What `rsp`, `rbp` and `r10` hold after a function's prologue, where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Registers {
    rsp: Option<u64>,
    rbp: Option<u64>,
    /// Where the arguments are, while a prologue aligns the stack.
    r10: Option<u64>,
}

/// No prologue is longer.
const LONGEST: usize = 64;

impl Registers {
    /// Of the function that begins at `entry` and whose frame is at `cfa`.
    pub fn after_prologue(code: &Code, entry: u64, cfa: u64) -> Registers {
        let mut registers = Registers { rsp: Some(cfa.wrapping_sub(8)), ..Registers::default() };
        let decoder = Decoder::with_ip(64, code.from(entry), entry, DecoderOptions::NONE);
        for instruction in decoder.into_iter().take(LONGEST) {
            // What comes before a first call stands in any case, but for an early way out.
            let goes_on = matches!(instruction.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch);
            if !goes_on || instruction.is_invalid() {
                break;
            }
            registers.step(&instruction);
        }
        registers
    }

    pub fn get(&self, register: gimli::Register) -> Option<u64> {
        match register {
            X86_64::RSP => self.rsp,
            X86_64::RBP => self.rbp,
            _ => None,
        }
    }

    fn step(&mut self, instruction: &Instruction) {
        match instruction.mnemonic() {
            Mnemonic::Push => self.rsp = self.rsp.map(|rsp| rsp.wrapping_sub(8)),
            Mnemonic::Pop => {
                self.rsp = self.rsp.map(|rsp| rsp.wrapping_add(8));
                self.set(instruction.op0_register(), None);
            }
            // These read their first operand, or do not change it.
            Mnemonic::Cmp | Mnemonic::Test => {}
            _ if instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Register => {
                self.set(instruction.op0_register(), self.result(instruction));
            }
            _ => {}
        }
    }

    /// What an instruction leaves in its first operand.
    fn result(&self, instruction: &Instruction) -> Option<u64> {
        let own = || self.value(instruction.op0_register());
        let immediate = || instruction.try_immediate(1).ok();
        match instruction.mnemonic() {
            Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => self.value(instruction.op1_register()),
            Mnemonic::Lea if instruction.memory_index() == Register::None => {
                Some(self.value(instruction.memory_base())?.wrapping_add(instruction.memory_displacement64()))
            }
            Mnemonic::Sub => Some(own()?.wrapping_sub(immediate()?)),
            Mnemonic::Add => Some(own()?.wrapping_add(immediate()?)),
            Mnemonic::And => Some(own()? & immediate()?),
            _ => None,
        }
    }

    fn value(&self, register: Register) -> Option<u64> {
        match register {
            Register::RSP => self.rsp,
            Register::RBP => self.rbp,
            Register::R10 => self.r10,
            _ => None,
        }
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        match register.full_register() {
            Register::RSP => self.rsp = value,
            Register::RBP => self.rbp = value,
            Register::R10 => self.r10 = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bytes: &[u8]) -> Registers {
        Registers::after_prologue(&Code::new(vec![(0x1000, bytes.into())]), 0x1000, 0x8000)
    }

    #[test]
    fn a_stack_that_is_aligned_is_followed() {
        // push %rbp; mov %rsp,%rbp; push %r15; and $-64,%rsp; sub $0x100,%rsp; call
        let bytes = b"\x55\x48\x89\xe5\x41\x57\x48\x83\xe4\xc0\x48\x81\xec\x00\x01\x00\x00\xe8\0\0\0\0\x50";
        let found = after(bytes);
        assert_eq!(found.get(X86_64::RBP), Some(0x7ff0));
        assert_eq!(found.get(X86_64::RSP), Some((0x7fe8 & !63) - 0x100));
    }

    #[test]
    fn so_is_one_that_keeps_a_pointer_to_the_arguments() {
        // lea 8(%rsp),%r10; and $-64,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; ret
        let bytes = b"\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\x41\xff\x72\xf8\x55\x48\x89\xe5\xc3";
        assert_eq!(after(bytes).get(X86_64::RBP), Some(0x7fc0 - 16));
    }

    #[test]
    fn a_register_that_is_used_for_something_else_is_not_known() {
        // mov %rdi,%rbp; mov (%rsi),%r10; lea 8(%r10),%rsp; ret
        let found = after(b"\x48\x89\xfd\x4c\x8b\x16\x49\x8d\x62\x08\xc3");
        assert_eq!((found.get(X86_64::RBP), found.get(X86_64::RSP)), (None, None));
    }
}
