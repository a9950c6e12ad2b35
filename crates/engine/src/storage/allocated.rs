// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much memory the program has allocated, and when that is reason to look at how much it uses. Numbers only, so that
//! this can be tested beside the runtime.

/// Bytes allocated beyond the limit from one look to the next.
pub const LOOK_EVERY: u64 = 16 << 20;

/// What a request comes to, under a limit of so many bytes; 0: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Granted,
    /// Granted, if the resident memory is within the limit: a program may allocate much that it never touches.
    Look,
    Refused,
}

pub struct Allocated {
    bytes: u64,
    /// Bytes asked for since the last look.
    since: u64,
}

impl Allocated {
    pub const fn new() -> Allocated {
        Allocated { bytes: 0, since: 0 }
    }

    /// Bytes that the program has asked for and not given back.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The program asks for heap memory. One request beyond the limit is not taken for one that is never used.
    #[inline]
    pub fn take(&mut self, bytes: u64, limit: u64) -> Verdict {
        if bytes > limit && limit != 0 { Verdict::Refused } else { self.map(bytes, limit) }
    }

    /// The program maps memory.
    #[inline]
    pub fn map(&mut self, bytes: u64, limit: u64) -> Verdict {
        self.bytes += bytes;
        if self.bytes > limit && limit != 0 { self.beyond(bytes) } else { Verdict::Granted }
    }

    #[cold]
    fn beyond(&mut self, bytes: u64) -> Verdict {
        self.since += bytes;
        if self.since < LOOK_EVERY {
            return Verdict::Granted;
        }
        self.since = 0;
        Verdict::Look
    }

    /// More may be given back than was asked for: what is mapped to be read only is not counted.
    pub fn give(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}
