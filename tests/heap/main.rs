// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime's heap against plain lists. The runtime itself cannot be linked into a test: it would stand in
//! for the test's own `malloc`. But what decides where objects go, which there are and how much there may be lies in files
//! that know nothing of it.
extern crate alloc;

mod allocated;
mod objects;
mod places;
mod ranges;

#[allow(dead_code, reason = "the runtime asks for more than these tests do")]
#[path = "../../crates/engine/src/storage"]
mod storage {
    pub mod alloc_sites;
    pub mod allocated;
    pub mod headers;
    pub mod places;
    pub mod ranges;
}
