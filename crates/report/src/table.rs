// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aligned columns that fit the screen: some columns give way, the widest first, and no others.
use crate::style::{Style, clip, clip_start};

/// Between two columns.
const GAP: usize = 2;
/// The least width of a column that gives way.
const LEAST: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
    /// Left, and a name that is too long ends in full; a list of names begins in full.
    Member,
}

/// Rows under headings, all indented alike.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    /// The columns that are clipped when the table is too wide.
    gives: Vec<usize>,
    indent: usize,
}

impl Table {
    pub fn new(columns: &[(&str, Align)], gives: &[usize]) -> Table {
        let columns = columns.iter().map(|(name, align)| (name.to_string(), *align)).collect();
        Table { columns, rows: Vec::new(), gives: gives.to_vec(), indent: 2 }
    }

    pub fn indent(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row has as many cells as the table has columns");
        // A name with a line end in it must not begin a row.
        self.rows.push(cells.into_iter().map(|cell| cell.replace('\n', "\u{240a}")).collect());
    }

    /// The table's text; the headings are dim.
    pub fn print(&self, width: usize, style: Style) -> String {
        let widths = self.widths(width);
        let headings: Vec<String> = self.columns.iter().map(|c| c.0.clone()).collect();
        let mut out = String::new();
        if headings.iter().any(|h| !h.is_empty()) {
            out += &style.dim(&self.line(&headings, &widths));
            out.push('\n');
        }
        for row in &self.rows {
            out += &self.line(row, &widths);
            out.push('\n');
        }
        out
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.0.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let all = self.indent + widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
        for _ in width..all {
            let widest = self.gives.iter().copied().max_by_key(|&i| widths[i]);
            if let Some(i) = widest.filter(|&i| widths[i] > LEAST) {
                widths[i] -= 1;
            }
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = " ".repeat(self.indent);
        for (i, ((cell, &width), (_, align))) in cells.iter().zip(widths).zip(&self.columns).enumerate() {
            if i > 0 {
                line += &" ".repeat(GAP);
            }
            let cell = if *align == Align::Member && !cell.contains(", ") {
                clip_start(cell, width)
            } else {
                clip(cell, width)
            };
            match align {
                Align::Left | Align::Member => line += &format!("{cell:<width$}"),
                Align::Right => line += &format!("{cell:>width$}"),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { color: false };

    fn table() -> Table {
        let mut table = Table::new(&[("n", Align::Right), ("symbol", Align::Left), ("at", Align::Left)], &[1]);
        table.row(vec!["1".into(), "short".into(), "a.c:1".into()]);
        table.row(vec!["100".into(), "a_function_with_a_long_name".into(), String::new()]);
        table
    }

    #[test]
    fn columns_line_up_and_lines_end_in_no_space() {
        let text = table().print(100, PLAIN);
        assert_eq!(
            text,
            "    n  symbol                       at\n    1  short                        a.c:1\n  100  \
             a_function_with_a_long_name\n"
        );
    }

    #[test]
    fn of_a_member_the_end_is_kept_and_of_a_list_the_beginning() {
        let mut table = Table::new(&[("field", Align::Member), ("at", Align::Left)], &[0]);
        table.row(vec!["Outer<Inner>.data.hits".into(), "a.c:1".into()]);
        table.row(vec!["+0x18, +0x20, +0x28".into(), "a.c:2".into()]);
        let text = table.print(22, PLAIN);
        assert!(text.contains("  …r>.data.hits  a.c:1\n  +0x18, +0x20…  a.c:2\n"), "{text}");
    }

    #[test]
    fn one_column_gives_way() {
        let text = table().print(32, PLAIN);
        assert!(text.contains("  100  a_function_with_a…\n"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 32), "{text}");
    }
}
