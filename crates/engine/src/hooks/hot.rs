// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hot state of the running fiber, and the hooks that touch nothing else.
//!
//! A plain access to a line that the running CPU already has alone costs one comparison, and a basic
//! block one addition: both are written in assembly, because they need their return address (it names
//! the block) and run hundreds of millions of times a second. All else goes to a slow path in Rust.
use crate::hooks::access::{plain_read, plain_write};
use crate::layout::{BLOCK_COSTS, BLOCK_MASK, SHADOW};
use core::arch::naked_asm;
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
    pub frames: *mut u64,
    /// 8, or 0 while nothing is simulated: threads may then run at once, and must not move `frames`.
    pub frame_step: u64,
    /// Set by every store: a loop that stores is working, not spinning. [`WROTE`] or [`TRIED`], or 0.
    pub wrote: u8,
    /// Set by whatever the runtime does for the program between two reads of a spin, except its hooks.
    pub called: u8,
    /// Where the running fiber's next read saves its registers, if that is requested.
    pub captured: *mut Captured,
    /// 1 while the running thread is traced.
    pub traced: u8,
    /// 1 if objects are simulated elsewhere than they lie ([`crate::storage::relayout`]).
    pub relaid: u8,
}

impl core::ops::Deref for Hot {
    type Target = Lease;
    #[inline]
    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl core::ops::DerefMut for Hot {
    #[inline]
    fn deref_mut(&mut self) -> &mut Lease {
        &mut self.lease
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
    /// Not 0: a loop within an assembly statement has come round since the last read of one.
    pub comes_round: u64,
}

impl Captured {
    pub const WANTED: u64 = 1;
    pub const DONE: u64 = 2;
}

pub const CAPTURED: u64 = HOT + offset_of!(Hot, captured) as u64;

/// The entry of a read: `$first`, if anything, then `$body`.
macro_rules! look_entry {
    ($(#[$export:meta])? $name:ident $first:literal $body:path) => {
        #[unsafe(naked)]
        $(#[$export])?
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                $first,
                "mov rax, ds:[{captured}]",
                "cmp qword ptr [rax], 0",
                "jne 2f",
                "jmp {body}",
                "2: mov qword ptr [rax], {done}",
                "mov [rax + 8], rbx",
                "mov [rax + 16], rbp",
                "mov [rax + 24], r12",
                "mov [rax + 32], r13",
                "mov [rax + 40], r14",
                "mov [rax + 48], r15",
                "mov [rax + 56], rsp",
                "jmp {body}",
                captured = const crate::hooks::hot::CAPTURED,
                done = const crate::hooks::hot::Captured::DONE,
                body = sym $body,
            )
        }
    };
}
pub(crate) use look_entry;

look_entry! { look_plainly "" plain_read }

/// The address of the hot state: `corefold cc` compiles it in, so that an access needs no look-up. Below the lowest address of any program, above what the kernel forbids.
pub const HOT: u64 = inline::HOT as u64;

/// The layout that is compiled in.
const _: () = {
    const fn at(field: usize) -> u32 {
        inline::HOT + field as u32
    }
    assert!(
        at(offset_of!(Hot, lease) + offset_of!(Lease, tag)) == inline::TAG
            && at(offset_of!(Hot, lease) + offset_of!(Lease, tag_dirty)) == inline::TAG_DIRTY
    );
    assert!(
        at(offset_of!(Hot, lease) + offset_of!(Lease, cost_half)) == inline::COST_HALF
            && at(offset_of!(Hot, lease) + offset_of!(Lease, clock)) == inline::CLOCK
    );
    assert!(
        at(offset_of!(Hot, lease) + offset_of!(Lease, limit)) == inline::LIMIT
            && at(offset_of!(Hot, frames)) == inline::FRAMES
    );
    assert!(at(offset_of!(Hot, frame_step)) == inline::FRAME_STEP && at(offset_of!(Hot, wrote)) == inline::WROTE);
};

/// Maps the hot state, as it is while nothing is simulated.
pub fn map() -> bool {
    let mapped = crate::sys::map_at(HOT, 4096);
    if mapped {
        let hot = hot!();
        hot.limit = u64::MAX;
        hot.frames = &raw mut IDLE_FRAME as *mut u64;
        hot.captured = &raw mut IDLE_CAPTURED;
    }
    mapped
}

/// The return-address stack of a process that is not simulated: one slot that is written and not read.
static mut IDLE_FRAME: [u64; 2] = [0; 2];
/// Requested by nobody.
static mut IDLE_CAPTURED: Captured = Captured { state: 0, registers: [0; 7], others: 0, comes_round: 0 };

macro_rules! hot {
    () => {
        // SAFETY: only the carrier thread runs simulated code, and hooks do not nest.
        unsafe { &mut *(crate::hooks::hot::HOT as *mut crate::hooks::hot::Hot) }
    };
}
pub(crate) use hot;

/// A basic block begins: `return address` names it, its cost is in a table indexed by that address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_trace_pc() {
    naked_asm!(
        "mov rdi, [rsp]",
        "mov rax, {mask}",
        "and rax, rdi",
        "mov rdx, {table}",
        "add rdx, ds:[{hot} + 8]",
        "movzx eax, word ptr [rax + rdx]",
        "test eax, eax",
        "jz 2f",
        "add rax, ds:[{hot} + 16]",
        "mov ds:[{hot} + 16], rax",
        "cmp rax, ds:[{hot} + 24]",
        "jae 3f",
        "ret",
        "2: jmp {unknown}",
        "3: mov rsi, rsp",
        "jmp {limit}",
        mask = const BLOCK_MASK,
        table = const BLOCK_COSTS,
        hot = const HOT,
        unknown = sym crate::hooks::blocks::unknown_block,
        limit = sym crate::scheduling::sched::at_block,
    )
}

/// A function begins: `rdi` is its return address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_entry(_return_address: u64) {
    naked_asm!(
        "mov rax, ds:[{hot} + 32]",
        "mov [rax], rdi",
        "add rax, ds:[{hot} + 40]",
        "mov ds:[{hot} + 32], rax",
        "ret",
        hot = const HOT,
    )
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {
    naked_asm!(
        "mov rax, ds:[{hot} + 40]",
        "sub ds:[{hot} + 32], rax",
        "ret",
        hot = const HOT,
    )
}

/// A plain access of a size that cannot cross a line. `$slow` gets (address, return address, size).
macro_rules! read_hook {
    ($($name:ident $size:literal)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov rax, rdi",
                "shr rax, 6",
                "mov rdx, {shadow}",
                "mov eax, [rdx + rax * 4]",
                "and eax, -4",
                "cmp eax, ds:[{hot}]",
                "jne 2f",
                "ret",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {slow}",
                hot = const HOT,
                shadow = const SHADOW,
                size = const $size,
                slow = sym look_plainly,
            )
        }
    )*};
}

macro_rules! write_hook {
    ($($name:ident $size:literal)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov rax, rdi",
                "shr rax, 6",
                "mov rdx, {shadow}",
                "mov byte ptr ds:[{hot} + 48], 1",
                "mov eax, [rdx + rax * 4]",
                "cmp eax, ds:[{hot} + 4]",
                "jne 2f",
                "ret",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {slow}",
                hot = const HOT,
                shadow = const SHADOW,
                size = const $size,
                slow = sym crate::hooks::access::plain_write,
            )
        }
    )*};
}

read_hook! { __tsan_read1 1 __tsan_read2 2 __tsan_read4 4 __tsan_read8 8 __tsan_read16 16
__tsan_volatile_read1 1 __tsan_volatile_read2 2 __tsan_volatile_read4 4 __tsan_volatile_read8 8 __tsan_volatile_read16 16 }
write_hook! { __tsan_write1 1 __tsan_write2 2 __tsan_write4 4 __tsan_write8 8 __tsan_write16 16
__tsan_volatile_write1 1 __tsan_volatile_write2 2 __tsan_volatile_write4 4 __tsan_volatile_write8 8 __tsan_volatile_write16 16 }

/// Accesses that need two steps, or are rare: `$slow` gets (address, return address, size).
macro_rules! sized_hook {
    ($($name:ident $size:literal $slow:ident)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {slow}",
                size = const $size,
                slow = sym crate::hooks::access::$slow,
            )
        }
    )*};
}

sized_hook! {
    __tsan_read_write1 1 range_update __tsan_read_write2 2 range_update __tsan_read_write4 4 range_update
    __tsan_read_write8 8 range_update __tsan_read_write16 16 range_update
    __tsan_unaligned_read_write1 1 range_update __tsan_unaligned_read_write2 2 range_update __tsan_unaligned_read_write4 4 range_update
    __tsan_unaligned_read_write8 8 range_update __tsan_unaligned_read_write16 16 range_update
    __tsan_vptr_read 8 range_read __tsan_vptr_update 8 range_write
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range(_address: u64, _size: u64) {
    naked_asm!("mov rdx, rsi", "mov rsi, [rsp]", "jmp {slow}", slow = sym crate::hooks::access::range_write)
}

/// (address, size): the size stands in `rsi`, where the slow paths expect the return address. A look, if
/// all of it lies in one line: gcc reads the fields of packed structures so.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range(_address: u64, _size: u64) {
    naked_asm!(
        "mov rdx, rsi",
        "mov rsi, [rsp]",
        "mov eax, edi",
        "and eax, 63",
        "lea rax, [rax + rdx - 1]",
        "cmp rax, 63",
        "ja {range}",
        "mov rax, rdi",
        "shr rax, 6",
        "mov rcx, {shadow}",
        "mov eax, [rcx + rax * 4]",
        "and eax, -4",
        "cmp eax, ds:[{hot}]",
        "jne {slow}",
        "ret",
        hot = const HOT,
        shadow = const SHADOW,
        range = sym crate::hooks::access::range_read,
        slow = sym look_plainly,
    )
}

/// The slow paths of inlined hooks (see `corefold cc`): `rsi` holds what would be the return address. Where the code
/// around their calls changes, so do their names: then programs of before are refused (`driver/src/program.rs`).
macro_rules! inlined_slow {
    ($($name:ident $size:literal $slow:ident)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64, _pc: u64) {
            naked_asm!("mov edx, {size}", "jmp {slow}", size = const $size, slow = sym $slow)
        }
    )*};
}

inlined_slow! {
    corefold_line_read1 1 look_plainly corefold_line_read2 2 look_plainly corefold_line_read4 4 look_plainly
    corefold_line_read8 8 look_plainly corefold_line_read16 16 look_plainly
    corefold_line_write1 1 plain_write corefold_line_write2 2 plain_write corefold_line_write4 4 plain_write
    corefold_line_write8 8 plain_write corefold_line_write16 16 plain_write
}

/// A block whose cost cell is still empty.
#[unsafe(no_mangle)]
pub extern "C" fn corefold_block_unknown(cell: *mut u32, pc: u64) {
    crate::hooks::blocks::learn(cell, pc);
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn corefold_block_limit(_pc: u64) {
    naked_asm!("mov rsi, rsp", "jmp {limit}", limit = sym crate::scheduling::sched::at_block)
}
