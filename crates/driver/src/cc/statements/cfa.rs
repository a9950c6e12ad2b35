// SPDX-License-Identifier: MIT OR Apache-2.0
//! From which register unwinders find a frame: if it is the stack pointer, they must be told when it moves.

#[derive(Default)]
pub struct Cfa {
    /// Whether the frame is found from the stack pointer; none outside of described code.
    from_stack: Option<bool>,
    remembered: Vec<Option<bool>>,
}

impl Cfa {
    pub fn see_all(&mut self, text: &str) {
        text.split(['\n', ';']).for_each(|line| self.see(line));
    }

    pub fn see(&mut self, line: &str) {
        let Some(directive) = line.trim_start().strip_prefix(".cfi_") else { return };
        let mut words = directive.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        match words.next().unwrap_or_default().trim_end() {
            "startproc" => self.from_stack = Some(true),
            "endproc" => *self = Cfa::default(),
            "def_cfa" | "def_cfa_register" => {
                let register = words.next().unwrap_or_default().trim_matches(|c: char| c == '%' || c.is_whitespace());
                self.from_stack = Some(matches!(register, "7" | "rsp"));
            }
            "escape" => self.from_stack = Some(false),
            "remember_state" => self.remembered.push(self.from_stack),
            "restore_state" => self.from_stack = self.remembered.pop().unwrap_or(self.from_stack),
            _ => {}
        }
    }

    /// What unwinders are told where the stack pointer has moved down by so much.
    pub fn moved(&self, bytes: i32) -> String {
        match self.from_stack {
            Some(true) => format!("\t.cfi_adjust_cfa_offset {bytes}\n"),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cfa;

    #[test]
    fn only_frames_found_from_the_stack_pointer_are_adjusted() {
        let mut cfa = Cfa::default();
        let says = |cfa: &Cfa| !cfa.moved(8).is_empty();
        assert!(!says(&cfa));
        cfa.see("\t.cfi_startproc\n");
        assert!(says(&cfa));
        cfa.see("\t.cfi_def_cfa_register 6\n");
        assert!(!says(&cfa));
        cfa.see_all("\t.cfi_remember_state\n\t.cfi_def_cfa 7, 8\n");
        assert!(says(&cfa));
        cfa.see("\t.cfi_restore_state");
        assert!(!says(&cfa));
        cfa.see("\t.cfi_def_cfa %rsp, 8\n");
        assert!(says(&cfa));
        cfa.see("\t.cfi_endproc\n");
        assert!(!says(&cfa));
    }
}
