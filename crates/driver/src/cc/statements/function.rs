// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which function a line of the compiler's output belongs to.
use std::collections::BTreeSet;

/// A call in the program's own text that says what its assembly does.
const ANNOTATION: &str = "corefold_access";

#[derive(Default)]
pub struct Functions<'a> {
    declared: BTreeSet<&'a str>,
    /// Functions that say themselves what their assembly does.
    annotated: BTreeSet<&'a str>,
    /// Functions that say which of several others a name stands for (`ifunc`, `target_clones`).
    resolvers: BTreeSet<&'a str>,
    now: Option<&'a str>,
    has_frame: bool,
}

impl<'a> Functions<'a> {
    pub fn new(assembly: &'a str) -> Functions<'a> {
        let mut first = Functions { resolvers: resolvers(assembly), ..Functions::default() };
        if assembly.contains(ANNOTATION) {
            for line in assembly.lines() {
                first.see(line);
                let calls = line.trim_start().starts_with("call") && line.contains(ANNOTATION);
                first.annotated.extend(first.now.filter(|_| calls));
            }
        }
        Functions { annotated: first.annotated, resolvers: first.resolvers, ..Functions::default() }
    }

    pub fn see(&mut self, line: &'a str) {
        if let Some(rest) = line.trim_start().strip_prefix(".type") {
            let (name, kind) = rest.split_once(',').unwrap_or((rest, ""));
            if kind.contains("function") {
                self.declared.insert(name.trim());
            }
        } else if let Some(rest) = line.trim_start().strip_prefix(".size") {
            let name = rest.split(',').next().unwrap_or_default().trim();
            self.now = self.now.filter(|now| *now != name);
        } else if let Some((name, _)) = line.split_once(':')
            && self.declared.contains(name)
        {
            self.now = Some(name);
            self.has_frame = false;
        } else {
            self.has_frame |= makes_frame(line.trim());
        }
    }

    pub fn is_within(&self) -> bool {
        self.now.is_some()
    }

    /// Does `%rbp` point to the thread's own stack?
    pub fn has_frame(&self) -> bool {
        self.has_frame
    }

    pub fn is_resolver(&self) -> bool {
        self.now.is_some_and(|now| self.resolvers.contains(now))
    }

    pub fn is_annotated(&self) -> bool {
        self.now.is_some_and(|now| self.annotated.contains(now))
    }
}

/// Does the instruction have `%rbp` point to the stack?
pub fn makes_frame(instruction: &str) -> bool {
    instruction.starts_with("movq") && instruction.ends_with("%rsp, %rbp")
}

/// `.type f, @gnu_indirect_function` and `.set f,resolver`, in either order.
fn resolvers(assembly: &str) -> BTreeSet<&str> {
    const KIND: &str = "gnu_indirect_function";
    if !assembly.contains(KIND) {
        return BTreeSet::new();
    }
    let indirect: BTreeSet<&str> =
        pairs(assembly, ".type").filter(|(_, kind)| kind.contains(KIND)).map(|(f, _)| f).collect();
    pairs(assembly, ".set").filter(|(function, _)| indirect.contains(function)).map(|(_, resolver)| resolver).collect()
}

/// The two operands of each such directive.
fn pairs<'a>(assembly: &'a str, directive: &'static str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let operands = move |line: &'a str| line.trim_start().strip_prefix(directive)?.split_once(',');
    assembly.lines().filter_map(operands).map(|(one, other)| (one.trim(), other.trim()))
}

#[cfg(test)]
mod tests {
    use super::Functions;

    #[test]
    fn resolvers_are_known_before_they_are_named() {
        let text = "\t.type\tpick, @function\npick:\n\t.size\tpick, .-pick\n\t.type\tg, @function\ng:\n\t.size\tg, .-g\n\
                    \t.type\tf, @gnu_indirect_function\n\t.set\tf,pick\n\t.set\th,g\n";
        let mut functions = Functions::new(text);
        let seen = text.lines().filter(|line| {
            functions.see(line);
            functions.is_resolver()
        });
        assert_eq!(seen.collect::<Vec<_>>(), ["pick:"]);
    }

    #[test]
    fn functions_begin_and_end() {
        let text = "\t.type\tf, @function\nf:\n.LFB0:\n\tcall\tcorefold_access@PLT\n\t.size\tf, .-f\n\
                    \t.type\tg,@function\ng:    # @g\n\t.size\tg, .-g\nd:\n";
        let mut functions = Functions::new(text);
        let mut seen = Vec::new();
        for line in text.lines() {
            functions.see(line);
            seen.push((functions.is_within(), functions.is_annotated()));
        }
        let (out, f, g) = ((false, false), (true, true), (true, false));
        assert_eq!(seen, [out, f, f, f, out, out, g, out, out]);
    }
}
