// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts that were tried, by gain: as text, and as a document.
use super::fixes::{Fixes, Verified};
use super::patch::Patch;
use super::slots::{BySlot, Luck};
use super::trial::{ALIKE, Other, Trial, gains_more};
use crate::json::shape;
use crate::style::{Style, escaped, source, visible, wrap};
use crate::table::{Align, Table};
use crate::{Options, units};
use serde::Serialize;

/// A gain as people write it: `+12.3%`.
fn signed(gain: Option<f64>) -> String {
    gain.map_or("failed".into(), |gain| format!("{:+.1}%", gain * 100.0))
}

pub fn text(fixes: &Fixes, options: &Options) -> String {
    let style = Style { color: options.color };
    let (cpus, machine) = (units::counted(fixes.cpus, "CPU"), &fixes.machine);
    let mut out = format!("{}\n", fixes.program.join(" "));
    if fixes.layouts.is_empty() {
        out += &wrap(&format!("At {cpus} of {machine}, {}.", fixes.nothing), options.width, 0);
        out += &verified(fixes, options.width);
        return style.finish(&out);
    }
    out += &format!("Other layouts at {cpus} of {machine}; original layout: {}", units::duration(fixes.seconds));
    if (fixes.seconds - fixes.recorded_seconds).abs() > fixes.recorded_seconds * 1e-6 {
        out += &format!(
            " (recorded: {}; the program, its input or the options have changed)",
            units::duration(fixes.recorded_seconds)
        );
    }
    out += "\n\n";
    let others: Vec<String> = fixes.layouts[0].also.iter().map(|other| other.recording.clone()).collect();
    let mut columns = vec![("gain", Align::Right), ("time", Align::Right)];
    columns.extend(others.iter().map(|name| (name.as_str(), Align::Right)));
    let by_slot = fixes.layouts.iter().any(|trial| trial.slots.is_some());
    if by_slot {
        columns.extend([("average", Align::Right), ("worst", Align::Right)]);
    }
    columns.extend([("bytes", Align::Right), ("in all", Align::Right), ("layout", Align::Left)]);
    // Layouts differ at their ends: none is cut, however wide that is.
    let mut table = Table::new(&columns, &[]);
    for trial in &fixes.layouts {
        let mut cells = vec![signed(trial.gain), units::duration(trial.seconds)];
        cells.extend(trial.also.iter().map(|other| signed(other.gain)));
        if by_slot {
            let cell =
                |which: fn(&BySlot) -> Option<f64>| trial.slots.as_ref().map_or("-".into(), |s| signed(which(s)));
            cells.extend([cell(|slots| slots.average), cell(|slots| slots.worst)]);
        }
        cells.push(format!("+{}", trial.more_bytes()));
        cells.push(format!("+{}", trial.bytes_in_all()));
        cells.push(trial.layout());
        table.row(cells);
    }
    out += &table.print(options.width, style);
    if !gains_more(fixes.layouts[0].gain, 0.0) {
        out += &format!("\nno layout gains {:.0}% or more here; less says nothing\n", ALIKE * 100.0);
    }
    out += "\ngain: of throughput, on this workload and machine; bytes: growth of one object as simulated (the source \
            patch may need more); in all: of the most objects that existed at once\n";
    out += &at_the_cost_of_others(fixes, options.width);
    out += &by_luck(fixes, options.width);
    if fixes.layouts.iter().any(|trial| trial.gain.is_none()) {
        out += "failed: the program did not end as with the original layout\n";
    }
    style.finish(&out) + &patch(fixes, options.width) + &style.finish(&verified(fixes, options.width))
}

/// Layouts that help this recording and hurt another.
fn at_the_cost_of_others(fixes: &Fixes, width: usize) -> String {
    let gaining = fixes.layouts.iter().filter(|trial| gains_more(trial.gain, 0.0));
    let hurt = gaining.flat_map(|trial| trial.also.iter().map(move |other| (trial, other)));
    let hurt = hurt.filter(|(_, other)| other.gain.is_some_and(|gain| gains_more(Some(0.0), gain)));
    let one = |(trial, other): (&Trial, &Other)| {
        let (layout, recording) = (trial.layout(), &other.recording);
        wrap(&format!("{layout}: {} here, but {} for {recording}", signed(trial.gain), signed(other.gain)), width, 0)
    };
    hurt.map(one).collect()
}

/// How the original layout does at each slot.
fn by_luck(fixes: &Fixes, width: usize) -> String {
    let mut out = String::new();
    if !fixes.luck.is_empty() {
        out += "average, worst: over all offsets on a line where the object may begin, each compared with the original layout \
                there\n";
    }
    for Luck { object, gains, luck } in &fixes.luck {
        let slots: Vec<String> = gains.iter().map(|(slot, gain)| format!("+{slot} {}", signed(*gain))).collect();
        let text = format!(
            "Placement luck of {object}: {} where it is now, compared with the mean over all offsets on a line where it may \
             begin. With all objects at one offset: {}.",
            signed(*luck),
            slots.join(", ")
        );
        out += &format!("\n{}", wrap(&text, width, 0));
    }
    out
}

/// The source change that makes the best layout. It is to be applied, so its tabs stay.
fn patch(fixes: &Fixes, width: usize) -> String {
    let Some(Patch { layout, diff, folder, by_hand, notes }) = &fixes.patch else { return String::new() };
    let told = |text: String| wrap(&visible(&text), width, 0);
    let mut out = String::new();
    if !diff.is_empty() {
        out += "\n";
        out += &told(format!("Source patch for `patch -p1` in {}: {layout}", folder.display()));
        out += &format!("\n{}\n", source(diff));
        notes.iter().for_each(|note| out += &told(format!("note: {note}")));
    }
    by_hand.iter().for_each(|text| out += &told(format!("no source patch for {text}")));
    out
}

/// What changing the source gained, beside the best trial's gain.
fn verified(fixes: &Fixes, width: usize) -> String {
    let Some(Verified { command, gain, seconds }) = &fixes.verified else { return String::new() };
    let time = units::duration(*seconds);
    let predicted = match fixes.layouts.first() {
        Some(best) => format!("; predicted for the first layout: {}", signed(best.gain)),
        None => String::new(),
    };
    let text = format!("Verified: after `{command}` the gain is {} ({time}){predicted}.", signed(Some(*gain)));
    format!("\n{}", wrap(&text, width, 0))
}

pub fn json(fixes: &Fixes) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        #[serde(flatten)]
        fixes: &'a Fixes,
    }
    let document = Document { schema: shape::SCHEMA, fixes };
    escaped(&serde_json::to_string_pretty(&document).expect("strings, numbers and lists")) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_has_its_sign() {
        assert_eq!([None, Some(0.25), Some(-0.031), Some(1.4)].map(signed), ["failed", "+25.0%", "-3.1%", "+140.0%"]);
    }
}
