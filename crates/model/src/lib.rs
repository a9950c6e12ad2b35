// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine and the coherence of its caches: pure, without I/O.
//!
//! [`Model::access`] returns the cost of each memory access, in order of virtual time; the state of a line is
//! reached through a [`Tag`] that the caller stores. See `docs/model.md` for what is modelled and what is not.
#![no_std]
extern crate alloc;

mod access;
mod bandwidth;
mod caches;
mod chunk;
mod costs;
mod cpu;
mod draws;
mod homes;
mod l2_bandwidth;
mod level;
mod line;
mod machine;
mod model;
mod pages;
mod pairs;
mod places;
mod protocol;
mod readers;
mod requests;
mod tag;
mod ticks;

pub use access::{Access, Class, Kind, Outcome};
pub use cpu::{Blame, Load};
pub use machine::{CPU_BITS, Cache, Caches, Core, Latency, MOST_CPUS, Machine, Pair, System, Turbo};
pub use model::Model;
pub use tag::Tag;
pub use ticks::{TICKS_PER_CYCLE, Ticks, ticks};
