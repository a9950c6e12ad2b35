// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs between two builds, in words.
use super::diff::{Change, Differences, Elements, PairChange};
use super::look::{Look, counted_lines};
use super::slots_text::slot_list;
use crate::style::{visible, wrap};
use crate::units::counted;

/// Fields and pairs shown of a structure, and names of structures that only one build has.
const MOST_FIELDS: usize = 12;
const MOST_PAIRS: usize = 8;
const MOST_NAMES: usize = 20;

pub fn text(found: &Differences, look: &Look, hot: bool) -> String {
    let mut out = String::new();
    for change in &found.changes {
        out += &one(change, look, hot);
        out.push('\n');
    }
    for (name, why) in &found.unplaced {
        out += &format!("{}: not compared: {why}\n", visible(name));
    }
    for (names, what) in [(&found.gone, "only in the first"), (&found.added, "only in the second")] {
        out += &only(names, what, look);
    }
    let same = found.compared - found.changes.len();
    out + &format!(
        "{} compared, {} differ, {same} are the same\n",
        counted(found.compared as u64, "structure"),
        found.changes.len()
    )
}

fn only(names: &[String], what: &str, look: &Look) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| visible(name)).collect();
    let more = if names.len() > MOST_NAMES { format!(" and {} more", names.len() - MOST_NAMES) } else { String::new() };
    wrap(&format!("{what}: {}{more}", shown.join(", ")), look.width, 0)
}

fn one(change: &Change, look: &Look, hot: bool) -> String {
    let (old, new) = change.size;
    let size = match new as i128 - old as i128 {
        0 => format!("{old} bytes as before"),
        by => format!("{old} → {new} bytes ({by:+})"),
    };
    let heat = match hot {
        true if change.heat > 0.0 => {
            format!("; {:.1}% of stall and spin is for fields or elements that moved", 100.0 * change.heat)
        }
        _ => String::new(),
    };
    let mut out = format!("{}: {size}{heat}\n", visible(&change.name));
    out += &fields(change);
    out += &rows(change, look);
    for pair in change.pairs.iter().take(MOST_PAIRS) {
        out += &wrap(&pair_words(change, pair), look.width, 2);
    }
    match change.pairs.len() {
        0 => out += "  no two fields share a line in other slots than before\n",
        count if count > MOST_PAIRS => {
            out +=
                &format!("  … and {} more pairs; --fields LIST shows those of the fields named\n", count - MOST_PAIRS);
        }
        _ => {}
    }
    if let Some(Elements { old, new, heat }) = change.elements {
        let share = |share: f64| format!("{:.0}%", 100.0 * share);
        let text = format!(
            "elements of an array: each shares a line with the next in {} → {} of the places",
            share(old),
            share(new)
        );
        out += &wrap(&(text + &heat_words(heat)), look.width, 2);
    }
    out + &packed(change, look)
}

fn heat_words(heat: f64) -> String {
    if heat > 0.0 { format!(" [{:.1}% of stall and spin]", 100.0 * heat) } else { String::new() }
}

/// A size that takes as many lines as before hides that packed objects begin elsewhere on them.
fn packed(change: &Change, look: &Look) -> String {
    let lines = |size: u64| counted_lines(size, look.line);
    let ((old, new), (of_old, of_new)) = (change.size, change.rows);
    if old == new || lines(old) != lines(new) || of_old.period() > 1 || of_new.period() > 1 {
        return String::new();
    }
    let text = format!(
        "note: {} as before, if each object begins on a line. Packed without alignment, objects now begin at other offsets on \
         lines: --stride slab shows which of them then have two fields on one line",
        counted(lines(new), "line")
    );
    wrap(&text, look.width, 2)
}

fn fields(change: &Change) -> String {
    let mut lines: Vec<String> = Vec::new();
    for leaf in &change.gone {
        lines.push(format!("gone    {} (offset {}, {} bytes)", visible(&leaf.path), leaf.offset, leaf.size));
    }
    for leaf in &change.added {
        lines.push(format!("new     {} (offset {}, {} bytes)", visible(&leaf.path), leaf.offset, leaf.size));
    }
    for (old, new) in &change.moved {
        let mut how = Vec::new();
        if old.offset != new.offset {
            how.push(format!("offset {} → {}", old.offset, new.offset));
        }
        if old.size != new.size {
            how.push(format!("{} → {} bytes", old.size, new.size));
        }
        if old.type_name != new.type_name {
            how.push(format!("{} → {}", visible(&old.type_name), visible(&new.type_name)));
        }
        lines.push(format!("moved   {}: {}", visible(&old.path), how.join(", ")));
    }
    let more = lines.len().saturating_sub(MOST_FIELDS);
    lines.truncate(MOST_FIELDS);
    let mut out: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    if more > 0 {
        out += &format!("  … and {more} more fields\n");
    }
    out
}

/// How the objects lie in an array, if that was asked for.
fn rows(change: &Change, look: &Look) -> String {
    let (old, new) = change.rows;
    let changed = |a: u64, b: u64| if a == b { a.to_string() } else { format!("{a} → {b}") };
    if old.period() == 1 && new.period() == 1 {
        return String::new();
    }
    let slab = match (old.objects, new.objects) {
        (Some(old), Some(new)) => format!(", {} objects in a slab", changed(old, new)),
        _ => String::new(),
    };
    let text = format!(
        "one object every {} bytes{slab}; places on a line repeat after {} objects. Slots below: number of the object, \
         modulo {}",
        changed(old.stride, new.stride),
        changed(old.period(), new.period()),
        change.slots()
    );
    wrap(&text, look.width, 2)
}

fn pair_words(change: &Change, pair: &PairChange) -> String {
    let names = format!("{}, {}", visible(&pair.fields.0), visible(&pair.fields.1));
    let slots = change.slots();
    let heat = heat_words(pair.heat);
    if slots == 1 {
        let how = if pair.new.is_empty() {
            "moved apart: they no longer share a line"
        } else {
            "moved together: they now share a line"
        };
        return format!("{names}: {how}{heat}");
    }
    let percent = |objects: u64, of: u64| 100.0 * objects as f64 / of as f64;
    let (old, new) =
        (percent(pair.objects.0, change.rows.0.objects()), percent(pair.objects.1, change.rows.1.objects()));
    // A pair's share follows from the distance of its fields, up to how the slots come out.
    let share = match (old - new).abs() < 5.0 {
        true => format!("share a line in as many slots as before ({old:.0}% → {new:.0}%), but in others"),
        false => format!("share a line in {old:.0}% → {new:.0}% of the slots"),
    };
    let set = |slots: &std::collections::BTreeSet<u64>| slots.iter().copied().collect::<Vec<_>>();
    format!(
        "{names}: {share}: {} → {}; moved together in {}, apart in {}{heat}",
        slot_list(&set(&pair.old), slots),
        slot_list(&set(&pair.new), slots),
        slot_list(&pair.together(), slots),
        slot_list(&pair.apart(), slots)
    )
}
