// SPDX-License-Identifier: MIT OR Apache-2.0
//! What types are called, how large they are, and what they are beneath their qualifiers.
use crate::{Die, Info, Member, Variable};
use gimli::{AttributeValue, DwTag, constants as c};
use std::cell::Cell;

/// A guard against debug information that refers to itself.
const DEEPEST: usize = 32;
/// Types that one contains, at most.
const MOST_STEPS: u32 = 10_000;

impl Info {
    /// The type without typedefs and qualifiers, and a definition where it was only a declaration.
    pub fn strip(&self, kind: Die) -> Die {
        let mut kind = kind;
        for _ in 0..DEEPEST {
            let wrapper = matches!(
                self.tag(kind),
                Some(
                    c::DW_TAG_typedef
                        | c::DW_TAG_const_type
                        | c::DW_TAG_volatile_type
                        | c::DW_TAG_atomic_type
                        | c::DW_TAG_restrict_type
                        | c::DW_TAG_packed_type
                )
            );
            match self.link(kind, c::DW_AT_type) {
                Some(inner) if wrapper => kind = inner,
                _ => break,
            }
        }
        self.definition(kind)
    }

    /// Of a declaration, what it declares: in a type unit, or by its name.
    pub fn definition(&self, kind: Die) -> Die {
        if let Some(definition) = self.link(kind, c::DW_AT_signature) {
            return definition;
        }
        if !self.flag(kind, c::DW_AT_declaration) {
            return kind;
        }
        let named = self.text(kind, c::DW_AT_name);
        named.and_then(|name| self.index().type_named(&name, self.tag(kind), Some(kind))).unwrap_or(kind)
    }

    /// The variable whose bytes `address` is among.
    pub fn variable_at(&self, address: u64) -> Option<Variable> {
        self.variables().at(address, |die| self.bytes_of(die))
    }

    /// The thread-local variable whose bytes this offset in their block is among.
    pub fn thread_local_at(&self, offset: u64) -> Option<Variable> {
        self.variables().thread_local_at(offset, |die| self.bytes_of(die))
    }

    /// Of a variable; 1 if its type does not say.
    fn bytes_of(&self, variable: Die) -> u64 {
        self.type_of(variable).and_then(|kind| self.size_of(kind)).unwrap_or(1)
    }

    /// What a pointer or reference points to; `None` also for `void *`.
    pub fn pointee(&self, kind: Die) -> Option<Die> {
        let kind = self.strip(kind);
        match self.tag(kind)? {
            c::DW_TAG_pointer_type | c::DW_TAG_reference_type | c::DW_TAG_rvalue_reference_type => {
                self.link(kind, c::DW_AT_type)
            }
            _ => None,
        }
    }

    pub fn is_pointer(&self, kind: Die) -> bool {
        self.tag(self.strip(kind)) == Some(c::DW_TAG_pointer_type)
    }

    pub fn is_base(&self, kind: Die) -> bool {
        self.tag(self.strip(kind)) == Some(c::DW_TAG_base_type)
    }

    /// `None` for functions, incomplete types and arrays without a bound.
    pub fn size_of(&self, kind: Die) -> Option<u64> {
        self.size_within(kind, DEEPEST)
    }

    fn size_within(&self, kind: Die, depth: usize) -> Option<u64> {
        let kind = self.strip(kind);
        if let Some(bytes) = self.number(kind, c::DW_AT_byte_size) {
            return Some(bytes);
        }
        match self.tag(kind)? {
            c::DW_TAG_array_type => {
                let element = self.size_within(self.link(kind, c::DW_AT_type)?, depth.checked_sub(1)?)?;
                self.bounds(kind).into_iter().try_fold(element, |bytes, bound| bytes.checked_mul(bound?))
            }
            c::DW_TAG_pointer_type | c::DW_TAG_reference_type | c::DW_TAG_rvalue_reference_type => {
                Some(u64::from(self.encoding(kind).address_size))
            }
            // An offset; of a function, its address and what to add to `this`.
            c::DW_TAG_ptr_to_member_type => {
                let target = self.link(kind, c::DW_AT_type).and_then(|target| self.tag(self.strip(target)));
                let words = if target == Some(c::DW_TAG_subroutine_type) { 2 } else { 1 };
                Some(words * u64::from(self.encoding(kind).address_size))
            }
            _ => None,
        }
    }

    /// As the ABI of x86-64 or the source demands; `None` where it cannot be told.
    pub fn align_of(&self, kind: Die) -> Option<u64> {
        self.align_within(kind, &Cell::new(MOST_STEPS))
    }

    fn align_within(&self, kind: Die, left: &Cell<u32>) -> Option<u64> {
        left.set(left.get().checked_sub(1)?);
        let own = self.number(kind, c::DW_AT_alignment).unwrap_or(1);
        let inner = || self.align_within(self.definition(self.link(kind, c::DW_AT_type)?), left);
        let natural = match self.tag(kind)? {
            c::DW_TAG_structure_type | c::DW_TAG_class_type | c::DW_TAG_union_type => {
                let of = |member: &Member<Die>| {
                    Some(self.align_within(self.definition(member.kind), left)?.max(member.align.unwrap_or(1)))
                };
                self.record(kind)?.members.iter().try_fold(1, |most, member| Some(most.max(of(member)?)))?
            }
            c::DW_TAG_array_type if !self.flag(kind, c::DW_AT_GNU_vector) => inner()?,
            c::DW_TAG_base_type if self.is_complex(kind) => self.size_of(kind)? / 2,
            c::DW_TAG_ptr_to_member_type => 8,
            _ if self.strip(kind) != kind => inner()?,
            _ => self.size_of(kind)?,
        };
        let natural = natural.max(own);
        natural.is_power_of_two().then_some(natural)
    }

    fn is_complex(&self, kind: Die) -> bool {
        matches!(self.value(kind, c::DW_AT_encoding), Some(AttributeValue::Encoding(c::DW_ATE_complex_float)))
    }

    /// As its user would write it: `struct foo`, `unsigned long`, `node *[8]`.
    pub fn type_name(&self, kind: Die) -> String {
        self.name_within(kind, DEEPEST)
    }

    fn name_within(&self, kind: Die, depth: usize) -> String {
        let inner = || match self.link(kind, c::DW_AT_type) {
            Some(inner) if depth > 0 => self.name_within(inner, depth - 1),
            _ => "void".to_owned(),
        };
        match self.tag(kind) {
            Some(c::DW_TAG_const_type) => format!("const {}", inner()),
            Some(c::DW_TAG_volatile_type) => format!("volatile {}", inner()),
            Some(c::DW_TAG_atomic_type) => format!("_Atomic {}", inner()),
            Some(c::DW_TAG_restrict_type | c::DW_TAG_packed_type) => inner(),
            Some(c::DW_TAG_pointer_type) => self.pointer_name(kind, inner),
            Some(c::DW_TAG_reference_type) => format!("{} &", inner()),
            Some(c::DW_TAG_rvalue_reference_type) => format!("{} &&", inner()),
            Some(c::DW_TAG_array_type) => self.array_name(kind, &inner()),
            Some(c::DW_TAG_subroutine_type) => format!("{} (*)()", inner()),
            Some(tag) => self.own_name(kind, tag),
            None => "?".to_owned(),
        }
    }

    fn pointer_name(&self, kind: Die, inner: impl Fn() -> String) -> String {
        let target = self.link(kind, c::DW_AT_type);
        if target.is_some_and(|target| self.tag(target) == Some(c::DW_TAG_subroutine_type)) {
            return inner();
        }
        // Rust gives its pointers names of their own: `&T`, `*mut T`.
        self.text(kind, c::DW_AT_name).unwrap_or_else(|| match inner() {
            name if name.ends_with('*') => format!("{name}*"),
            name => format!("{name} *"),
        })
    }

    fn array_name(&self, kind: Die, element: &str) -> String {
        let bounds: String =
            self.bounds(kind).into_iter().map(|bound| bound.map_or("[]".to_owned(), |n| format!("[{n}]"))).collect();
        format!("{element}{bounds}")
    }

    fn own_name(&self, kind: Die, tag: DwTag) -> String {
        let keyword = match tag {
            c::DW_TAG_structure_type => "struct",
            c::DW_TAG_union_type => "union",
            c::DW_TAG_enumeration_type => "enum",
            c::DW_TAG_class_type => "class",
            _ => "",
        };
        match self.text(kind, c::DW_AT_name) {
            Some(name) if !keyword.is_empty() && self.has_tags(kind) => format!("{keyword} {name}"),
            Some(name) => match self.scope_of(kind) {
                Some(scope) => format!("{scope}::{}", common_spelling(&name)),
                None => common_spelling(&name),
            },
            None => format!("{keyword} {{…}}"),
        }
    }

    /// The name without a keyword or qualifiers, as a field's path starts with it.
    pub fn short_name(&self, kind: Die) -> String {
        match (self.text(kind, c::DW_AT_name), self.tag(kind), self.link(kind, c::DW_AT_type)) {
            (Some(name), ..) => common_spelling(&name),
            (None, Some(c::DW_TAG_pointer_type), Some(target)) => {
                format!("({} *)", self.short_name(target))
            }
            (None, _, Some(inner)) => self.short_name(inner),
            _ => self.type_name(kind),
        }
    }
}

/// Compilers spell `unsigned long` as no one else does, in template arguments too.
fn common_spelling(name: &str) -> String {
    const SPELLINGS: [(&str, &str); 6] = [
        ("long long unsigned int", "unsigned long long"),
        ("long unsigned int", "unsigned long"),
        ("long long int", "long long"),
        ("long int", "long"),
        ("short unsigned int", "unsigned short"),
        ("short int", "short"),
    ];
    SPELLINGS.iter().fold(name.to_owned(), |name, (theirs, ours)| name.replace(theirs, ours))
}
