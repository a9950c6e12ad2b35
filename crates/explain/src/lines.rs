// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that are contended: their objects, fields and places in the code.
use crate::memory::{Field, Memory};
use crate::share::percent;
use crate::space::Space;
use crate::types::{
    Beside, ConflictUse, Element, FieldUse, HotLine, Neighbours, ObjectUse, SiteUse, Storage, UNKNOWN_OBJECT,
};
use crate::verdict::{judge, reads, writes};
use corefold_recording::{Conflict, CpuSet, Line, Run, Site};
use std::cmp::Reverse;
use std::collections::HashSet;

/// The lines of a run, those that cost most first.
pub(crate) fn lines<'a>(run: &Run, space: &Space<'a>, memory: &Memory<'a>) -> Vec<HotLine> {
    let waited = run.lines.iter().map(|line| line.stall + line.spin).sum::<u64>();
    // The run's own sum also holds what was stalled on lines too cold to be recorded.
    let waited = waited.max(run.time.stall + run.time.spin);
    let mut lines: Vec<HotLine> = run.lines.iter().map(|line| Teller::new(line, space, memory).tell(waited)).collect();
    lines.sort_by(|a, b| {
        let order = |line: &HotLine| (line.stall + line.spin, line.transfers);
        order(b).cmp(&order(a)).then(a.address.cmp(&b.address))
    });
    lines
}

struct Teller<'a, 'b> {
    line: &'a Line,
    space: &'a Space<'b>,
    memory: &'a Memory<'b>,
    objects: Vec<ObjectUse>,
    fields: Vec<FieldUse>,
    /// CPUs that read and that wrote each field.
    users: Vec<[CpuSet; 2]>,
    sites: Vec<SiteUse>,
}

impl<'a, 'b> Teller<'a, 'b> {
    fn new(line: &'a Line, space: &'a Space<'b>, memory: &'a Memory<'b>) -> Teller<'a, 'b> {
        let (objects, fields, users, sites) = Default::default();
        Teller { line, space, memory, objects, fields, users, sites }
    }

    fn tell(mut self, waited: u64) -> HotLine {
        for site in &self.line.sites {
            self.add(site);
        }
        for (field, [readers, writers]) in self.fields.iter_mut().zip(&self.users) {
            (field.readers, field.writers) = (readers.len(), writers.len());
        }
        self.sort();
        let line = self.line;
        let mut cpus = CpuSet::default();
        line.sites.iter().for_each(|site| cpus.add(&site.cpus));
        HotLine {
            address: line.address,
            bytes: line.bytes,
            object: phrase(&self.objects, &self.fields),
            verdict: judge(self.sites.iter(), |_| true),
            objects: self.objects,
            fields: self.fields,
            transfers: line.transfers.iter().sum(),
            transfers_by_class: line.transfers,
            stall: line.stall,
            stall_percent: percent(line.stall, waited),
            spin: line.spin,
            spin_percent: percent(line.spin, waited),
            cpus,
            sites: self.sites,
        }
    }

    fn add(&mut self, site: &Site) {
        let field_index = self.field_at(u64::from(site.offset), u64::from(site.size));
        let [readers, writers] = &mut self.users[field_index];
        if reads(site.kind) {
            readers.add(&site.cpus);
        }
        if writes(site.kind) {
            writers.add(&site.cpus);
        }
        let field = &mut self.fields[field_index];
        field.transfers += site.transfers;
        field.stall += site.stall;
        field.spin += site.spin;
        let (field, address) = (field.name.clone(), self.line.address.wrapping_add_signed(field.offset_in_line));
        let object = self.fields[field_index].object.map(|number| self.objects[number].storage);
        let of_library = object == Some(Storage::Library);
        let frames = self.space.callers_at(site.pc);
        let conflicts = site.conflicts.iter().map(|conflict| self.conflict(site, field_index, conflict)).collect();
        self.sites.push(SiteUse {
            function: frames[0].function.clone(),
            file: frames[0].file.clone(),
            line: frames[0].line,
            inlined_into: frames[1..].iter().map(|frame| frame.place()).collect(),
            kind: site.kind,
            field,
            field_index,
            address,
            of_library,
            transfers: site.transfers,
            stall: site.stall,
            spin: site.spin,
            cpus: site.cpus.clone(),
            conflicts,
        });
    }

    /// A field is the smallest named part: words of one lock are not distinguished.
    fn conflict(&mut self, site: &Site, own: usize, conflict: &Conflict) -> ConflictUse {
        let other = self.field_at(u64::from(conflict.offset), 1);
        let bytes = u64::from(site.offset)..u64::from(site.offset) + u64::from(site.size);
        let same = own == other || bytes.contains(&u64::from(conflict.offset));
        let field = self.fields[if same { own } else { other }].name.clone();
        let beside = if same { None } else { self.beside(own, other) };
        ConflictUse { field, same, wrote: conflict.wrote, count: conflict.count, beside }
    }

    /// Two fields of different heap objects, or of different elements of one array.
    fn beside(&self, own: usize, other: usize) -> Option<Beside> {
        let (own, other) = (&self.fields[own], &self.fields[other]);
        let object_of = |field: &FieldUse| field.object.map(|number| &self.objects[number]);
        let (object, neighbour) = (object_of(own)?, object_of(other)?);
        let (line_bytes, is_heap) = (self.line.bytes, object.storage == Storage::Heap);
        if own.object != other.object {
            return (is_heap && neighbour.storage == Storage::Heap).then(|| Beside {
                kind: Neighbours::Objects,
                name: object.name.clone(),
                type_name: object.type_name.clone(),
                other_type: neighbour.type_name.clone(),
                address: object.address,
                size: object.bytes,
                line_bytes,
                is_heap,
            });
        }
        let differ = |(own, other): &(&Element, &Element)| own.address != other.address;
        let (element, neighbour) = own.elements.iter().zip(&other.elements).find(differ)?;
        // Numbers have no fields that could be meant.
        let is_structure = own.name != element.name || other.name != neighbour.name;
        is_structure.then(|| Beside {
            kind: Neighbours::Elements,
            name: element.name.clone(),
            type_name: Some(element.type_name.clone()),
            other_type: Some(neighbour.type_name.clone()),
            address: element.address,
            size: element.size,
            line_bytes,
            is_heap,
        })
    }

    /// The number of the field that an access at `offset` of the line touches.
    fn field_at(&mut self, offset: u64, bytes: u64) -> usize {
        let mut found = self.memory.at(self.line.address + offset, bytes, &self.line.objects);
        // Beside the lock there may be accesses to what it guards.
        if let Some(lock) = &found.field.lock {
            found.field.name += &format!(" ({lock})");
        }
        self.field(found.object, found.field)
    }

    /// The number of this field among those seen, as a new one if need be.
    fn field(&mut self, object: ObjectUse, field: Field) -> usize {
        let address = object.address + field.offset;
        let number = self.objects.iter().position(|known| *known == object).unwrap_or(self.objects.len());
        if number == self.objects.len() {
            self.objects.push(object);
        }
        let same = |known: &FieldUse| known.object == Some(number) && known.name == field.name;
        self.fields.iter().position(same).unwrap_or_else(|| {
            self.users.push(Default::default());
            self.fields.push(FieldUse {
                name: field.name,
                type_name: field.type_name,
                object: Some(number),
                offset_in_object: field.offset,
                offset_in_line: address.wrapping_sub(self.line.address) as i64,
                size: field.size,
                elements: field.elements,
                ..FieldUse::default()
            });
            self.fields.len() - 1
        })
    }

    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.fields.len()).collect();
        order.sort_by_key(|number| (self.fields[*number].offset_in_line, *number));
        let mut place = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old] = new;
        }
        self.fields = order.iter().map(|old| self.fields[*old].clone()).collect();
        self.sites.iter_mut().for_each(|site| site.field_index = place[site.field_index]);
        self.objects_by_address();
        self.sites.sort_by(|a, b| {
            let order = |site: &SiteUse| (site.stall + site.spin, site.transfers);
            order(b)
                .cmp(&order(a))
                .then_with(|| (&a.file, a.line, a.field_index).cmp(&(&b.file, b.line, b.field_index)))
        });
    }

    fn objects_by_address(&mut self) {
        let mut order: Vec<usize> = (0..self.objects.len()).collect();
        order.sort_by_key(|number| self.objects[*number].address);
        for field in &mut self.fields {
            field.object = order.iter().position(|old| Some(*old) == field.object);
        }
        self.objects = order.iter().map(|old| self.objects[*old].clone()).collect();
    }
}

/// The objects of a line in one phrase, the most expensive first. Those of negligible cost are only counted, those
/// of unknown origin are named only if there are no others.
fn phrase(objects: &[ObjectUse], fields: &[FieldUse]) -> String {
    let cost = |object: usize| -> u64 {
        let own = fields.iter().filter(|field| field.object == Some(object));
        own.map(|field| field.stall + field.spin + field.transfers).sum()
    };
    let all: u64 = (0..objects.len()).map(cost).sum();
    let mut order: Vec<usize> = (0..objects.len()).filter(|object| objects[*object].is_known()).collect();
    order.sort_by_key(|object| Reverse(cost(*object)));
    // Places on a stack that have no name have that of the frame.
    let mut seen = HashSet::new();
    order.retain(|object| seen.insert(objects[*object].name.as_str()));
    let Some(costliest) = order.first().or((!objects.is_empty()).then_some(&0)) else {
        return UNKNOWN_OBJECT.to_owned();
    };
    let others = order.iter().skip(1).take_while(|object| percent(cost(**object), all) >= 1.0);
    let shown: Vec<&str> =
        std::iter::once(costliest).chain(others).take(3).map(|object| objects[*object].name.as_str()).collect();
    match order.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
