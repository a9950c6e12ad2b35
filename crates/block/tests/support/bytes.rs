// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code as bytes.
#![allow(dead_code, reason = "each test file has its own copy")]
#[path = "skylake.rs"]
mod skylake;

use corefold_block::{Code, Hook};
pub use skylake::CORE;

pub const BLOCK: u64 = 0x9000;
pub const ACCESS: u64 = 0x9100;
pub const ATOMIC: u64 = 0x9200;
pub const FENCE: u64 = 0x9300;
/// Compare-and-swap, which tells whether it succeeded, and which tells what it found.
pub const COMPARE: u64 = 0x9400;
pub const COMPARE_WORD: u64 = 0x9500;
pub const START: u64 = 0x1000;

pub struct Bytes(pub Vec<u8>);

impl Code for Bytes {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let rest = address.checked_sub(START).and_then(|offset| self.0.get(offset as usize..));
        rest.map_or(&[], |rest| &rest[..len.min(rest.len())])
    }
    fn bytes_before(&self, address: u64, len: usize) -> &[u8] {
        let ahead = address.checked_sub(START).and_then(|offset| self.0.get(..offset as usize)).unwrap_or_default();
        &ahead[ahead.len().saturating_sub(len)..]
    }
    fn hook(&self, target: u64) -> Option<Hook> {
        match target {
            BLOCK => Some(Hook::Block),
            ACCESS => Some(Hook::Access),
            ATOMIC => Some(Hook::Atomic),
            FENCE => Some(Hook::Fence),
            COMPARE => Some(Hook::CompareSwap),
            COMPARE_WORD => Some(Hook::CompareSwapWord),
            _ => None,
        }
    }
}

impl Bytes {
    pub fn new() -> Bytes {
        Bytes(Vec::new())
    }
    pub fn then(mut self, bytes: &[u8]) -> Bytes {
        self.0.extend_from_slice(bytes);
        self
    }
    pub fn call(self, target: u64) -> Bytes {
        let next = START + self.0.len() as u64 + 5;
        let distance = (target.wrapping_sub(next) as u32).to_le_bytes();
        self.then(&[0xe8]).then(&distance)
    }
}
