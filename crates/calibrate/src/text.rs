// SPDX-License-Identifier: MIT OR Apache-2.0
//! The profile as text.
use crate::figure::Figure;
use std::fmt::Write;

pub fn profile(description: &str, figures: &[Figure], notes: &[String]) -> String {
    let mut text =
        "# SPDX-License-Identifier: MIT OR Apache-2.0\n# Measured by `corefold machine calibrate`.\n".to_string();
    notes.iter().for_each(|n| _ = writeln!(text, "# warning: {n}"));
    _ = writeln!(text, "name = \"host\"\ndescription = \"{description}\"");
    for section in ["topology", "latency", "core", "cache", "system"] {
        let of = |f: &&Figure| f.key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        let mut mine = figures.iter().filter(of).peekable();
        if mine.peek().is_some() {
            _ = writeln!(text, "\n[{section}]");
        }
        mine.for_each(|f| line(&mut text, &f.key[section.len() + 1..], f));
    }
    text.push_str("\n# Also measured; these are not keys of a profile:\n");
    for f in figures.iter().filter(|f| !f.key.contains('.')) {
        _ = writeln!(text, "# {} = {} {}: {}{}", f.key, number(f), f.unit, f.how, spread(f));
    }
    text
}

fn line(text: &mut String, key: &str, f: &Figure) {
    let origin = if f.spread.is_some() { "source" } else { "estimated" };
    let how = format!("{}{}", f.how, spread(f)).replace('"', "'");
    _ = writeln!(text, "{key} = {{ value = {}, unit = \"{}\", {origin} = \"{how}\" }}", number(f), f.unit);
}

/// Whole where the unit is, two digits after the point elsewhere.
pub fn number(f: &Figure) -> f64 {
    match f.unit {
        "count" | "bytes" | "percent" | "MHz" => f.value.round(),
        _ => (f.value * 100.0).round() / 100.0,
    }
}

/// The tenth, the middle and the ninth of ten rounds.
pub fn spread(f: &Figure) -> String {
    match f.spread {
        Some(s) if s.low < s.high => format!("; rounds {:.2} to {:.2}, median {:.2}", s.low, s.high, s.median),
        Some(s) if s.low > s.high => format!("; rounds {:.2} to {:.2}, median {:.2}", s.high, s.low, s.median),
        _ => String::new(),
    }
}
