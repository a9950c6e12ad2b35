// SPDX-License-Identifier: MIT OR Apache-2.0
//! gcc's hook for a store to a bit-field says that it writes all the bit-fields in a row, up to 16 bytes. The code reads and writes
//! the bytes that the field has bits in, and no hook says that it reads.
use super::effect::{self, Effect};
use super::instruction::Instruction;
use super::memory::{Memory, Register};
use corefold_block::inline_assembly::Kind;

/// What the hook should say.
#[derive(Debug, PartialEq, Eq)]
pub enum BitField<'a> {
    /// These accesses, whose addresses are known when the hook runs.
    Parts(Vec<Part<'a>>),
    /// That what it says is written is read before.
    Whole,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// As it stands in the code.
    pub operand: &'a str,
    pub bytes: u32,
    pub reads: bool,
}

/// The store to a bit-field that follows a hook, if one does: bytes are stored that have been loaded since the hook (any other load
/// would have a hook of its own, and stand behind that), or fewer than `most`. `has_frame`: `%rbp` points to the thread's own stack.
pub fn follows(code: &str, most: u32, has_frame: bool) -> Option<BitField<'_>> {
    let mut since = Since::default();
    for line in code.lines() {
        let text = line.split('#').next().unwrap_or_default().trim();
        let is_label = !line.starts_with(char::is_whitespace) && text.ends_with(':');
        // Labels of debug information are jumped to from nowhere: .LVL, .LBB.
        if line == "#APP"
            || is_label && !text.strip_prefix(".L").is_some_and(|rest| rest.starts_with(char::is_alphabetic))
        {
            break;
        }
        if is_label || text.is_empty() || text.starts_with('.') {
            continue;
        }
        if ["call", "j", "ret"].iter().any(|start| text.starts_with(start)) {
            break;
        }
        since.instruction(text, has_frame)?;
    }
    since.bit_field(most)
}

/// What stands behind the hook, other than accesses to the thread's own stack.
#[derive(Default)]
struct Since<'a> {
    /// Registers that have changed.
    changed: Vec<u32>,
    /// Places that have been loaded, from which their registers still lead there.
    loaded: Vec<Access<'a>>,
    stored: Vec<(Access<'a>, bool)>,
}

#[derive(Clone)]
struct Access<'a> {
    memory: Memory,
    text: &'a str,
    bytes: u32,
    /// Its registers are as they were at the hook.
    is_known: bool,
}

impl<'a> Since<'a> {
    /// None: what it does to memory is not known.
    fn instruction(&mut self, text: &'a str, has_frame: bool) -> Option<()> {
        let instruction = Instruction::read(text);
        match effect::effect(&instruction) {
            Effect::Access(word, memory) if !is_own(&memory, has_frame) => {
                let is_known = !memory.thread && memory.registers().all(|register| self.survives(register));
                let access = Access { text: operand(text)?, bytes: word.size(), is_known, memory };
                match word.kind() {
                    Kind::Read => self.loaded.push(access),
                    // Stored again.
                    _ if self.stored.iter().any(|(stored, _)| stored.memory == access.memory) => {}
                    Kind::Update => self.stored.push((access, true)),
                    Kind::Write => {
                        let same = |loaded: &&Access| loaded.memory == access.memory && loaded.bytes == access.bytes;
                        let earlier = self.loaded.iter().find(same).cloned();
                        let reads = earlier.is_some();
                        self.stored.push((earlier.unwrap_or(access), reads));
                    }
                    _ => return None,
                }
            }
            Effect::Access(..) | Effect::Nothing => {}
            Effect::Told(_) | Effect::Unseen(_) => return None,
        }
        if let Some(register) = instruction.changes() {
            self.changed.push(register);
            self.loaded.retain(|loaded| loaded.memory.registers().all(|of_it| of_it != register));
        }
        Some(())
    }

    /// Does the register hold at the hook, which is a call, what it holds now?
    fn survives(&self, register: u32) -> bool {
        Register::is_kept_by_calls(register) && !self.changed.contains(&register)
    }

    fn bit_field(self, most: u32) -> Option<BitField<'a>> {
        let (first, _) = self.stored.first()?;
        // Two stores from different registers: one of them is not the hook's.
        if !self.stored.iter().all(|(access, _)| access.memory.is_beside(&first.memory)) {
            return None;
        }
        let reads = self.stored.iter().any(|(_, reads)| *reads);
        if !reads && (self.stored.len() > 1 || first.bytes >= most) {
            return None;
        }
        if !self.stored.iter().all(|(access, _)| access.is_known && access.bytes <= 8) {
            return reads.then_some(BitField::Whole);
        }
        let part = |(access, reads): (Access<'a>, bool)| Part { operand: access.text, bytes: access.bytes, reads };
        Some(BitField::Parts(self.stored.into_iter().map(part).collect()))
    }
}

fn is_own(memory: &Memory, has_frame: bool) -> bool {
    memory.is_on_stack() || has_frame && memory.is_in_frame()
}

/// The operand in memory, as it stands in the instruction.
fn operand(text: &str) -> Option<&str> {
    let (_, operands) = text.split_once(char::is_whitespace)?;
    super::instruction::operands(operands)
        .into_iter()
        .find(|operand| operand.contains(':') || !operand.starts_with(['$', '%']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str, most: u32) -> Option<Vec<(&str, u32, bool)>> {
        match follows(code, most, false)? {
            BitField::Parts(parts) => Some(parts.iter().map(|part| (part.operand, part.bytes, part.reads)).collect()),
            BitField::Whole => Some(Vec::new()),
        }
    }

    #[test]
    fn what_is_loaded_and_stored_behind_the_hook_is_a_bit_field() {
        assert_eq!(of("\torb\t$1, (%rbx)\n\tpopq\t%rbx\n", 16).unwrap(), [("(%rbx)", 1, true)]);
        let word = "\tmovzwl\t12(%rbp), %eax\n\tandw\t$-511, %ax\n.LVL3:\n\torl\t%ebx, %eax\n\tmovw\t%ax, 12(%rbp)\n";
        assert_eq!(of(word, 16).unwrap(), [("12(%rbp)", 2, true)]);
        let masked = "\tmovabsq\t$-8589934592, %rsi\n\tandq\t8(%rbx), %rsi\n\torq\t%rbp, %rsi\n\tmovq\t%rsi, 8(%rbx)\n";
        assert_eq!(of(masked, 8).unwrap(), [("8(%rbx)", 8, true)]);
        let global = "\tmovl\t4+g(%rip), %eax\n\torl\t$7, %eax\n\tmovl\t%eax, 4+g(%rip)\n";
        assert_eq!(of(global, 4).unwrap(), [("4+g(%rip)", 4, true)]);
        assert_eq!(of("\tmovb\t%al, 5(%rbx)\n", 16).unwrap(), [("5(%rbx)", 1, false)], "of eight bits");
        let packed = "\tmovzbl\t1+g(%rip), %eax\n\tandl\t$31, %eax\n\tmovb\t%al, 1+g(%rip)\n\tmovb\t%bl, 2+g(%rip)\n";
        assert_eq!(of(packed, 0).unwrap(), [("1+g(%rip)", 1, true), ("2+g(%rip)", 1, false)]);
    }

    #[test]
    fn where_its_address_is_not_known_at_the_hook_all_of_it_is_read() {
        for code in [
            "\tmovq\t-24(%rbp), %rax\n\torb\t$1, (%rax)\n",
            "\tmovq\t8(%rsp), %rbx\n\torb\t$1, (%rbx)\n",
            "\torb\t$1, %fs:v@tpoff\n",
        ] {
            assert_eq!(follows(code, 4, true), Some(BitField::Whole), "{code}");
        }
    }

    #[test]
    fn other_stores_are_none() {
        for code in [
            "\tmovl\t%eax, (%rbx)\n",
            "\tmovl\t4(%rbx), %eax\n\tmovl\t%eax, (%rbx)\n",
            "\tmovl\t%eax, (%rbx)\n\tandl\t$1, (%rbx)\n",
            "\tmovl\t(%rbx), %eax\n\taddq\t$4, %rbx\n\tmovl\t%eax, (%rbx)\n",
            "\tmovl\t%eax, (%rbx)\n\taddl\t$1, 8(%r12)\n",
            "\tmovl\t%eax, g(%rip)\n\taddl\t$1, h(%rip)\n",
            "\tmovq\t%rax, (%rbx)\n\tmovq\t%rdx, 8(%rbx)\n",
            "\taddl\t$1, 8(%rsp)\n",
            "\taddl\t$1, -8(%rbp)\n",
            "\trep stosq\n\torb\t$1, (%rbx)\n",
            "\tcall\t__tsan_read4@PLT\n\torb\t$1, (%rbx)\n",
            "\tjne\t.L4\n\torb\t$1, (%rbx)\n",
            ".L4:\n\torb\t$1, (%rbx)\n",
            "#APP\n\torb\t$1, (%rbx)\n",
            "\tret\n\torb\t$1, (%rbx)\n",
        ] {
            assert_eq!(follows(code, 4, true), None, "{code}");
        }
    }
}
