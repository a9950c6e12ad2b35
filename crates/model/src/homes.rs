// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket whose memory a line lies in: that of the CPU which touched its page first, as Linux places pages.
use crate::places::ANYWHERE;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

const PAGE_SHIFT: u32 = 12;

pub(crate) struct Homes {
    pages: HashMap<u64, u8, FxBuildHasher>,
    /// The page that was last touched first: most first touches are of neighbours.
    last: u64,
    page_shift: u32,
    /// Homes make a difference on this machine.
    matter: bool,
}

impl Homes {
    pub fn new(matter: bool, line_shift: u32) -> Self {
        Homes { pages: HashMap::default(), last: u64::MAX, page_shift: PAGE_SHIFT - line_shift, matter }
    }

    /// A line is touched for the first time, by a CPU of `socket`.
    #[inline]
    pub fn touched(&mut self, line: u64, socket: u8) {
        let page = line >> self.page_shift;
        if self.matter && page != self.last {
            self.last = page;
            self.pages.entry(page).or_insert(socket);
        }
    }

    /// The memory of these lines is given back: whoever touches a page next decides anew.
    pub fn forget(&mut self, first: u64, last: u64) {
        let gone = first >> self.page_shift..=last >> self.page_shift;
        self.last = u64::MAX;
        if gone.end() - gone.start() > self.pages.len() as u64 {
            self.pages.retain(|page, _| !gone.contains(page));
        } else {
            gone.for_each(|page| _ = self.pages.remove(&page));
        }
    }

    /// Do they make a difference on this machine?
    pub fn matter(&self) -> bool {
        self.matter
    }

    #[inline]
    pub fn of(&self, line: u64) -> u8 {
        if !self.matter {
            return ANYWHERE;
        }
        self.pages.get(&(line >> self.page_shift)).copied().unwrap_or(ANYWHERE)
    }
}
