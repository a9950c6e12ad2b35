// SPDX-License-Identifier: MIT OR Apache-2.0
//! All structures of a file, and the types that they are made of.
use crate::kind::Kind;
use crate::record::Record;
use rustc_hash::FxHashMap;

/// A type of [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

/// Types of one file.
#[derive(Debug, Default)]
pub struct Types {
    pub(crate) kinds: Vec<Kind<TypeId>>,
    pub(crate) structures: Vec<Structure>,
    pub(crate) damage: Vec<String>,
    /// What stands for structures that are defined elsewhere in the file.
    pub(crate) same: FxHashMap<TypeId, TypeId>,
}

/// A structure that has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    pub id: TypeId,
    /// With the namespaces and classes around it; the typedef's, if it has none of its own.
    pub name: String,
    pub is_typedef: bool,
    /// The source file that is the first to define it; BTF does not say.
    pub unit: Option<String>,
}

/// Chains of types longer than this are circles.
const DEEPEST: usize = 64;

impl Types {
    /// In the order of the file.
    pub fn structures(&self) -> &[Structure] {
        &self.structures
    }

    /// What could not be read, each with its offset; the structures are those of the rest.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    pub fn kind(&self, id: TypeId) -> &Kind<TypeId> {
        let id = self.same.get(&id).copied().unwrap_or(id);
        self.kinds.get(id.0 as usize).unwrap_or(&Kind::Unknown)
    }

    /// The structure that a type is, beneath typedefs and qualifiers.
    pub fn record(&self, id: TypeId) -> Option<&Record<TypeId>> {
        match self.kind(self.strip(id)?) {
            Kind::Record { record, .. } => Some(record),
            _ => None,
        }
    }

    /// Without typedefs and qualifiers; `None` for `void`.
    pub fn strip(&self, id: TypeId) -> Option<TypeId> {
        let mut id = id;
        for _ in 0..DEEPEST {
            match self.kind(id) {
                Kind::Typedef { of, .. } | Kind::Qualified { of, .. } => id = (*of)?,
                _ => return Some(id),
            }
        }
        None
    }

    /// `None` for functions, incomplete types and arrays without a bound.
    pub fn size_of(&self, id: TypeId) -> Option<u64> {
        let (mut id, mut count) = (id, 1u64);
        for _ in 0..DEEPEST {
            id = self.strip(id)?;
            match self.kind(id) {
                Kind::Base { size, .. } | Kind::Enumeration { size, .. } | Kind::Pointer { size, .. } => {
                    return size.checked_mul(count);
                }
                Kind::Record { record, .. } => return record.size.checked_mul(count),
                Kind::Array { size: Some(size), .. } => return size.checked_mul(count),
                Kind::Array { of, bounds, size: None } => {
                    count = bounds.iter().try_fold(count, |count, bound| count.checked_mul((*bound)?))?;
                    id = (*of)?;
                }
                _ => return None,
            }
        }
        None
    }

    /// An array's elements and how many, a dimension at a time.
    pub fn array(&self, id: TypeId) -> Option<(TypeId, &[Option<u64>])> {
        match self.kind(self.strip(id)?) {
            Kind::Array { of, bounds, .. } => Some(((*of)?, bounds)),
            _ => None,
        }
    }
}
