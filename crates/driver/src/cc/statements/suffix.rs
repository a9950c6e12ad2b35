// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mnemonics of general instructions, with and without the suffix that says their size.

/// What an instruction does with an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read,
    /// The last operand is written, others are read.
    Move,
    /// The last operand is read and written, others are read.
    Change,
    /// Whichever is in memory is read and written.
    Swap,
    Write,
    Nothing,
}

const USES: [(Use, &[&str]); 6] = [
    (
        Use::Read,
        &[
            "cmp", "test", "push", "imul", "mul", "div", "idiv", "popcnt", "bsf", "bsr", "tzcnt", "lzcnt", "bt",
            "adcx", "adox", "mulx", "rorx", "sarx", "shlx", "shrx", "bextr", "andn", "pdep", "pext", "bzhi", "crc32",
        ],
    ),
    (Use::Move, &["mov", "movbe", "movnti"]),
    (
        Use::Change,
        &[
            "add", "adc", "sub", "sbb", "and", "or", "xor", "inc", "dec", "not", "neg", "shl", "sal", "shr", "sar",
            "rol", "ror", "rcl", "rcr", "shld", "shrd", "bts", "btr", "btc", "cmpxchg",
        ],
    ),
    (Use::Swap, &["xchg", "xadd"]),
    (Use::Write, &["pop"]),
    (Use::Nothing, &["lea", "nop"]),
];

/// Do nothing to memory that the machine would show, whatever their operand is.
const WITHOUT_EFFECT: [&str; 8] =
    ["prefetcht0", "prefetcht1", "prefetcht2", "prefetchnta", "prefetchw", "prefetch", "cldemote", "ud1"];

fn plain(mnemonic: &str) -> Option<Use> {
    USES.iter().find(|(_, names)| names.contains(&mnemonic)).map(|(does, _)| *does)
}

/// What the mnemonic does, and the size that its suffix says. None for what is no general instruction.
pub fn general(mnemonic: &str) -> Option<(Use, Option<u32>)> {
    if let Some(does) = plain(mnemonic) {
        return Some((does, None));
    }
    let (stem, suffix) = mnemonic.split_at(mnemonic.len().checked_sub(1)?);
    if let (Some(does), Some(size)) = (plain(stem), size(suffix)) {
        return Some((does, Some(size)));
    }
    special(mnemonic)
}

fn size(suffix: &str) -> Option<u32> {
    ["b", "w", "l", "q"].iter().position(|s| *s == suffix).map(|at| 1 << at)
}

fn special(mnemonic: &str) -> Option<(Use, Option<u32>)> {
    if WITHOUT_EFFECT.contains(&mnemonic) {
        return Some((Use::Nothing, None));
    }
    match mnemonic {
        "cmpxchg8b" => return Some((Use::Change, Some(8))),
        "cmpxchg16b" => return Some((Use::Change, Some(16))),
        "movabs" | "movabsq" => return Some((Use::Move, None)),
        _ => {}
    }
    if mnemonic.starts_with("cmov") {
        return Some((Use::Read, None));
    }
    if mnemonic.starts_with("set") {
        return Some((Use::Write, Some(1)));
    }
    // movzbl, movslq: the first letter after the stem is the size in memory.
    let extended = mnemonic.strip_prefix("movz").or_else(|| mnemonic.strip_prefix("movs"))?;
    let letters: Vec<char> = extended.chars().collect();
    match letters[..] {
        [from @ ('b' | 'w' | 'l'), 'w' | 'l' | 'q'] => Some((Use::Read, size(&from.to_string()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Use, general};

    #[test]
    fn suffixes_are_told_from_names() {
        assert_eq!(general("sub"), Some((Use::Change, None)));
        assert_eq!(general("subb"), Some((Use::Change, Some(1))));
        assert_eq!(general("btsq"), Some((Use::Change, Some(8))));
        assert_eq!(general("btl"), Some((Use::Read, Some(4))));
        assert_eq!(general("movslq"), Some((Use::Read, Some(4))));
        assert_eq!(general("movzbl"), Some((Use::Read, Some(1))));
        assert_eq!(general("movb"), Some((Use::Move, Some(1))));
        assert_eq!(general("sete"), Some((Use::Write, Some(1))));
        assert_eq!(general("xaddw"), Some((Use::Swap, Some(2))));
        assert_eq!(general("cmpxchg16b"), Some((Use::Change, Some(16))));
        for other in ["movss", "fxsave", "vmovdqu", "", "l", "mfence", "syscall"] {
            assert_eq!(general(other), None, "{other}");
        }
    }
}
