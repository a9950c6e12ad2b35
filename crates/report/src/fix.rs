// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other layouts of the structures that a run waited for, and what trials of them gained.
//!
//! Proposed is what separates: a written field, the elements of an array, what is only read, or the whole object from its
//! neighbours. Nothing that packs two written fields onto one line.
use crate::hot::{Group, groups, writes};
use crate::json::shape;
use crate::style::{Style, escaped};
use crate::table::{Align, Table};
use crate::{Options, units};
use corefold_explain::{Explained, FieldUse, HotLine, ObjectUse, Storage, one_name, pattern};
use corefold_recording::{Run, Time};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Objects that are looked at, and the least share of the CPU time that each must be waited for.
const OBJECTS: usize = 4;
const LEAST: f64 = 0.02;
/// Fields of one object, the most expensive, that are tried alone.
const FIELDS: usize = 4;
/// Elements of an array within an object, at most.
const ELEMENTS: u64 = 1024;
/// The least share of its object's wait, or transfers, that a field has which is tried apart from others.
const LEAST_OF_FIELD: f64 = 0.01;

/// A layout that separates something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The object, as reports name it.
    pub object: String,
    /// `shared.beside on a line of its own`
    pub layout: String,
    /// Of the objects one, as recorded.
    pub address: u64,
    pub bytes: u64,
    pub is_heap: bool,
    /// Bytes of the unit that is laid out, and of its parts in their new layout.
    pub stride: u64,
    pub new_stride: u64,
    /// Offset, bytes, and new offset of each part, ascending.
    pub parts: Vec<(u64, u64, u64)>,
    /// What each object grows by, at most.
    pub more_bytes: u64,
}

/// One layout, tried.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    #[serde(flatten)]
    pub candidate: Candidate,
    /// Layouts of other objects that were tried together with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Candidate>,
    /// Throughput, relative to the layout as it is: 0.25 is a quarter more. None: the program failed.
    pub gain: Option<f64>,
    /// Virtual time.
    pub seconds: f64,
    pub also: Vec<Other>,
}

impl Trial {
    /// `a on lines of its own; b apart from what is written beside`
    fn layout(&self) -> String {
        let all: Vec<&str> = [&self.candidate].into_iter().chain(&self.with).map(|one| one.layout.as_str()).collect();
        all.join("; ")
    }

    fn moved(&self) -> u64 {
        [&self.candidate].into_iter().chain(&self.with).flat_map(|one| &one.parts).map(|(_, bytes, _)| bytes).sum()
    }

    fn more_bytes(&self) -> u64 {
        [&self.candidate].into_iter().chain(&self.with).map(|one| one.more_bytes).sum()
    }
}

/// The same on another recording.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    pub recording: String,
    pub gain: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Fixes {
    pub recording: String,
    pub program: Vec<String>,
    pub machine: String,
    pub cpus: u32,
    /// Virtual time as recorded, and of the run that was just made with the layout as it is.
    pub recorded_seconds: f64,
    pub seconds: f64,
    /// By gain, the most first.
    pub layouts: Vec<Trial>,
}

impl Fixes {
    pub fn new(recording: &str, recorded: &Run, again: &Run, mut layouts: Vec<Trial>) -> Fixes {
        let gain = |trial: &Trial| trial.gain.unwrap_or(f64::NEG_INFINITY);
        layouts.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
        // Of those that gain as much as the best, the one that moves least, then the smallest.
        let as_good = layouts.iter().take_while(|trial| gain(&layouts[0]) - gain(trial) < ALIKE).count();
        layouts[..as_good].sort_by_key(|trial| (trial.moved(), trial.more_bytes()));
        Fixes {
            recording: recording.into(),
            program: recorded.argv.clone(),
            machine: recorded.machine.clone(),
            cpus: recorded.cpus,
            recorded_seconds: seconds(recorded),
            seconds: seconds(again),
            layouts,
        }
    }

    /// Nothing is to be tried.
    pub fn none(recording: &str, recorded: &Run) -> Fixes {
        Fixes::new(recording, recorded, recorded, Vec::new())
    }
}

/// Gains that differ by less say nothing.
const ALIKE: f64 = 0.02;

/// What is worth a trial together: the best layout of each object, if several gain; by number of the trial.
pub fn together(tried: &[Trial]) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::new();
    for (number, trial) in tried.iter().enumerate().filter(|(_, trial)| trial.gain >= Some(ALIKE)) {
        let of_same = |known: &&mut usize| tried[**known].candidate.object == trial.candidate.object;
        match best.iter_mut().find(of_same) {
            Some(known) if tried[*known].gain < trial.gain => *known = number,
            Some(_) => {}
            None => best.push(number),
        }
    }
    best.sort_by(|a, b| tried[*b].gain.partial_cmp(&tried[*a].gain).expect("gains that were compared"));
    if best.len() > 1 { best } else { Vec::new() }
}

/// Virtual time of the region of interest.
pub fn seconds(run: &Run) -> f64 {
    if run.clock_hz == 0 { 0.0 } else { run.cycles as f64 / run.clock_hz as f64 }
}

/// How much more throughput `new` has than `old`; none if it ended otherwise. Of programs that mark progress it is that,
/// of others the time that they take.
pub fn gain(old: &Run, new: &Run) -> Option<f64> {
    let visits = |run: &Run| run.progress.iter().map(|point| point.visits).sum::<u64>().max(1) as f64;
    let rate = |run: &Run| visits(run) / run.cycles.max(1) as f64;
    (old.status == new.status).then(|| rate(new) / rate(old) - 1.0)
}

/// Layouts that are worth a trial, the object with the most wait first.
pub fn candidates(explained: &Explained) -> Vec<Candidate> {
    let Time { compute, stall, spin, .. } = explained.run.time;
    let all = compute + stall + spin;
    let groups = groups(explained);
    let hot = groups.iter().take(OBJECTS).filter(|group| units::share(group.wait(), all) >= LEAST);
    let mut found: Vec<Candidate> = Vec::new();
    for candidate in hot.flat_map(of_group) {
        if !found.iter().any(|known| known.address == candidate.address && known.parts == candidate.parts) {
            found.push(candidate);
        }
    }
    found
}

/// A field of the unit that is laid out: of several objects or elements.
#[derive(Default)]
struct Part {
    names: Vec<String>,
    bytes: u64,
    written: bool,
    cost: u64,
    transfers: u64,
}

impl Part {
    /// One field, and not several that accesses span.
    fn is_one(&self) -> bool {
        self.names.iter().all(|name| pattern(name) == pattern(&self.names[0]) && !name.contains('…'))
    }
}

/// The unit: an object, or an element of the array that an object is.
struct Unit<'a> {
    object: &'a ObjectUse,
    line_bytes: u64,
    stride: u64,
    /// Fields by offset.
    parts: BTreeMap<u64, Part>,
    /// Offset and end of all that is stored to, ascending.
    written: Vec<(u64, u64)>,
    /// An object that does not begin on a line.
    astride: bool,
}

fn of_group(group: &Group<'_>) -> Vec<Candidate> {
    let hottest = group.hottest();
    let Some(object) = main_object(hottest) else { return Vec::new() };
    let unit = Unit::new(object, group);
    let mut found = Vec::new();
    found.extend(unit.elements(group));
    found.extend(unit.fields_alone());
    found.extend(unit.read_apart());
    found.extend(unit.aligned());
    found
}

/// The object that a line's group is named for, if it can be laid out.
fn main_object(line: &HotLine) -> Option<&ObjectUse> {
    let cost = |object: usize| -> u64 {
        line.fields.iter().filter(|f| f.object == Some(object)).map(|f| f.stall + f.spin).sum()
    };
    let object = line.objects.get((0..line.objects.len()).rev().max_by_key(|&object| cost(object))?)?;
    (matches!(object.storage, Storage::Heap | Storage::Global) && object.bytes > 0).then_some(object)
}

/// Its fields on these lines, with the object that each is of.
fn fields<'a>(group: &'a Group<'_>, name: &'a str) -> impl Iterator<Item = (&'a ObjectUse, &'a FieldUse)> {
    let of_line = |line: &'a HotLine| line.fields.iter().map(move |field| (line, field));
    let with_object = |(line, field): (&'a HotLine, &'a FieldUse)| Some((line.objects.get(field.object?)?, field));
    group.lines.iter().flat_map(move |line| of_line(line)).filter_map(with_object).filter(move |(o, _)| o.name == name)
}

/// Offset and end of each field that is stored to, ascending, in a unit of so many bytes: also of those whose line is there
/// already whenever they are.
fn written(group: &Group<'_>, name: &str, stride: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for line in &group.lines {
        // Those that have taken the line from others are among the verdict's.
        let stores = |at: usize| {
            line.sites.iter().any(|site| site.field_index == at && writes(site.kind))
                || group.verdict.written.contains(&line.fields[at].name)
        };
        for (at, field) in line.fields.iter().enumerate().filter(|(_, field)| field.size > 0) {
            let object = field.object.and_then(|object| line.objects.get(object));
            if object.is_some_and(|object| object.name == name) && (field.writers > 0 || stores(at)) {
                let from = field.offset_in_object % stride;
                all.push((from, from + field.size));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

impl<'a> Unit<'a> {
    fn new(object: &'a ObjectUse, group: &'a Group<'_>) -> Unit<'a> {
        let line_bytes = u64::from(group.hottest().bytes);
        // An array from its begin on, of which several elements are used: each is laid out alike. Accesses that span elements,
        // as who sets them up in a vectorised loop, are nothing to it as long as they cost nothing.
        let worth = |field: &FieldUse| (field.stall + field.spin, field.transfers);
        let add = |sum: (u64, u64), field: &FieldUse| (sum.0 + worth(field).0, sum.1 + worth(field).1);
        let all = fields(group, &object.name).fold((0, 0), |sum, (_, field)| add(sum, field));
        let spanning = fields(group, &object.name).filter(|(_, field)| field.elements.is_empty());
        let spanning = spanning.fold((0, 0), |sum, (_, field)| add(sum, field));
        let none = units::share(spanning.0, all.0).max(units::share(spanning.1, all.1)) < LEAST_OF_FIELD;
        let whole = fields(group, &object.name).filter(|(_, field)| !none || !field.elements.is_empty());
        let whole = whole.map(|(object, field)| (object.address, field.elements.first()));
        let mut strides = whole.map(|(begin, element)| {
            let size = element?.size;
            let index = (element?.address - begin).checked_div(size)?;
            (element?.name.ends_with(&format!("[{index}]")) && (element?.address - begin) == index * size)
                .then_some(size)
        });
        let first = strides.next().flatten();
        let alike = first.filter(|first| strides.all(|size| size == Some(*first)));
        let elements: BTreeSet<u64> = fields(group, &object.name)
            .filter_map(|(object, field)| Some(field.elements.first()?.address - object.address))
            .collect();
        let stride = alike.filter(|_| elements.len() > 1).unwrap_or(object.bytes);
        let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
        for (_, field) in fields(group, &object.name).filter(|(_, field)| field.size > 0) {
            let part = parts.entry(field.offset_in_object % stride).or_default();
            part.names.push(field.name.clone());
            part.bytes = part.bytes.max(field.size).min(stride);
            part.written |= field.writers > 0;
            part.cost += field.stall + field.spin;
            part.transfers += field.transfers;
        }
        // Who has read a sum once, after all was done, uses nothing. Who stores may wait for nothing, but others do for the line.
        let sum = |of: fn(&Part) -> u64| parts.values().map(of).sum::<u64>();
        let (cost, transfers) = (sum(|part| part.cost), sum(|part| part.transfers));
        parts.retain(|_, part| {
            units::share(part.cost, cost).max(units::share(part.transfers, transfers)) >= LEAST_OF_FIELD
        });
        let astride = fields(group, &object.name).any(|(object, _)| !object.address.is_multiple_of(line_bytes));
        let written = written(group, &object.name, stride);
        Unit { object, line_bytes, stride, parts, written, astride }
    }

    fn candidate(&self, layout: String, stride: u64, parts: Vec<(u64, u64, u64)>) -> Candidate {
        let used = parts.last().map_or(0, |(_, bytes, to)| to + bytes);
        let new_stride = used.next_multiple_of(self.line_bytes);
        let moved: u64 = parts.iter().map(|(_, bytes, _)| bytes).sum();
        Candidate {
            object: self.object.name.clone(),
            layout,
            address: self.object.address,
            bytes: self.object.bytes,
            is_heap: self.object.storage == Storage::Heap,
            stride,
            new_stride,
            more_bytes: (new_stride - moved.min(new_stride)) * (self.object.bytes / stride).max(1),
            parts,
        }
    }

    fn name(&self, part: &Part) -> String {
        one_name(&part.names.iter().map(String::as_str).collect::<Vec<_>>())
    }

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
        let phase = (first.address - begin) % size;
        let (low, high) = (*offsets.first()?, *offsets.last()?);
        if offsets.len() < 2 || offsets.iter().any(|o| o % size != phase) || (high - low) / size >= ELEMENTS {
            return None;
        }
        let names: Vec<&str> = all.iter().map(|(_, element)| element.name.as_str()).collect();
        let padded = size.next_multiple_of(self.line_bytes);
        let count = (high - low) / size + 1;
        let parts = (0..count).map(|i| (low + i * size, size, i * padded)).collect();
        Some(self.candidate(format!("each of {} on lines of its own", one_name(&names)), self.object.bytes, parts))
    }

    /// Each written field alone, those that cost most.
    fn fields_alone(&self) -> Vec<Candidate> {
        let mut written: Vec<(&u64, &Part)> = self.parts.iter().filter(|(_, part)| part.written).collect();
        // One of an array's elements is no better than the others.
        let like = |part: &Part| {
            self.parts.values().filter(|other| pattern(&other.names[0]) == pattern(&part.names[0])).count()
        };
        written.retain(|(_, part)| like(part) == 1 && part.is_one());
        written.sort_by_key(|(_, part)| std::cmp::Reverse((part.cost, part.transfers)));
        let alone = written.into_iter().take(FIELDS).filter(|(_, part)| part.bytes < self.stride);
        alone
            .map(|(offset, part)| {
                let layout = format!("{} on a line of its own", self.name(part));
                self.candidate(layout, self.stride, vec![(*offset, part.bytes, 0)])
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

/// A gain as people write it: `+12.3%`.
fn signed(gain: Option<f64>) -> String {
    gain.map_or("failed".into(), |gain| format!("{:+.1}%", gain * 100.0))
}

pub fn text(fixes: &Fixes, options: &Options) -> String {
    let style = Style { color: options.color };
    let (cpus, machine) = (units::counted(fixes.cpus, "CPU"), &fixes.machine);
    let mut out = format!("{}\n", fixes.program.join(" "));
    if fixes.layouts.is_empty() {
        out +=
            &format!("At {cpus} of {machine} no structure waits for cache lines enough to be worth another layout.\n");
        return style.finish(&out);
    }
    out += &format!("Other layouts at {cpus} of {machine}; as it is: {}", units::duration(fixes.seconds));
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
    columns.extend([("bytes", Align::Right), ("layout", Align::Left)]);
    let last = columns.len() - 1;
    let mut table = Table::new(&columns, &[last]);
    for trial in &fixes.layouts {
        let mut cells = vec![signed(trial.gain), units::duration(trial.seconds)];
        cells.extend(trial.also.iter().map(|other| signed(other.gain)));
        cells.push(format!("+{}", trial.more_bytes()));
        cells.push(trial.layout());
        table.row(cells);
    }
    out += &table.print(options.width, style);
    out += "\ngain: of throughput, on this workload and machine; bytes: what an object grows by, at most\n";
    if fixes.layouts.iter().any(|trial| trial.gain.is_none()) {
        out += "failed: the program ended otherwise than as it is\n";
    }
    style.finish(&out)
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
    use crate::sample::run;
    use corefold_explain::Element;
    use corefold_recording::Status;

    /// An object of so many bytes at 0x1000, and what was accessed there: name, offset, bytes, writers, cycles.
    fn line(bytes: u64, storage: Storage, accessed: &[(&str, u64, u64, u32, u64)], element: u64) -> HotLine {
        let object =
            ObjectUse { name: "table (t.c:3)".into(), address: 0x1000, bytes, storage, ..ObjectUse::default() };
        let field = |&(name, offset, size, writers, stall): &(&str, u64, u64, u32, u64)| FieldUse {
            name: name.into(),
            object: Some(0),
            offset_in_object: offset,
            size,
            writers,
            stall,
            transfers: stall,
            elements: (element > 0)
                .then(|| Element {
                    name: name.split_inclusive(']').next().unwrap_or(name).into(),
                    address: 0x1000 + offset / element * element,
                    size: element,
                    ..Element::default()
                })
                .into_iter()
                .collect(),
            ..FieldUse::default()
        };
        let fields: Vec<FieldUse> = accessed.iter().map(field).collect();
        let stall = fields.iter().map(|field| field.stall).sum();
        HotLine { address: 0x1000, bytes: 64, objects: vec![object], fields, stall, ..HotLine::default() }
    }

    fn proposed(line: HotLine) -> Vec<Candidate> {
        let mut run = run(4);
        (run.run.time.stall, run.lines) = (line.stall, vec![line]);
        candidates(&run)
    }

    /// What it is called, and old and new size.
    fn sizes(candidate: &Candidate) -> (&str, u64, u64) {
        (&candidate.layout, candidate.stride, candidate.new_stride)
    }

    #[test]
    fn a_written_field_is_parted_from_a_read_one() {
        let fields = [("t.hits", 0, 8, 1, 90), ("t.limit", 8, 4, 0, 40), ("t.seldom", 16, 8, 1, 1)];
        let all = proposed(line(64, Storage::Heap, &fields, 0));
        let [alone, apart] = &all[..] else { panic!("{all:?}") };
        assert_eq!(sizes(alone), ("t.hits on a line of its own", 64, 64));
        assert_eq!(sizes(apart), ("t.limit apart from what is written beside", 64, 64));
        // What lies beside the read field goes along, but for what is written.
        assert_eq!((&alone.parts[..], &apart.parts[..]), (&[(0, 8, 0)][..], &[(8, 8, 8), (24, 40, 24)][..]));
    }

    #[test]
    fn the_elements_of_an_array_are_parted_and_none_alone() {
        let fields = [("t[0].n", 0, 8, 1, 50), ("t[1].n", 16, 8, 1, 50)];
        let all = proposed(line(64, Storage::Global, &fields, 16));
        assert_eq!(sizes(&all[0]), ("each of t[0-1] on lines of its own", 16, 64));
        assert!(all[0].parts == [(0, 16, 0)] && all.iter().all(|one| !one.layout.contains("t[0]")), "{all:?}");
    }

    /// A vectorised loop that sets the elements up accesses two at once.
    #[test]
    fn who_sets_elements_up_does_not_hide_that_they_are_an_array() {
        let with = |cost| {
            let fields = [("t[0]", 0, 8, 1, 500), ("t[1]", 8, 8, 1, 500), ("t[0-1]", 0, 16, 1, cost)];
            let mut line = line(64, Storage::Heap, &fields, 8);
            line.fields[2].elements.clear();
            proposed(line)
        };
        assert_eq!(sizes(&with(1)[0]), ("each of t[0-1] on lines of its own", 8, 64));
        assert!(with(500).iter().all(|one| one.stride == 64), "it costs as much as the elements alone");
    }

    #[test]
    fn two_arrays_are_not_one_and_one_element_is_none() {
        let arrays = [("t.a[0]", 8, 8, 1, 50), ("t.a[1]", 16, 8, 1, 50), ("t.b[0]", 40, 8, 1, 50)];
        let all = proposed(line(72, Storage::Global, &arrays, 8));
        assert!(all.iter().all(|one| !one.layout.starts_with("each")), "{all:?}");
        let one = [("t[0].n", 0, 8, 1, 50), ("t[0].m", 8, 8, 1, 50)];
        let all = proposed(line(64, Storage::Heap, &one, 24));
        assert!(
            !all.is_empty() && all.iter().all(|one| one.stride == 64 && !one.layout.starts_with("each")),
            "{all:?}"
        );
    }

    #[test]
    fn two_written_fields_are_never_put_together() {
        let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50), ("t.c", 16, 8, 0, 50), ("t.d", 24, 8, 0, 50)];
        for Candidate { layout, parts, .. } in proposed(line(80, Storage::Global, &fields, 0)) {
            let whole = parts == [(0, 80, 0)];
            let written = parts.iter().filter(|(from, _, _)| *from < 16).count();
            assert!(whole || written <= 1, "{layout}: {parts:?}");
        }
    }

    #[test]
    fn nothing_is_proposed_for_stacks_and_for_what_costs_nothing() {
        let fields = [("t.a", 0, 8, 1, 50), ("t.b", 8, 8, 1, 50)];
        assert!(proposed(line(64, Storage::Stack, &fields, 0)).is_empty());
        let mut idle = run(4);
        (idle.run.time.compute, idle.lines) = (10_000, vec![line(64, Storage::Heap, &fields, 0)]);
        assert!(candidates(&idle).is_empty());
    }

    fn trial(object: &str, layout: &str, more_bytes: u64, gain: Option<f64>) -> Trial {
        let candidate = Candidate {
            object: object.into(),
            layout: layout.into(),
            address: 0,
            bytes: 8,
            is_heap: false,
            stride: 8,
            new_stride: 64,
            parts: Vec::new(),
            more_bytes,
        };
        Trial { candidate, with: Vec::new(), gain, seconds: 1.0, also: Vec::new() }
    }

    #[test]
    fn of_layouts_that_gain_alike_the_smallest_comes_first() {
        let trials = vec![
            trial("a", "large", 500, Some(0.51)),
            trial("a", "less", 0, Some(0.4)),
            trial("a", "small", 50, Some(0.5)),
            trial("a", "failed", 1, None),
        ];
        let ranked = Fixes::new("", &Run::default(), &Run::default(), trials).layouts;
        assert_eq!(ranked.iter().map(Trial::layout).collect::<Vec<_>>(), ["small", "large", "less", "failed"]);
    }

    #[test]
    fn the_best_layouts_of_several_objects_are_tried_together() {
        let a = [trial("a", "x", 1, Some(0.1)), trial("a", "y", 1, Some(0.3))];
        assert!(together(&a).is_empty());
        let both = [&a[..], &[trial("b", "z", 1, Some(0.01)), trial("b", "v", 1, Some(0.5)), trial("c", "w", 1, None)]]
            .concat();
        assert_eq!(together(&both), [3, 1]);
        let [mut one, two] = [both[3].clone(), both[1].clone()];
        one.with.push(two.candidate);
        assert_eq!((one.layout().as_str(), one.more_bytes()), ("v; y", 2));
    }

    #[test]
    fn a_gain_is_of_progress_where_there_is_any() {
        let timed = |cycles, visits: &[u64]| Run {
            cycles,
            progress: visits
                .iter()
                .map(|&visits| corefold_recording::Progress { name: "done".into(), visits })
                .collect(),
            ..Run::default()
        };
        assert_eq!(gain(&timed(200, &[]), &timed(100, &[])), Some(1.0));
        assert_eq!(gain(&timed(128, &[16]), &timed(128, &[24])), Some(0.5));
        let failed = Run { status: Status::Exited(1), ..timed(100, &[]) };
        assert_eq!(gain(&timed(100, &[]), &failed), None);
        assert_eq!([None, Some(0.25), Some(-0.031), Some(1.4)].map(signed), ["failed", "+25.0%", "-3.1%", "+140.0%"]);
    }
}
