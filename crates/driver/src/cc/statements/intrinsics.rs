// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions in the compiler's own code whose accesses or order no hook tells of. They come from intrinsics, which the
//! compiler knows as functions rather than as accesses, and from masks.
//!
//! clang has hooks for up to 16 bytes, gcc for vectors of any size. Neither has any for fences, masked moves, gathers and
//! `lddqu`; gcc has none for halves of vectors and broadcasts that intrinsics ask for, and for stores past the caches.
use super::effect::{self, Effect};
use super::instruction::Instruction;
use super::memory::{Memory, Operand};
use crate::cc::hooks::Compiler;
use corefold_block::inline_assembly::{Kind, Unseen, Word};

/// Their memory operand is narrower than their registers, and has a hook.
const NARROW: [&str; 9] =
    ["vbroadcast", "vpbroadcast", "vinsert", "vextract", "vpmov", "vcvt", "vpsll", "vpsrl", "vpsra"];

/// They access the places that a mask, or an index each, says.
const PARTIAL: [&str; 10] =
    ["maskmov", "pmaskmov", "gather", "pgather", "scatter", "pscatter", "compress", "pcompress", "expand", "pexpand"];

/// What of a vector of gcc's is told to memory by a hook if it is a plain access, and by none if an intrinsic asks for it;
/// with the bytes.
const BY_INTRINSIC: [(&str, u32); 8] = [
    ("movlps", 8),
    ("movhps", 8),
    ("movlpd", 8),
    ("movhpd", 8),
    ("broadcastss", 4),
    ("broadcastsd", 8),
    ("broadcastf128", 16),
    ("broadcasti128", 16),
];

/// Of no operand in memory, or of none that counts.
const BARE: [&str; 5] = ["mfence", "xbegin", "rdrand", "rdseed", "rdpid"];

/// Is an access still to come that a hook has told of, behind this line of the compiler's? `before`: so it was before it.
/// An access stays between its hook and the next call.
pub fn is_hooked(line: &str, before: bool) -> bool {
    let text = line.trim_start();
    if text.starts_with("call") {
        return ["__tsan_read", "__tsan_write", "__tsan_unaligned_"].iter().any(|hook| text.contains(hook));
    }
    before && !(text.contains('(') && !text.starts_with("lea") && accesses_memory(text))
}

/// Other than the thread's own stack.
fn accesses_memory(instruction: &str) -> bool {
    Instruction::read(instruction).memory().is_some_and(|(_, memory)| !memory.is_on_stack())
}

/// What the line does to memory that no hook tells of. `hooked`: a hook precedes that may be for this line.
pub fn without_hook(line: &str, compiler: Compiler, hooked: bool) -> Option<Effect> {
    let text = line.trim_start();
    if BARE.iter().any(|start| text.starts_with(start)) {
        return Some(effect::effect(&Instruction::read(text)));
    }
    let candidate = ["v", "movnt", "maskmov", "movlp", "movhp", "lddqu"].iter().any(|start| text.starts_with(start));
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
    if spilled || !is_without(&instruction, masked, compiler, hooked) {
        return None;
    }
    // An index for each place.
    let indexed = text.contains('(');
    effect(&instruction, masked).filter(|effect| indexed || !matches!(effect, Effect::Unseen(_)))
}

fn is_without(instruction: &Instruction, masked: bool, compiler: Compiler, hooked: bool) -> bool {
    let stem = instruction.mnemonic.trim_start_matches('v');
    let past_caches = stem.starts_with("movnt");
    if is_partial(stem) || masked && (stem.starts_with("mov") || is_store(instruction)) || stem == "lddqu" {
        return true;
    }
    match compiler {
        Compiler::Gcc => past_caches || !hooked && by_intrinsic(stem).is_some(),
        Compiler::Clang => {
            let narrow = NARROW.iter().any(|start| instruction.mnemonic.starts_with(start));
            instruction.vector_size().is_some_and(|bytes| bytes > 16) && !narrow
        }
    }
}

fn is_partial(stem: &str) -> bool {
    PARTIAL.iter().any(|start| stem.starts_with(start))
}

fn by_intrinsic(stem: &str) -> Option<u32> {
    BY_INTRINSIC.iter().find(|(name, _)| *name == stem).map(|(_, bytes)| *bytes)
}

fn is_store(instruction: &Instruction) -> bool {
    instruction.memory().is_some_and(|(at, _)| at + 1 == instruction.operands.len())
}

fn effect(instruction: &Instruction, masked: bool) -> Option<Effect> {
    let stem = instruction.mnemonic.trim_start_matches('v');
    if matches!(stem, "maskmovdqu" | "maskmovq") {
        let size = if stem == "maskmovq" { 8 } else { 16 };
        return Some(Effect::Access(Word::new(Kind::Write, size).partly().with_operand(false), Memory::at("%rdi")));
    }
    let Some((_, memory)) = instruction.memory() else {
        return instruction.operands.contains(&Operand::Opaque).then_some(Effect::Unseen(Unseen::Vectors));
    };
    if memory.is_on_stack() || memory.is_constant() {
        return None;
    }
    let widest = || instruction.vector_size().or_else(|| instruction.register_size());
    let size = by_intrinsic(stem).or_else(widest)?.div_ceil(narrowing(stem));
    let word = match is_store(instruction) {
        true if masked || is_partial(stem) => Word::new(Kind::Write, size).partly(),
        true => Word::new(Kind::Write, size),
        false => Word::new(Kind::Read, size),
    };
    Some(Effect::Access(word.with_operand(memory.thread), memory.clone()))
}

/// How many times narrower than the register what a conversion stores is.
fn narrowing(stem: &str) -> u32 {
    let Some(kinds) = stem.strip_prefix("pmov") else { return if stem == "cvtps2ph" { 2 } else { 1 } };
    match kinds.trim_start_matches("us").trim_start_matches('s') {
        "qb" => 8,
        "qw" | "db" => 4,
        "qd" | "dw" | "wb" => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, compiler: Compiler) -> Option<(Kind, u32)> {
        match without_hook(line, compiler, false)? {
            Effect::Access(word, _) | Effect::Told(word) => Some((word.kind(), word.size())),
            Effect::Unseen(what) => Some((Kind::Unseen, what as u32)),
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
            ("\tvpgatherdd\t%ymm1, (%rbx,%ymm0,4), %ymm2", Some((Kind::Unseen, Unseen::Vectors as u32))),
            ("\tmovlps\t%xmm0, (%rdi)", Some((Kind::Write, 8))),
            ("\tvmovhpd\t8(%rdi), %xmm1, %xmm0", Some((Kind::Read, 8))),
            ("\tvbroadcastss\t(%rdi), %ymm0", Some((Kind::Read, 4))),
            ("\tmovhlps\t%xmm0, %xmm1", None),
            ("\tmovl\t%eax, (%rdi)", None),
        ] {
            assert_eq!(of(line, Compiler::Gcc), want, "{line}");
        }
    }

    #[test]
    fn neither_has_any_for_intrinsics_of_both() {
        for (line, want) in [
            ("\tmfence\n", (Kind::Fence, 0)),
            ("\tlddqu\t(%rdi), %xmm0", (Kind::Read, 16)),
            ("\tmaskmovdqu\t%xmm1, %xmm0", (Kind::Write, 16)),
            ("\tvpmovdb\t%zmm0, (%rdi){%k1}", (Kind::Write, 16)),
            ("\tvpmovusqb\t%zmm0, (%rdi){%k1}", (Kind::Write, 8)),
            ("\txbegin\t.L2", (Kind::Unseen, Unseen::Transaction as u32)),
            ("\trdrand\t%eax", (Kind::Unseen, Unseen::Random as u32)),
        ] {
            assert_eq!(of(line, Compiler::Gcc), Some(want), "{line}");
            assert_eq!(of(line, Compiler::Clang), Some(want), "{line}");
        }
    }

    #[test]
    fn what_a_mask_says_is_written_partly() {
        let word = |line| match without_hook(line, Compiler::Gcc, false) {
            Some(Effect::Access(word, _)) => word,
            other => panic!("{line}: {other:?}"),
        };
        for line in ["vmovdqu32 %zmm0, (%rdi){%k1}", "vpmaskmovd %ymm1, %ymm0, (%rbx)", "maskmovdqu %xmm1, %xmm0"] {
            assert!(word(line).is_partly(), "{line}");
        }
        for line in ["vmovdqu32 (%rdi), %zmm0{%k1}", "vmovntdq %ymm0, (%rbx)"] {
            assert!(!word(line).is_partly(), "{line}");
        }
    }

    /// As gcc loads two halves of a vector: each behind its hook.
    #[test]
    fn an_access_behind_its_hook_needs_no_other() {
        let mut hooked = false;
        let mut told = Vec::new();
        for line in [
            "\tcall\t__tsan_read8@PLT",
            "\tleaq\t8(%rbx), %rdi",
            "\tmovlps\t(%rbx), %xmm0",
            "\tmovhps\t(%rbp), %xmm0",
            "\tcall\t*__tsan_write8@GOTPCREL(%rip)",
            "\tmovq\t8(%rsp), %rax",
            "\tmovhps\t%xmm0, (%rbp)",
            "\tcall\t__tsan_read8@PLT",
            "\tcall\t__tsan_atomic32_store@PLT",
            "\tmovlps\t%xmm0, (%rbp)",
        ] {
            told.push(without_hook(line, Compiler::Gcc, hooked).is_some());
            hooked = is_hooked(line, hooked);
        }
        assert_eq!(told, [false, false, false, true, false, false, false, false, false, true]);
    }
}
