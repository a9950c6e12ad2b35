// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes the inline build of the build with calls, as text.
use super::sequences::{BLOCK, ENTRY, EXIT, READ, WRITE};

/// The slow path of a sequence, which tells `function` where the sequence ends.
fn slow(function: &str) -> String {
    let call = format!("1:\tleaq 2b(%rip), %rsi\n\tcall {function}\n\tjmp 2b");
    format!("\n\t.subsection 1\n{call}\n\t.subsection 0")
}

/// Assembly with the calls of hot hooks replaced.
pub fn inline(assembly: &str) -> String {
    let lines = assembly.lines().map(|line| {
        let Some((hook, tail)) = called(line) else { return line.into() };
        let Some(sequence) = sequence(hook) else { return line.into() };
        sequence + if tail { "\n\tret" } else { "" }
    });
    let text: Vec<String> = lines.collect();
    text.join("\n") + "\n\t.local cell\n\t.comm cell,4,4\n"
}

fn sequence(hook: &str) -> Option<String> {
    let access = |kind: &str| hook.strip_prefix("__tsan_").is_some_and(|name| name.starts_with(kind));
    match hook {
        "__sanitizer_cov_trace_pc" => Some(BLOCK.to_owned() + &slow("corefold_slow_block")),
        "__tsan_func_entry" => Some(ENTRY.into()),
        "__tsan_func_exit" => Some(EXIT.into()),
        _ if access("read") || access("volatile_read") => Some(READ.to_owned() + &slow("corefold_slow_access")),
        _ if access("write") || access("volatile_write") => Some(WRITE.to_owned() + &slow("corefold_slow_access")),
        _ => None,
    }
}

/// The function that a line calls, by name or through the offset table, and whether it is a tail call.
fn called(line: &str) -> Option<(&str, bool)> {
    let mut words = line.split_whitespace();
    let (operation, target) = (words.next()?, words.next()?);
    let tail = operation == "jmp";
    let name = target.trim_start_matches('*').split('@').next()?;
    (tail || matches!(operation, "call" | "callq")).then_some((name, tail))
}
