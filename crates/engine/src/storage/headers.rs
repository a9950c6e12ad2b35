// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which heap objects there are: the header before each, and a bit for every place that a small one may begin at. Over any
//! memory, so that this can be tested beside the runtime.
use crate::storage::places::{GRAIN, HEADER, LARGE, PAGE, Places};
use alloc::vec::Vec;
use corefold_recording::Object;

const FREED: u64 = 1 << 63;
const SIZE_BITS: u32 = 40;

/// Words of 64 bits, all zero at first.
pub trait Words {
    fn read(&self, address: u64) -> u64;
    fn write(&self, address: u64, value: u64);
}

pub struct Headers<W> {
    pub words: W,
    /// Where the heap begins.
    pub heap: u64,
    /// Where the bits are.
    pub starts: u64,
}

impl<W: Words> Headers<W> {
    /// The word before an object: what was asked for, its site, and whether it was freed.
    fn head(&self, address: u64) -> u64 {
        self.words.read(address - HEADER)
    }

    /// Where the bit is that says whether a live small object begins there.
    fn start(&self, address: u64) -> (u64, u64) {
        let grain = (address - self.heap) / GRAIN;
        (self.starts + grain / 64 * 8, 1 << (grain % 64))
    }

    fn is_start(&self, address: u64) -> bool {
        let (word, bit) = self.start(address);
        self.words.read(word) & bit != 0
    }

    /// Does a live object begin at this address of the heap?
    pub fn is_object(&self, places: &Places, address: u64) -> bool {
        address.is_multiple_of(GRAIN) && (places.is_live_large(address) || self.is_start(address))
    }

    /// What was asked for at `address`.
    pub fn size_of(&self, address: u64) -> u64 {
        self.head(address) & ((1 << SIZE_BITS) - 1)
    }

    pub fn object_at(&self, address: u64) -> Object {
        let site = (self.head(address) & !FREED) >> SIZE_BITS;
        Object { address, bytes: self.size_of(address), site: site as u32 }
    }

    /// An object of this site is there.
    pub fn begins(&self, places: &Places, address: u64, size: u64, site: u32) {
        self.words.write(address - HEADER, u64::from(site) << SIZE_BITS | size);
        if !places.is_large(address) {
            let (word, bit) = self.start(address);
            self.words.write(word, self.words.read(word) | bit);
        }
    }

    /// Was the object freed, or is there none?
    pub fn is_freed(&self, address: u64) -> bool {
        !address.is_multiple_of(GRAIN) || self.head(address) & FREED != 0
    }

    /// The object is freed.
    pub fn ends(&self, address: u64) {
        self.words.write(address - HEADER, self.head(address) | FREED);
    }

    /// The small object that begins there does no more; false: there is none.
    pub fn ends_small(&self, address: u64) -> bool {
        let was = self.is_start(address);
        if was {
            let (word, bit) = self.start(address);
            self.words.write(word, self.words.read(word) & !bit);
        }
        was
    }

    /// The live objects that lie on these bytes of the heap, wholly or in part, by address.
    pub fn objects_on(&self, places: &Places, begin: u64, bytes: u64) -> Vec<Object> {
        if places.is_large(begin) {
            let last = places.large_before(begin + bytes).map(|address| self.object_at(address));
            return last.into_iter().filter(|o| o.address + o.bytes > begin).collect();
        }
        let mut found = Vec::new();
        let mut at = (begin + bytes).next_multiple_of(GRAIN);
        let lowest = begin.saturating_sub(LARGE + PAGE).max(self.heap);
        while at > lowest {
            at -= GRAIN;
            if self.is_start(at) {
                let object = self.object_at(at);
                if object.address + object.bytes > begin {
                    found.insert(0, object);
                }
                if at <= begin {
                    break;
                }
            }
        }
        found
    }
}
