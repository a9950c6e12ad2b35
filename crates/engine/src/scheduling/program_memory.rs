// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory as the simulator sees it.
//!
//! A waiting store may lie on a stack where other frames are by now: the program's, or the runtime's own. So stores are
//! undone and put in while nobody runs on a stack of the program's; what they hid is there again before its owner goes on.
use crate::engine::slot_of;
use crate::neutral_stack::apart;
use crate::scheduling::peek;
use crate::storage::relayout::stored;
use core::cell::Cell;
use corefold_model::Tag;
use corefold_sim::{Memory, Tags};

/// The memory of the simulated program, which is this process's.
pub struct ProgramMemory;

impl Memory for ProgramMemory {
    #[inline]
    fn read(&self, address: u64, size: u8) -> u64 {
        peek::read(self.held_at(address), size)
    }

    #[inline]
    fn write(&mut self, address: u64, size: u8, value: u64) {
        let address = self.held_at(address);
        // SAFETY: a store of the program's own at this address is being carried out, or undone; what it unmaps has no
        // store waiting (`StoreBuffers::commit_on`).
        unsafe {
            match size {
                1 => (address as *mut u8).write_volatile(value as u8),
                2 => (address as *mut u16).write_unaligned(value as u16),
                4 => (address as *mut u32).write_unaligned(value as u32),
                _ => (address as *mut u64).write_unaligned(value),
            }
        }
    }

    #[inline]
    fn held_at(&self, address: u64) -> u64 {
        stored(address)
    }

    #[inline]
    fn apart<W: FnOnce(&mut Self)>(&mut self, work: W) {
        apart(move || work(&mut ProgramMemory));
    }
}

/// The table of lines' tags, by address: the simulator's own, whatever that stands for.
impl Tags for ProgramMemory {
    #[inline]
    fn tag(&mut self, address: u64) -> &Cell<Tag> {
        slot_of(address)
    }
}

/// What the program reads there. A fault is the program's.
pub fn read_value(address: u64, size: u8) -> u64 {
    let address = ProgramMemory.held_at(address);
    // SAFETY: the program reads these bytes.
    unsafe {
        match size {
            1 => u64::from((address as *const u8).read_volatile()),
            2 => u64::from((address as *const u16).read_unaligned()),
            4 => u64::from((address as *const u32).read_unaligned()),
            8 => (address as *const u64).read_unaligned(),
            _ => 0,
        }
    }
}
