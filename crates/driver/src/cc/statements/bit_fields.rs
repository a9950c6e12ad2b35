// SPDX-License-Identifier: MIT OR Apache-2.0
//! gcc's hook for a store to a bit-field says that it writes all the bit-fields in a row, up to 16 bytes. The code reads and writes
//! the bytes that the field has bits in, and no hook says that it reads.
use super::effect::{self, Effect};
use super::instruction::Instruction;
use super::memory::{Memory, Operand, Register};
use corefold_block::inline_assembly::Kind;

/// What the hook should say.
#[derive(Debug, PartialEq, Eq)]
pub enum BitField<'a> {
    /// These accesses, in this order; their addresses are known when the hook runs.
    Parts(Vec<Part<'a>>),
    /// That what it says is written is read before.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// As it stands in the code.
    pub operand: &'a str,
    pub bytes: u32,
    pub reads: bool,
}

/// The store to a bit-field behind a hook, if there is one: bytes are stored that have been loaded since the hook (any other load
/// would have a hook of its own, and stand behind that), or fewer than `most`. `before` ends with the hook. `has_frame`: `%rbp` points
/// to the thread's own stack.
pub fn follows<'a>(before: &str, code: &'a str, most: u32, has_frame: bool) -> Option<BitField<'a>> {
    let mut since = Since::default();
    for line in code.lines() {
        let text = line.split('#').next().unwrap_or_default().trim();
        match kind(line, text) {
            Line::Note => {}
            Line::Jump => break,
            Line::Instruction => since.instruction(text, has_frame)?,
        }
    }
    since.bit_field(most, |base| is_told(before, base))
}

enum Line {
    /// Of no effect.
    Note,
    /// Control comes from elsewhere, or goes there.
    Jump,
    Instruction,
}

fn kind(line: &str, text: &str) -> Line {
    let is_label = !line.starts_with(char::is_whitespace) && text.ends_with(':');
    // Those of debug information are jumped to from nowhere: .LVL, .LBB.
    let is_note = is_label && text.strip_prefix(".L").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let leaves = ["call", "j", "ret", "notrack"].iter().any(|start| text.starts_with(start));
    match () {
        () if line.trim() == "#APP" || line.trim() == "#NO_APP" || is_label && !is_note || leaves => Line::Jump,
        () if is_label || text.is_empty() || text.starts_with('.') => Line::Note,
        () => Line::Instruction,
    }
}

/// Has the hook at the end of `before` been told an address that starts from this register?
fn is_told(before: &str, base: u32) -> bool {
    for line in before.lines().rev().skip(1) {
        let text = line.split('#').next().unwrap_or_default().trim();
        match kind(line, text) {
            Line::Note => continue,
            Line::Jump => return false,
            Line::Instruction => {}
        }
        let instruction = Instruction::read(text);
        match instruction.changes() {
            Some(Register::RDI) => {
                let from = match (instruction.mnemonic.as_str(), instruction.operands.first()) {
                    ("movq" | "mov", Some(Operand::Register(register))) => register.number,
                    ("leaq" | "lea", Some(Operand::Memory(memory))) => memory.registers().next(),
                    _ => None,
                };
                return from == Some(base);
            }
            Some(register) if register == base => return false,
            _ => {}
        }
    }
    false
}

/// What stands behind the hook.
#[derive(Default)]
struct Since<'a> {
    /// Registers that have changed.
    changed: Vec<u32>,
    /// Places that have been loaded, from which their registers still lead there.
    loaded: Vec<Access<'a>>,
    /// What has been stored, and the load of it before.
    stored: Vec<(Access<'a>, Option<Part<'a>>)>,
    /// Something was stored on the thread's own stack.
    stores_own: bool,
}

struct Access<'a> {
    memory: Memory,
    part: Part<'a>,
    /// Its registers are as they were at the hook.
    is_known: bool,
}

impl<'a> Since<'a> {
    /// None: what it does to memory is not known.
    fn instruction(&mut self, text: &'a str, has_frame: bool) -> Option<()> {
        let instruction = Instruction::read(text);
        match effect::effect(&instruction) {
            Effect::Access(word, memory) if memory.is_on_stack() || has_frame && memory.is_in_frame() => {
                self.stores_own |= word.kind() != Kind::Read
            }
            Effect::Access(word, memory) => {
                let is_known = !memory.thread && memory.registers().all(|register| self.survives(register));
                let part = Part { operand: operand(text)?, bytes: word.size(), reads: word.kind() == Kind::Read };
                let access = Access { memory, part, is_known };
                match word.kind() {
                    Kind::Read => self.loaded.push(access),
                    // Stored again.
                    _ if self.stored.iter().any(|(stored, _)| access.lies_in(stored)) => {}
                    Kind::Update => self.stored.push((access, Some(Part { reads: true, ..part }))),
                    Kind::Write => {
                        let before = self.loaded.iter().find(|loaded| loaded.lies_in(&access));
                        self.stored.push((access, before.map(|loaded| loaded.part)));
                    }
                    _ => return None,
                }
            }
            Effect::Nothing => {}
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

    /// `is_told`: the hook's address starts from the register.
    fn bit_field(self, most: u32, is_told: impl Fn(u32) -> bool) -> Option<BitField<'a>> {
        let (first, _) = self.stored.first()?;
        // Two stores from different registers: one of them is not the hook's.
        if !self.stored.iter().all(|(access, _)| access.memory.is_beside(&first.memory)) {
            return None;
        }
        let reads = self.stored.iter().any(|(_, before)| before.is_some());
        if !reads && (self.stored.len() > 1 || first.part.bytes >= most) {
            return None;
        }
        // Every store to a variable has a hook. One through a pointer may have none, as that to a value that is returned.
        let is_its = first.memory.registers().next().is_none_or(is_told);
        if !is_its && self.stores_own {
            return None;
        }
        if !is_its || !self.stored.iter().all(|(access, _)| access.is_known && access.part.bytes <= 8) {
            return reads.then_some(BitField::Whole);
        }
        let parts = self.stored.into_iter().flat_map(|(access, before)| before.into_iter().chain([access.part]));
        Some(BitField::Parts(parts.collect()))
    }
}

impl Access<'_> {
    fn lies_in(&self, other: &Access) -> bool {
        let from = |access: &Access| Some((access.memory.offset()?, i64::from(access.part.bytes)));
        let within = from(self)
            .zip(from(other))
            .is_some_and(|((at, bytes), (begin, all))| at >= begin && at + bytes <= begin + all);
        self.memory.is_beside(&other.memory) && within
    }
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
        match follows(HOOK, code, most, false)? {
            BitField::Parts(parts) => Some(parts.iter().map(|part| (part.operand, part.bytes, part.reads)).collect()),
            BitField::Whole => Some(Vec::new()),
        }
    }

    const HOOK: &str = "\tmovq\t%rbx, %rdi\n\taddl\t$1, %r12d\n\tcall\t__tsan_write4@PLT\n";

    fn both(operand: &str, bytes: u32) -> Vec<(&str, u32, bool)> {
        vec![(operand, bytes, true), (operand, bytes, false)]
    }

    #[test]
    fn what_is_loaded_and_stored_behind_the_hook_is_a_bit_field() {
        assert_eq!(of("\torb\t$1, (%rbx)\n\tpopq\t%rbx\n", 16).unwrap(), both("(%rbx)", 1));
        let word = "\tmovzwl\t12(%rbx), %eax\n\tandw\t$-511, %ax\n.LVL3:\n\torl\t%r13d, %eax\n\tmovw\t%ax, 12(%rbx)\n";
        assert_eq!(of(word, 16).unwrap(), both("12(%rbx)", 2));
        let masked = "\tmovabsq\t$-8589934592, %rsi\n\tandq\t8(%rbx), %rsi\n\torq\t%rbp, %rsi\n\tmovq\t%rsi, 8(%rbx)\n";
        assert_eq!(of(masked, 8).unwrap(), both("8(%rbx)", 8));
        let global = "\tmovl\t4+g(%rip), %eax\n\torl\t$7, %eax\n\tmovl\t%eax, 4+g(%rip)\n";
        assert_eq!(of(global, 4).unwrap(), both("4+g(%rip)", 4));
        assert_eq!(of("\tmovb\t%al, 5(%rbx)\n", 16).unwrap(), [("5(%rbx)", 1, false)], "of eight bits");
        let packed = "\tmovzbl\t1+g(%rip), %eax\n\tandl\t$31, %eax\n\tmovb\t%al, 1+g(%rip)\n\tmovb\t%bl, 2+g(%rip)\n";
        assert_eq!(of(packed, 0).unwrap(), [("1+g(%rip)", 1, true), ("1+g(%rip)", 1, false), ("2+g(%rip)", 1, false)]);
        let low = "\tmovzbl\t(%rbx), %eax\n\torl\t%r13d, %eax\n\tmovl\t%eax, (%rbx)\n";
        assert_eq!(of(low, 4).unwrap(), [("(%rbx)", 1, true), ("(%rbx)", 4, false)], "only what is kept is loaded");
        let high = low.replace("(%rbx), %eax", "3(%rbx), %eax");
        assert_eq!(of(&high, 4).unwrap(), [("3(%rbx)", 1, true), ("(%rbx)", 4, false)]);
    }

    #[test]
    fn where_its_address_is_not_known_at_the_hook_all_of_it_is_read() {
        for code in [
            "\tmovq\t-24(%rbp), %rax\n\torb\t$1, (%rax)\n",
            "\tmovq\t8(%rsp), %rbx\n\torb\t$1, (%rbx)\n",
            "\torb\t$1, %fs:v@tpoff\n",
        ] {
            assert_eq!(follows(HOOK, code, 4, true), Some(BitField::Whole), "{code}");
        }
    }

    /// A value that is returned is stored to through a pointer, without hooks.
    #[test]
    fn a_store_that_may_not_be_the_hooks_leaves_the_hook() {
        let local = "\taddl\t$3, 8(%rbx,%rbp,4)\n\tmovq\t$5, 8(%rsp)\n";
        let (hook, other) = ("\tleaq\t8(%rsp), %rdi\n\tcall\t__tsan_write8@PLT\n", HOOK.replace("%rbx", "%r14"));
        for before in [hook, &other, "\tmovq\t16(%rsp), %rdi\n\tcall\t__tsan_write8@PLT\n"] {
            assert_eq!(follows(before, local, 8, false), None, "{before}");
        }
        let changed = HOOK.replace("$1, %r12d", "$1, %ebx");
        assert_eq!(follows(&changed, local, 8, false), None);
        let its = follows(HOOK, local, 8, false);
        assert!(matches!(its, Some(BitField::Parts(_))), "{its:?}");
        let elsewhere = "\torb\t$1, (%rbp)\n";
        assert_eq!(follows(HOOK, elsewhere, 8, false), Some(BitField::Whole));
        assert_eq!(follows(HOOK, "\tmovb\t%al, (%rbp)\n", 8, false), None);
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
            "\tnotrack call *(%rax)\n\torb\t$1, (%rbx)\n",
        ] {
            assert_eq!(follows(HOOK, code, 4, true), None, "{code}");
        }
    }
}
