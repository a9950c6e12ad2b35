// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as a terminal shows it: the finding, the curve, then where the time goes.
mod curve;
pub(crate) mod endings;
mod functions;
mod head;
mod lines;
mod locks;
mod passed;
pub(crate) mod screen;
mod time;
pub(crate) mod work;

use crate::curve::Curve;
use crate::finding::finding;
use crate::style::Style;
use crate::{Options, accuracy};
use corefold_explain::Explained;
use screen::{Screen, paragraph};

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
