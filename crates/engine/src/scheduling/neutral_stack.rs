// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory as the simulator sees it, and a stack of the runtime's own for work that must not run on one of
//! the program's.
//!
//! A waiting store may lie on a stack where other frames are by now: the program's, or the runtime's own. So stores are
//! undone and put in while nobody runs on a stack of the program's; what they hid is there again before its owner goes on.
use crate::engine::slot_of;
use crate::scheduling::peek;
use crate::storage::relayout::stored;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;
use corefold_model::Tag;
use corefold_sim::{Memory, Tags};

const BYTES: usize = 64 << 10;

#[repr(align(16))]
struct Room(UnsafeCell<[u8; BYTES]>);
// SAFETY: used as a stack, by the carrier only.
unsafe impl Sync for Room {}
static ROOM: Room = Room(UnsafeCell::new([0; BYTES]));

/// Where the neutral stack ends.
pub fn top() -> usize {
    ROOM.0.get() as usize + BYTES
}

/// Does `work` on the neutral stack. What it uses must not lie on the stack that is in use now.
pub fn apart<W: FnOnce()>(work: W) {
    extern "C" fn on_it<W: FnOnce()>(work: *mut u8) {
        // SAFETY: what `apart` was given, moved here once, before anything of its stack is overwritten.
        let work = unsafe { work.cast::<W>().read() };
        work();
    }
    let mut work = ManuallyDrop::new(work);
    let top = top();
    if (top - BYTES..top).contains(&(&raw const work as usize)) {
        return ManuallyDrop::into_inner(work)();
    }
    // SAFETY: nobody is on the neutral stack: what runs there switches no fibers.
    unsafe { call_on(top, (&raw mut work).cast(), on_it::<W>) }
}

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
    fn tag(&mut self, address: u64) -> &mut Tag {
        slot_of(address)
    }
}

/// Calls `work` on the stack that ends at `top`.
#[unsafe(naked)]
unsafe extern "C" fn call_on(_top: usize, _argument: *mut u8, _work: extern "C" fn(*mut u8)) {
    naked_asm!("push rbp", "mov rbp, rsp", "mov rsp, rdi", "mov rdi, rsi", "call rdx", "mov rsp, rbp", "pop rbp", "ret")
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
