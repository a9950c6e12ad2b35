// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is particular about clang's assembly, put as gcc would have it.
//!
//! TSan's pass turns every copy of a structure into a call, which a plain build has only where the size is
//! large or not known: the others become calls of hooks that take no longer than the moves they stand for.
//! And some types of sections have a name in LLVM's assembler only; the numbers are known to both.

/// Up to how many bytes clang moves by instructions of the code itself, and fills.
const MOST_COPIED: u32 = 128;
const MOST_FILLED: u32 = 256;

/// The functions that are called, by their names in versions up to 15 and after.
const CALLED: [(&str, &str, u32); 6] = [
    ("memcpy", "corefold_inline_memcpy", MOST_COPIED),
    ("memmove", "corefold_inline_memmove", MOST_COPIED),
    ("memset", "corefold_inline_memset", MOST_FILLED),
    ("__tsan_memcpy", "corefold_inline_memcpy", MOST_COPIED),
    ("__tsan_memmove", "corefold_inline_memmove", MOST_COPIED),
    ("__tsan_memset", "corefold_inline_memset", MOST_FILLED),
];

const SECTION_TYPES: [(&str, &str); 4] = [
    ("@llvm_linker_options", "@0x6fff4c01"),
    ("@llvm_dependent_libraries", "@0x6fff4c04"),
    ("@llvm_sympart", "@0x6fff4c05"),
    ("@llvm_bb_addr_map", "@0x6fff4c0a"),
];

/// GNU's assembler takes their size from the register, and knows no suffix.
const RANDOM: [&str; 2] = ["rdrand", "rdseed"];

pub fn adapt(assembly: &str) -> String {
    let mut out = String::with_capacity(assembly.len());
    let mut size = None;
    for line in assembly.split_inclusive('\n') {
        let call = size.and_then(|size| called(line, size));
        size = size_after(line, size);
        match call {
            Some((name, hook)) => out += &line.replacen(name, hook, 1),
            None if line.contains("@llvm_") => out += &section(line),
            None if line.trim_start().starts_with(".file") => out += &file(line),
            None if RANDOM.iter().any(|name| line.trim_start().starts_with(name)) => out += &without_suffix(line),
            None => out += line,
        }
    }
    out
}

/// What of such a call stands in the line, and what is to stand there.
fn called(line: &str, size: u32) -> Option<(&'static str, &'static str)> {
    let mut words = line.split_whitespace();
    if !matches!(words.next()?, "callq" | "jmp") {
        return None;
    }
    let target = words.next()?.trim_start_matches('*').split('@').next()?;
    let (name, hook, _) = CALLED.into_iter().find(|(name, _, most)| *name == target && size <= *most)?;
    Some((name, hook))
}

/// The third argument, where it is known to be a constant behind this line.
fn size_after(line: &str, size: Option<u32>) -> Option<u32> {
    let text = line.trim_start();
    if let Some(constant) = text.strip_prefix("movl\t$").and_then(|rest| rest.split_once(", %edx")) {
        return constant.0.parse().ok();
    }
    let debug = text.starts_with(".Ltmp") || text.starts_with(".loc") || text.starts_with(['#', '\n']);
    let elsewhere = text.contains(':') || text.starts_with("call") || text.starts_with('j') || text.contains("%edx");
    size.filter(|_| debug || !(elsewhere || ["%rdx", "%dx", "%dl", "%dh"].iter().any(|part| text.contains(part))))
}

/// GNU's assembler takes the directory of a source file apart from its name in DWARF 5 alone, which has a sum of the file behind.
fn file(line: &str) -> String {
    match line.split_once("\" \"").filter(|(_, name)| name.trim_end().ends_with('"')) {
        Some((directory, name)) => format!("{directory}/{name}"),
        None => line.to_owned(),
    }
}

fn section(line: &str) -> String {
    SECTION_TYPES.iter().fold(line.to_owned(), |line, (name, number)| line.replace(name, number))
}

fn without_suffix(line: &str) -> String {
    let (mnemonic, rest) = line.trim_start().split_once(char::is_whitespace).unwrap_or((line, ""));
    format!("\t{}\t{rest}", mnemonic.trim_end_matches(['w', 'l', 'q']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_have_the_size_of_their_register() {
        assert_eq!(adapt("\trdrandl\t%eax\n\trdseed\t%rcx\n"), "\trdrand\t%eax\n\trdseed\t%rcx\n");
    }

    #[test]
    fn small_copies_are_no_calls() {
        for (call, hook) in [
            ("\tcallq\t__tsan_memcpy@PLT\n", "\tcallq\tcorefold_inline_memcpy@PLT\n"),
            ("\tcallq\t*__tsan_memmove@GOTPCREL(%rip)\n", "\tcallq\t*corefold_inline_memmove@GOTPCREL(%rip)\n"),
            (
                "\tjmp\tmemset@PLT                      # TAILCALL\n",
                "\tjmp\tcorefold_inline_memset@PLT                      # TAILCALL\n",
            ),
        ] {
            let before = "\tmovl\t$24, %edx\n.Ltmp3:\n\t.loc\t1 2 3\n\tmovq\t%rbx, %rdi\n";
            assert_eq!(adapt(&format!("{before}{call}")), format!("{before}{hook}"));
        }
    }

    #[test]
    fn other_copies_stay_calls() {
        for before in [
            "\tmovq\t%rax, %rdx\n",
            "\tmovl\t$129, %edx\n",
            "\tmovl\t$24, %edx\n\tcallq\tf@PLT\n",
            "\tmovl\t$24, %edx\n.LBB0_3:\n",
            "\tmovl\t$24, %edx\n\tcmovneq\t%rax, %rdx\n",
            "\tmovl\t$24, %edx\n\tjne\t.LBB0_3\n",
            "\tmovl\t$size, %edx\n",
            "",
        ] {
            let text = format!("{before}\tcallq\t__tsan_memcpy@PLT\n\tcallq\tmemccpy@PLT\n");
            assert_eq!(adapt(&text), text);
        }
    }

    #[test]
    fn the_directory_of_a_file_goes_with_its_name() {
        assert_eq!(adapt("\t.file\t2 \"/src/a b\" \"x.rs\"\n"), "\t.file\t2 \"/src/a b/x.rs\"\n");
        for line in ["\t.file\t\"x.c\"\n", "\t.file\t0 \"/src\" \"x.c\" md5 0x12\n"] {
            assert_eq!(adapt(line), line);
        }
    }

    #[test]
    fn section_types_are_numbers() {
        let text = "\t.section\t\".linker-options\",\"e\",@llvm_linker_options\n";
        assert_eq!(adapt(text), "\t.section\t\".linker-options\",\"e\",@0x6fff4c01\n");
    }
}
