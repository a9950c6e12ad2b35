// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grid as tables, for the terminal and for a page that keeps it.
use super::{ADAPTIVE, CUT_OFF, Cell, KINDS};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- the grid begins; `make grid` writes it -->\n";
const END: &str = "<!-- the grid ends -->\n";

fn headroom(cell: &Cell) -> String {
    if cell.headroom < 0 { "unlimited".into() } else { cell.headroom.to_string() }
}

fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { format!(">{CUT_OFF}") }
}

/// A line for each cell.
pub fn table(cells: &[Cell]) -> String {
    let mut text = String::from("| CPUs | headroom | load | adaptive / best other | best |");
    for kind in &KINDS[..ADAPTIVE] {
        let _ = write!(text, " {kind} |");
    }
    text += "\n| ---: | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: |\n";
    for cell in cells {
        let best = (0..KINDS.len()).find(|&kind| cell.loses(kind) == 1.0).map_or("-", |kind| KINDS[kind]);
        let mark = if cell.adaptive() < 0.9 { " **misses**" } else { "" };
        let (cpus, headroom, load, adaptive) = (cell.cpus, headroom(cell), &cell.load, cell.adaptive());
        let _ = write!(text, "| {cpus} | {headroom} | {load} | {adaptive:.2}{mark} | {best} |");
        for kind in 0..ADAPTIVE {
            let _ = write!(text, " {} |", ratio(cell.loses(kind)));
        }
        text += "\n";
    }
    text
}

/// Where each kind loses most.
pub fn worst(cells: &[Cell]) -> String {
    let mut text = String::from("| counter | worst: best / it | where |\n| --- | ---: | --- |\n");
    for (kind, name) in KINDS.iter().enumerate() {
        let Some(cell) = cells.iter().max_by(|a, b| a.loses(kind).total_cmp(&b.loses(kind))) else { continue };
        let (loses, cpus, load) = (ratio(cell.loses(kind)), cell.cpus, &cell.load);
        let _ = writeln!(text, "| {name} | {loses} | {cpus} CPUs, headroom {}, {load} |", headroom(cell));
    }
    let missed = cells.iter().filter(|cell| cell.adaptive() < 0.9).count();
    let _ = writeln!(
        text,
        "\nThe adaptive counter is within 10 % of the best other in {} of {} cells.",
        cells.len() - missed,
        cells.len()
    );
    text
}

/// Replaces what stands between the two marks of the page.
pub fn write(page: &Path, cells: &[Cell]) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let marks = || text.find(BEGIN).zip(text.find(END)).filter(|(begin, end)| begin < end);
    let (begin, end) = marks().with_context(|| format!("{} has no marks for the grid", page.display()))?;
    let new = [&text[..begin + BEGIN.len()], &worst(cells), "\n", &table(cells), &text[end..]].concat();
    std::fs::write(page, new).with_context(|| format!("cannot write {}", page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(rates: [Option<f64>; 5]) -> Cell {
        Cell { cpus: 80, headroom: -1, load: "add".into(), rates }
    }

    #[test]
    fn a_kind_that_was_cut_off_loses_most() {
        let cells = [cell([Some(1.0), None, Some(2.0), Some(4.0), Some(4.0)])];
        let text = worst(&cells);
        assert!(text.contains("| percpu | >4 | 80 CPUs, headroom unlimited, add |"), "{text}");
        assert!(text.contains("| global | 4.00 |"), "{text}");
        assert!(text.contains("in 1 of 1 cells"), "{text}");
    }

    #[test]
    fn a_cell_that_misses_says_so() {
        let text = table(&[cell([Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(0.8)])]);
        assert!(text.contains("| 0.80 **misses** | global |"), "{text}");
    }

    #[test]
    fn only_the_marked_part_of_a_page_is_replaced() {
        let page = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(page.path(), format!("before\n{BEGIN}old\n{END}after\n")).unwrap();
        write(page.path(), &[]).unwrap();
        let text = std::fs::read_to_string(page.path()).unwrap();
        assert!(text.starts_with("before\n") && text.ends_with("after\n") && !text.contains("old"), "{text}");
    }
}
