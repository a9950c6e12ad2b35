// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a basic block's cost has to be split: its hook charges all of it at its head. What stands behind a call or an
//! atomic operation would then pass before that: `unlock(); pause` would hold the lock for the length of the pause, and
//! leave it free for none of it. So another block begins before a `pause`, and where much else comes.
use crate::cc::hooks::BLOCK_HOOK;

/// Lines of the compiler's output, hooks included, that may be charged before a call which precedes them.
const MOST: u32 = 32;

#[derive(Default)]
pub struct Stretch {
    /// The block has called something or accessed memory atomically, which others can see.
    seen: bool,
    /// Instructions since then.
    length: u32,
}

impl Stretch {
    /// Takes the compiler's next line. Whether a block has to begin before it. `hooked`: a hook has told of an access that is
    /// still to come. Others may run where a block begins, so none does between the two.
    pub fn splits(&mut self, line: &str, hooked: bool) -> bool {
        let line = line.trim_start();
        let (mnemonic, operands) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        match mnemonic.trim_end() {
            "call" | "callq" => return self.calls(operands.trim_start(), hooked),
            "jmp" | "ret" | "retq" => *self = Stretch::default(),
            _ if self.seen => return self.runs(line, hooked),
            _ => {}
        }
        false
    }

    /// Takes an instruction of an asm statement. Whether a block has to begin before it.
    pub fn splits_in_statement(&mut self, instruction: &str) -> bool {
        let splits = self.seen && is_pause(instruction);
        if splits {
            *self = Stretch::default();
        }
        splits
    }

    /// What comes next is charged when it is reached.
    pub fn begins(&mut self) {
        *self = Stretch::default();
    }

    /// Others can see what the instruction does.
    pub fn is_seen(&mut self) {
        *self = Stretch { seen: true, length: 0 };
    }

    fn calls(&mut self, target: &str, hooked: bool) -> bool {
        let hook = target.trim_start_matches('*');
        if hook.starts_with(BLOCK_HOOK) {
            *self = Stretch::default();
        } else if !hook.starts_with("__tsan_") || hook.starts_with("__tsan_atomic") {
            self.is_seen();
        } else if self.seen && self.length > MOST && !hooked {
            *self = Stretch::default();
            return true;
        }
        false
    }

    fn runs(&mut self, line: &str, hooked: bool) -> bool {
        let instruction = line.starts_with(|c: char| c.is_ascii_lowercase()) && !line.contains(':');
        self.length += u32::from(instruction);
        // Moves, and calls of hooks, begin no sequence that the linker rewrites as a whole.
        let splits = is_pause(line) || self.length > MOST && !hooked && line.starts_with("mov");
        if splits {
            *self = Stretch::default();
        }
        splits
    }
}

/// gcc writes it as a repeated `nop`, and so do many programs.
fn is_pause(instruction: &str) -> bool {
    let mut words = instruction.split([' ', '\t', '\n', ';']).filter(|word| !word.is_empty());
    match words.next() {
        Some("pause") => true,
        Some("rep" | "repz") => words.next() == Some("nop"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(lines: &[&str]) -> Vec<usize> {
        let mut stretch = Stretch::default();
        (0..lines.len()).filter(|&at| stretch.splits(lines[at], false)).collect()
    }

    #[test]
    fn a_pause_behind_what_others_see_begins_a_block() {
        let hook = "\tcall\t__sanitizer_cov_trace_pc@PLT\n";
        let unlock = "\tcall\tpthread_spin_unlock@PLT\n";
        let store = "\tcall\t*__tsan_atomic32_store@GOTPCREL(%rip)\n";
        let read = "\tcall\t__tsan_read4@PLT\n";
        assert_eq!(splits(&[hook, unlock, "\trep nop\n", "\tpause\n"]), [2]);
        assert_eq!(splits(&[hook, store, read, "\tmovl\t%eax, %ebx\n", "\tpause\n"]), [4]);
        assert_eq!(splits(&[hook, read, "\tpause\n", unlock]), [] as [usize; 0]);
        assert_eq!(splits(&[unlock, hook, "\tpause\n"]), [] as [usize; 0]);
        assert_eq!(splits(&[unlock, "\tjmp\t.L3\n", "\tpause\n"]), [] as [usize; 0]);
    }

    #[test]
    fn so_does_a_long_stretch() {
        let mut lines = vec!["\tcall\tpthread_spin_unlock@PLT\n"];
        lines.extend(["\timull\t%eax, %eax\n"; MOST as usize + 5]);
        lines.extend(["\tmovl\t%eax, %ebx\n"; 3]);
        assert_eq!(splits(&lines), [MOST as usize + 6]);
    }

    #[test]
    fn an_access_stays_behind_its_hook() {
        let mut stretch = Stretch::default();
        stretch.is_seen();
        (0..MOST).for_each(|_| assert!(!stretch.splits("\timull\t%eax, %eax\n", false)));
        assert!(!stretch.splits("\tcall\t__tsan_write4@PLT\n", false));
        assert!(!stretch.splits("\tmovl\t%eax, (%rbx)\n", true));
        assert!(stretch.splits("\tmovl\t%eax, %edi\n", false));
    }

    #[test]
    fn a_hook_begins_a_block_after_a_long_stretch() {
        let mut lines = vec!["\tcall\tpthread_spin_unlock@PLT\n"];
        lines.extend(["\timull\t%eax, %eax\n"; MOST as usize + 5]);
        lines.extend(["\tcall\t__tsan_write4@PLT\n", "\tmovl\t%eax, (%rbx)\n"]);
        assert_eq!(splits(&lines), [MOST as usize + 6]);
    }

    #[test]
    fn asm_statements_count() {
        let mut stretch = Stretch::default();
        assert!(!stretch.splits_in_statement("pause"));
        stretch.is_seen();
        assert!(!stretch.splits_in_statement("rep movsb"));
        assert!(stretch.splits_in_statement("rep; nop"));
        assert!(!stretch.splits_in_statement("rep nop"));
    }
}
