// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's compact type format: <https://docs.kernel.org/bpf/btf.html>.
use crate::kind::{Kind, Qualifier, Sign};
use crate::record::{Bits, Keyword, Member, Record, Role};
use crate::types::{Structure, TypeId, Types};
use anyhow::{Context, Result, bail, ensure};

pub const MAGIC: u16 = 0xeb9f;

const HEADER: usize = 24;

/// Where the bytes are from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub bytes: &'a [u8],
    pub pointer_bytes: u64,
}

/// A section's types and strings, in bounds.
struct Section<'a> {
    bytes: &'a [u8],
    is_big: bool,
    /// Where types begin and end.
    at: usize,
    end: usize,
    strings: &'a [u8],
}

/// Strings of a module's types go on where those of the kernel end.
struct Strings<'a> {
    base: &'a [u8],
    own: &'a [u8],
    /// Names may be shared by many types, but no file is mostly names many times over.
    left: u64,
}

/// What types are read into.
struct Reader<'a> {
    kinds: Vec<Kind<TypeId>>,
    /// Widths in bits of integers that are narrower than their bytes, by type.
    narrow: Vec<(u32, Bits)>,
    pointer_bytes: u64,
    strings: Strings<'a>,
}

impl Types {
    /// `base`: the types that those of a kernel module refer to.
    pub fn from_btf(source: Source<'_>, base: Option<Source<'_>>) -> Result<Types> {
        let own = Section::new(source.bytes)?;
        let base = base.map(|base| Section::new(base.bytes).context("the base")).transpose()?;
        let strings = Strings { base: base.as_ref().map_or(&[], |base| base.strings), own: own.strings, left: 0 };
        let kinds = vec![Kind::Unknown];
        let mut reader = Reader { kinds, narrow: Vec::new(), pointer_bytes: source.pointer_bytes, strings };
        if let Some(base) = &base {
            reader.strings.own = &[];
            reader.read(base).context("the base")?;
            reader.strings.own = own.strings;
        }
        let first = reader.kinds.len();
        reader.read(&own)?;
        reader.types(first)
    }
}

impl<'a> Section<'a> {
    fn new(bytes: &'a [u8]) -> Result<Section<'a>> {
        ensure!(bytes.len() >= HEADER, "a BTF header has {HEADER} bytes, and there are {}", bytes.len());
        let is_big = bytes[..2] == MAGIC.to_be_bytes();
        ensure!(is_big || bytes[..2] == MAGIC.to_le_bytes(), "it does not begin as BTF does");
        ensure!(bytes[2] == 1, "version {} of BTF is not known", bytes[2]);
        let header = Section { bytes, is_big, at: 4, end: HEADER, strings: &[] };
        let word = |at: usize| header.word(at).map(|word| word as usize);
        let start = word(4)?;
        let part = |what: &str, at: usize| -> Result<(usize, usize)> {
            let (offset, length) = (word(at)?, word(at + 4)?);
            let begin = start.saturating_add(offset);
            let end = begin.saturating_add(length);
            ensure!(
                end <= bytes.len(),
                "{what} reach from {begin:#x} to {end:#x}, beyond its {:#x} bytes",
                bytes.len()
            );
            Ok((begin, end))
        };
        let (types, strings) = (part("types", 8)?, part("strings", 16)?);
        Ok(Section { bytes, is_big, at: types.0, end: types.1, strings: &bytes[strings.0..strings.1] })
    }

    fn word(&self, at: usize) -> Result<u32> {
        let word = at.checked_add(4).filter(|end| *end <= self.end).and_then(|end| self.bytes.get(at..end));
        let word = word.with_context(|| format!("types end at {:#x}, within one", self.end))?;
        let word = [word[0], word[1], word[2], word[3]];
        Ok(if self.is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }
}

impl Strings<'_> {
    /// `None` for the empty one.
    fn get(&mut self, offset: u32) -> Result<Option<String>> {
        let offset = offset as usize;
        let text = match offset.checked_sub(self.base.len()) {
            None => &self.base[offset..],
            Some(own) if own < self.own.len() => &self.own[own..],
            Some(_) => bail!(
                "its name is at {offset:#x}, and names end at {:#x}: a kernel module's types need those of the kernel",
                self.base.len() + self.own.len()
            ),
        };
        let length = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        self.left = self.left.checked_sub(length as u64).context("names share their bytes too often")?;
        Ok((length > 0).then(|| String::from_utf8_lossy(&text[..length]).into_owned()))
    }
}

/// A type's first three words.
struct Head {
    kind: u32,
    entries: usize,
    flag: bool,
    /// Its size, or another type.
    rest: u32,
}

impl Head {
    fn link(&self) -> Option<TypeId> {
        link(self.rest)
    }
}

fn link(number: u32) -> Option<TypeId> {
    (number != 0).then_some(TypeId(number))
}

impl Reader<'_> {
    fn read(&mut self, section: &Section<'_>) -> Result<()> {
        self.strings.left = section.bytes.len() as u64 * 16;
        let mut at = section.at;
        while at < section.end {
            let here = at;
            let kind = self.next(section, &mut at);
            let number = self.kinds.len();
            self.kinds.push(kind.with_context(|| format!("type {number} at offset {here:#x} of the BTF data"))?);
        }
        Ok(())
    }

    fn next(&mut self, section: &Section<'_>, at: &mut usize) -> Result<Kind<TypeId>> {
        let mut word = || {
            let word = section.word(*at);
            *at = at.saturating_add(4);
            word
        };
        let (name, info, rest) = (word()?, word()?, word()?);
        let head = Head { kind: info >> 24 & 0x1f, entries: (info & 0xffff) as usize, flag: info >> 31 != 0, rest };
        let name = self.strings.get(name)?;
        let size = u64::from(rest);
        let qualified = |how| Ok(Kind::Qualified { how, of: head.link() });
        match head.kind {
            1 => {
                let data = word()?;
                let bits = Bits { first: u64::from(data >> 16 & 0xff), count: u64::from(data & 0xff) };
                if bits.count != size * 8 || bits.first != 0 {
                    self.narrow.push((self.kinds.len() as u32, bits));
                }
                Ok(Kind::Base { name: name.unwrap_or_default(), size })
            }
            2 => Ok(Kind::Pointer { name: None, to: head.link(), size: self.pointer_bytes, sign: Sign::Pointer }),
            3 => {
                let (of, _index, count) = (word()?, word()?, word()?);
                let bound = (count != 0).then_some(u64::from(count));
                Ok(Kind::Array { of: link(of), bounds: vec![bound], size: None })
            }
            4 | 5 => {
                let mut members = Vec::new();
                for _ in 0..head.entries {
                    let entry = [word()?, word()?, word()?];
                    members.push(self.member(&head, entry)?);
                }
                let keyword = if head.kind == 4 { Keyword::Struct } else { Keyword::Union };
                let record = Record { keyword, name, size, align: None, members, variants: None };
                Ok(Kind::Record { record: Box::new(record), in_c: true })
            }
            6 | 19 => {
                let words = if head.kind == 6 { 2 } else { 3 };
                *at = at.saturating_add(head.entries * words * 4);
                ensure!(*at <= section.end, "its {} values reach beyond the end", head.entries);
                Ok(Kind::Enumeration { name, size, in_c: true })
            }
            7 => {
                let keyword = if head.flag { Keyword::Union } else { Keyword::Struct };
                Ok(Kind::Declared { keyword, name: name.unwrap_or_default(), in_c: true })
            }
            8 => Ok(Kind::Typedef { name: name.unwrap_or_default(), of: head.link() }),
            9 => qualified(Qualifier::Volatile),
            10 => qualified(Qualifier::Const),
            // restrict, and tags that annotate a type.
            11 | 18 => qualified(Qualifier::Silent),
            13 => {
                let mut parameters = Vec::new();
                for _ in 0..head.entries {
                    let (_name, kind) = (word()?, word()?);
                    parameters.push(link(kind));
                }
                // A last parameter without name and type stands for `...`.
                let variadic = parameters.last() == Some(&None) && parameters.pop().is_some();
                Ok(Kind::Function { returns: head.link(), parameters, variadic })
            }
            16 => Ok(Kind::Base { name: name.unwrap_or_default(), size }),
            // Functions, variables, sections and tags of declarations: no types of members.
            12 => Ok(Kind::Unknown),
            14 | 17 => word().map(|_| Kind::Unknown),
            15 => {
                *at = at.saturating_add(head.entries * 12);
                ensure!(*at <= section.end, "its {} variables reach beyond the end", head.entries);
                Ok(Kind::Unknown)
            }
            other => bail!("kind {other} of type is not known"),
        }
    }

    /// Sizes are filled in when all types are read.
    fn member(&mut self, head: &Head, [name, kind, offset]: [u32; 3]) -> Result<Member<TypeId>> {
        let (first, count) = if head.flag { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
        let (first, count) = (u64::from(first), u64::from(count));
        let bits = (count != 0).then_some(Bits { first, count });
        let name = self.strings.get(name)?;
        Ok(Member { role: Role::Field, name, kind: TypeId(kind), offset: first / 8, size: None, bits, align: None })
    }

    fn types(mut self, first: usize) -> Result<Types> {
        let mut kinds = std::mem::take(&mut self.kinds);
        let types = Types { kinds: std::mem::take(&mut kinds), ..Types::default() };
        let mut records: Vec<(usize, Box<Record<TypeId>>)> = Vec::new();
        for (number, kind) in types.kinds.iter().enumerate() {
            if let Kind::Record { record, .. } = kind {
                records.push((number, self.sized(&types, record)));
            }
        }
        let mut types = types;
        for (number, sized) in records {
            types.kinds[number] = Kind::Record { record: sized, in_c: true };
        }
        types.structures = (first..types.kinds.len()).filter_map(|number| structure(&types, number)).collect();
        Ok(types)
    }

    fn sized(&self, types: &Types, record: &Record<TypeId>) -> Box<Record<TypeId>> {
        let mut record = record.clone();
        for member in &mut record.members {
            // Before members had widths of their own, integers had.
            let narrow = types.strip(member.kind).and_then(|kind| {
                let found = self.narrow.binary_search_by_key(&kind.0, |(number, _)| *number).ok()?;
                Some(self.narrow[found].1)
            });
            if let (None, Some(bits)) = (member.bits, narrow.filter(|bits| bits.count > 0)) {
                let first = member.offset.saturating_mul(8).saturating_add(bits.first);
                member.bits = Some(Bits { first, count: bits.count });
            }
            member.size = match member.bits {
                Some(Bits { first, count }) => {
                    member.offset = first / 8;
                    Some((first + count).div_ceil(8) - first / 8)
                }
                None => types.size_of(member.kind),
            };
        }
        Box::new(record)
    }
}

fn structure(types: &Types, number: usize) -> Option<Structure> {
    let listed = |id, name: &str, is_typedef| Some(Structure { id, name: name.to_owned(), is_typedef, unit: None });
    match &types.kinds[number] {
        Kind::Record { record, .. } => listed(TypeId(number as u32), record.name.as_deref()?, false),
        Kind::Typedef { name, of } => match types.kind((*of)?) {
            Kind::Record { record, .. } if record.name.is_none() => listed((*of)?, name, true),
            _ => None,
        },
        _ => None,
    }
}
