// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as a terminal shows it: the finding, the curve, then where the time goes.
mod curve;
pub(crate) mod endings;
mod functions;
mod head;
mod lines;
mod locks;
mod passed;
mod time;
pub(crate) mod work;

use crate::curve::Curve;
use crate::finding::finding;
use crate::style::{Style, wrap};
use crate::{Options, accuracy};
use corefold_explain::{Explained, base_name};

/// What every section needs.
pub(crate) struct Screen<'a> {
    pub(crate) options: &'a Options,
    pub(crate) style: Style,
}

impl Screen<'_> {
    fn width(&self) -> usize {
        self.options.width.clamp(80, 140)
    }

    /// A section's title: bold, after an empty line.
    fn title(&self, title: &str) -> String {
        format!("\n{}", paragraph(title, self.width(), |line| self.style.bold(line)))
    }

    /// What stands below a table and says what it leaves out.
    fn footer(&self, text: &str) -> String {
        let lines = wrap(text, self.width(), 2);
        lines.lines().map(|line| self.style.dim(line) + "\n").collect()
    }
}

/// Wrapped text, each line painted by itself: pagers forget a colour at a line's end.
fn paragraph(text: &str, width: usize, paint: impl Fn(&str) -> String) -> String {
    wrap(text, width, 0).lines().map(|line| paint(line) + "\n").collect()
}

/// `counter.c:31`, as far as it is known.
fn source(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", base_name(file)),
        (Some(file), None) => base_name(file).into(),
        _ => String::new(),
    }
}

/// The whole report.
pub fn text(runs: &[Explained], options: &Options) -> String {
    let screen = Screen { options, style: Style { color: options.color } };
    let curve = Curve::new(runs, options.work);
    if curve.points.is_empty() {
        return "the recording holds no run\n".into();
    }
    let mut out = head::head(&screen, &curve) + &curve::section(&screen, &curve) + &endings::failures(&screen, &curve);
    if let Some(subject) = curve.subject() {
        out += &time::section(&screen, subject);
        out += &functions::section(&screen, subject);
        out += &lines::section(&screen, subject);
        out += &passed::section(&screen, subject);
        out += &locks::section(&screen, subject);
    }
    out += &(endings::notes(&screen, &curve) + &error_to_expect(&screen, &curve));
    screen.style.finish(&out)
}

/// The last line: how far to trust the figures.
fn error_to_expect(screen: &Screen, curve: &Curve) -> String {
    let expected = accuracy::expected(&screen.options.accuracy, curve, finding(curve).kind);
    expected.map_or(String::new(), |expected| {
        let line = paragraph(&expected.line(), screen.width(), |line| screen.style.dim(line));
        format!("\n{line}")
    })
}
