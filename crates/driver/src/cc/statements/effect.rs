// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction does to memory, as far as the runtime can be told.
use super::instruction::Instruction;
use super::memory::{Memory, Operand};
use super::suffix::{Use, general};
use corefold_block::inline_assembly::{Kind, Unseen, Word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Nothing,
    /// What the runtime is told, and the operand.
    Access(Word, Memory),
    /// A full fence, or a string instruction.
    Told(Word),
    Unseen(Unseen),
}

const LOCKS: [&str; 3] = ["lock", "xacquire", "xrelease"];
const REPEATS: [&str; 5] = ["rep", "repe", "repz", "repne", "repnz"];

pub fn effect(instruction: &Instruction) -> Effect {
    let mnemonic = instruction.mnemonic.as_str();
    match mnemonic {
        "mfence" => return Effect::Told(Word::new(Kind::Fence, 0)),
        "syscall" | "sysenter" | "int" => return Effect::Unseen(Unseen::SystemCall),
        "cpuid" | "rdpid" => return Effect::Unseen(Unseen::Processor),
        "xbegin" => return Effect::Unseen(Unseen::Transaction),
        _ if mnemonic.starts_with("rdrand") || mnemonic.starts_with("rdseed") => return Effect::Unseen(Unseen::Random),
        _ => {}
    }
    if let Some(word) = string(instruction) {
        return word.map_or(Effect::Unseen(Unseen::Memory), Effect::Told);
    }
    let branch = mnemonic.starts_with('j') || mnemonic.starts_with("call");
    if branch && !instruction.indirect {
        return Effect::Nothing;
    }
    with_operand(instruction)
}

fn with_operand(instruction: &Instruction) -> Effect {
    let Some((at, memory)) = instruction.memory() else {
        let opaque = instruction.operands.contains(&Operand::Opaque);
        return if opaque { Effect::Unseen(Unseen::Memory) } else { Effect::Nothing };
    };
    match access(instruction, at) {
        Some((_, Kind::Done)) => Effect::Nothing,
        Some((_, Kind::Atomic)) if is_fence(instruction, memory) => Effect::Told(Word::new(Kind::Fence, 0)),
        Some((size, kind)) => {
            let word = Word::new(kind, size).with_operand(memory.thread);
            let bit = bit_register(instruction);
            Effect::Access(bit.map_or(word, |register| word.with_bit_in(register)), memory.clone())
        }
        // The thread's own stack, of which nobody else knows.
        None if memory.is_on_stack() => Effect::Nothing,
        None => Effect::Unseen(Unseen::Memory),
    }
}

/// Size and kind of what is done to operand `at`; [`Kind::Done`] if nothing is. None: not known.
fn access(instruction: &Instruction, at: usize) -> Option<(u32, Kind)> {
    let locked = instruction.has_prefix(&LOCKS);
    if instruction.indirect {
        return Some((8, Kind::Read));
    }
    let Some((does, suffix)) = general(&instruction.mnemonic) else {
        return if locked { None } else { vector(instruction, at) };
    };
    let vector = instruction.vector_size().filter(|_| suffix.is_none());
    let stack = matches!(instruction.mnemonic.as_str(), "push" | "pop");
    let usual = if stack { 8 } else { 4 };
    let size = suffix.or(vector).or_else(|| instruction.register_size()).unwrap_or(usual);
    let last = at + 1 == instruction.operands.len();
    let kind = match does {
        Use::Nothing => Kind::Done,
        Use::Read => Kind::Read,
        Use::Write => Kind::Write,
        Use::Move if last => Kind::Write,
        Use::Swap if locked || instruction.mnemonic.starts_with("xchg") => Kind::Atomic,
        Use::Change if locked && last => Kind::Atomic,
        Use::Swap => Kind::Update,
        Use::Change if last => Kind::Update,
        Use::Move | Use::Change => Kind::Read,
    };
    let lockable = kind == Kind::Atomic || kind == Kind::Write || !locked;
    lockable.then_some((size, kind))
}

/// Vector instructions read their first operand and write their last, if these are in memory.
fn vector(instruction: &Instruction, at: usize) -> Option<(u32, Kind)> {
    let width = instruction.vector_size()?;
    let scalar = narrower(instruction.mnemonic.trim_start_matches('v'), width);
    let last = at + 1 == instruction.operands.len();
    Some((scalar.unwrap_or(width), if last { Kind::Write } else { Kind::Read }))
}

/// Bytes in memory of an instruction that accesses less than a register of `width` bytes.
fn narrower(stem: &str, width: u32) -> Option<u32> {
    let of_parts = |kinds: &str| match kinds {
        "bw" | "wd" | "dq" => width / 2,
        "bd" | "wq" => width / 4,
        _ => width / 8,
    };
    match stem {
        "movd" | "insertps" => Some(4),
        "movq" | "movlps" | "movhps" | "movlpd" | "movhpd" | "movddup" => Some(8),
        "cvtps2pd" | "cvtdq2pd" => Some(width / 2),
        _ if stem.starts_with("cvtsi2") => Some(if stem.ends_with('q') { 8 } else { 4 }),
        _ if stem.starts_with("cvtss2") || stem.starts_with("cvttss2") => Some(4),
        _ if stem.starts_with("cvtsd2") || stem.starts_with("cvttsd2") => Some(8),
        _ if stem.starts_with("pmovzx") || stem.starts_with("pmovsx") => Some(of_parts(&stem[6..])),
        _ if stem.starts_with("pinsr") || stem.starts_with("pextr") => {
            ["b", "w", "d", "q"].iter().position(|kind| stem[5..] == **kind).map(|power| 1 << power)
        }
        // `pabsd` and its like are of packed numbers.
        _ if stem.starts_with('p') => None,
        _ if stem.ends_with("ss") => Some(4),
        _ if stem.ends_with("sd") => Some(8),
        _ => None,
    }
}

/// `lock; addl $0, (%rsp)`: nobody else knows of the word, and it stays as it is.
fn is_fence(instruction: &Instruction, memory: &Memory) -> bool {
    let changes_nothing = ["add", "or"].iter().any(|stem| instruction.mnemonic.starts_with(stem));
    let zero =
        |operand: &Operand| matches!(operand, Operand::Immediate(value) if ["0", "0x0"].contains(&value.as_str()));
    memory.is_on_stack() && changes_nothing && instruction.operands.first().is_some_and(zero)
}

/// The register that counts bits from the beginning of the operand.
fn bit_register(instruction: &Instruction) -> Option<u32> {
    let bits = ["bt", "bts", "btr", "btc"];
    let stem = instruction.mnemonic.trim_end_matches(['w', 'l', 'q']);
    if !bits.contains(&stem) { None } else { instruction.operands.first()?.register()?.number }
}

/// Of a string instruction, what it does; or that it cannot be told, as it ends where it finds something.
fn string(instruction: &Instruction) -> Option<Option<Word>> {
    let mnemonic = instruction.mnemonic.as_str();
    let (stem, suffix) = mnemonic.split_at(mnemonic.len().checked_sub(1)?);
    let size = ["b", "w", "l", "q"].iter().position(|s| *s == suffix).map(|at| 1 << at)?;
    let general = instruction.operands.iter().all(|operand| operand.register().is_none_or(|r| !r.is_vector()));
    let bare = instruction.operands.is_empty();
    let (from, to) = match stem {
        "movs" if bare => (true, true),
        "stos" if general => (false, true),
        "lods" if general => (true, false),
        "cmps" | "scas" if bare => return Some(None),
        _ => return None,
    };
    Some(Some(Word::string(size, from, to, instruction.has_prefix(&REPEATS))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Effect {
        effect(&Instruction::read(text))
    }

    fn kind(text: &str) -> (Kind, u32) {
        match of(text) {
            Effect::Access(word, _) | Effect::Told(word) => (word.kind(), word.size()),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn locked_instructions_and_exchanges_are_atomic() {
        for (text, size) in [
            ("lock xaddl %ebp,(%rbx)", 4),
            ("lock addq $1, counter(%rip)", 8),
            ("lock subw %ax, 8(%rsp,%rcx,4)", 2),
            ("lock incl %fs:t@tpoff", 4),
            ("lock dec (%rax)", 4),
            ("lock andb $-2, (%rdi)", 1),
            ("lock cmpxchg %rcx, (%rdx)", 8),
            ("lock cmpxchg8b (%rsi)", 8),
            ("lock cmpxchg16b (%rsi)", 16),
            ("lock btsl $3, (%rsi)", 4),
            ("lock negq (%rsi)", 8),
            ("lock notl (%rsi)", 4),
            ("xchg %eax, (%rdi)", 4),
            ("xchgb (%rdi), %al", 1),
            ("xchg %rax, (%rsp)", 8),
            ("lock addl $1, (%rsp)", 4),
        ] {
            assert_eq!(kind(text), (Kind::Atomic, size), "{text}");
        }
    }

    #[test]
    fn plain_accesses_have_their_kind_and_size() {
        for (text, want) in [
            ("movl (%rax), %ecx", (Kind::Read, 4)),
            ("mov %cl, (%rax)", (Kind::Write, 1)),
            ("movq $0, (%rax)", (Kind::Write, 8)),
            ("cmpl $0, c(%rip)", (Kind::Read, 4)),
            ("testb $1, (%rax)", (Kind::Read, 1)),
            ("incq (%rax)", (Kind::Update, 8)),
            ("xaddl %eax, (%rbx)", (Kind::Update, 4)),
            ("addl (%rax), %ecx", (Kind::Read, 4)),
            ("cmovel (%rax), %ecx", (Kind::Read, 4)),
            ("movdqu (%rax), %xmm0", (Kind::Read, 16)),
            ("vmovdqa %ymm1, (%rax)", (Kind::Write, 32)),
            ("addsd 8(%rbx), %xmm0", (Kind::Read, 8)),
            ("vmulss (%rbx), %xmm1, %xmm0", (Kind::Read, 4)),
            ("cvtsi2sdq (%rbx), %xmm0", (Kind::Read, 8)),
            ("pmovzxbd (%rbx), %xmm0", (Kind::Read, 4)),
            ("pinsrw $1, (%rbx), %xmm0", (Kind::Read, 2)),
            ("pabsd (%rbx), %xmm0", (Kind::Read, 16)),
            ("movq %xmm0, (%rax)", (Kind::Write, 8)),
            ("jmp *8(%rax)", (Kind::Read, 8)),
            ("rep movsb", (Kind::String, 1)),
            ("stosq", (Kind::String, 8)),
            ("mfence", (Kind::Fence, 0)),
            ("lock addl $0, (%rsp)", (Kind::Fence, 0)),
            ("lock orq $0x0,-8(%rsp)", (Kind::Fence, 0)),
        ] {
            assert_eq!(kind(text), want, "{text}");
        }
    }

    #[test]
    fn a_bit_in_a_register_may_lie_in_another_word() {
        let Effect::Access(word, _) = of("lock btsq %r10, (%rdi)") else { panic!() };
        assert_eq!(word.bit_register(), Some(10));
        let Effect::Access(word, _) = of("lock btsq $5, (%rdi)") else { panic!() };
        assert_eq!(word.bit_register(), None);
    }

    #[test]
    fn what_touches_no_memory_is_nothing() {
        for text in [
            "nop",
            "pause",
            "rep nop",
            "jne 1b",
            "jmp .L5",
            "call f",
            "lea 8(%rax), %rbx",
            "prefetcht0 (%rax)",
            "nopl 0(%rax)",
            "bswap %eax",
            "rdtsc",
            "lfence",
            "sfence",
            "xchg %eax, %ebx",
            "fldcw 4(%rsp)",
            "add $1, %eax",
        ] {
            assert_eq!(of(text), Effect::Nothing, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_unseen() {
        for text in ["fxsave (%rax)", "movl %gs:40, %eax", "lock frob (%rax)", "repne scasb", "frob \\a", "incl (%eax)"]
        {
            assert_eq!(of(text), Effect::Unseen(Unseen::Memory), "{text}");
        }
        assert_eq!(of("syscall"), Effect::Unseen(Unseen::SystemCall));
        assert_eq!(of("int $0x80"), Effect::Unseen(Unseen::SystemCall));
        assert_eq!(of("cpuid"), Effect::Unseen(Unseen::Processor));
        assert_eq!(of("xbegin 1f"), Effect::Unseen(Unseen::Transaction));
        assert_eq!(of("rdpid %rax"), Effect::Unseen(Unseen::Processor));
        assert_eq!(of("rdrandq %rax"), Effect::Unseen(Unseen::Random));
    }
}
