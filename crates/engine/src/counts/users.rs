// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has used which bytes of a line since it was last written to by another CPU: why the line has to be fetched.
use corefold_recording::Conflict;

/// The number of pieces of a line that are tracked: bytes, unless lines are larger.
const PIECES: usize = 64;
const NOBODY: u16 = u16::MAX;
const SEVERAL: u16 = u16::MAX - 1;

/// The accesses to a line, from the first write after others had copies of it.
#[derive(Clone)]
pub struct Users {
    writer: u16,
    last_write: u8,
    /// Pieces that `writer` wrote, a bit each; and those that anybody ever did.
    written: u64,
    ever: u64,
    /// Who read each piece since.
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
        Users { writer: NOBODY, last_write: 0, written: 0, ever: 0, readers: [NOBODY; PIECES], reads: [(NOBODY, 0); 2] }
    }
}

impl Use {
    fn shift(&self) -> u32 {
        (self.line_bytes / PIECES as u32).max(1).trailing_zeros()
    }

    /// The pieces that it touches.
    fn pieces(&self) -> core::ops::Range<usize> {
        let end = u32::from(self.offset) + u32::from(self.size.max(1));
        let first = usize::from(self.offset) >> self.shift();
        first..(((end - 1) >> self.shift()) as usize + 1).min(PIECES).max(first + 1)
    }

    fn mask(&self) -> u64 {
        self.pieces().fold(0, |mask, piece| mask | 1 << piece)
    }
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
        let other_read = |reader: u16| reader != NOBODY && reader != cpu;
        if by.writes
            && let Some(piece) = by.pieces().find(|piece| other_read(self.readers[*piece]))
        {
            return found(at(piece), false);
        }
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
                *self = Users { writer: cpu, ever: self.ever, ..Users::default() };
            }
            self.written |= mask;
            self.ever |= mask;
            self.last_write = by.offset;
            return !known;
        }
        let mut any = false;
        for piece in by.pieces() {
            let reader = &mut self.readers[piece];
            any |= *reader != cpu && *reader != SEVERAL;
            *reader = if *reader == NOBODY || *reader == cpu { cpu } else { SEVERAL };
        }
        if self.reads[0].0 != cpu {
            self.reads[1] = self.reads[0];
        }
        self.reads[0] = (cpu, by.offset);
        any
    }
}
