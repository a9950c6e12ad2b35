// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures, unions, classes and Rust enumerations: one type for all of them, whatever they are read from.
//!
//! `T` is how the types of members are referred to: [`crate::Die`] while entries of DWARF are read one by one,
//! [`crate::TypeId`] in [`crate::Types`].

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Keyword {
    Struct,
    Class,
    Union,
    /// A Rust enumeration whose variants have fields.
    Enum,
}

impl Keyword {
    pub fn text(self) -> &'static str {
        match self {
            Keyword::Struct => "struct",
            Keyword::Class => "class",
            Keyword::Union => "union",
            Keyword::Enum => "enum",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record<T> {
    pub keyword: Keyword,
    /// `None` where it is anonymous.
    pub name: Option<String>,
    pub size: u64,
    /// As the source demands it with `alignas` or `_Alignas`; Rust's compiler gives every type's.
    pub align: Option<u64>,
    /// In the order of the source: bases, then fields. Static members are none of them.
    pub members: Vec<Member<T>>,
    /// Of a Rust enumeration.
    pub variants: Option<Variants<T>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Field,
    /// A base class.
    Base,
    /// Put there by the compiler, like the pointer to the table of virtual functions.
    Hidden,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member<T> {
    pub role: Role,
    pub name: Option<String>,
    pub kind: T,
    /// In bytes from the structure's start; of a bit-field, the first byte that it has bits in.
    pub offset: u64,
    /// `None`: a flexible array, which reaches to the object's end.
    pub size: Option<u64>,
    pub bits: Option<Bits>,
    /// As the source demands it.
    pub align: Option<u64>,
}

/// The bits of a bit-field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// From the structure's start, counted as the machine counts: from the least significant bit if little-endian.
    pub first: u64,
    pub count: u64,
}

/// The different ways in which a Rust enumeration's bytes are used.
#[derive(Clone, Debug, PartialEq)]
pub struct Variants<T> {
    /// What tells which one it is; `None` where there is but one.
    pub tag: Option<Member<T>>,
    pub list: Vec<Variant<T>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Variant<T> {
    /// The tag's value; `None`: any that no other variant has, as where a niche of the fields is the tag.
    pub value: Option<u64>,
    /// Usually one, with the variant's name and a structure of its fields.
    pub members: Vec<Member<T>>,
}

impl<T> Member<T> {
    /// The first byte after it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size.unwrap_or(0))
    }

    pub fn holds(&self, from: u64, bytes: u64) -> bool {
        from >= self.offset && self.size.is_none_or(|_| from.saturating_add(bytes) <= self.end())
    }

    pub fn meets(&self, from: u64, bytes: u64) -> bool {
        from.saturating_add(bytes) > self.offset && self.size.is_none_or(|_| from < self.end())
    }

    pub fn map<U>(self, mut to: impl FnMut(T) -> U) -> Member<U> {
        let Member { role, name, kind, offset, size, bits, align } = self;
        Member { role, name, kind: to(kind), offset, size, bits, align }
    }
}

impl<T> Record<T> {
    /// All members, those of variants too.
    pub fn all_members(&self) -> impl Iterator<Item = &Member<T>> {
        let variants = self.variants.iter();
        let inner = variants.flat_map(|v| v.tag.iter().chain(v.list.iter().flat_map(|variant| &variant.members)));
        self.members.iter().chain(inner)
    }

    pub(crate) fn forget_alignment(&mut self) {
        self.align = None;
        self.members.iter_mut().for_each(|member| member.align = None);
        if let Some(variants) = &mut self.variants {
            variants.tag.iter_mut().for_each(|tag| tag.align = None);
            variants.list.iter_mut().flat_map(|variant| &mut variant.members).for_each(|member| member.align = None);
        }
    }

    /// The same with other references to types.
    pub fn map<U>(self, mut to: impl FnMut(T) -> U) -> Record<U> {
        let Record { keyword, name, size, align, members, variants } = self;
        let mut all = |members: Vec<Member<T>>| members.into_iter().map(|m| m.map(&mut to)).collect::<Vec<_>>();
        let members = all(members);
        let variants = variants.map(|Variants { tag, list }| Variants {
            tag: tag.and_then(|tag| all(vec![tag]).pop()),
            list: list.into_iter().map(|v| Variant { value: v.value, members: all(v.members) }).collect(),
        });
        Record { keyword, name, size, align, members, variants }
    }
}
