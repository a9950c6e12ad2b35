// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colour, used sparingly, and only where the reader's terminal has it; and nothing else that a terminal obeys.
//!
//! A report is made of names and arguments that anybody may have chosen. [`Style`] marks where colours begin and
//! end with characters that no text has, and [`finish`] puts escape codes in their place once the report is whole;
//! whatever else a terminal would not just show is replaced.

/// What stands for an escape code: the code of a colour, or 0 for its end. Unicode keeps these for such uses.
const MARKS: [(char, &str); 5] =
    [('\u{fdd0}', "0"), ('\u{fdd1}', "1"), ('\u{fdd2}', "2"), ('\u{fdd3}', "1;31"), ('\u{fdd4}', "36")];
const END: char = MARKS[0].0;

/// Wraps text in escape codes, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
}

impl Style {
    pub fn bold(self, text: &str) -> String {
        self.wrap(MARKS[1].0, text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap(MARKS[2].0, text)
    }

    /// What is wrong: a culprit's verdict, a failed run.
    pub fn alarm(self, text: &str) -> String {
        self.wrap(MARKS[3].0, text)
    }

    /// Measured points in the plot.
    pub fn accent(self, text: &str) -> String {
        self.wrap(MARKS[4].0, text)
    }

    fn wrap(self, begin: char, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{begin}{text}{END}") } else { text.into() }
    }

    /// A whole report, as the terminal gets it.
    pub fn finish(self, report: &str) -> String {
        let mut out = String::with_capacity(report.len());
        for c in report.chars() {
            match MARKS.iter().find(|(mark, _)| self.color && *mark == c) {
                Some((_, code)) => out.push_str(&format!("\x1b[{code}m")),
                None => out.push(shown(c)),
            }
        }
        out
    }
}

/// A character that a terminal shows, in place of one that it obeys: a control character, or one that changes the
/// direction of text or is not seen at all. As wide as that was taken to be.
fn shown(c: char) -> char {
    match c {
        '\n' => '\n',
        '\t' => ' ',
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).expect("control pictures begin there"),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
        '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {
            '\u{fffd}'
        }
        _ => c,
    }
}

/// Text with nothing in it that a terminal obeys, but line ends.
pub fn visible(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// The same of source text, in which tabs stay.
pub fn source(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { c } else { shown(c) }).collect()
}

/// One line of it: a name or an argument must not begin a line of its own.
pub fn line(text: &str) -> String {
    visible(text).replace('\n', "\u{240a}")
}

/// Is the text shown as it is, on one line?
pub fn is_visible(text: &str) -> bool {
    text.chars().all(|c| c != '\n' && shown(c) == c)
}

/// A JSON document in which strings have such characters as escapes; serde escapes the ASCII ones only.
pub fn escaped(document: &str) -> String {
    let mut text = String::with_capacity(document.len());
    for c in document.chars() {
        // Between strings there are but line ends and blanks.
        if shown(c) == c {
            text.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}"));
        }
    }
    text
}

/// Breaks `text` at spaces into lines of at most `width` characters, each after `indent` spaces. A word
/// that is longer stands alone.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if indent + line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}\n")).collect()
}

/// At most `width` characters of `text`, the last an ellipsis if some are missing.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    let mut kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The same from the end: of `a.b.c`, the last members say most.
pub fn clip_start(text: &str, width: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    clip(&reversed, width).chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_off_unless_asked_for() {
        assert_eq!(Style { color: false }.alarm("x"), "x");
        let color = Style { color: true };
        assert_eq!(color.finish(&color.alarm("x")), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style { color: true }.bold(""), "");
    }

    /// Cursor movement, colours, titles, in 7 and 8 bits; text that runs backwards; marks of ours.
    #[test]
    fn what_terminals_obey_is_replaced() {
        let hostile = "a\x1b[31mb\rc\u{9b}2Jd\x07\u{202e}e\u{fdd3}f\x7f\tg";
        for color in [false, true] {
            let done = Style { color }.finish(hostile);
            assert!(done.starts_with("a␛[31mb␍c\u{fffd}2Jd␇\u{fffd}e"), "{done:?}");
            assert!(color || done.ends_with("e\u{fffd}f␡ g"), "{done:?}");
        }
        assert_eq!(visible(hostile).chars().count(), hostile.chars().count());
        assert_eq!(line("a\nb"), "a␊b");
        assert!(is_visible("größe") && !is_visible("a\nb") && !is_visible("\x1b"));
    }

    #[test]
    fn documents_keep_what_they_escape() {
        let text = "\x1b\u{9b}\u{202e}\u{e0001}\x7fä";
        let document = escaped(&serde_json::to_string(text).unwrap());
        assert!(is_visible(&document), "{document}");
        assert_eq!(serde_json::from_str::<String>(&document).unwrap(), text);
    }

    #[test]
    fn text_wraps_at_spaces() {
        assert_eq!(wrap("one two three", 8, 1), " one two\n three\n");
        assert_eq!(wrap("incomprehensible it is", 6, 0), "incomprehensible\nit is\n");
        assert_eq!(wrap("", 6, 2), "");
    }

    #[test]
    fn clipping_says_that_it_clipped() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdef", 5), "abcd…");
        assert_eq!(clip("abc", 0), "");
        assert_eq!(clip_start("abcdef", 5), "…cdef");
    }
}
