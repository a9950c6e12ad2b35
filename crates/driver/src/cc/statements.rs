// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inline assembly in the compiler's output: calls around its instructions tell the runtime what they do
//! to memory.
//!
//! The compilers put `#APP` and `#NO_APP` around asm statements. What stands between is the program's own
//! text, so nothing is taken for granted: what cannot be read stays as it is, and a call before it says
//! that something is not seen. The calls change nothing (`corefold_block::inline_assembly`).
mod aggregates;
mod bit_fields;
mod cfa;
mod effect;
mod function;
mod instruction;
mod intrinsics;
mod memory;
mod sequence;
mod split;
mod statement;
mod stretch;
mod suffix;

use super::hooks::Compiler;
pub use bit_fields::{BitField, Part};
use cfa::Cfa;
use corefold_block::inline_assembly::{Kind, Word};
use function::Functions;
use instruction::Instruction;
use std::collections::{BTreeMap, BTreeSet};
use stretch::Stretch;

/// Reads the assembly of one file from top to bottom.
pub struct Statements<'a> {
    functions: Functions<'a>,
    cfa: Cfa,
    stretch: Stretch,
    /// Macros of the program's own, and whether they touch memory.
    macros: BTreeMap<String, bool>,
    /// The statements that are being collected.
    region: Option<Vec<&'a str>>,
    compiler: Compiler,
    /// Statements outside of functions touch memory.
    unseen_outside: bool,
    /// [`intrinsics::is_hooked`].
    hooked: bool,
    /// Lines that load parts of values that have no hook, and the number of the next line.
    aggregates: BTreeSet<usize>,
    line: usize,
}

impl<'a> Statements<'a> {
    pub fn new(assembly: &'a str, compiler: Compiler) -> Statements<'a> {
        Statements {
            functions: Functions::new(assembly),
            cfa: Cfa::default(),
            stretch: Stretch::default(),
            macros: BTreeMap::new(),
            region: None,
            compiler,
            unseen_outside: false,
            hooked: false,
            aggregates: if compiler == Compiler::Clang { aggregates::lines(assembly) } else { BTreeSet::new() },
            line: 0,
        }
    }

    /// Takes the next line. Whether it belongs to asm statements, and so is written here.
    pub fn take(&mut self, line: &'a str, out: &mut String) -> bool {
        self.line += 1;
        match (line.trim(), &mut self.region) {
            ("#APP", None) => self.region = Some(Vec::new()),
            ("#NO_APP", Some(_)) => {
                *out += "#APP\n";
                self.finish(out);
                *out += "#NO_APP\n";
            }
            (_, Some(region)) => region.push(line),
            (_, None) => {
                self.functions.see(line);
                if self.stretch.splits(line, self.hooked) && self.functions.is_within() {
                    *out += &sequence::call(Word::new(Kind::Block, 0), &self.cfa);
                }
                self.cfa.see(line);
                return self.own(line, out);
            }
        }
        true
    }

    /// The store to a bit-field behind a hook, which `before` ends with and `code` follows, and that says `most` bytes are written.
    pub fn bit_field<'b>(&self, before: &str, code: &'b str, most: u32) -> Option<BitField<'b>> {
        let follows = || bit_fields::follows(before, code, most, self.functions.has_frame());
        (self.compiler == Compiler::Gcc).then(follows)?
    }

    /// Is the line in a function that the loader calls, before anything else runs?
    pub fn is_for_loader(&self) -> bool {
        self.functions.is_resolver()
    }

    /// The compiler's own instruction: whether no hook tells what it does, and so it is written here.
    fn own(&mut self, line: &str, out: &mut String) -> bool {
        let effect = match self.aggregates.contains(&(self.line - 1)) {
            true => Some(effect::effect(&Instruction::read(line.split('#').next().unwrap_or_default()))),
            false => intrinsics::without_hook(line, self.compiler, self.hooked),
        };
        self.hooked = intrinsics::is_hooked(line, self.hooked);
        let Some(effect) = effect.filter(|_| self.functions.is_within() && !self.functions.is_annotated()) else {
            return false;
        };
        statement::write_one(effect, line, &mut self.cfa, out);
        self.stretch.is_seen();
        true
    }

    /// The end of the file. Returns whether something outside of functions is not seen.
    pub fn end(&mut self, out: &mut String) -> bool {
        self.finish(out);
        self.unseen_outside
    }

    fn finish(&mut self, out: &mut String) {
        let region = self.region.take().unwrap_or_default();
        for lines in region.chunk_by(|_, next| !is_marker(next)) {
            self.statement(&lines.concat(), out);
        }
    }

    fn statement(&mut self, text: &str, out: &mut String) {
        let annotated = self.functions.is_annotated();
        match self.functions.is_within() {
            true => statement::rewrite(text, annotated, (&mut self.cfa, &mut self.stretch), &mut self.macros, out),
            false => {
                self.unseen_outside |= statement::touches_memory(text, &mut self.macros);
                self.cfa.see_all(text);
                *out += text;
            }
        }
    }
}

/// Does a whole file of assembly touch memory?
pub fn file_touches_memory(assembly: &str) -> bool {
    statement::touches_memory(assembly, &mut BTreeMap::new())
}

/// gcc's line that says where the statement stands in the source, or that it ends.
fn is_marker(line: &str) -> bool {
    line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
