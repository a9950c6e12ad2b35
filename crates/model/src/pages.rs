// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which pages the outstanding loads may deliver addresses of (a filter): the loads are searched only on a match.

/// Filters of the loads begun last, and of as many before them.
pub(crate) struct Pages {
    newer: [u64; WORDS],
    older: [u64; WORDS],
    /// Loads of the newer one.
    begun: usize,
}

const WORDS: usize = 8;
const PAGE_SHIFT: u32 = 12;
/// No program has addresses of more bits.
const ADDRESS_BITS: u32 = 47;

/// A page's word and bit.
#[inline]
fn place(page: u64) -> (usize, u64) {
    ((page / 64) as usize % WORDS, 1 << (page % 64))
}

impl Pages {
    pub fn new() -> Pages {
        Pages { newer: [0; WORDS], older: [0; WORDS], begun: 0 }
    }

    /// A load begins; of those before it, fewer than `most` are under way.
    #[inline]
    pub fn begin(&mut self, most: usize) {
        if self.begun == most {
            self.older = core::mem::take(&mut self.newer);
            self.begun = 0;
        }
        self.begun += 1;
    }

    /// What it delivers.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if value >> ADDRESS_BITS == 0 {
            let (word, bit) = place(value >> PAGE_SHIFT);
            self.newer[word] |= bit;
        }
    }

    /// May a load under way deliver an address within a page of this one?
    #[inline]
    pub fn may_be_near(&self, address: u64) -> bool {
        let page = address >> PAGE_SHIFT;
        [page.wrapping_sub(1), page, page + 1].into_iter().any(|page| {
            let (word, bit) = place(page);
            (self.newer[word] | self.older[word]) & bit != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_found() {
        let mut pages = Pages::new();
        let value = |i: u64| 0x5555_0000_0000 + i * 0x12345;
        for i in 0..1000 {
            pages.begin(10);
            pages.add(value(i));
            for under_way in i.saturating_sub(9)..=i {
                assert!([0, 4095, -4095].iter().all(|by| pages.may_be_near(value(under_way).wrapping_add_signed(*by))));
            }
            // Each filter holds ten pages at most, of 512.
            let others = (0..1000).filter(|i| pages.may_be_near(0x7fff_0000_0000 + i * 0x1000)).count();
            assert!(others < 150, "{others}");
        }
    }

    #[test]
    fn what_is_no_address_is_not() {
        let mut pages = Pages::new();
        pages.begin(1);
        pages.add(2.5f64.to_bits());
        assert!((0..WORDS as u64 * 64).all(|page| !pages.may_be_near(page << PAGE_SHIFT)));
    }
}
