// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model's input and output.
use crate::Ticks;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A load; the CPU continues without waiting for it.
    Load,
    /// A load that the CPU waits for: its value decides what comes next (a spin).
    LoadAwaited,
    /// A store that other CPUs' loads may see at any time (a plain one).
    Store,
    /// A store that takes effect at [`Outcome::effect`].
    AtomicStore,
    /// Read-modify-write: waits for the CPU's own loads and stores first.
    Rmw,
}

impl Kind {
    pub fn writes(self) -> bool {
        !matches!(self, Kind::Load | Kind::LoadAwaited)
    }
    /// It waits for its line in the store buffer.
    pub fn stores(self) -> bool {
        matches!(self, Kind::Store | Kind::AtomicStore)
    }
}

/// The distance that a line came; the numbers are those of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    Smt = 0,
    LocalClean = 1,
    LocalModified = 2,
    RemoteClean = 3,
    RemoteModified = 4,
    Memory = 5,
    Upgrade = 6,
}

#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub cpu: u32,
    pub address: u64,
    /// Bytes, all on one line.
    pub size: u32,
    pub kind: Kind,
    /// The caller's identifier of the place in the code; returned in [`Blame`].
    pub origin: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the CPU continues.
    pub done: Ticks,
    /// When the access takes effect: a load's value is that of this time, a store is visible from it.
    pub effect: Ticks,
    /// Ticks of `done - now` that were spent waiting for this very access. What was waited for earlier
    /// ones is in [`Model::take_blame`].
    pub stall: Ticks,
    /// Where the line came from, if it was fetched.
    pub transfer: Option<Class>,
    /// It wrote to a line that no one had written to since this core got it: a load had brought it.
    pub dirtied: bool,
}
