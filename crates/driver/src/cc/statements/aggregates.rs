// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of an odd size that are read at once, as by `ptr::read_volatile` of a structure in Rust: LLVM's pass has hooks for 1,
//! 2, 4, 8 and 16 bytes, and leaves out others. They become several loads from one place, and no call stands between these, as it
//! does where each has a hook of its own.
use super::effect::{self, Effect};
use super::function::makes_frame;
use super::instruction::Instruction;
use super::memory::{Memory, Register};
use crate::rust;
use corefold_block::inline_assembly::Kind;
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
    /// By what they start from.
    loads: BTreeMap<Base, Vec<Load>>,
}

/// What a place starts from: a variable, or what registers add up to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Base {
    text: String,
    registers: Vec<u32>,
}

/// So many bytes from something; `None`: not known.
type Place = Option<(Base, i64)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Load {
    offset: i64,
    bytes: i64,
    line: usize,
}

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

    fn instruction(&mut self, line: usize, text: &str) {
        if text.starts_with("call") || text.starts_with('j') {
            self.ends();
            let hook = ["__tsan_read", "__tsan_write", "__tsan_unaligned_"].iter().find_map(|name| {
                let (_, rest) = text.split_once(name)?;
                rest.trim_start_matches(|c: char| !c.is_ascii_digit()).split('@').next()?.parse().ok()
            });
            self.is_hooked |= text.contains("__tsan_") || text.contains(rust::HOOK);
            let argument = self.argument.take();
            self.hook = hook.map(|bytes| (argument, bytes));
            return;
        }
        let instruction = Instruction::read(text);
        self.has_frame |= makes_frame(text);
        if let Effect::Access(word, memory) = &effect::effect(&instruction)
            && word.kind() == Kind::Read
            && let Some((base, offset)) = place(memory).filter(|(base, _)| self.is_shared(base))
        {
            self.loads.entry(base).or_default().push(Load { offset, bytes: word.size().into(), line });
        }
        let target = instruction.changes();
        if target == Some(Register::RDI) {
            self.argument = points(&instruction);
        }
        if let Some(register) = target {
            let from_it = |base: &Base| base.registers.contains(&register);
            self.argument = self.argument.take().filter(|(base, _)| register == Register::RDI || !from_it(base));
            for base in self.loads.keys().filter(|base| from_it(base)).cloned().collect::<Vec<_>>() {
                let loads = self.loads.remove(&base).unwrap_or_default();
                self.judge(&base, loads);
            }
        }
    }

    fn is_shared(&self, base: &Base) -> bool {
        let first = base.registers.first();
        first != Some(&Register::RSP) && !(first == Some(&Register::RBP) && self.has_frame)
    }

    fn ends(&mut self) {
        for (base, loads) in std::mem::take(&mut self.loads) {
            self.judge(&base, loads);
        }
    }

    /// No more loads start from there: those that the hook has told of aside, are there several side by side?
    fn judge(&mut self, base: &Base, mut loads: Vec<Load>) {
        if !self.is_hooked {
            return;
        }
        if let Some((Some((hooked, from)), bytes)) = &self.hook
            && hooked == base
        {
            loads.retain(|load| load.offset < *from || load.offset + load.bytes > from + bytes);
        }
        loads.sort_unstable();
        for run in loads.chunk_by(|load, next| next.offset < load.offset + load.bytes + GAP) {
            let (begin, end) = (run[0].offset, run.iter().map(|load| load.offset + load.bytes).max().unwrap_or(0));
            let is_one = run.iter().all(|load| load.offset == begin);
            // What two words are loaded of may be named by a register at the hook, and in another way here.
            let may_be_hooked = self.hook.as_ref().is_some_and(|(place, bytes)| {
                let elsewhere = place.as_ref().is_some_and(|(hooked, _)| hooked == base || hooked.is_like(base));
                !elsewhere && *bytes >= 16 && end - begin <= *bytes
            });
            if !is_one && !may_be_hooked {
                self.lines.extend(run.iter().map(|load| load.line));
            }
        }
    }
}

impl Base {
    /// Two of these that differ are different places: two variables, or two registers as they are.
    fn is_like(&self, other: &Base) -> bool {
        self.registers.len() == other.registers.len()
    }
}

/// What the instruction has its last operand, a register, point to.
fn points(instruction: &Instruction) -> Place {
    match instruction.mnemonic.as_str() {
        "leaq" | "lea" => place(instruction.operands[0].memory()?),
        "movq" | "mov" => {
            let number = instruction.operands[0].register()?.number?;
            Some((Base { text: format!("(%{})", Register::name(number)), registers: vec![number] }, 0))
        }
        _ => None,
    }
}

/// Of an operand that is not the thread's own by its segment.
fn place(memory: &Memory) -> Place {
    let (displacement, registers) = memory.parts()?;
    let numbers: Vec<u32> = memory.registers().collect();
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse().ok() };
    if !numbers.is_empty() {
        let text = registers.split_whitespace().collect();
        return Some((Base { text, registers: numbers }, number(displacement)?));
    }
    let sign = displacement.rfind(['+', '-']).filter(|at| number(&displacement[*at..]).is_some());
    let (symbol, offset) = displacement.split_at(sign.unwrap_or(displacement.len()));
    // The compiler's constants, and what the linker knows.
    let is_variable =
        registers.trim_matches(['(', ')']).trim() == "%rip" && !symbol.starts_with(".L") && !symbol.contains('@');
    is_variable.then_some((Base { text: symbol.to_owned(), registers: Vec::new() }, number(offset)?))
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
    fn several_values_and_what_has_a_hook_beside_them_are_told_apart() {
        let hooked = "\tmovq\t%rbx, %rdi\n\tcallq\t__tsan_read8@PLT\n\tmovq\t(%rbx), %rax\n";
        let value = "\tmovq\t8(%rbx), %rcx\n\tmovq\t16(%rbx), %rdx\n\tmovzbl\t24(%rbx), %esi\n";
        assert_eq!(unseen(&format!("{hooked}{value}")).len(), 3);
        let far = value.replace("8(", "88(").replace("16(", "96(").replace("24(", "104(");
        assert_eq!(unseen(&format!("{value}{far}")).len(), 6);
        let indexed = "\tmovq\t-24(%r14,%rcx,8), %rax\n\txorq\t-16(%r14,%rcx,8), %rax\n\taddq\t-8(%r14,%rcx,8), %rax\n";
        assert_eq!(unseen(indexed).len(), 3);
        let other_element = indexed.replace("\n\txorq", "\n\tincq\t%rcx\n\txorq");
        assert_eq!(unseen(&other_element).len(), 2, "of another index");
        assert_eq!(unseen("\tmovsd\t(%rbx), %xmm0\n\taddsd\t8(%rbx), %xmm0\n\taddsd\t16(%rbx), %xmm0\n").len(), 3);
        assert_eq!(unseen("\tmovq\tv-16(%rip), %rax\n\tmovq\tv-8(%rip), %rcx\n").len(), 2);
        let kept = "\tmovq\t(%rbx), %rax\n\ttestq\t%rbx, %rbx\n\tpushq\t%rbx\n\tmovq\t8(%rbx), %rcx\n";
        assert_eq!(unseen(kept).len(), 2);
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
        assert!(unseen("\tmovq\ttable@GOTPCREL(%rip), %rax\n\tmovq\ttable@GOTPCREL+8(%rip), %rcx\n").is_empty());
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
