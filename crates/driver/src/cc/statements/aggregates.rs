// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of an odd size that are read at once, as by `ptr::read_volatile` of a structure in Rust: LLVM's pass has hooks for 1,
//! 2, 4, 8 and 16 bytes, and leaves out others. They become several loads from one place, and no call stands between these, as it
//! does where each has a hook of its own.
use super::effect::{self, Effect};
use super::instruction::Instruction;
use super::memory::{Memory, Register};
use crate::cc::assembly::BLOCK_HOOK;
use corefold_block::around::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of padding that may lie between two parts of a value.
const GAP: i64 = 8;

/// Numbers of the lines that load a part of such a value.
pub fn lines(assembly: &str) -> BTreeSet<usize> {
    let mut found = Found::default();
    for (number, line) in assembly.lines().enumerate() {
        found.see(number, line.split('#').next().unwrap_or_default());
    }
    found.lines
}

/// What precedes the next call.
#[derive(Default)]
struct Found {
    lines: BTreeSet<usize>,
    /// The function has hooks.
    is_hooked: bool,
    /// The frame pointer is one.
    has_frame: bool,
    /// Of the hook before: where and how much.
    hook: Option<(Place, i64)>,
    /// What the next hook will be told.
    argument: Place,
    /// By what they start from: offset, bytes, line.
    loads: BTreeMap<Base, Vec<(i64, i64, usize)>>,
}

/// What a place starts from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Base {
    Register(u32),
    Symbol(String),
}

/// So many bytes from something; `None`: not known.
type Place = Option<(Base, i64)>;

const RSP: u32 = 4;
const RBP: u32 = 5;
const RDI: u32 = 7;

impl Found {
    fn see(&mut self, number: usize, line: &str) {
        let text = line.trim();
        let is_label = !line.starts_with(char::is_whitespace) && text.ends_with(':');
        if text.starts_with(".size") {
            self.ends();
            (self.is_hooked, self.has_frame, self.hook) = (false, false, None);
        } else if is_label && ![".Ltmp", ".Lfunc", ".LVL"].iter().any(|prefix| text.starts_with(prefix)) {
            self.ends();
            self.hook = None;
        } else if !is_label && !text.starts_with('.') && !text.is_empty() {
            self.instruction(number, text);
        }
    }

    fn instruction(&mut self, number: usize, text: &str) {
        if text.starts_with("call") || text.starts_with('j') {
            self.ends();
            let hook = ["__tsan_read", "__tsan_write", "__tsan_unaligned_"].iter().find_map(|name| {
                let (_, rest) = text.split_once(name)?;
                rest.trim_start_matches(|c: char| !c.is_ascii_digit()).split('@').next()?.parse().ok()
            });
            self.is_hooked |= text.contains("__tsan_") || text.contains(BLOCK_HOOK);
            let argument = self.argument.take();
            self.hook = hook.map(|bytes| (argument, bytes));
            return;
        }
        let instruction = Instruction::read(text);
        self.has_frame |= text.starts_with("movq") && text.ends_with("%rsp, %rbp");
        if let Effect::Access(word, memory) = &effect::effect(&instruction)
            && word.kind() == Kind::Read
            && let Some((base, offset)) = place(memory).filter(|(base, _)| self.is_shared(base))
        {
            self.loads.entry(base).or_default().push((offset, word.size().into(), number));
        }
        let target = instruction.operands.last().and_then(|operand| operand.register()?.number);
        if target == Some(RDI) {
            self.argument = points(&instruction);
        }
        if let Some(register) = target.filter(|_| !instruction.mnemonic.starts_with("cmp")) {
            let base = Base::Register(register);
            self.argument = self.argument.take().filter(|(other, _)| *other != base);
            if let Some(loads) = self.loads.remove(&base) {
                self.judge(&base, loads);
            }
        }
    }

    fn is_shared(&self, base: &Base) -> bool {
        *base != Base::Register(RSP) && !(*base == Base::Register(RBP) && self.has_frame)
    }

    fn ends(&mut self) {
        for (base, loads) in std::mem::take(&mut self.loads) {
            self.judge(&base, loads);
        }
    }

    /// No more loads start from there.
    fn judge(&mut self, base: &Base, mut loads: Vec<(i64, i64, usize)>) {
        loads.sort_unstable();
        let (begin, mut end) = (loads[0].0, loads[0].0);
        let mut parts = BTreeSet::new();
        let mut together = true;
        for &(offset, bytes, _) in &loads {
            together &= offset < end + GAP;
            end = end.max(offset + bytes);
            parts.insert(offset);
        }
        let has_hook = self.hook.as_ref().is_some_and(|(place, bytes)| match place {
            Some((other, from)) if other == base => *from <= begin && end <= from + bytes,
            // A register may point to a variable.
            Some((other, _)) if matches!((other, base), (Base::Register(_), Base::Register(_))) => false,
            _ => end - begin <= *bytes,
        });
        if self.is_hooked && together && parts.len() > 1 && !has_hook {
            self.lines.extend(loads.iter().map(|(.., line)| *line));
        }
    }
}

/// What the instruction has its last operand, a register, point to.
fn points(instruction: &Instruction) -> Place {
    match instruction.mnemonic.as_str() {
        "leaq" | "lea" => place(instruction.operands[0].memory()?),
        "movq" | "mov" => Some((Base::Register(instruction.operands[0].register()?.number?), 0)),
        _ => None,
    }
}

/// Of an operand without an index.
fn place(memory: &Memory) -> Place {
    let (base, displacement) = memory.base_and_displacement()?;
    let register = base.strip_prefix('%')?;
    if register != "rip" {
        let offset = if displacement.is_empty() { 0 } else { displacement.parse().ok()? };
        return Some((Base::Register(Register::named(register)?.number?), offset));
    }
    let (symbol, offset) = displacement.split_once('+').unwrap_or((displacement, "0"));
    // The compiler's constants, and what the linker knows.
    let is_variable = !symbol.starts_with(".L") && !symbol.contains('@');
    is_variable.then_some((Base::Symbol(symbol.to_owned()), offset.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a function that loads this behind its hooks: the instructions that have none.
    fn unseen(body: &str) -> Vec<&str> {
        let text = format!("f:\n\tcallq\t__sanitizer_cov_trace_pc@PLT\n{body}\tretq\n\t.size\tf, .-f\n");
        let found = lines(&text);
        body.lines().enumerate().filter(|(at, _)| found.contains(&(at + 2))).map(|(_, line)| line.trim()).collect()
    }

    #[test]
    fn a_structure_that_is_read_as_a_whole_has_no_hook() {
        let words = "\tmovq\t(%rbx), %rax\n\txorq\t8(%rbx), %rax\n.Ltmp3:\n\txorq\t16(%rbx), %rax\n";
        assert_eq!(unseen(words).len(), 3);
        assert_eq!(unseen("\tmovzbl\t(%rbx), %eax\n\txorb\t1(%rbx), %al\n\txorb\t2(%rbx), %al\n").len(), 3);
        assert_eq!(
            unseen("\tmovzbl\t(%r14), %eax\n\tmovq\t8(%r14), %r14\n\tmovq\t24(%r14), %rcx\n").len(),
            2,
            "moved on"
        );
    }

    #[test]
    fn what_has_a_hook_stays() {
        let of_16 = "\tmovq\t%rbx, %rdi\n\tcallq\t__tsan_read16@PLT\n\tmovq\t(%rbx), %r14\n\tmovq\t8(%rbx), %rbx\n";
        assert!(unseen(of_16).is_empty());
        let elsewhere = of_16.replace("%rbx, %rdi", "%rbp, %rdi");
        assert_eq!(unseen(&elsewhere).len(), 2);
        assert!(unseen(&of_16.replace("(%rbx)", "+v(%rip)").replace("8+v", "v+8").replace("\t+v", "\tv")).is_empty());
        let of_each = "\tleaq\t8(%rbx), %rdi\n\tcallq\t__tsan_read8@PLT\n\tmovq\t8(%rbx), %r14\n\tmovq\t%rbx, %rdi\n\
                       \tcallq\t__tsan_read8@PLT\n\tmovq\t(%rbx), %r15\n";
        assert!(unseen(of_each).is_empty());
        assert!(unseen("\tmovq\t(%rbx), %rax\n\tmovq\t64(%rbx), %rcx\n").is_empty(), "not one value");
        assert!(unseen("\tmovq\t(%rbx), %rax\n.LBB0_1:\n\tmovq\t8(%rbx), %rcx\n").is_empty(), "another block");
        assert!(unseen("\tmovq\t.LC3(%rip), %rax\n\tmovq\t.LC3+8(%rip), %rcx\n").is_empty(), "constants");
        assert!(unseen("\tmovq\t8(%rsp), %rax\n\tmovq\t16(%rsp), %rcx\n").is_empty(), "the thread's own");
        assert!(unseen("\tmovq\t%rsp, %rbp\n\tmovq\t-8(%rbp), %rax\n\tmovq\t-16(%rbp), %rcx\n").is_empty());
        assert!(
            lines("f:\n\tmovq\t(%rbx), %rax\n\tmovq\t8(%rbx), %rcx\n\tretq\n").is_empty(),
            "a function without hooks"
        );
    }
}
