// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program has mapped, file or not: so that a line there can be named by its mapping, as one on
//! the heap is by its object.
use crate::carrier::Carrier;
use alloc::collections::BTreeMap;
use corefold_recording::Object;

/// Live mappings by address.
static MAPPED: Carrier<BTreeMap<u64, Object>> = Carrier::new(BTreeMap::new());

/// Mappings that were there before are gone.
pub fn insert(object: Object) {
    MAPPED.with(|mapped| mapped.insert(object.address, object));
}

/// The program's mappings of these bytes are gone. Of one that is hit in its middle, the beginning stays.
pub fn forget(begin: u64, bytes: u64) {
    let end = begin + bytes;
    MAPPED.with(|mapped| {
        while let Some((&address, object)) = mapped.range_mut(..end).next_back() {
            if address + object.bytes <= begin {
                break;
            }
            if address >= begin {
                mapped.remove(&address);
            } else {
                object.bytes = begin - address;
            }
        }
    });
}

pub fn object_at(address: u64) -> Option<Object> {
    let last = MAPPED.with(|mapped| mapped.range(..=address).next_back().map(|(_, object)| object.clone()));
    last.filter(|object| address - object.address < object.bytes)
}
