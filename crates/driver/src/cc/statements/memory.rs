// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands as the compiler substituted them, in AT&T syntax.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Immediate(String),
    Register(Register),
    Memory(Memory),
    /// Not a form that is known; it may be memory.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    pub bytes: u32,
    /// As the processor counts general registers, from `rax`; none for others.
    pub number: Option<u32>,
}

/// `displacement(registers)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// In the thread's own block, which FS points to.
    pub thread: bool,
    displacement: String,
    registers: String,
}

const GENERAL: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rbx", "ebx", "bx", "bl"],
    ["rsp", "esp", "sp", "spl"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];

impl Operand {
    pub fn read(text: &str) -> Operand {
        let text = text.trim();
        if text.contains(['{', '\\', '"']) {
            return Operand::Opaque;
        }
        if let Some(value) = text.strip_prefix('$') {
            return Operand::Immediate(value.trim().to_owned());
        }
        match text.strip_prefix('%') {
            Some(register) => match register.split_once(':') {
                Some((segment, rest)) => in_segment(segment.trim(), rest.trim()),
                None => Register::named(register.trim()).map_or(Operand::Opaque, Operand::Register),
            },
            None => memory(text, false),
        }
    }

    pub fn memory(&self) -> Option<&Memory> {
        if let Operand::Memory(memory) = self { Some(memory) } else { None }
    }

    pub fn register(&self) -> Option<&Register> {
        if let Operand::Register(register) = self { Some(register) } else { None }
    }
}

/// GS is not known to the runtime; the other segments begin at 0.
fn in_segment(segment: &str, rest: &str) -> Operand {
    match segment {
        "fs" => memory(rest, true),
        "ds" | "es" | "ss" | "cs" => memory(rest, false),
        _ => Operand::Opaque,
    }
}

fn memory(text: &str, thread: bool) -> Operand {
    let (displacement, registers) = match text.strip_suffix(')').and_then(|inner| Some((inner, opening(inner)?))) {
        Some((inner, open)) if inner[open..].contains(['%', ',']) => (&text[..open], &text[open..]),
        _ => (text, ""),
    };
    if text.is_empty() || !registers.is_empty() && !are_wide(&registers[1..registers.len() - 1]) {
        return Operand::Opaque;
    }
    Operand::Memory(Memory { thread, displacement: displacement.trim().to_owned(), registers: registers.to_owned() })
}

/// Where the parenthesis opens that would be closed behind `inner`.
fn opening(inner: &str) -> Option<usize> {
    let mut depth = 1;
    inner.char_indices().rev().find_map(|(at, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        (depth == 0).then_some(at)
    })
}

/// `base, index, scale`, with registers of 64 bits.
fn are_wide(registers: &str) -> bool {
    let parts: Vec<&str> = registers.split(',').map(str::trim).collect();
    let wide = |name: &str| {
        let name = name.strip_prefix('%').unwrap_or("?");
        name == "rip" || name == "riz" || GENERAL.iter().any(|names| names[0] == name)
    };
    let absent_or_wide = |name: Option<&&str>| name.is_none_or(|name| name.is_empty() || wide(name));
    let scale = parts.get(2).is_none_or(|scale| ["", "1", "2", "4", "8"].contains(scale));
    parts.len() <= 3 && absent_or_wide(parts.first()) && absent_or_wide(parts.get(1)) && scale
}

impl Memory {
    /// Where the register points to.
    pub fn at(register: &str) -> Memory {
        Memory { thread: false, displacement: String::new(), registers: format!("({register})") }
    }

    pub fn is_on_stack(&self) -> bool {
        !self.thread && self.base() == "%rsp"
    }

    /// The compiler's constants.
    pub fn is_constant(&self) -> bool {
        self.displacement.starts_with(".LC")
    }

    /// The frame pointer's, in a function that has one.
    pub fn is_in_frame(&self) -> bool {
        !self.thread && self.base() == "%rbp"
    }

    /// The numbers of the general registers that the address is made of.
    pub fn registers(&self) -> impl Iterator<Item = u32> {
        let names = self.registers.split(['(', ',', ')']).filter_map(|word| word.trim().strip_prefix('%'));
        names.filter_map(|name| Register::named(name)?.number)
    }

    /// The number in the displacement. (gcc writes `4+variable`.)
    pub fn offset(&self) -> Option<i64> {
        let number = self.number_and_variable().0.trim_end_matches('+');
        if number.is_empty() { Some(0) } else { number.parse().ok() }
    }

    fn number_and_variable(&self) -> (&str, &str) {
        let is_number = |c: char| c.is_ascii_digit() || ['+', '-'].contains(&c);
        self.displacement.split_at(self.displacement.find(|c| !is_number(c)).unwrap_or(self.displacement.len()))
    }

    /// Do both differ by a known number of bytes at most?
    pub fn is_beside(&self, other: &Memory) -> bool {
        self.registers == other.registers && self.number_and_variable().1 == other.number_and_variable().1
    }

    fn base(&self) -> &str {
        self.registers.trim_start_matches('(').split([',', ')']).next().unwrap_or_default().trim()
    }

    /// Displacement and registers, where there is no segment.
    pub fn parts(&self) -> Option<(&str, &str)> {
        (!self.thread).then_some((&self.displacement, &self.registers))
    }

    /// The operand, segment aside, where the stack pointer has moved down by so many bytes.
    pub fn after(&self, moved: u32) -> String {
        let Memory { displacement, registers, .. } = self;
        match self.base() == "%rsp" {
            true if displacement.is_empty() => format!("{moved}{registers}"),
            true => format!("{moved}+{displacement}{registers}"),
            false => format!("{displacement}{registers}"),
        }
    }
}

impl Register {
    pub const RSP: u32 = 4;
    pub const RBP: u32 = 5;
    pub const RDI: u32 = 7;

    /// Of a general register of 64 bits.
    pub fn name(number: u32) -> &'static str {
        GENERAL[number as usize][0]
    }

    pub fn named(name: &str) -> Option<Register> {
        for (number, names) in (0..).zip(GENERAL) {
            if let Some(at) = names.iter().position(|n| *n == name) {
                return Some(Register { bytes: 8 >> at, number: Some(number) });
            }
        }
        let other = |bytes| Some(Register { bytes, number: None });
        let counted = |prefix: &str| name.strip_prefix(prefix).is_some_and(|n| n.parse::<u8>().is_ok());
        match name {
            "ah" | "bh" | "ch" | "dh" => other(1),
            _ if counted("xmm") => other(16),
            _ if counted("ymm") => other(32),
            _ if counted("zmm") => other(64),
            _ if counted("mm") => other(8),
            // Segments, control and mask registers, the x87's: their size does not matter.
            _ => other(0),
        }
    }

    /// Do functions give it back as it was?
    pub fn is_kept_by_calls(number: u32) -> bool {
        ["rbx", "rbp", "r12", "r13", "r14", "r15"].contains(&Register::name(number))
    }

    pub fn is_vector(&self) -> bool {
        self.number.is_none() && self.bytes >= 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Option<(String, bool)> {
        Operand::read(text).memory().map(|m| (m.after(136), m.thread))
    }

    #[test]
    fn addresses_are_read_in_every_form() {
        let same = |text: &str| assert_eq!(after(text), Some((text.to_owned(), false)));
        [
            "(%rax)",
            "8(%rbp,%rcx,4)",
            "counter(%rip)",
            "counter+4(%rip)",
            "table(,%rdx,8)",
            "-8(%rbx)",
            "counter",
            "4096",
        ]
        .into_iter()
        .for_each(same);
        assert_eq!(after("(%rsp)"), Some(("136(%rsp)".into(), false)));
        assert_eq!(after("-8(%rsp,%rcx,4)"), Some(("136+-8(%rsp,%rcx,4)".into(), false)));
        assert_eq!(after("%fs:0"), Some(("0".into(), true)));
        assert_eq!(after("%fs:t@tpoff"), Some(("t@tpoff".into(), true)));
        assert_eq!(after("%fs:8(%rax)"), Some(("8(%rax)".into(), true)));
        assert_eq!(after("(sym+4)(%rax)"), Some(("(sym+4)(%rax)".into(), false)));
        assert_eq!(after("%ds:(%rax)"), Some(("(%rax)".into(), false)));
    }

    #[test]
    fn what_cannot_be_addressed_again_is_opaque() {
        for text in ["(%eax)", "(%rax){%k1}", "%gs:40", "\\p", "(%rax,%xmm1,4)", "", "(%rax,%rbx,3)"] {
            assert_eq!(Operand::read(text), Operand::Opaque, "{text}");
        }
    }

    #[test]
    fn other_operands() {
        assert_eq!(Operand::read("$1"), Operand::Immediate("1".into()));
        let register = |bytes, number| Operand::Register(Register { bytes, number });
        assert_eq!(Operand::read("%r9d"), register(4, Some(9)));
        assert_eq!(Operand::read("%ymm12"), register(32, None));
        assert_eq!(Operand::read("%st(1)"), register(0, None));
    }
}
