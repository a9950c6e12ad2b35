// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hot state of the running fiber: all that hooks touch which are compiled in, or written in assembly.
use core::cell::Cell;
use core::mem::offset_of;
use corefold_block::inline;
use corefold_sim::Lease;

/// In [`Hot::wrote`]: the thread has stored since it looked at memory; or it has updated a word, which may have failed to
/// take it, and done nothing since.
pub const WROTE: u8 = 1;
pub const TRIED: u8 = 2;

#[repr(C)]
pub struct Hot {
    /// The simulator's part.
    pub lease: Lease,
    /// Top of the running fiber's stack of return addresses.
    pub frames: Cell<*mut u64>,
    /// 8, or 0 while nothing is simulated: threads may then run at once, and must not move `frames`.
    pub frame_step: Cell<u64>,
    /// Set by every store: a loop that stores is working, not spinning. [`WROTE`] or [`TRIED`], or 0.
    pub wrote: Cell<u8>,
    /// Set by whatever the runtime does for the program between two reads of a spin, except its hooks.
    pub called: Cell<u8>,
    /// Where the running fiber's next read saves its registers, if that is requested.
    pub captured: Cell<*mut Captured>,
    /// 1 while the running thread is traced.
    pub traced: Cell<u8>,
    /// 1 if objects are simulated elsewhere than they lie ([`crate::storage::relayout`]).
    pub relaid: Cell<u8>,
}

impl core::ops::Deref for Hot {
    type Target = Lease;
    #[inline]
    fn deref(&self) -> &Lease {
        &self.lease
    }
}

/// The callee-saved registers at a fiber's next read.
#[repr(C)]
#[derive(Default)]
pub struct Captured {
    /// [`Captured::WANTED`], [`Captured::DONE`] or 0.
    pub state: u64,
    /// rbx, rbp, r12 to r15, and rsp at the hook's entry.
    pub registers: [u64; 7],
    /// A hash of all others, where a loop may keep something there: within an assembly statement, which makes no calls.
    pub others: u64,
    /// Not 0: the read that has saved them puts them back when it returns.
    pub restored: u64,
    /// Not 0: a loop within an assembly statement has come round since the last read of one.
    pub comes_round: u64,
    /// Not 0: the lines that the loop reads are being collected, and its stack is compared.
    pub watched: u64,
}

impl Captured {
    /// In `registers`.
    pub const STACK_POINTER: usize = 6;

    pub const WANTED: u64 = 1;
    pub const DONE: u64 = 2;
    /// As [`Captured::WANTED`], and the stack below is left as it is.
    pub const REGISTERS_WANTED: u64 = 3;
}

pub const CAPTURED: u64 = HOT + offset_of!(Hot, captured) as u64;

/// The address of the hot state: `corefold cc` compiles it in, so that an access needs no look-up. Below the lowest address of any program, above what the kernel forbids.
pub const HOT: u64 = inline::HOT as u64;

/// The layout that is compiled in.
const _: () = {
    const fn at(field: usize) -> u32 {
        inline::HOT + field as u32
    }
    assert!(
        at(offset_of!(Hot, lease) + Lease::TAG) == inline::TAG
            && at(offset_of!(Hot, lease) + Lease::TAG_DIRTY) == inline::TAG_DIRTY
    );
    assert!(
        at(offset_of!(Hot, lease) + offset_of!(Lease, cost_half)) == inline::COST_HALF
            && at(offset_of!(Hot, lease) + offset_of!(Lease, clock)) == inline::CLOCK
    );
    assert!(
        at(offset_of!(Hot, lease) + Lease::LIMIT) == inline::LIMIT && at(offset_of!(Hot, frames)) == inline::FRAMES
    );
    assert!(at(offset_of!(Hot, frame_step)) == inline::FRAME_STEP && at(offset_of!(Hot, wrote)) == inline::WROTE);
};

/// Maps the hot state, as it is while nothing is simulated.
pub fn map() -> bool {
    let mapped = crate::sys::map_at(HOT, 4096);
    if mapped {
        let hot = hot();
        hot.unlimited();
        hot.frames.set(&raw mut IDLE_FRAME as *mut u64);
        hot.captured.set(&raw mut IDLE_CAPTURED);
    }
    mapped
}

/// The return-address stack of a process that is not simulated: one slot that is written and not read.
static mut IDLE_FRAME: [u64; 2] = [0; 2];
/// Requested by nobody.
static mut IDLE_CAPTURED: Captured =
    Captured { state: 0, registers: [0; 7], others: 0, restored: 0, comes_round: 0, watched: 0 };

/// The hot state.
#[inline(always)]
pub fn hot() -> &'static Hot {
    // SAFETY: mapped before anything asks for it, never unmapped, all of it cells, and only the carrier touches it.
    unsafe { &*(HOT as *const Hot) }
}
