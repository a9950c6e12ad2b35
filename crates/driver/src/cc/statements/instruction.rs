// SPDX-License-Identifier: MIT OR Apache-2.0
//! One instruction of a statement: prefixes, mnemonic and operands.
use super::memory::{Memory, Operand};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    pub prefixes: Vec<String>,
    pub mnemonic: String,
    pub operands: Vec<Operand>,
    /// A jump or call through its operand.
    pub indirect: bool,
}

const PREFIXES: [&str; 17] = [
    "lock", "rep", "repe", "repz", "repne", "repnz", "xacquire", "xrelease", "data16", "rex64", "rex.w", "notrack",
    "bnd", "cs", "ds", "es", "ss",
];

/// Instructions that leave their last operand as it is.
const LEAVE: [&str; 6] = ["cmp", "test", "push", "ucomi", "comi", "ptest"];

impl Instruction {
    /// Reads one; its mnemonic is empty if there are prefixes only.
    pub fn read(text: &str) -> Instruction {
        let mut instruction = Instruction::default();
        let mut rest = text.trim();
        loop {
            let (word, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let word = word.to_ascii_lowercase();
            rest = more.trim_start();
            if !PREFIXES.contains(&word.as_str()) {
                instruction.mnemonic = word;
                break;
            }
            instruction.prefixes.push(word);
            if rest.is_empty() {
                return instruction;
            }
        }
        instruction.indirect = rest.starts_with('*');
        instruction.operands = operands(rest.trim_start_matches('*')).into_iter().map(Operand::read).collect();
        instruction
    }

    pub fn has_prefix(&self, any_of: &[&str]) -> bool {
        self.prefixes.iter().any(|prefix| any_of.contains(&prefix.as_str()))
    }

    /// The operand in memory, and its number.
    pub fn memory(&self) -> Option<(usize, &Memory)> {
        self.operands.iter().enumerate().find_map(|(at, operand)| Some((at, operand.memory()?)))
    }

    /// The general register that it writes last, if that is its last operand.
    pub fn changes(&self) -> Option<u32> {
        let leaves = LEAVE.iter().any(|start| self.mnemonic.starts_with(start));
        self.operands.last().filter(|_| !leaves)?.register()?.number
    }

    /// The size of a general register among the operands: what an instruction without a suffix has.
    pub fn register_size(&self) -> Option<u32> {
        self.operands
            .iter()
            .rev()
            .filter_map(Operand::register)
            .find(|r| r.number.is_some() || r.bytes == 1)
            .map(|r| r.bytes)
    }

    /// The size of the widest vector register among the operands.
    pub fn vector_size(&self) -> Option<u32> {
        self.operands.iter().filter_map(Operand::register).filter(|r| r.is_vector()).map(|r| r.bytes).max()
    }
}

/// Parted by commas outside of parentheses.
pub fn operands(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut depth = 0;
    let parts = text.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_operands_are_told_apart() {
        let read = Instruction::read("LOCK  cmpxchgq %rcx , 8(%rax,%rbx,8)");
        assert_eq!(read.prefixes, ["lock"]);
        assert_eq!((read.mnemonic.as_str(), read.operands.len()), ("cmpxchgq", 2));
        assert_eq!(read.memory().unwrap().0, 1);
        assert_eq!(read.register_size(), Some(8));
        let alone = Instruction::read("lock");
        assert_eq!((alone.prefixes.len(), alone.mnemonic.as_str()), (1, ""));
        assert!(Instruction::read("jmp *8(%rax)").indirect);
        assert_eq!(Instruction::read("rep stosq").mnemonic, "stosq");
    }
}
