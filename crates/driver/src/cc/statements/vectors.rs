// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector instructions in the compiler's own code that access memory without a hook.
//!
//! clang has hooks for up to 16 bytes, gcc for vectors of any size. Neither has any for what is no plain
//! access to the compiler: masked moves, gathers, and gcc's stores past the caches.
use super::Compiler;
use super::effect::Effect;
use super::instruction::Instruction;
use super::memory::Operand;
use corefold_block::around::{Kind, Unseen, Word};

/// Their memory operand is narrower than their registers, and has a hook.
const NARROW: [&str; 9] =
    ["vbroadcast", "vpbroadcast", "vinsert", "vextract", "vpmov", "vcvt", "vpsll", "vpsrl", "vpsra"];

/// They access the places that a mask, or an index each, says.
const PARTIAL: [&str; 10] =
    ["maskmov", "pmaskmov", "gather", "pgather", "scatter", "pscatter", "compress", "pcompress", "expand", "pexpand"];

/// What the line does to memory that no hook tells of.
pub fn without_hook(line: &str, compiler: Compiler) -> Option<Effect> {
    let text = line.trim_start();
    let candidate = text.starts_with('v') || text.starts_with("movnt") || text.starts_with("maskmov");
    if !candidate || !text.contains('%') {
        return None;
    }
    // clang says what it thinks behind a `#`.
    let (text, remark) = text.split_once('#').unwrap_or((text, ""));
    let spilled = ["Spill", "Reload", "Folded"].iter().any(|word| remark.contains(word));
    // Masks aside, and a number that is read once for all places, which has a hook.
    let (text, masked) = match text.split_once("{%k") {
        Some((before, _)) => (before, true),
        None => (text, false),
    };
    if text.contains("{1to") {
        return None;
    }
    let instruction = Instruction::read(text);
    if spilled || !is_without(&instruction, masked, compiler) {
        return None;
    }
    // An index for each place.
    let indexed = text.contains('(');
    effect(&instruction).filter(|effect| indexed || !matches!(effect, Effect::Unseen(_)))
}

fn is_without(instruction: &Instruction, masked: bool, compiler: Compiler) -> bool {
    let stem = instruction.mnemonic.trim_start_matches('v');
    let past_caches = stem.starts_with("movnt");
    if PARTIAL.iter().any(|start| stem.starts_with(start)) || masked && stem.starts_with("mov") {
        return true;
    }
    match compiler {
        Compiler::Gcc => past_caches,
        Compiler::Clang => {
            let narrow = NARROW.iter().any(|start| instruction.mnemonic.starts_with(start));
            instruction.vector_size().is_some_and(|bytes| bytes > 16) && !narrow
        }
    }
}

fn effect(instruction: &Instruction) -> Option<Effect> {
    let Some((at, memory)) = instruction.memory() else {
        return instruction.operands.contains(&Operand::Opaque).then_some(Effect::Unseen(Unseen::Vectors));
    };
    if memory.is_on_stack() || memory.is_constant() {
        return None;
    }
    let size = instruction.vector_size().or_else(|| instruction.register_size())?;
    let kind = if at + 1 == instruction.operands.len() { Kind::Write } else { Kind::Read };
    Some(Effect::Access(Word::new(kind, size).with_operand(memory.thread), memory.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, compiler: Compiler) -> Option<(Kind, u32)> {
        match without_hook(line, compiler)? {
            Effect::Access(word, _) => Some((word.kind(), word.size())),
            Effect::Unseen(Unseen::Vectors) => Some((Kind::Unseen, 0)),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn clang_has_no_hooks_for_wide_vectors() {
        for (line, want) in [
            ("\tvmovups\t(%rdi), %ymm0", Some((Kind::Read, 32))),
            ("\tvpaddd\t8(%rsi,%rax), %ymm0, %ymm0\n", Some((Kind::Read, 32))),
            ("\tvmovups\t%zmm0, (%rdi)", Some((Kind::Write, 64))),
            ("\tvmovups\t%ymm0, 32(%rbp)    # 32-byte Spill", None),
            ("\tvmovaps\t%ymm0, 32(%rsp)", None),
            ("\tvmovaps\t.LCPI0_0(%rip), %ymm0   # ymm0 = [1,2]", None),
            ("\tvbroadcastss\t(%rdi), %ymm0", None),
            ("\tvextracti128\t$1, %ymm0, (%rdi)", None),
            ("\tvmovups\t(%rdi), %xmm0", None),
            ("\tvpaddd\t%ymm0, %ymm1, %ymm1", None),
            ("\tvmovdqu32\t(%rdi), %zmm0 {%k1}", Some((Kind::Read, 64))),
            ("\tmovntil\t%ebp, (%rbx)", None),
            ("\tvptestmd\t%ymm0, %ymm0, %k1", None),
            ("\tvpaddd\t(%rdi){1to8}, %ymm0, %ymm0", None),
        ] {
            assert_eq!(of(line, Compiler::Clang), want, "{line}");
        }
    }

    #[test]
    fn gcc_has_none_for_what_is_no_plain_access() {
        for (line, want) in [
            ("\tvmovdqu\t(%r12), %ymm0", None),
            ("\tvmovntdq\t%ymm0, (%rbx)", Some((Kind::Write, 32))),
            ("\tmovnti\t%ebp, (%rbx)", Some((Kind::Write, 4))),
            ("\tmovntdqa\t(%rbx), %xmm1", Some((Kind::Read, 16))),
            ("\tvpmaskmovd\t%ymm1, %ymm0, (%rbx)", Some((Kind::Write, 32))),
            ("\tvpgatherdd\t%ymm1, (%rbx,%ymm0,4), %ymm2", Some((Kind::Unseen, 0))),
        ] {
            assert_eq!(of(line, Compiler::Gcc), want, "{line}");
        }
    }
}
