// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grid as tables, for the terminal and for a page that keeps it.
use super::{ADAPTIVE, CUT_OFF, Cell, KINDS};
use anyhow::{Context, Result};
use corefold_driver::save::Output;
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

/// Where a row belongs: what stands in its first three columns.
fn place_of(row: &str) -> Option<(u32, i64, String)> {
    let mut columns = row.strip_prefix("| ")?.split(" | ");
    let (cpus, headroom, load) = (columns.next()?, columns.next()?, columns.next()?);
    let headroom = if headroom == "unlimited" { -1 } else { headroom.parse().ok()? };
    Some((cpus.parse().ok()?, headroom, load.to_owned()))
}

/// What a row says, as far as its digits go: rates are shares of the best one's.
fn parsed(row: &str) -> Option<Cell> {
    let (cpus, headroom, load) = place_of(row)?;
    let columns: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
    let adaptive: f64 = columns.get(3)?.split(' ').next()?.parse().ok()?;
    let mut rates = [None; KINDS.len()];
    for (rate, column) in rates[..ADAPTIVE].iter_mut().zip(columns.get(5..)?) {
        *rate = column.parse().ok().map(|loses: f64| 1.0 / loses);
    }
    let others = rates.iter().flatten().copied().fold(0.0, f64::max);
    rates[ADAPTIVE] = Some(adaptive * others);
    Some(Cell { cpus, headroom, load, rates })
}

/// The table on the page, with the rows of `cells` in place of those that it had.
fn merged(old: &str, cells: &[Cell]) -> String {
    let new = table(cells);
    let mut rows: Vec<_> = old.lines().chain(new.lines()).filter_map(|row| Some((place_of(row)?, row))).collect();
    rows.reverse(); // a stable sort: of each place the newest comes first
    let unlimited_last = |headroom: i64| if headroom < 0 { i64::MAX } else { headroom };
    let load = |load: &str| super::LOADS.iter().position(|known| *known == load);
    rows.sort_by_key(|((cpus, headroom, of), _)| (*cpus, unlimited_last(*headroom), load(of)));
    rows.dedup_by(|later, first| later.0 == first.0);
    let head = new.lines().take(2);
    head.chain(rows.iter().map(|(_, row)| *row)).map(|row| row.to_owned() + "\n").collect()
}

/// Puts rows for these cells between the two marks of the page; other cells keep theirs.
pub fn write(page: &Path, cells: &[Cell]) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let marks = || text.find(BEGIN).zip(text.find(END)).filter(|(begin, end)| begin < end);
    let (begin, end) = marks()
        .with_context(|| format!("{} lacks the comments that mark where the grid begins and ends", page.display()))?;
    let table = merged(&text[begin..end], cells);
    let all: Vec<Cell> = table.lines().filter_map(parsed).collect();
    let new = [&text[..begin + BEGIN.len()], &worst(&all), "\n", &table, &text[end..]].concat();
    Output::create(page, "the page")?.write(new.as_bytes())
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
    fn only_the_cells_that_ran_change_on_a_page() {
        let page = tempfile::NamedTempFile::new().unwrap();
        let slow = cell([Some(1.0), None, Some(2.0), Some(4.0), Some(1.0)]);
        let other = Cell { cpus: 8, ..cell([Some(1.0), Some(8.0), Some(8.0), Some(8.0), Some(8.0)]) };
        std::fs::write(page.path(), format!("before\n{BEGIN}old\n{}{END}after\n", table(&[slow, other]))).unwrap();
        write(page.path(), &[cell([Some(1.0), None, Some(2.0), Some(4.0), Some(5.0)])]).unwrap();
        let text = std::fs::read_to_string(page.path()).unwrap();
        assert!(text.starts_with("before\n") && text.ends_with("after\n") && !text.contains("old"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|row| place_of(row).is_some()).collect();
        assert!(matches!(rows[..], [a, b] if a.starts_with("| 8 |") && b.contains("| 1.25 | adaptive |")), "{text}");
        assert!(text.contains("| percpu | >4 | 80 CPUs, headroom unlimited, add |"), "{text}");
        assert!(text.contains("| global | 8.00 | 8 CPUs, headroom unlimited, add |"), "{text}");
        assert!(text.contains("in 2 of 2 cells"), "{text}");
    }
}
