// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal that a report is for: its width and colours, and how titles, paragraphs and places look there.
use crate::Options;
use crate::style::{Style, wrap};
use corefold_explain::base_name;

/// What every section needs.
pub(crate) struct Screen<'a> {
    pub(crate) options: &'a Options,
    pub(crate) style: Style,
}

impl Screen<'_> {
    pub(crate) fn width(&self) -> usize {
        self.options.width.clamp(80, 140)
    }

    /// A section's title: bold, after an empty line.
    pub(crate) fn title(&self, title: &str) -> String {
        format!("\n{}", paragraph(title, self.width(), |line| self.style.bold(line)))
    }

    /// What stands below a table and says what it leaves out.
    pub(crate) fn footer(&self, text: &str) -> String {
        let lines = wrap(text, self.width(), 2);
        lines.lines().map(|line| self.style.dim(line) + "\n").collect()
    }
}

/// Wrapped text, each line painted by itself: pagers forget a colour at a line's end.
pub(crate) fn paragraph(text: &str, width: usize, paint: impl Fn(&str) -> String) -> String {
    wrap(text, width, 0).lines().map(|line| paint(line) + "\n").collect()
}

/// `counter.c:31`, as far as it is known.
pub(crate) fn source(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", base_name(file)),
        (Some(file), None) => base_name(file).into(),
        _ => String::new(),
    }
}
