// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler's assembly, on its way to the assembler: the hottest hooks become inline code.
//!
//! A call, its jump through the procedure linkage table and its return cost more than the hook's work.
//! At these calls every caller-saved register is dead, so the work can stand in the call's place. The
//! rare rest is out of line, in a subsection behind the section's code, and calls the runtime with the
//! address that the hook's own return address would have been: all that is known of the place hangs on
//! it. The runtime's `hot` module and the block decoder know these very sequences.
use super::hooks::{BLOCK_HOOK, Compiler};
use super::statements::{BitField, Part, Statements};
use super::unseen;
use corefold_block::inline::{CLOCK, COST_HALF, FRAME_STEP, FRAMES, LIMIT, SHADOW, TAG, TAG_DIRTY, WROTE};

/// Replaces the calls of hot hooks in one assembly file, and has its asm statements tell what they do.
pub fn inline_hooks(assembly: &str, compiler: Compiler) -> String {
    let mut out = String::with_capacity(assembly.len() * 2);
    let mut sites = 0;
    let mut statements = Statements::new(assembly, compiler);
    let mut address = None;
    let mut rest = assembly;
    for line in assembly.split_inclusive('\n') {
        rest = &rest[line.len()..];
        let before = address;
        address = if is_note(line) { before } else { computes_address(line).then_some(line) };
        if statements.take(line, &mut out) {
            address = None;
            continue;
        }
        let hook = hook_call(line);
        if let Some((_, tail)) = hook.filter(|(hook, _)| statements.is_for_loader() && only_tells(hook)) {
            // The runtime has no tables yet.
            out += if tail { "\tret\n" } else { "" };
            continue;
        }
        if let Some((hook, false)) = hook
            && let Some(code) = bit_field(hook, assembly.split_at(assembly.len() - rest.len()), &statements, &mut sites)
        {
            out += &code;
            continue;
        }
        let again = before.filter(|_| hook.is_some_and(|(_, tail)| !tail));
        match hook.and_then(|(hook, tail)| inline(hook, again, sites).map(|code| (code, tail))) {
            Some((code, tail)) => {
                sites += 1;
                if tail {
                    // The slow paths call, and expect the stack as it is within a function.
                    out += &format!("\tsubq $8, %rsp\n{code}\taddq $8, %rsp\n\tret\n");
                } else {
                    out += &code;
                }
            }
            None => out += line,
        }
    }
    if statements.end(&mut out) {
        out += &unseen::note(unseen::source(assembly));
    }
    out
}

/// The hook that a line calls, and whether it is a tail call.
fn hook_call(line: &str) -> Option<(&str, bool)> {
    let mut words = line.split_whitespace();
    let tail = match words.next()? {
        "call" | "callq" => false,
        "jmp" => true,
        _ => return None,
    };
    let target = words.next()?.trim_start_matches('*');
    let name = target.split(['@', '(']).next()?;
    // clang says what it thinks behind a `#`.
    let alone = words.next().is_none_or(|word| word.starts_with('#'));
    (alone && (name.starts_with("__tsan_") || name == BLOCK_HOOK)).then_some((name, tail))
}

/// A hook without which the code does the same. (Atomic operations are calls.)
fn only_tells(hook: &str) -> bool {
    const ACCESSES: [&str; 5] = ["read", "write", "unaligned_", "volatile_", "func_"];
    let access = hook.strip_prefix("__tsan_").is_some_and(|rest| ACCESSES.iter().any(|start| rest.starts_with(start)));
    hook == BLOCK_HOOK || access
}

/// A line between the computation of an address and the hook's call that changes nothing and is jumped to from nowhere.
fn is_note(line: &str) -> bool {
    let line = line.trim();
    let is_label = |start: &str| {
        let number = line.strip_prefix(start).and_then(|rest| rest.strip_suffix(':'));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    line.is_empty() || line.starts_with(".loc\t") || line.starts_with(".loc ") || is_label(".LVL") || is_label(".Ltmp")
}

/// An instruction that puts an address into `%rdi` and does the same when it is repeated at once.
fn computes_address(line: &str) -> bool {
    let Some((operation, operands)) = line.trim().split_once(['\t', ' ']) else { return false };
    let operands = operands.split('#').next().unwrap_or_default().trim();
    let Some(source) = operands.strip_suffix("%rdi").and_then(|rest| rest.trim_end().strip_suffix(',')) else {
        return false;
    };
    let can_repeat = match operation {
        "movq" => source.starts_with('%') && !source.contains([':', '(']),
        // Of a thread-local variable, the linker changes instructions by their number.
        "leaq" => !source.contains([':', '@']),
        _ => false,
    };
    can_repeat && !source.contains("%rdi") && !source.contains("%edi")
}

/// `again` is the instruction right before the call that computed the address, where that can be repeated.
fn inline(hook: &str, again: Option<&str>, site: usize) -> Option<String> {
    if let Some(size) = hook.strip_prefix("__tsan_read").and_then(access_size) {
        return Some(read(size, again, site));
    }
    if let Some(size) = hook.strip_prefix("__tsan_write").and_then(access_size) {
        return Some(write(size, again, site));
    }
    match hook {
        BLOCK_HOOK => Some(block(site)),
        "__tsan_func_entry" => Some(function_entry()),
        "__tsan_func_exit" => Some(function_exit()),
        _ => None,
    }
}

/// What stands for a hook that a store to a bit-field follows. `at`: the assembly up to the hook, and behind it.
fn bit_field(hook: &str, at: (&str, &str), statements: &Statements, sites: &mut usize) -> Option<String> {
    let written = hook.strip_prefix("__tsan_write")?;
    // The size of a range is not known here.
    let most = access_size(written).or((written == "_range").then_some(0))?;
    match statements.bit_field(at.0, at.1, most)? {
        BitField::Parts(parts) => {
            let mut out = String::new();
            for Part { operand, bytes, reads } in parts {
                let address = format!("leaq {operand}, %rdi");
                let access = if reads { read } else { write };
                out += &format!("\t{address}\n{}", access(bytes, Some(&address), *sites));
                *sites += 1;
            }
            Some(out)
        }
        // LLVM's hook for both.
        BitField::Whole => access_size(written).map(|size| format!("\tcall __tsan_read_write{size}@PLT\n")),
    }
}

fn access_size(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|size| [1, 2, 4, 8, 16].contains(size))
}

fn read(size: u32, again: Option<&str>, site: usize) -> String {
    let (copy, wide, narrow) = registers(again);
    format!(
        "\
         {copy}\
         \tshrq $6, {wide}\n\
         \tmovl {SHADOW:#x}(,{wide},4), {narrow}\n\
         \tandl $-4, {narrow}\n\
         \tcmpl {TAG:#x}, {narrow}\n\
         \tjne .Lcorefold_slow{site}\n\
         .Lcorefold_pc{site}:\n\
        "
    ) + &slow_access("read", size, again, site)
}

fn write(size: u32, again: Option<&str>, site: usize) -> String {
    let (copy, wide, narrow) = registers(again);
    format!(
        "\
         {copy}\
         \tshrq $6, {wide}\n\
         \tmovb $1, {WROTE:#x}\n\
         \tmovl {SHADOW:#x}(,{wide},4), {narrow}\n\
         \tcmpl {TAG_DIRTY:#x}, {narrow}\n\
         \tjne .Lcorefold_slow{site}\n\
         .Lcorefold_pc{site}:\n\
        "
    ) + &slow_access("write", size, again, site)
}

/// Where the tag is computed, and what copies the address there: nothing where it need not be kept.
fn registers(again: Option<&str>) -> (&'static str, &'static str, &'static str) {
    match again {
        Some(_) => ("", "%rdi", "%edi"),
        None => ("\tmovq %rdi, %rax\n", "%rax", "%eax"),
    }
}

fn slow_access(kind: &str, size: u32, again: Option<&str>, site: usize) -> String {
    let again = again.map_or(String::new(), |line| format!("\t{}\n", line.trim()));
    format!(
        "\
         \t.subsection 1\n\
         .Lcorefold_slow{site}:\n\
         {again}\
         \tleaq .Lcorefold_pc{site}(%rip), %rsi\n\
         \tcall corefold_shadow_{kind}{size}@PLT\n\
         \tjmp .Lcorefold_pc{site}\n\
         \t.subsection 0\n\
        "
    )
}

/// A block's cost stands in a cell of its own, twice 16 bits, zero until it is known.
fn block(site: usize) -> String {
    format!(
        "\
         \t.pushsection .bss.corefold_blocks,\"aw\",@nobits\n\
         \t.balign 4\n\
         .Lcorefold_cell{site}:\n\
         \t.zero 4\n\
         \t.popsection\n\
         \tleaq .Lcorefold_cell{site}(%rip), %rdi\n\
         \tmovq {COST_HALF:#x}, %rax\n\
         \tmovzwl (%rdi,%rax), %eax\n\
         \ttestl %eax, %eax\n\
         \tje .Lcorefold_unknown{site}\n\
         \taddq {CLOCK:#x}, %rax\n\
         \tmovq %rax, {CLOCK:#x}\n\
         \tcmpq {LIMIT:#x}, %rax\n\
         \tjae .Lcorefold_limit{site}\n\
         .Lcorefold_pc{site}:\n\
         \t.subsection 1\n\
         .Lcorefold_unknown{site}:\n\
         \tleaq .Lcorefold_pc{site}(%rip), %rsi\n\
         \tcall corefold_block_unknown@PLT\n\
         \tjmp .Lcorefold_pc{site}\n\
         .Lcorefold_limit{site}:\n\
         \tleaq .Lcorefold_pc{site}(%rip), %rdi\n\
         \tcall corefold_block_limit@PLT\n\
         \tjmp .Lcorefold_pc{site}\n\
         \t.subsection 0\n\
        "
    )
}

fn function_entry() -> String {
    format!(
        "\
         \tmovq {FRAMES:#x}, %rax\n\
         \tmovq %rdi, (%rax)\n\
         \taddq {FRAME_STEP:#x}, %rax\n\
         \tmovq %rax, {FRAMES:#x}\n\
        "
    )
}

fn function_exit() -> String {
    format!(
        "\
         \tmovq {FRAME_STEP:#x}, %rax\n\
         \tsubq %rax, {FRAMES:#x}\n\
        "
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_call_is_found() {
        for call in [
            "\tcall\t__tsan_read8@PLT\n",
            "\tcall\t__tsan_read8\n",
            "\tcall\t*__tsan_read8@GOTPCREL(%rip)\n",
            "\tcallq\t__tsan_read8@PLT\n",
        ] {
            assert!(inline_hooks(call, Compiler::Gcc).contains("corefold_shadow_read8@PLT"), "{call}");
        }
        for jump in ["\tjmp\t__tsan_func_exit@PLT\n", "\tjmp\t__tsan_func_exit@PLT            # TAILCALL\n"] {
            assert!(inline_hooks(jump, Compiler::Gcc).ends_with("\taddq $8, %rsp\n\tret\n"), "{jump}");
        }
    }

    /// An address in a register is computed again where it is needed, rather than kept.
    #[test]
    fn addresses_are_computed_again() {
        let slow = |before: &str| {
            let out = inline_hooks(&format!("{before}\tcallq\t__tsan_write8@PLT\n"), Compiler::Gcc);
            let (fast, slow) = out.split_once("subsection 1").unwrap();
            assert_eq!(
                fast.contains("movq %rdi, %rax"),
                !slow.contains(before.lines().next().unwrap().trim()),
                "{out}"
            );
            slow.lines().nth(2).unwrap().trim().to_owned()
        };
        for (lines, again) in [
            ("\tmovq\t%r15, %rdi\n", "movq\t%r15, %rdi"),
            ("\tmovq %rax, %rdi\n.LVL12:\n\t.loc 1 20 3\n", "movq %rax, %rdi"),
            ("\tleaq\t16(%rbx,%rbp), %rdi\n.Ltmp3:\n\t.loc\t5 3 1 is_stmt 0 # a.rs:3:1\n", "leaq\t16(%rbx,%rbp), %rdi"),
            ("\tleaq\ttable(%rip), %rdi # what\n", "leaq\ttable(%rip), %rdi # what"),
        ] {
            assert_eq!(slow(lines), again);
        }
        for other in [
            "\tmovq\t%r15, %rdi\n.L5:\n",
            "\tmovq\t%r15, %rdi\n.LBB0_5:\n",
            "\tleaq\t8(%rdi), %rdi\n",
            "\tleaq\t8(%rbx,%rdi), %rdi\n",
            "\tmovq\t8(%rbx), %rdi\n",
            "\tmovq\t%fs:0, %rdi\n",
            "\tleaq\tx@tlsld(%rip), %rdi\n",
            "\tleaq\tdirectory(%rip), %rsi\n",
            "\taddq\t$8, %rdi\n",
            "\tmovq\t%r15, %rdi\n\tmovq\t%rdi, %r15\n",
            "\tmovq\t%rdi, %rbx\n",
        ] {
            assert!(slow(other).starts_with("leaq .Lcorefold_pc"), "{other}");
        }
        let tail = inline_hooks("\tleaq\t8(%rsp), %rdi\n\tjmp\t__tsan_read8@PLT\n", Compiler::Gcc);
        assert_eq!(tail.matches("8(%rsp)").count(), 1, "{tail}");
    }

    #[test]
    fn bit_fields_are_read_and_written_where_they_are() {
        let store = "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write16@PLT\n\torb\t$1, 8(%rbx)\n";
        let out = inline_hooks(store, Compiler::Gcc);
        let calls: Vec<&str> = out.lines().filter(|line| line.contains("call")).map(str::trim).collect();
        assert_eq!(calls, ["call corefold_shadow_read1@PLT", "call corefold_shadow_write1@PLT"], "{out}");
        assert_eq!(out.matches("leaq 8(%rbx), %rdi").count(), 4, "{out}");
        assert!(out.trim_end().ends_with("orb\t$1, 8(%rbx)"), "{out}");
        let clang = inline_hooks(store, Compiler::Clang);
        assert!(clang.contains("corefold_shadow_write16@PLT") && !clang.contains("read"), "{clang}");
        let local = store.replace("%rbx, %rdi", "-8(%rbp), %rdi").replace("\torb", "\tmovq\t-8(%rbp), %rbx\n\torb");
        let out = inline_hooks(&format!("\t.type f,@function\nf:\n\tmovq\t%rsp, %rbp\n{local}"), Compiler::Gcc);
        assert!(out.contains("call __tsan_read_write16@PLT\n\tmovq"), "{out}");
    }

    #[test]
    fn other_lines_stay() {
        let text = "main:\n\tcall\tputs@PLT\n\tcall\t__tsan_unaligned_read8@PLT\n\tcall\t__tsan_read_range@PLT\n";
        assert_eq!(inline_hooks(text, Compiler::Gcc), text);
    }

    /// The loader asks it before the runtime has its tables.
    #[test]
    fn a_resolver_has_no_hooks() {
        let text = "\t.type\tpick, @function\npick:\n\tcall\t__tsan_func_entry@PLT\n\tcall\t__sanitizer_cov_trace_pc@PLT\n\
                    \tcall\t__tsan_read4@PLT\n\tcall\t__tsan_atomic32_load@PLT\n\tjmp\t__tsan_func_exit@PLT\n\
                    \t.size\tpick, .-pick\n\t.type\tf, @gnu_indirect_function\n\t.set\tf,pick\n";
        let out = inline_hooks(text, Compiler::Gcc);
        assert!(out.contains("pick:\n\tcall\t__tsan_atomic32_load@PLT\n\tret\n\t.size"), "{out}");
    }

    #[test]
    fn labels_differ_from_site_to_site() {
        let text = inline_hooks("\tcall\t__tsan_write4@PLT\n\tcall\t__tsan_write4@PLT\n", Compiler::Gcc);
        assert!(text.contains(".Lcorefold_pc0:") && text.contains(".Lcorefold_pc1:"), "{text}");
    }
}
