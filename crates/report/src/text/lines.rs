// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hottest cache lines, by object.
use super::screen::{Screen, source};
use crate::curve::Point;
use crate::fields::{FieldRow, rows, slots};
use crate::finding::{cpu_time, unrecorded};
use crate::hot::{Group, Spot, groups};
use crate::style::wrap;
use crate::table::{Align, Table};
use crate::units;
use corefold_explain::{Sharing, kind_name, listed};
use corefold_recording::CLASS_NAMES;

/// Objects shown, and places in the code for each.
const MOST: usize = 5;
const MOST_SPOTS: usize = 6;
const MOST_FIELDS: usize = 8;
/// Objects whose lines cost less of the CPU time than this are only counted.
const LEAST: f64 = 0.001;

pub fn section(screen: &Screen, point: &Point) -> String {
    let groups = groups(point.explained);
    let worth = |g: &&Group| units::share(g.wait(), cpu_time(point)) >= LEAST;
    let shown: Vec<&Group> = groups.iter().filter(worth).take(MOST).collect();
    if groups.is_empty() {
        return String::new();
    }
    let mut out = screen.title("Hottest cache lines (share: of this object's stall and spin)");
    for (i, group) in shown.iter().enumerate() {
        out += &entry(screen, point, i + 1, group);
    }
    if let Some(share) = told(point) {
        out += &screen.footer(&format!("the lines recorded account for {} of all stall and spin", units::about(share)));
    }
    let (rest, least) = (groups.len() - shown.len(), units::about(LEAST));
    match (rest, shown.len()) {
        (0, _) => {}
        (_, 0) => out += &screen.footer(&format!("none costs {least} of CPU time ({rest} contended)")),
        (_, MOST) => out += &screen.footer(&format!("and {rest} more")),
        _ => out += &screen.footer(&format!("and {rest} more below {least} of CPU time")),
    }
    out
}

/// What share of all waiting the recorded lines account for, where there may be many more.
fn told(point: &Point) -> Option<f64> {
    const NEARLY_ALL: f64 = 0.8;
    let time = point.explained.run.time;
    let share = 1.0 - units::share(unrecorded(point.explained), time.stall + time.spin);
    (share < NEARLY_ALL).then_some(share)
}

fn entry(screen: &Screen, point: &Point, number: usize, group: &Group) -> String {
    let time = point.explained.run.time;
    let hottest = group.hottest();
    let lines = match group.lines.len() {
        1 => format!("line {:#x}", hottest.address),
        n => format!("{n} lines, the hottest {:#x}", hottest.address),
    };
    let cost = format!(
        "{} of CPU time, {} of all stall and spin; {lines}",
        units::about(units::share(group.wait(), cpu_time(point))),
        units::about(units::share(group.wait(), time.stall + time.spin)),
    );
    let mut out = wrap(&format!("{number}. {}", hottest.object), screen.width(), 2);
    out += &wrap(&cost, screen.width(), 5);
    out += &verdict(screen, group);
    out += &wrap(&movement(group), screen.width(), 5);
    out += &spots(screen, group);
    out + &fields(screen, point, group)
}

/// Field by field, where there are several; of objects at several slots, slot by slot.
fn fields(screen: &Screen, point: &Point, group: &Group) -> String {
    let mut rows = rows(group, point.explained);
    if rows.len() < 2 || rows.iter().all(|row| row.name.contains("+0x")) {
        return String::new();
    }
    rows.truncate(MOST_FIELDS);
    let columns = [
        ("share", Align::Right),
        ("misses", Align::Right),
        ("read on", Align::Right),
        ("written on", Align::Right),
        ("offset", Align::Right),
        ("field", Align::Member),
        ("sharing", Align::Left),
    ];
    let mut table = Table::new(&columns, &[5]).indent(5);
    rows.iter().for_each(|row| table.row(field_row(row, group)));
    table.print(screen.width(), screen.style) + &by_slot(screen, group, &rows)
}

fn field_row(row: &FieldRow, group: &Group) -> Vec<String> {
    vec![
        units::about(units::share(row.wait, group.wait())),
        units::count(row.misses as f64),
        row.readers.len().to_string(),
        row.writers.len().to_string(),
        format!("+{}", row.offset),
        row.name.clone(),
        row.sharing.name().into(),
    ]
}

/// The share of each field by where its object begins on a line.
fn by_slot(screen: &Screen, group: &Group, rows: &[FieldRow]) -> String {
    let slots = slots(group);
    if slots.len() < 2 {
        return String::new();
    }
    let names: Vec<String> = slots.iter().map(|slot| format!("+{slot}")).collect();
    let mut columns = vec![("objects that begin on a line at", Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns, &[0]).indent(5);
    for row in rows {
        let share = |slot| match row.by_slot.get(slot) {
            Some(wait) => units::about(units::share(*wait, group.wait())),
            None => "-".into(),
        };
        table.row(std::iter::once(row.name.clone()).chain(slots.iter().map(share)).collect());
    }
    table.print(screen.width(), screen.style)
}

fn verdict(screen: &Screen, group: &Group) -> String {
    let verdict = &group.verdict;
    if verdict.sharing == Sharing::Unknown && verdict.sentence.is_empty() {
        return String::new();
    }
    let name = verdict.sharing.to_string().to_uppercase();
    let colon = if verdict.sentence.is_empty() { "" } else { ": " };
    let text = wrap(&format!("{name}{colon}{}", verdict.sentence), screen.width(), 5);
    let alarming = matches!(verdict.sharing, Sharing::False | Sharing::Both);
    if alarming { text.replacen(&name, &screen.style.alarm(&name), 1) } else { text }
}

/// How often the lines moved, and from how far.
fn movement(group: &Group) -> String {
    let mut classes: Vec<(usize, u64)> = group.transfers_by_class.iter().copied().enumerate().collect();
    classes.retain(|c| c.1 > 0);
    classes.sort_by_key(|c| std::cmp::Reverse(c.1));
    let classes = classes
        .iter()
        .map(|&(class, n)| format!("{} {}", CLASS_NAMES[class], units::about(units::share(n, group.transfers))));
    let list = classes.collect::<Vec<_>>().join(", ");
    let colon = if list.is_empty() { "" } else { ": " };
    let transfers = units::count(group.transfers as f64);
    format!("{transfers} transfers between {}{colon}{list}", units::counted(group.cpus.len(), "CPU"))
}

fn spots(screen: &Screen, group: &Group) -> String {
    let columns = [
        ("share", Align::Right),
        ("transfers", Align::Right),
        ("CPUs", Align::Right),
        ("access", Align::Left),
        ("field", Align::Member),
        ("in", Align::Left),
        ("source", Align::Left),
    ];
    let mut table = Table::new(&columns, &[4, 5]).indent(5);
    for spot in group.sites.iter().take(MOST_SPOTS) {
        table.row(spot_row(spot, group));
    }
    if group.sites.is_empty() { String::new() } else { table.print(screen.width(), screen.style) }
}

/// A cell is cut at its left, where names begin: of long ones the first, and how many more.
fn cell(names: &[String]) -> String {
    const ROOM: usize = 40;
    match names {
        [first, rest @ ..] if !rest.is_empty() && listed(names).chars().count() > ROOM => {
            format!("{first} +{}", rest.len())
        }
        _ => listed(names),
    }
}

fn spot_row(spot: &Spot, group: &Group) -> Vec<String> {
    vec![
        units::about(units::share(spot.wait(), group.wait())),
        units::count(spot.transfers as f64),
        spot.cpus.len().to_string(),
        kind_name(spot.kind).into(),
        cell(&spot.field_names()),
        spot.place.function.clone(),
        source(spot.place.file.as_deref(), spot.place.line),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_the_first_is_told_to_its_end() {
        let names = |names: &[&str]| cell(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(names(&["pair.a", "pair.b"]), "pair.a and pair.b");
        let [oldest, newest] = ["ArcInner<Queue<u64>>.data.oldest", "ArcInner<Queue<u64>>.data.newest"];
        assert_eq!(names(&[oldest, newest]), format!("{oldest} +1"));
        assert_eq!(names(&[oldest]), oldest);
    }
}
