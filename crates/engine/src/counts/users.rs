// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has used which bytes of a line since it was last written to by another CPU: why the line has to be fetched.
use corefold_recording::Conflict;

/// The number of pieces of a line that are tracked: bytes, unless lines are larger.
const PIECES: usize = 64;
const NOBODY: u16 = u16::MAX;

/// The accesses to a line, from the first write after others had copies of it. Sets of pieces are a bit each.
#[derive(Clone)]
pub struct Users {
    writer: u16,
    last_write: u8,
    /// What `writer` wrote, and what anybody ever did.
    written: u64,
    ever: u64,
    /// What was read since, and what of that by several CPUs; who read a piece that only one has.
    read: u64,
    several: u64,
    readers: [u16; PIECES],
    /// The last reads of two CPUs, and their offsets.
    reads: [(u16, u8); 2],
}

/// An access to a line: by whom, where, and whether it writes.
pub struct Use {
    pub cpu: u32,
    pub offset: u8,
    pub size: u8,
    pub writes: bool,
    pub line_bytes: u32,
}

impl Default for Users {
    fn default() -> Users {
        Users {
            writer: NOBODY,
            last_write: 0,
            written: 0,
            ever: 0,
            read: 0,
            several: 0,
            readers: [NOBODY; PIECES],
            reads: [(NOBODY, 0); 2],
        }
    }
}

impl Use {
    fn shift(&self) -> u32 {
        (self.line_bytes / PIECES as u32).max(1).trailing_zeros()
    }

    /// The pieces that it touches.
    fn mask(&self) -> u64 {
        let end = u32::from(self.offset) + u32::from(self.size.max(1));
        let first = u32::from(self.offset) >> self.shift();
        let last = ((end - 1) >> self.shift()).min(PIECES as u32 - 1).max(first);
        (u64::MAX >> (PIECES as u32 - 1 - (last - first))) << first
    }
}

fn pieces(mask: u64) -> impl Iterator<Item = usize> {
    core::iter::successors(Some(mask), |rest| Some(rest & (rest - 1)))
        .take_while(|rest| *rest != 0)
        .map(|rest| rest.trailing_zeros() as usize)
}

impl Users {
    /// The access of another CPU that this one, which had to fetch the line, is in conflict with: one to the same
    /// bytes if there is any. `None`: the line was not fetched because of others.
    pub fn conflict(&self, by: &Use) -> Option<Conflict> {
        let cpu = by.cpu as u16;
        let found = |offset, wrote| Some(Conflict { offset, wrote, count: 1 });
        let at = |piece: usize| (piece << by.shift()) as u8;
        let other_wrote = self.writer != NOBODY && self.writer != cpu;
        let both = self.written & by.mask();
        if other_wrote && both != 0 {
            return found(at(both.trailing_zeros() as usize), true);
        }
        let others_read = |piece: &usize| self.several >> piece & 1 != 0 || self.readers[*piece] != cpu;
        if by.writes
            && let Some(piece) = pieces(by.mask() & self.read).find(others_read)
        {
            return found(at(piece), false);
        }
        let other_read = |reader: u16| reader != NOBODY && reader != cpu;
        if other_wrote {
            return found(self.last_write, true);
        }
        let read = self.reads.iter().find(|(reader, _)| by.writes && other_read(*reader));
        read.and_then(|(_, offset)| found(*offset, false))
    }

    pub fn was_written(&self, offset: u8, size: u8, line_bytes: u32) -> bool {
        self.ever & Use { cpu: 0, offset, size, writes: false, line_bytes }.mask() != 0
    }

    pub fn is_written(&mut self, offset: u8, size: u8, line_bytes: u32) {
        self.ever |= Use { cpu: 0, offset, size, writes: true, line_bytes }.mask();
    }

    /// Takes note of an access, whether it had to fetch the line or not. Returns whether it is one of its kind that was not
    /// known: since another CPU wrote, this one has not read the pieces, or not written them.
    #[inline]
    pub fn note(&mut self, by: &Use) -> bool {
        let cpu = by.cpu as u16;
        if by.writes {
            let mask = by.mask();
            let known = self.writer == cpu && self.written & mask == mask;
            if self.writer != cpu || self.reads[0].0 != NOBODY {
                (self.writer, self.written, self.read, self.several) = (cpu, 0, 0, 0);
                self.reads = [(NOBODY, 0); 2];
            }
            self.written |= mask;
            self.ever |= mask;
            self.last_write = by.offset;
            return !known;
        }
        let mut any = false;
        for piece in pieces(by.mask() & !self.several) {
            if self.read >> piece & 1 == 0 {
                (self.readers[piece], any) = (cpu, true);
            } else if self.readers[piece] != cpu {
                self.several |= 1 << piece;
                any = true;
            }
        }
        self.read |= by.mask();
        if self.reads[0].0 != cpu {
            self.reads[1] = self.reads[0];
        }
        self.reads[0] = (cpu, by.offset);
        any
    }
}
