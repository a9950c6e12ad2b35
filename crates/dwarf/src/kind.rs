// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types that members can have.
use crate::record::{Keyword, Record};

/// A type; `T` refers to others, and `None` in place of it means `void`.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<T> {
    Base {
        name: String,
        size: u64,
    },
    Enumeration {
        name: Option<String>,
        size: u64,
        in_c: bool,
    },
    Typedef {
        name: String,
        of: Option<T>,
    },
    Qualified {
        how: Qualifier,
        of: Option<T>,
    },
    /// Rust's pointers have names of their own.
    Pointer {
        name: Option<String>,
        to: Option<T>,
        size: u64,
        sign: Sign,
    },
    /// `size`: where it is not that of so many elements, as of a vector.
    Array {
        of: Option<T>,
        bounds: Vec<Option<u64>>,
        size: Option<u64>,
    },
    Function {
        returns: Option<T>,
        parameters: Vec<Option<T>>,
        variadic: bool,
    },
    /// `in_c`: references to it need the keyword.
    Record {
        record: Box<Record<T>>,
        in_c: bool,
    },
    /// A structure that is not defined here, or that only its name matters of.
    Declared {
        keyword: Keyword,
        name: String,
        in_c: bool,
    },
    /// What the debug information should say, but does not.
    Unknown,
}

impl<T> Kind<T> {
    /// The same with other references to types.
    pub fn map<U>(self, mut to: impl FnMut(T) -> U) -> Kind<U> {
        match self {
            Kind::Base { name, size } => Kind::Base { name, size },
            Kind::Enumeration { name, size, in_c } => Kind::Enumeration { name, size, in_c },
            Kind::Typedef { name, of } => Kind::Typedef { name, of: of.map(to) },
            Kind::Qualified { how, of } => Kind::Qualified { how, of: of.map(to) },
            Kind::Pointer { name, to: target, size, sign } => Kind::Pointer { name, to: target.map(to), size, sign },
            Kind::Array { of, bounds, size } => Kind::Array { of: of.map(to), bounds, size },
            Kind::Function { returns, parameters, variadic } => Kind::Function {
                returns: returns.map(&mut to),
                parameters: parameters.into_iter().map(|parameter| parameter.map(&mut to)).collect(),
                variadic,
            },
            Kind::Record { record, in_c } => Kind::Record { record: Box::new(record.map(to)), in_c },
            Kind::Declared { keyword, name, in_c } => Kind::Declared { keyword, name, in_c },
            Kind::Unknown => Kind::Unknown,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Qualifier {
    Const,
    Volatile,
    Atomic,
    /// `restrict`, `packed` and others that nobody needs to see.
    Silent,
}

impl Qualifier {
    pub fn text(self) -> &'static str {
        match self {
            Qualifier::Const => "const ",
            Qualifier::Volatile => "volatile ",
            Qualifier::Atomic => "_Atomic ",
            Qualifier::Silent => "",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    Pointer,
    Reference,
    RvalueReference,
    /// To a member of a class.
    Member,
}

impl Sign {
    pub fn text(self) -> &'static str {
        match self {
            Sign::Pointer => "*",
            Sign::Reference => "&",
            Sign::RvalueReference => "&&",
            Sign::Member => "::*",
        }
    }
}
