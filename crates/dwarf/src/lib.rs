// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures from debug information.
//!
//! [`Info`] reads the entries of one file's DWARF as they are asked for; [`Types`] has all structures of a file,
//! from DWARF or BTF. Both describe a structure by a [`Record`].
mod btf;
mod facts;
mod fragment;
mod index;
mod info;
mod kind;
mod names;
mod open;
mod read;
mod record;
mod rows;
mod scan;
mod sections;
mod shape;
mod types;
mod units;
mod variables;

pub use btf::Source;
pub use index::{Index, TypeEntry, is_lambda};
pub use info::Info;
pub use kind::{Kind, Qualifier, Sign};
pub use names::Declaration;
pub use open::Request;
pub use record::{Bits, Keyword, Member, Record, Role, Variant, Variants};
pub use sections::Reader;
pub use types::{Structure, TypeId, Types};
pub use units::{Die, Units};
pub use variables::{Variable, Variables};
