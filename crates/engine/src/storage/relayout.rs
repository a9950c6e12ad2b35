// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trial layouts: objects stay where they are in memory, and some of their parts are simulated on lines of their own, as if
//! the source had laid them out so.
//!
//! The simulator is told another address for such a part ([`simulated`]), in a region where nothing is mapped, and asks for
//! the value there ([`stored`]). The tag of a line that holds such a part is [`Tag::ELSEWHERE`], which no inline code takes for its
//! own, so that each access to it is an event; what else lies on that line is simulated on a line that stands for it.
//!
//! An access to bytes of several parts is simulated where the line itself is: its bytes are right, its time is not that of
//! the new layout.
use crate::carrier::Carrier;
use crate::engine::{launch, line_bytes, line_start, slot_of};
use crate::hot::hot;
use crate::layout::{ELSEWHERE, ELSEWHERE_BYTES};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use corefold_launch::{Objects, Part, Relayout};
use corefold_model::{Kind, Tag};
use corefold_recording::Label;
use corefold_sim::Lease;

/// The objects that are there now, and the lines that stand for others.
struct Relayouts {
    layouts: Vec<Relayout>,
    /// The parts of each, ascending in the new layout.
    by_place: Vec<Vec<Part>>,
    /// By the site of an allocation: the number of its layout, if it has one.
    by_site: BTreeMap<u32, Option<usize>>,
    /// By address.
    objects: BTreeMap<u64, Object>,
    /// By the line they stand for.
    stand_ins: BTreeMap<u64, u64>,
    /// What each piece of the region stands for, by where it begins.
    pieces: BTreeMap<u64, Piece>,
    taken: u64,
}

static RELAYOUTS: Carrier<Relayouts> = Carrier::new(Relayouts {
    layouts: Vec::new(),
    by_place: Vec::new(),
    by_site: BTreeMap::new(),
    objects: BTreeMap::new(),
    stand_ins: BTreeMap::new(),
    pieces: BTreeMap::new(),
    taken: 0,
});

#[derive(Clone, Copy)]
struct Object {
    bytes: u64,
    layout: usize,
    /// Where its parts are simulated.
    place: u64,
}

#[derive(Clone, Copy)]
enum Piece {
    /// The line that begins there.
    Line(u64),
    /// The object that begins there, in this layout.
    Object(u64, usize),
}

/// What is known of the line that `address` is simulated on. The shadow has a place for every 64 bytes, as the
/// hooks index it so; of a longer line the first is used, and the others always lead to the slow path.
#[inline]
pub fn tag_of(address: u64) -> Tag {
    slot_of(simulated(address, 1)).get()
}

/// Where the simulator has these bytes.
#[inline]
pub fn simulated(address: u64, bytes: u64) -> u64 {
    if hot().relaid.get() == 0 { address } else { RELAYOUTS.with(|all| all.simulated(address, bytes)) }
}

/// The address of what the simulator has there.
#[inline]
pub fn stored(address: u64) -> u64 {
    if hot().relaid.get() == 0 { address } else { RELAYOUTS.with(|all| all.stored(address)) }
}

/// The line in memory that the simulator has there; the same, where parts of objects are.
pub fn line_in_memory(line: u64) -> u64 {
    let standing_for = |all: &mut Relayouts| match all.pieces.get(&line) {
        Some(Piece::Line(line)) => Some(*line),
        _ => None,
    };
    if hot().relaid.get() == 0 { line } else { RELAYOUTS.with(standing_for).unwrap_or(line) }
}

/// May the running CPU make this access, which is simulated elsewhere on a line with that tag, without an event?
#[inline]
pub fn is_leased(address: u64, tag: Tag, kind: Kind) -> bool {
    let hot = hot();
    if hot.relaid.get() == 0 {
        return false;
    }
    let leased = hot.stores(tag) || kind == Kind::Load && hot.loads(tag);
    leased && slot_of(address).get() == Tag::ELSEWHERE
}

/// Lays out the objects that are there from the begin.
pub fn begin() {
    let layouts = launch().relayouts.clone();
    let first: Vec<(u64, u64, usize)> = layouts
        .iter()
        .enumerate()
        .filter_map(|(number, layout)| match layout.objects {
            Objects::At(address, bytes) => Some((address, bytes, number)),
            Objects::Allocated(_) | Objects::Named(..) => None,
        })
        .collect();
    hot().relaid.set(u8::from(!layouts.is_empty()));
    RELAYOUTS.with(|all| {
        all.by_place = layouts.iter().map(Relayout::by_place).collect();
        all.layouts = layouts;
        first.into_iter().for_each(|(address, bytes, layout)| all.add(address, bytes, layout));
    });
}

/// An object was allocated at this site, which has that stack.
#[inline]
pub fn allocated(address: u64, bytes: u64, site: u32, stack: impl Fn() -> Vec<u64>) {
    if hot().relaid.get() != 0 {
        RELAYOUTS.with(|all| all.allocated(address, bytes, site, stack));
    }
}

/// The program's own allocator has made room for objects.
pub fn placed(label: &Label) {
    if hot().relaid.get() == 0 {
        return;
    }
    let of_name = |layout: &Relayout| match &layout.objects {
        Objects::Named(name, bytes) if *name == label.name => Some(*bytes),
        _ => None,
    };
    RELAYOUTS.with(|all| {
        let mut layouts = all.layouts.iter().enumerate();
        let Some((number, bytes)) = layouts.find_map(|(number, layout)| Some((number, of_name(layout)?))) else {
            return;
        };
        for address in (label.address..label.address + label.bytes).step_by(label.stride as usize) {
            all.add(address, bytes, number);
        }
    });
}

#[inline]
pub fn freed(address: u64) {
    if hot().relaid.get() != 0 {
        RELAYOUTS.with(|all| all.freed(address));
    }
}

impl Relayouts {
    fn allocated(&mut self, address: u64, bytes: u64, site: u32, stack: impl Fn() -> Vec<u64>) {
        let layouts = &self.layouts;
        let of_site = || {
            let stack = stack();
            layouts.iter().position(|layout| matches!(&layout.objects, Objects::Allocated(its) if *its == stack))
        };
        if let Some(layout) = *self.by_site.entry(site).or_insert_with(of_site) {
            self.add(address, bytes, layout);
        }
    }

    fn freed(&mut self, address: u64) {
        if let Some(object) = self.objects.remove(&address) {
            self.pieces.remove(&object.place);
        }
    }

    /// So many bytes of the region, whole lines.
    fn take(&mut self, bytes: u64) -> u64 {
        let place = ELSEWHERE + self.taken;
        self.taken += bytes.next_multiple_of(line_bytes());
        place
    }

    fn add(&mut self, address: u64, bytes: u64, layout: usize) {
        let (stride, parts) = (self.layouts[layout].stride, self.layouts[layout].parts.clone());
        if bytes < stride || self.objects.contains_key(&address) {
            return;
        }
        let place = self.take(self.layouts[layout].new_bytes(bytes));
        let bytes = bytes - bytes % stride;
        self.objects.insert(address, Object { bytes, layout, place });
        self.pieces.insert(place, Piece::Object(address, layout));
        for element in (address..address + bytes).step_by(stride as usize) {
            for part in &parts {
                let from = element + part.from;
                let mut line = line_start(from);
                while line < from + part.bytes {
                    self.leave(line);
                    line += line_bytes();
                }
            }
        }
    }

    /// Nothing is simulated on this line from now on, but on one that stands for it.
    fn leave(&mut self, line: u64) {
        if !Lease::move_elsewhere(slot_of(line)) {
            return;
        }
        if !self.stand_ins.contains_key(&line) {
            let place = self.take(line_bytes());
            self.stand_ins.insert(line, place);
            self.pieces.insert(place, Piece::Line(line));
        }
    }

    #[cold]
    fn simulated(&self, address: u64, bytes: u64) -> u64 {
        if slot_of(address).get() != Tag::ELSEWHERE {
            return address;
        }
        if let Some((start, object)) = self.objects.range(..=address).next_back()
            && address - start < object.bytes
            && let Some(place) = self.layouts[object.layout].place(address - start, bytes)
        {
            return object.place + place;
        }
        let line = line_start(address);
        self.stand_ins.get(&line).map_or(address, |place| place + (address - line))
    }

    #[cold]
    fn stored(&self, address: u64) -> u64 {
        if address.wrapping_sub(ELSEWHERE) >= ELSEWHERE_BYTES {
            return address;
        }
        let Some((place, piece)) = self.pieces.range(..=address).next_back() else { return address };
        let at = address - place;
        match *piece {
            Piece::Line(line) => line + at,
            Piece::Object(start, layout) => start + self.layouts[layout].offset(&self.by_place[layout], at),
        }
    }
}
