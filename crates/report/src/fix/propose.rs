// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which layouts are worth a trial.
use super::candidate::Candidate;
use super::ranges::cuts;
use super::together::hot_together;
use super::unit::{ELEMENTS, LEAST, LEAST_OF_FIELD, PADDED, Part, Unit, fields, share_of};
use crate::hot::{Group, costliest, groups};
use crate::units;
use corefold_explain::{Explained, FieldUse, HotLine, ObjectUse, Storage, one_name, pattern};
use corefold_recording::Time;
use std::collections::BTreeSet;

/// Objects that are looked at.
const OBJECTS: usize = 4;
/// The least share of the CPU time without spins that CPUs stall for such an object.
const LEAST_OF_STALL: f64 = 0.05;
/// Fields of one object, the most expensive, that are tried alone.
const FIELDS: usize = 4;

/// Layouts that are worth a trial, the object with the most wait first.
pub fn candidates(explained: &Explained) -> Vec<Candidate> {
    let Time { compute, stall, spin, .. } = explained.run.time;
    let all = compute + stall + spin;
    let groups = groups(explained);
    let by_wait = groups.iter().take(OBJECTS).filter(|group| units::share(group.wait(), all) >= LEAST);
    // Who spins waits for another CPU's progress, which stalls on other lines: of a lock's queue these cost everybody.
    let mut by_stall: Vec<&Group> = groups.iter().collect();
    by_stall.sort_by_key(|group| std::cmp::Reverse(group.stall));
    let stalls = |group: &&&Group| units::share(group.stall, compute + stall) >= LEAST_OF_STALL;
    let by_stall = by_stall.iter().take(OBJECTS).filter(stalls).copied();
    let mut found: Vec<Candidate> = Vec::new();
    let of_groups = by_wait.chain(by_stall).flat_map(|group| of_group(group, explained));
    for mut candidate in of_groups.chain(hot_together(explained)) {
        candidate.follows = explained.lines.iter().any(|line| follows_another(line, &candidate.object));
        // At a slot of its own each of them would have lines of its own, which is what a layout is to gain.
        if explained.lines.iter().any(|line| shares_line(line, &candidate.object)) {
            candidate.slot_step = 0;
        }
        if !found.iter().any(|known| known.address == candidate.address && known.parts == candidate.parts) {
            found.push(candidate);
        }
    }
    found
}

/// Why there is no candidate, as a clause.
pub fn nothing(explained: &Explained) -> String {
    let Time { compute, stall, spin, .. } = explained.run.time;
    let groups = groups(explained);
    let share = |group: &Group| units::share(group.wait(), compute + stall + spin);
    let Some(group) = groups.first().filter(|group| share(group) >= LEAST) else {
        return "no object causes enough stall and spin to try another layout".into();
    };
    let object = costliest(group.hottest());
    let name = object.map_or_else(|| format!("{:#x}", group.hottest().address), |object| object.name.clone());
    let waits = format!("{name} causes {} of CPU time as stall and spin", units::about(share(group)));
    let why = match object.map(|object| object.storage) {
        Some(Storage::Heap | Storage::Slab | Storage::Global) => {
            "none of the layouts that fix generates separates the bytes that different CPUs use"
        }
        Some(Storage::Stack) => "fix does not try layouts of stack variables",
        Some(Storage::Mapping) => {
            "fix does not try layouts of mappings, unless COREFOLD_OBJECTS declares the objects in them"
        }
        Some(Storage::Library) => "it belongs to the C library",
        _ => "the object there is not known (is the program stripped, or built without -g?)",
    };
    format!("{waits}, but {why}")
}

/// Was the line fetched for something else, which comes before an object of that name?
fn follows_another(line: &HotLine, name: &str) -> bool {
    let used = || line.fields.iter().filter_map(|field| line.objects.get(field.object?));
    let own = line.objects.iter().filter(|object| object.name == name).map(|object| object.address).max();
    own.is_some_and(|own| used().any(|other| other.name != name && other.address < own))
}

/// Is the line used for an object of that name and for another object?
fn shares_line(line: &HotLine, name: &str) -> bool {
    let used: BTreeSet<usize> = line.fields.iter().filter_map(|field| field.object).collect();
    let objects: Vec<&ObjectUse> = used.into_iter().filter_map(|object| line.objects.get(object)).collect();
    objects.len() > 1 && objects.iter().any(|object| object.name == name)
}

fn of_group(group: &Group<'_>, explained: &Explained) -> Vec<Candidate> {
    let hottest = group.hottest();
    let Some(object) = main_object(hottest) else { return Vec::new() };
    let unit = Unit::new(object, group);
    let mut found = Vec::new();
    let elements = unit.elements(group);
    found.extend(unit.by_user(group, elements.as_ref()));
    found.extend(elements);
    found.extend(unit.fields_alone());
    found.extend(unit.padded());
    found.extend(unit.read_apart());
    found.extend(unit.moved(explained));
    found.extend(unit.aligned());
    found
}

/// The object that a line's group is named for, if it can be laid out.
fn main_object(line: &HotLine) -> Option<&ObjectUse> {
    let is_laid_out = |storage| matches!(storage, Storage::Heap | Storage::Slab | Storage::Global);
    costliest(line).filter(|object| is_laid_out(object.storage) && object.bytes > 0)
}

impl Unit<'_> {
    /// Each element of the array on lines of its own.
    fn elements(&self, group: &Group<'_>) -> Option<Candidate> {
        if self.stride < self.object.bytes {
            let names: Vec<&str> = fields(group, &self.object.name)
                .filter_map(|(_, field)| Some(field.elements.first()?.name.as_str()))
                .collect();
            let layout = format!("each of {} on lines of its own", one_name(&names));
            return (!self.stride.is_multiple_of(self.line_bytes) || self.astride)
                .then(|| self.candidate(layout, self.stride, vec![(0, self.stride, 0)]));
        }
        // An array within the object.
        let all: Vec<_> = fields(group, &self.object.name)
            .filter_map(|(object, field)| field.elements.first().map(|element| (object.address, element)))
            .collect();
        let (begin, first) = all.first()?;
        let size = first.size;
        if size == 0 || size.is_multiple_of(self.line_bytes) {
            return None;
        }
        let offsets: BTreeSet<u64> = all.iter().map(|(begin, e)| e.address - begin).collect();
        if all.iter().any(|(_, e)| e.size != size || pattern(&e.name) != pattern(&first.name)) {
            return None;
        }
        // Accesses to several elements at once: the program has other things there than these, as an allocator in an array of bytes.
        let spans = |field: &FieldUse| field.elements.is_empty() && pattern(&field.name) == pattern(&first.name);
        if share_of(group, &self.object.name, spans) >= LEAST_OF_FIELD {
            return None;
        }
        let phase = (first.address - begin) % size;
        let (low, high) = (*offsets.first()?, *offsets.last()?);
        if offsets.len() < 2 || offsets.iter().any(|o| o % size != phase) || (high - low) / size >= ELEMENTS {
            return None;
        }
        let names: Vec<&str> = all.iter().map(|(_, element)| element.name.as_str()).collect();
        let padded = size.next_multiple_of(self.line_bytes);
        let count = (high - low) / size + 1;
        let parts = (0..count).map(|i| (low + i * size, size, i * padded)).collect();
        let layout = format!("each of {} on lines of its own", one_name(&names));
        Some(Candidate { element: Some((low, size)), ..self.candidate(layout, self.object.bytes, parts) })
    }

    /// What different CPUs use, each range of bytes on lines of its own, unless these are the elements.
    fn by_user(&self, group: &Group<'_>, elements: Option<&Candidate>) -> Option<Candidate> {
        let cuts = cuts(group, self.object, self.line_bytes)?;
        if let Some((begin, size, _)) = elements.map(|elements| elements.parts[0]) {
            let element = |at: usize| cuts.ranges[at].0.checked_sub(begin).map(|offset| offset / size);
            if (1..cuts.ranges.len())
                .all(|at| element(at).zip(element(at - 1)).is_some_and(|(own, before)| own == before + 1))
            {
                return None;
            }
        }
        let mut to = 0;
        let parts = cuts.ranges.iter().map(|(from, bytes)| {
            let part = (*from, *bytes, to);
            to += bytes.next_multiple_of(self.line_bytes);
            part
        });
        let parts = parts.collect();
        let layout = format!("bytes of {} that different CPUs use on lines of their own", cuts.names);
        Some(self.candidate(layout, self.object.bytes, parts))
    }

    /// Each written field alone, those that cost most.
    fn fields_alone(&self) -> Vec<Candidate> {
        let alone = self.written_fields().into_iter().take(FIELDS).filter(|(_, part)| part.bytes < self.stride);
        alone
            .map(|(offset, part)| {
                let layout = format!("{} on a line of its own", self.name(part));
                self.candidate(layout, self.stride, vec![(offset, part.bytes, 0)])
            })
            .collect()
    }

    /// Padding before such a field: it and all that follows go to the next line, the rest stays together.
    fn padded(&self) -> Vec<Candidate> {
        let first = self.parts.keys().next().copied().unwrap_or(0);
        let padded = self.written_fields().into_iter().filter(|(offset, _)| *offset > first).take(PADDED);
        padded
            .map(|(offset, part)| {
                let next = offset.next_multiple_of(self.line_bytes);
                let parts = vec![(0, offset, 0), (offset, self.stride - offset, next)];
                self.candidate(format!("padding before {}", self.name(part)), self.stride, parts)
            })
            .collect()
    }

    /// Lines that CPUs fetch only to read, without what is written on them. What else is on them goes along: who finds one field
    /// there reads the next one for nothing, and is not recorded.
    fn read_apart(&self) -> Option<Candidate> {
        let read: Vec<(&u64, &Part)> = self.parts.iter().filter(|(_, part)| !part.written && part.is_one()).collect();
        let phase = if self.stride.is_multiple_of(self.line_bytes) || self.stride == self.object.bytes {
            self.object.address % self.line_bytes
        } else {
            0
        };
        let lines: BTreeSet<u64> = read.iter().map(|(offset, _)| (*offset + phase) / self.line_bytes).collect();
        let mut parts = Vec::new();
        let mut beside = false;
        for (number, line) in (0..).zip(&lines) {
            let begin = (line * self.line_bytes).saturating_sub(phase);
            let end = ((line + 1) * self.line_bytes - phase).min(self.stride);
            let mut from = begin;
            for &(written, until) in self.written.iter().filter(|(w, until)| *w < end && *until > begin) {
                beside = true;
                if from < written {
                    parts.push((from, written - from, number * self.line_bytes + from - begin));
                }
                from = from.max(until);
            }
            if from < end {
                parts.push((from, end - from, number * self.line_bytes + from - begin));
            }
        }
        let names: Vec<String> = read.iter().map(|(_, part)| self.name(part)).collect();
        let what = one_name(&names.iter().map(String::as_str).collect::<Vec<_>>());
        (beside && !parts.is_empty())
            .then(|| self.candidate(format!("{what} apart from what is written beside"), self.stride, parts))
    }

    /// The whole object from the begin of a line on.
    fn aligned(&self) -> Option<Candidate> {
        let alone = !self.object.bytes.is_multiple_of(self.line_bytes) || self.astride;
        let layout = format!("{} on lines of its own", self.object.name);
        alone.then(|| self.candidate(layout, self.object.bytes, vec![(0, self.object.bytes, 0)]))
    }
}

#[cfg(test)]
mod tests;
