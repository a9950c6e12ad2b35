// SPDX-License-Identifier: MIT OR Apache-2.0
//! The statement that an allocating call stands in.
use super::tokens::{Token, tokens};
use crate::types::Note;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::SystemTime;

/// Source files by path, read once, with the time of their last change; `None` for those that cannot be read.
#[derive(Default)]
pub(crate) struct Sources {
    files: RefCell<HashMap<String, Option<File>>>,
    /// Files that could not be used, and why.
    missed: RefCell<BTreeMap<String, &'static str>>,
}

type File = (Rc<[Token]>, Option<SystemTime>);

/// A place in the source, and when the program was built from it.
pub(crate) struct Spelt<'a> {
    pub file: &'a str,
    pub line: u32,
    pub column: Option<u32>,
    pub built: Option<SystemTime>,
}

/// A statement as tokens, with the call in it.
#[derive(Debug, PartialEq)]
pub(crate) struct Statement {
    pub tokens: Vec<Token>,
    /// Index of the token where the call begins.
    pub call: usize,
}

/// No source is so large.
const MOST_BYTES: u64 = 64 << 20;
/// A statement that has no end within so many tokens is none.
const LONGEST: usize = 400;

impl Sources {
    /// The file of a place, if it is the one that the program was built from, as far as that can be told.
    fn file(&self, place: &Spelt<'_>) -> Option<Rc<[Token]>> {
        let read = || {
            let text = corefold_files::read_regular(place.file, MOST_BYTES).ok()?;
            let changed = std::fs::metadata(place.file).and_then(|file| file.modified()).ok();
            Some((tokens(&String::from_utf8_lossy(&text)).into(), changed))
        };
        let known = self.files.borrow_mut().entry(place.file.to_owned()).or_insert_with(read).clone();
        let (usable, why) = match known {
            Some((_, changed)) if changed > place.built => (None, "it is newer than the program"),
            Some((tokens, _)) => (Some(tokens), ""),
            None => (None, "it cannot be read"),
        };
        if usable.is_none() {
            self.missed.borrow_mut().insert(place.file.to_owned(), why);
        }
        usable
    }

    pub fn notes(&self) -> Vec<Note> {
        let note = |(file, why): (&String, &&str)| Note {
            text: format!("source {file}: {why}, so the types of heap objects allocated there are not known"),
            at: None,
            count: 1,
        };
        let system = |file: &str| file.starts_with('.') || file.starts_with("/usr/");
        self.missed.borrow().iter().filter(|(file, _)| !system(file)).map(note).collect()
    }

    /// Where the result of the call at a place is assigned on: `x->items = p;` after `void *p = malloc(n);`.
    pub fn passed_on(&self, place: &Spelt<'_>) -> Option<Statement> {
        let variable = self.statement(place)?.plain_target()?;
        let all = self.file(place)?;
        let from = all.partition_point(|token| (token.line, token.column) < (place.line, place.column.unwrap_or(1)));
        let rest = all[from..].windows(3).take(LONGEST);
        let is_it = |w: &[Token]| w[0].text == "=" && w[1].text == variable && w[2].text == ";";
        let call = from + rest.enumerate().find(|(_, w)| is_it(w))?.0 + 1;
        let start = start_of_statement(&all, call);
        Some(Statement { tokens: all[start..=call].to_vec(), call: call - start })
    }

    /// The statement around a place; `None` if the file cannot be read or has no such place.
    pub fn statement(&self, place: &Spelt<'_>) -> Option<Statement> {
        let all = self.file(place)?;
        let mut call =
            all.partition_point(|token| (token.line, token.column) < (place.line, place.column.unwrap_or(1)));
        if all.get(call)?.line > place.line + 1 {
            return None;
        }
        // gcc places a call at its name, g++ at its parenthesis.
        if call > 0 && all[call].text == "(" && all[call - 1].is_name() {
            call -= 1;
        }
        let start = start_of_statement(&all, call);
        let length = all[call..].iter().take(LONGEST).take_while(|token| token.text != ";").count();
        Some(Statement { tokens: all[start..call + length].to_vec(), call: call - start })
    }
}

/// The index after what ended the statement before the token `at`.
fn start_of_statement(tokens: &[Token], at: usize) -> usize {
    let lowest = at.saturating_sub(LONGEST);
    let ends_statement = |index: &usize| match tokens[*index].text.as_str() {
        ";" | "}" => true,
        "{" => !opens_initialiser(&tokens[..*index]),
        _ => false,
    };
    (lowest..at).rev().find(ends_statement).map_or(lowest, |end| end + 1)
}

/// Whether a brace after `before` begins a value, as in `new T{1, 2}`, and not a block.
fn opens_initialiser(before: &[Token]) -> bool {
    before.last().is_some_and(|token| match token.text.as_str() {
        ">" | "]" | "=" | "," | "(" | "return" => true,
        "else" | "do" | "try" | "const" | "noexcept" | "override" => false,
        _ => token.is_name(),
    })
}

impl Statement {
    /// The place is no call but the head of the function `name`: the compiler took another function's
    /// code for it, as they are equal, and its lines are lost.
    pub fn begins_function(&self, name: &str) -> bool {
        self.words(self.call).first().is_some_and(|token| token.text == name)
    }

    /// The variable that the call's result is assigned to, if it is one and not a part of something.
    fn plain_target(&self) -> Option<String> {
        let equals = self.call.checked_sub(1).filter(|at| self.tokens[*at].text == "=")?;
        let target = self.tokens[..equals].last().filter(|token| token.is_name())?;
        let before = equals.checked_sub(2).map(|at| self.tokens[at].text.as_str());
        (!matches!(before, Some("." | "->" | "::"))).then(|| target.text.clone())
    }

    /// The words from index `at` on.
    pub fn words(&self, at: usize) -> &[Token] {
        &self.tokens[at.min(self.tokens.len())..]
    }

    /// The indices of what stands in the call's parentheses; the rest of the statement if it has none.
    pub fn arguments(&self) -> std::ops::Range<usize> {
        let rest = self.words(self.call);
        match rest.iter().take(6).position(|token| token.text == "(") {
            Some(open) => self.call + open + 1..self.call + matching(rest, open),
            None => self.call..self.tokens.len(),
        }
    }
}

/// The index of what closes the bracket at `open`, or the end.
pub(crate) fn matching(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}
