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
