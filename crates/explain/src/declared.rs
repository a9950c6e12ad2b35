// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the source declares the structure that a layout cuts, and its members.
use crate::dwarf::{Debug, Die};
use crate::heap::Layout;
use crate::images::Images;
use crate::memory::Memory;
use crate::space::Space;
use crate::types::Storage;
use corefold_dwarf::{Keyword, Member, Role};
use corefold_recording::{Object, Run};
use gimli::constants as c;

/// A structure as its source declares it, and where it is to be cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// `struct statistics`
    pub name: String,
    /// Where it begins in the unit that is cut.
    pub base: u64,
    pub language: Language,
    pub storage: Storage,
    /// As the source demands it of the whole; else 1.
    pub align: u64,
    /// In the order of the source; base classes are none.
    pub members: Vec<DeclaredMember>,
    /// Numbers of the members that are to be on another line than what comes before them.
    pub begins: Vec<usize>,
    /// Whether the last member is to be on another line than what follows the structure.
    pub ends: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredMember {
    /// `None` where it is anonymous.
    pub name: Option<String>,
    pub offset: u64,
    /// `None`: a flexible array. Of a bit-field, the bytes that it has bits in.
    pub size: Option<u64>,
    /// `None` where it cannot be told.
    pub align: Option<u64>,
    pub is_bit_field: bool,
    /// Source file and line.
    pub place: Option<(String, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cpp,
}

/// What a layout cuts.
pub struct Parting {
    /// Of an object.
    pub address: u64,
    /// The unit that is cut: the object, or an element of the array that it is.
    pub bytes: u64,
    /// Offset and size of the elements of an array within the unit, if these are parted.
    pub element: Option<(u64, u64)>,
    /// Offsets in the unit at which something apart begins, or ends.
    pub cuts: Vec<u64>,
}

/// Why no declaration can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undeclared {
    /// The object's type is not known.
    Untyped,
    /// What is cut is no structure, but a number or an array.
    NoStructure,
    /// An array of bytes, from which the program carves its objects.
    Bytes,
    /// No member begins at the cut.
    Between,
    /// A language whose debug information has no lines of members.
    Rust,
    OtherLanguage,
}

/// The structures that each of these layouts of the run's objects cuts: of a cut inside of a member, those inside, too.
pub fn declared(run: &Run, images: &mut Images, all: &[Parting]) -> Vec<Result<Vec<Declared>, Undeclared>> {
    images.load(&run.modules);
    let space = Space::new(&run.modules, images);
    let memory = Memory::new(run, &space);
    let of_lines = run.lines.iter().flat_map(|line| &line.objects);
    let objects: Vec<Object> =
        of_lines.chain(run.passed.iter().filter_map(|passed| passed.object.as_ref())).cloned().collect();
    let one = |parting: &Parting| {
        let (object, debug, layout) = memory.typed(parting.address, &objects).ok_or(Undeclared::Untyped)?;
        Cutter { debug, storage: object.storage }.declared(&layout, parting)
    };
    all.iter().map(one).collect()
}

struct Cutter<'a> {
    debug: &'a Debug,
    storage: Storage,
}

/// What is before the first member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Front {
    /// Nothing that a cut there would part it from.
    Begins,
    /// It is that of a base class, which follows other members.
    Follows,
}

/// A guard against debug information that would have a structure begin nowhere.
const MOST_ALIGNED: u64 = 1 << 20;
/// A guard against debug information that refers to itself.
const DEEPEST: usize = 24;

impl Cutter<'_> {
    fn declared(&self, layout: &Layout, parting: &Parting) -> Result<Vec<Declared>, Undeclared> {
        let kind = layout.value().ok_or(Undeclared::NoStructure)?;
        if self.debug.is_rust(kind) {
            return Err(Undeclared::Rust);
        }
        let unit = self.element_of(kind, parting.bytes);
        if parting.element.is_none() && self.is_bytes(unit) {
            return Err(Undeclared::Bytes);
        }
        match parting.element {
            Some((offset, size)) => {
                let element = self.element_at(unit, offset, size).ok_or(Undeclared::NoStructure)?;
                let mut all = self.cut(element, &[0, size], offset, Front::Begins, DEEPEST)?;
                // No type decides where the first one lies that follows other members on the heap. If it is not the array's
                // first, the one before it is padded.
                if self.storage != Storage::Global && offset > 0 {
                    let before = self.cut(unit, &[offset], 0, Front::Begins, DEEPEST).unwrap_or_default();
                    all.extend(before.into_iter().filter(|declared| !declared.ends));
                }
                Ok(all)
            }
            None => self.cut(unit, &parting.cuts, 0, Front::Begins, DEEPEST),
        }
    }

    /// What `kind` is an array of, if it is larger than so many bytes.
    fn element_of(&self, kind: Die, bytes: u64) -> Die {
        let mut kind = self.debug.strip(kind);
        for _ in 0..DEEPEST {
            let is_larger = self.debug.size_of(kind).is_some_and(|size| size > bytes);
            match self.debug.type_of(kind) {
                Some(element) if is_larger && self.is_array(kind) => kind = self.debug.strip(element),
                _ => break,
            }
        }
        kind
    }

    fn is_bytes(&self, kind: Die) -> bool {
        let is_byte = |element| {
            let name = self.debug.type_name(self.debug.strip(element));
            ["char", "unsigned char", "signed char", "byte"].contains(&name.rsplit(':').next().unwrap_or_default())
        };
        self.is_array(kind) && self.debug.type_of(kind).is_some_and(is_byte)
    }

    fn is_array(&self, kind: Die) -> bool {
        self.debug.tag(kind) == Some(c::DW_TAG_array_type)
    }

    /// The type of the elements of `size` bytes of the array that holds `offset`.
    fn element_at(&self, unit: Die, offset: u64, size: u64) -> Option<Die> {
        let (mut kind, mut offset) = (unit, offset);
        for _ in 0..DEEPEST {
            kind = self.debug.strip(kind);
            if self.is_array(kind) {
                let element = self.debug.strip(self.debug.type_of(kind)?);
                if self.debug.size_of(element) == Some(size) {
                    return Some(element);
                }
                (kind, offset) = (element, offset % self.debug.size_of(element)?.max(1));
            } else {
                let record = self.debug.record(kind)?;
                let member = record.members.iter().find(|member| member.holds(offset, size))?;
                (kind, offset) = (member.kind, offset - member.offset);
            }
        }
        None
    }

    /// Whether the first member of such a member is declared elsewhere: in a base class.
    fn is_base(&self, member: &Member<Die>) -> bool {
        member.role == Role::Base && self.declares(member.kind, DEEPEST)
    }

    /// Whether it has members of its own or of base classes; a pointer to virtual functions is none.
    fn declares(&self, kind: Die, depth: usize) -> bool {
        let is_declared = |member: &Member<Die>| match member.role {
            Role::Field => true,
            Role::Base => depth > 0 && self.declares(member.kind, depth - 1),
            Role::Hidden => false,
        };
        self.debug.record(self.debug.strip(kind)).is_some_and(|record| record.members.iter().any(is_declared))
    }

    /// The structure with the members that begin at a cut, and structures inside that are cut themselves.
    fn cut(&self, kind: Die, cuts: &[u64], base: u64, front: Front, depth: usize) -> Result<Vec<Declared>, Undeclared> {
        let record = self.debug.record(kind).ok_or(Undeclared::NoStructure)?;
        let depth = depth.checked_sub(1).filter(|_| record.keyword != Keyword::Union).ok_or(Undeclared::Between)?;
        // What begins where a base class does is declared there.
        let front_of = |member: &Member<Die>| if member.offset > 0 { Front::Follows } else { front };
        let is_declared_there = |member: &Member<Die>| {
            (front_of(member) == Front::Follows || self.storage == Storage::Global) && self.is_base(member)
        };
        let is_inside = |member: &Member<Die>, cut: u64| {
            cut < member.end() && (cut > member.offset || cut == member.offset && is_declared_there(member))
        };
        let mut all = Vec::new();
        for member in &record.members {
            let inside: Vec<u64> =
                cuts.iter().filter(|cut| is_inside(member, **cut)).map(|cut| cut - member.offset).collect();
            if !inside.is_empty() {
                let (kind, front) = (self.debug.strip(member.kind), front_of(member));
                let inner = self.cut(kind, &inside, base + member.offset, front, depth);
                all.extend(
                    inner.map_err(|why| if why == Undeclared::NoStructure { Undeclared::Between } else { why })?,
                );
            }
        }
        let between = |cut: &&u64| !record.members.iter().any(|member| is_inside(member, **cut));
        let own: Vec<u64> = cuts.iter().filter(between).copied().collect();
        // A base class that is aligned aligns the whole.
        let is_aligned = own.len() < cuts.len() && own.iter().all(|cut| *cut >= record.size);
        if !own.is_empty() && (!is_aligned || self.storage != Storage::Global) {
            all.push(self.told(kind, &own, base, front)?);
        }
        Ok(all)
    }

    fn told(&self, kind: Die, cuts: &[u64], base: u64, front: Front) -> Result<Declared, Undeclared> {
        let language = match () {
            () if self.debug.is_cpp(kind) => Language::Cpp,
            () if self.debug.has_tags(kind) => Language::C,
            () => return Err(Undeclared::OtherLanguage),
        };
        let all = self.debug.members(kind).into_iter();
        let members: Vec<DeclaredMember> = all
            .filter(|(member, _)| member.role == Role::Field)
            .map(|(member, entry)| DeclaredMember {
                name: member.name,
                offset: member.offset,
                size: member
                    .bits
                    .map_or(member.size, |bits| Some((bits.first + bits.count).div_ceil(8) - member.offset)),
                align: self.debug.align_of(member.kind).map(|align| align.max(member.align.unwrap_or(1))),
                is_bit_field: member.bits.is_some(),
                place: self.debug.declared(entry),
            })
            .collect();
        // Padding goes with what comes before it.
        let begun = |cut: &u64| members.iter().position(|member| member.offset >= *cut);
        let mut begins: Vec<usize> =
            cuts.iter().filter(|cut| **cut > 0 || front == Front::Follows).filter_map(begun).collect();
        begins.sort_unstable();
        begins.dedup();
        let ends = cuts.iter().any(|cut| *cut > 0 && begun(cut).is_none());
        let (name, storage) = (self.debug.type_name(kind), self.storage);
        let is_sound = |align: &u64| align.is_power_of_two() && *align <= MOST_ALIGNED;
        let align = self.debug.record(kind).and_then(|record| record.align).filter(is_sound).unwrap_or(1);
        let declared = Declared { name, base, language, storage, align, members, begins, ends };
        if declared.members.is_empty() { Err(Undeclared::Between) } else { Ok(declared) }
    }
}
