// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations of members in C and C++ source, recognised only where they cannot be anything else.
use corefold_explain::Language;
use std::path::PathBuf;

/// A source file.
pub struct Source {
    pub path: PathBuf,
    /// Its lines, each with its end.
    pub lines: Vec<String>,
    /// The same without comments and literals, and without ends.
    code: Vec<String>,
}

impl Source {
    pub fn new(path: PathBuf, text: &str) -> Source {
        let lines = text.split_inclusive('\n').map(str::to_owned).collect();
        Source { path, lines, code: bare(text).lines().map(str::to_owned).collect() }
    }

    /// Whether the line, counted from 1, has that word in its code.
    pub fn mentions(&self, line: u32, word: &str) -> bool {
        self.code(line).is_some_and(|code| words(code).any(|(_, known)| known == word))
    }

    /// Whether the line declares the member `name`, all of it and nothing else.
    pub fn declares(&self, line: u32, name: &str, language: Language) -> bool {
        let plain = self.code(line).is_some_and(|code| is_declaration(code.trim(), name, language));
        plain && self.begins_anew(line)
    }

    /// Spaces or tabs before the line's first word.
    pub fn indent(&self, line: u32) -> &str {
        let text = &self.lines[line as usize - 1];
        &text[..text.len() - text.trim_start().len()]
    }

    /// How its lines end.
    pub fn end(&self) -> &'static str {
        if self.lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" }
    }

    /// The lines, counted from 1, that assert something of `name` when it is compiled, by the language's own words or macros such
    /// as the kernel's.
    pub fn assertions(&self, name: &str) -> impl Iterator<Item = usize> {
        let asserts = |code: &str| {
            words(code).any(|(_, word)| word.to_lowercase().contains("static_assert") || word.contains("BUILD_BUG_ON"))
        };
        let is_one = move |code: &String| asserts(code) && words(code).any(|(_, word)| word == name);
        self.code.iter().enumerate().filter(move |(_, code)| is_one(code)).map(|(at, _)| at + 1)
    }

    fn code(&self, line: u32) -> Option<&str> {
        Some(self.code.get((line as usize).checked_sub(1)?)?.as_str())
    }

    /// Whether what comes before the line has ended, also where the preprocessor would leave out other lines.
    fn begins_anew(&self, line: u32) -> bool {
        let mut before = self.code[..line as usize - 1].iter().rev().map(|code| code.trim());
        let before = before.find(|code| !code.is_empty() && (!code.starts_with('#') || code.ends_with('\\')));
        before.is_some_and(|code| code.ends_with([';', '{', '}']) || (code.ends_with(':') && !code.contains('?')))
    }
}

/// What makes a statement something else than a member of an object.
const OTHER: [&str; 6] = ["typedef", "static", "using", "friend", "return", "template"];

fn is_declaration(code: &str, name: &str, language: Language) -> bool {
    let Some(code) = code.strip_suffix(';') else { return false };
    let places: Vec<usize> = words(code).filter(|(_, word)| *word == name).map(|(at, _)| at).collect();
    let [at] = places[..] else { return false };
    let is_other = words(code).any(|(_, word)| OTHER.contains(&word));
    !code[..at].trim().is_empty() && !is_other && !code.starts_with('#') && is_one(code, at, language)
}

/// Whether it has one declarator, whose name is at `at`: no comma outside of brackets, no body, no width of a bit-field.
fn is_one(code: &str, at: usize, language: Language) -> bool {
    let (mut open, mut angles) = (Vec::new(), 0_usize);
    let mut before = ' ';
    for (here, letter) in code.char_indices() {
        let is_colon = letter == ':' && before != ':' && !code[here + 1..].starts_with(':');
        match letter {
            '{' if here < at || language == Language::C => return false,
            '(' | '[' | '{' => open.push(letter),
            ')' | ']' | '}' => {
                let partner = open.pop();
                if !matches!((partner, letter), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}')) {
                    return false;
                }
            }
            '<' if open.is_empty() && language == Language::Cpp => angles += 1,
            '>' if open.is_empty() && language == Language::Cpp => match angles.checked_sub(1) {
                Some(left) => angles = left,
                None => return false,
            },
            ';' | '\\' => return false,
            ',' if open.is_empty() && angles == 0 => return false,
            _ if is_colon && open.is_empty() => return false,
            _ => {}
        }
        before = letter;
    }
    open.is_empty() && angles == 0
}

/// Words of C, each with where it begins.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.split(move |letter| !is_word(letter)).filter(|word| !word.is_empty()).map(|word| {
        let at = word.as_ptr() as usize - code.as_ptr() as usize;
        (at, word)
    })
}

/// The text with blanks in place of comments and of what is in literals, in the same lines.
fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (taken, keep) = match letter {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), 0),
            '/' if rest.starts_with("/*") => (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), 0),
            // A ' between digits separates them.
            '\'' if out.ends_with(|last: char| last.is_ascii_hexdigit()) => (1, 1),
            '"' | '\'' => (literal(rest, letter), 0),
            other => (other.len_utf8(), other.len_utf8()),
        };
        out += &rest[..keep];
        out.extend(rest[keep..taken].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
        rest = &rest[taken..];
    }
    out
}

/// Bytes of the literal that begins here; it ends with its line at the latest.
fn literal(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declares(text: &str, line: u32, name: &str, language: Language) -> bool {
        Source::new(PathBuf::new(), text).declares(line, name, language)
    }

    #[test]
    fn a_line_that_declares_one_member_is_recognised() {
        for line in [
            "long hits;",
            "\tstruct list_head *next; /* of hits, too */",
            "LINE _Atomic long hits[1 << 4]; // hits",
            "void (*hits)(int, char);",
            "unsigned long hits __attribute__((aligned(8), unused));",
        ] {
            let name = if line.contains("next") { "next" } else { "hits" };
            assert!(declares(&format!("struct s {{\n{line}\n}};\n"), 2, name, Language::C), "{line}");
        }
        for line in ["std::map<int, long> hits;", "std::atomic<long> hits{0};", "mutable long hits = f(1, 2);"] {
            assert!(declares(&format!("struct s {{\npublic:\n{line}\n}};\n"), 3, "hits", Language::Cpp), "{line}");
        }
    }

    #[test]
    fn what_may_be_something_else_is_not() {
        for line in [
            "long hits, misses;",
            "long hits; long misses;",
            "long hits : 3;",
            "hits;",
            "long",
            "long hits",
            "struct { long hits; } of;",
            "struct { long a; } hits;",
            "/* long hits; */",
            "long misses; /* hits */",
            "static long hits;",
            "#define X long hits;",
            "long whits;",
            "struct s { long hits;",
            "long hits; \\",
            "FIELD(hits);;",
            "long hits[sizeof(hits)];",
        ] {
            assert!(!declares(&format!("struct s {{\n{line}\n}};\n"), 2, "hits", Language::C), "{line}");
        }
        assert!(!declares("struct s {\nstd::map<int, long> a, hits;\n};\n", 2, "hits", Language::Cpp));
        assert!(!declares("struct s {\nstd::map<int, long> hits;\n};\n", 2, "hits", Language::C));
        assert!(!declares("long hits;\n", 9, "hits", Language::C), "there is no such line");
        assert!(!declares("long hits;\n", 0, "hits", Language::C));
    }

    /// Whatever is put before the line would be put into the middle of something.
    #[test]
    fn what_comes_before_must_have_ended() {
        let within =
            |before: &str| declares(&format!("struct s {{\n{before}\nlong hits;\n}};\n"), 3, "hits", Language::C);
        assert!(within("int a;") && within("") && within("#ifdef A") && within("int a; // one"));
        let left_out = "struct s {\n#ifdef A\n_Alignas(64)\n#endif\nlong hits;\n};\n";
        assert!(!declares(left_out, 5, "hits", Language::C), "with A the alignment would be of what is put between");
        assert!(!within("const unsigned") && !within("ATOMIC(a)") && !within("int a,") && !within("#define A \\"));
        assert!(declares("struct s {\n/* of\n * two */\nlong hits;\n};\n", 4, "hits", Language::C));
        assert!(!declares("struct s {\n/* of\nlong hits; */\n};\n", 3, "hits", Language::C), "a comment");
    }

    #[test]
    fn literals_hide_nothing() {
        let text = "char a[] = \"/*\"; long b = '\"'; long c = 1'000; /* \" */\nlong d;\n";
        let source = Source::new(PathBuf::new(), text);
        assert!(source.mentions(1, "c") && source.mentions(2, "d"));
        assert!(!source.mentions(1, "d") && !source.mentions(3, "d"));
    }
}
