// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source text as tokens: enough of C, C++ and Rust to find what an allocation names.

/// A token and where it stands; lines and columns count from 1, as in debug information.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub text: String,
    pub line: u32,
    pub column: u32,
}

impl Token {
    pub fn is_name(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// Operators of more than one character that matter here.
const LONG: [&str; 5] = ["->", "::", "==", "!=", "&&"];

/// The tokens of a whole file. Comments, strings, characters and preprocessor lines leave none: what
/// they hold must not be taken for code.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { rest: text, line: 1, column: 1, fresh_line: true };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next() {
        tokens.push(token);
    }
    tokens
}

struct Reader<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
    /// Nothing but blanks came before on this line.
    fresh_line: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Token> {
        loop {
            let first = self.rest.chars().next()?;
            match first {
                '\n' => {
                    self.skip(1);
                    self.fresh_line = true;
                }
                _ if first.is_whitespace() => self.skip(first.len_utf8()),
                '#' if self.fresh_line => self.skip(self.directive()),
                '/' if self.rest.starts_with("//") => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                '/' if self.rest.starts_with("/*") => {
                    self.skip(self.rest.find("*/").map_or(self.rest.len(), |n| n + 2))
                }
                '"' => self.skip(quoted(self.rest, '"')),
                '\'' if is_character(self.rest) => self.skip(quoted(self.rest, '\'')),
                _ => return Some(self.token()),
            }
        }
    }

    fn token(&mut self) -> Token {
        let word = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let long = LONG.iter().find(|operator| self.rest.starts_with(**operator));
        let length = match (word, long) {
            (0, Some(operator)) => operator.len(),
            (0, None) => self.rest.chars().next().map_or(1, char::len_utf8),
            (word, _) => word,
        };
        let token = Token { text: self.rest[..length].to_owned(), line: self.line, column: self.column };
        self.skip(length);
        self.fresh_line = false;
        token
    }

    /// Length of a preprocessor directive with its continuation lines.
    fn directive(&self) -> usize {
        let mut length = 0;
        for line in self.rest.split_inclusive('\n') {
            length += line.trim_end_matches('\n').len();
            if !line.trim_end().ends_with('\\') {
                break;
            }
            length += 1;
        }
        length.min(self.rest.len())
    }

    fn skip(&mut self, bytes: usize) {
        for byte in self.rest[..bytes].bytes() {
            self.column += 1;
            if byte == b'\n' {
                (self.line, self.column) = (self.line + 1, 1);
            }
        }
        self.rest = &self.rest[bytes..];
    }
}

/// Length of a string or character with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `'a'` and `'\n'`, but not Rust's lifetime `'a` nor the digit separator of `1'000`.
fn is_character(text: &str) -> bool {
    text[1..].starts_with('\\') || text.char_indices().nth(2).is_some_and(|(_, c)| c == '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn only_code_is_left() {
        let source = "a /* malloc(b) */ = \"c; \\\" d\"; // e\n#define F(x) \\\n  malloc(x)\n'\\'' g->h";
        assert_eq!(texts(source), ["a", "=", ";", "g", "->", "h"]);
    }

    #[test]
    fn places_count_from_one() {
        let found = tokens("ab\n  cd");
        assert_eq!((found[1].line, found[1].column), (2, 3));
    }
}
