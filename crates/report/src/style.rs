// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colour, used sparingly, and only where the reader's terminal has it.

/// Wraps text in escape codes, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
}

impl Style {
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// What is wrong: a culprit's verdict, a failed run.
    pub fn alarm(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// Measured points in the plot.
    pub fn accent(self, text: &str) -> String {
        self.wrap("36", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_off_unless_asked_for() {
        assert_eq!(Style { color: false }.alarm("x"), "x");
        assert_eq!(Style { color: true }.alarm("x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style { color: true }.bold(""), "");
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
    }
}
