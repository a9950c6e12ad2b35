// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that failed, with their stacks; and the notes.
use super::screen::{Screen, paragraph};
use crate::curve::{Curve, Point};
use crate::finding::how_it_failed;
use crate::style::{clip, wrap};
use crate::units;
use corefold_explain::{Delay, Ending, ThreadStack};
use corefold_recording::Progress;

/// Frames shown of a stack, and stacks of a run.
const FRAMES: usize = 12;
const STACKS: usize = 8;

pub fn failures(screen: &Screen, curve: &Curve) -> String {
    let told = curve.failed().next_back();
    curve.failed().map(|point| failure(screen, point, told)).collect()
}

/// One that failed: in what way, unless the finding has told that of `told`, and what is known beside.
fn failure(screen: &Screen, point: &Point, told: Option<&Point>) -> String {
    let run = point.explained;
    let beside = details(screen, &run.ending) + &progress_until_then(&run.run.progress);
    let same = told.is_some_and(|told| is_alike(&told.explained.ending, &run.ending));
    let first = match told.map(Point::cpus) == Some(point.cpus()) {
        _ if !same => how_it_failed(point),
        true if beside.is_empty() => return String::new(),
        true => format!("The run at {}:", units::counted(point.cpus(), "CPU")),
        false => format!("The run at {} ended in the same way.", units::counted(point.cpus(), "CPU")),
    };

    format!("\n{}{beside}", paragraph(&first, screen.width(), |line| screen.style.alarm(line)))
}

/// The same ending, at the same place.
fn is_alike(one: &Ending, other: &Ending) -> bool {
    let frames = |ending: &Ending| ending.stacks.first().map(|stack| stack.frames.clone());
    one.summary == other.summary && frames(one) == frames(other)
}

/// What is known of an ending beside its sentence.
pub fn details(screen: &Screen, ending: &Ending) -> String {
    let mut out: String = ending.details.iter().map(|detail| wrap(detail, screen.width(), 2)).collect();
    for stack in ending.stacks.iter().take(STACKS) {
        out += &frames(screen, stack);
    }
    if ending.stacks.len() > STACKS {
        out += &format!("  and {} more threads\n", ending.stacks.len() - STACKS);
    }
    out + &held_up(screen, &ending.held_up)
}

/// What the seed's schedule did to threads last.
fn held_up(screen: &Screen, delays: &[Delay]) -> String {
    let head = if delays.is_empty() { "" } else { "  what the seed's schedule did last:\n" };
    delays.iter().fold(head.to_owned(), |out, delay| out + &wrap(&hold_up(delay), screen.width(), 4))
}

fn hold_up(delay: &Delay) -> String {
    let (thread, length, since) = (delay.thread, units::duration(delay.seconds), units::duration(delay.at_seconds));
    let at = |words: &str| delay.at.as_ref().map(|place| format!(" {words} {place}")).unwrap_or_default();
    match delay.how {
        "wake" => format!("at {since}, thread {thread} woke {length} late{}", at("from")),
        "preempted" => {
            format!("at {since}, thread {thread} lost its CPU to another thread{}", at("before the access at"))
        }
        _ => format!("at {since}, thread {thread} was held up for {length}{}", at("before the access at")),
    }
}

fn frames(screen: &Screen, stack: &ThreadStack) -> String {
    let mut out = match stack.thread {
        Some(thread) => format!("  thread {thread}\n"),
        None => String::new(),
    };
    for (i, place) in stack.frames.iter().take(FRAMES).enumerate() {
        out += &clip(&format!("    #{i:<2} {place}"), screen.width());
        out.push('\n');
    }
    if stack.frames.len() > FRAMES {
        out += &format!("    and {} more frames\n", stack.frames.len() - FRAMES);
    }
    out
}

/// A run that was stopped may have done much; a run that was stuck did nothing.
fn progress_until_then(progress: &[Progress]) -> String {
    let visited: Vec<String> = progress.iter().map(|p| format!("{} {}", p.visits, p.name)).collect();
    if visited.is_empty() { String::new() } else { format!("  progress until then: {}\n", visited.join(", ")) }
}

/// Every note once, with the counts it holds for.
pub fn notes(screen: &Screen, curve: &Curve) -> String {
    let mut notes: Vec<(String, u64, Vec<u32>)> = Vec::new();
    for run in curve.points.iter().map(|p| &p.explained.run) {
        for note in &run.notes {
            let text = match &note.at {
                Some(place) => format!("{} in {place}", note.text),
                None => note.text.clone(),
            };
            match notes.iter_mut().find(|n| n.0 == text) {
                Some(same) => {
                    same.1 = same.1.max(note.count);
                    same.2.push(run.cpus);
                }
                None => notes.push((text, note.count, vec![run.cpus])),
            }
        }
    }
    if notes.is_empty() {
        return String::new();
    }
    let lines = notes.iter().map(|n| note(screen, curve, n));
    screen.title("Notes") + &lines.collect::<String>()
}

fn note(screen: &Screen, curve: &Curve, (text, count, at): &(String, u64, Vec<u32>)) -> String {
    let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
    let only = if at.len() == curve.points.len() {
        String::new()
    } else {
        format!(" (at {} CPUs)", at.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
    };
    wrap(&format!("{text}{times}{only}"), screen.width(), 2)
}
