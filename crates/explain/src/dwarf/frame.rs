// SPDX-License-Identifier: MIT OR Apache-2.0
//! The variables in a function's stack frame: what debuggers call its locals.
use super::registers::Registers;
use super::{Debug, Die, Reader};
use gimli::{AttributeValue, Expression, Operation, constants as c};

/// A variable or parameter that lies in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameVariable {
    pub die: Die,
    /// In the run.
    pub address: u64,
    /// The function that it is written in: the frame's own, or one that is inlined into it.
    pub function: Die,
    /// Whether it is there while the function is where the frame says. Variables of other blocks may
    /// take turns in the same bytes.
    pub is_live: bool,
    /// Blocks and inlined functions around it.
    pub depth: u32,
}

/// A frame, as far as variables are found by it.
struct Frame {
    /// Where the function is, as its file has it.
    pc: u64,
    /// What `DW_OP_fbreg` counts from.
    base: Option<u64>,
    registers: Registers,
}

/// What is around a variable.
#[derive(Clone, Copy)]
struct Around {
    function: Die,
    is_live: bool,
    depth: u32,
}

impl Debug {
    /// What lies in the frame at `cfa` of `function`, which is at `pc`. Variables that are split up or
    /// kept in registers have no one address, and are left out.
    pub fn frame_variables(&self, function: Die, pc: u64, cfa: u64) -> Vec<FrameVariable> {
        let entry = self.first_range(function).unwrap_or(pc);
        let registers = Registers::after_prologue(self.code(), entry, cfa);
        let base = self.frame_base(function, cfa, &registers);
        let frame = Frame { pc, base, registers };
        let mut found = Vec::new();
        self.collect(function, Around { function, is_live: true, depth: 0 }, &frame, &mut found);
        found
    }

    fn collect(&self, block: Die, around: Around, frame: &Frame, found: &mut Vec<FrameVariable>) {
        for (tag, die) in self.children(block) {
            match tag {
                c::DW_TAG_variable | c::DW_TAG_formal_parameter => {
                    let Around { function, is_live, depth } = around;
                    if let Some((address, now)) = self.locate(die, frame) {
                        found.push(FrameVariable { die, address, function, is_live: is_live && now, depth });
                    }
                }
                c::DW_TAG_lexical_block | c::DW_TAG_inlined_subroutine => {
                    let function = if tag == c::DW_TAG_lexical_block { around.function } else { die };
                    let is_live = around.is_live && self.covers(die, frame.pc);
                    self.collect(die, Around { function, is_live, depth: around.depth + 1 }, frame, found);
                }
                _ => {}
            }
        }
    }

    /// The address of a variable, and whether it is there now or only at other times.
    fn locate(&self, die: Die, frame: &Frame) -> Option<(u64, bool)> {
        match self.value(die, c::DW_AT_location)? {
            AttributeValue::Exprloc(expression) => Some((self.address(die, expression, frame)?, true)),
            list => {
                let mut entries = self.dwarf().attr_locations(self.unit(die).ok()?, list).ok()??;
                let mut elsewhen = None;
                while let Ok(Some(entry)) = entries.next() {
                    let Some(address) = self.address(die, entry.data, frame) else {
                        continue;
                    };
                    if (entry.range.begin..entry.range.end).contains(&frame.pc) {
                        return Some((address, true));
                    }
                    elsewhen = elsewhen.or(Some((address, false)));
                }
                elsewhen
            }
        }
    }

    fn address(&self, die: Die, expression: Expression<Reader>, frame: &Frame) -> Option<u64> {
        match self.only_operation(die, expression)? {
            Operation::FrameOffset { offset } => Some(frame.base?.wrapping_add_signed(offset)),
            Operation::RegisterOffset { register, offset, .. } => {
                Some(frame.registers.get(register)?.wrapping_add_signed(offset))
            }
            _ => None,
        }
    }

    fn frame_base(&self, function: Die, cfa: u64, registers: &Registers) -> Option<u64> {
        let expression = self.value(function, c::DW_AT_frame_base)?.exprloc_value()?;
        match self.only_operation(function, expression)? {
            Operation::CallFrameCFA => Some(cfa),
            Operation::Register { register } => registers.get(register),
            _ => None,
        }
    }

    /// `None` where there are more: the value is computed or in pieces.
    fn only_operation(&self, die: Die, expression: Expression<Reader>) -> Option<Operation<Reader>> {
        let mut operations = expression.operations(self.encoding(die));
        let first = operations.next().ok()??;
        operations.next().ok()?.is_none().then_some(first)
    }

    /// Whether the code of a block or inlined function has `pc`.
    fn covers(&self, die: Die, pc: u64) -> bool {
        self.ranges(die).iter().any(|range| (range.begin..range.end).contains(&pc))
    }

    fn first_range(&self, die: Die) -> Option<u64> {
        Some(self.ranges(die).first()?.begin)
    }

    fn ranges(&self, die: Die) -> Vec<gimli::Range> {
        let mut found = Vec::new();
        let ranges = |entry| self.dwarf().die_ranges(self.unit(die)?, &entry);
        if let Some(Ok(mut ranges)) = self.entry(die).map(ranges) {
            while let Ok(Some(range)) = ranges.next() {
                found.push(range);
            }
        }
        found
    }
}
