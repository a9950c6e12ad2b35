// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inline assembly: the program's own instructions access memory, and calls before and after them say so.
//!
//! A read-modify-write gets its line first, then the instruction runs on the value that is there by then. A store
//! is taken back once it is made, and carried out when its line arrives, as an atomic store is. Nobody else
//! runs between the two calls.
use crate::code::cost::work;
use crate::code::system_calls;
use crate::engine::{active, note};
use crate::hooks::access::{range_read, range_update, range_write, stores_anywhere};
use crate::hooks::atomics;
use crate::hooks::blocks;
use crate::hooks::branches;
use crate::hooks::results;
use crate::hooks::wide;
use crate::hot::{CAPTURED, Captured, HOT};
use crate::layout::{BLOCK_COSTS, BLOCK_MASK};
use crate::registers::{BYTES, STATE, UNSAVED, XMM, low_vectors};
use crate::scheduling::fiber::current;
use crate::scheduling::program_memory::ProgramMemory;
use crate::scheduling::store_buffer;
use core::arch::naked_asm;
use core::cell::Cell;
use core::hash::Hasher;
use core::mem::offset_of;
use corefold_block::inline_assembly::{Kind, RED_ZONE, REST, TOP_BLOCK, Unseen, Word};
use corefold_sim::Memory;
use rustc_hash::FxHasher;

/// The program's registers at a call, as `corefold_assembly` leaves them on the stack.
#[repr(C)]
pub struct Frame {
    /// By their numbers; that of `rsp` is not the program's.
    registers: [u64; 16],
    flags: u64,
    pc: u64,
    word: u64,
    /// Of a call with an operand, whose address `registers` has in the place of this.
    rdi: u64,
}

const RCX: usize = 1;
const RSI: usize = 6;
const RDI: usize = 7;
const BACKWARDS: u64 = 1 << 10;

/// What the next call finishes.
#[derive(Clone, Copy)]
struct Announced {
    kind: Kind,
    address: u64,
    size: u8,
    pc: u64,
    old: u128,
}

struct Slot(Cell<Option<Announced>>);
// SAFETY: only the carrier uses it.
unsafe impl Sync for Slot {}
static ANNOUNCED: Slot = Slot(Cell::new(None));

pub extern "C" fn around(frame: &Frame) {
    let word = Word(frame.word as u32);
    match word.kind() {
        Kind::Read => {
            capture(frame);
            announce(word, address(frame, word), frame.pc);
        }
        Kind::Write | Kind::Update | Kind::Atomic => announce(word, address(frame, word), frame.pc),
        Kind::Done => finish(),
        Kind::Fence => {
            if results::mfence() {
                branches::start_anew();
            }
            atomics::fence();
        }
        Kind::String => string(frame, word),
        Kind::Block => {
            with_captured(|captured| captured.comes_round = 1);
            blocks::visit(frame.pc + REST);
        }
        Kind::Unseen => unseen(word.size(), frame.pc),
    }
}

/// Lends what the running fiber's next read saves.
fn with_captured(work: impl FnOnce(&mut Captured)) {
    if active() {
        current().spins.with(|spins| work(&mut spins.captured));
    }
}

/// Saves registers where that is wanted, as [`crate::entry::look_entry`] does.
fn capture(frame: &Frame) {
    with_captured(|captured| capture_into(captured, frame));
}

fn capture_into(captured: &mut Captured, frame: &Frame) {
    let within = core::mem::take(&mut captured.comes_round) != 0;
    if captured.state == 0 {
        return;
    }
    let stack = core::ptr::from_ref(frame) as u64 + size_of::<Frame>() as u64 + u64::from(RED_ZONE);
    let [_, _, _, rbx, _, rbp, .., r12, r13, r14, r15] = frame.registers;
    *captured = Captured {
        state: Captured::DONE,
        registers: [rbx, rbp, r12, r13, r14, r15, stack],
        others: if within { others(frame) } else { 0 },
        restored: 0,
        comes_round: 0,
        watched: captured.watched,
    };
}

/// A hash of all registers and flags, in one word.
#[cold]
fn others(frame: &Frame) -> u64 {
    let mut hash = FxHasher::default();
    frame.registers.iter().chain([&frame.flags, &frame.rdi]).chain(low_vectors()).for_each(|r| hash.write_u64(*r));
    hash.finish()
}

/// Where the operand really is.
fn address(frame: &Frame, word: Word) -> u64 {
    let mut address = frame.registers[RDI];
    if word.is_in_thread() {
        address = address.wrapping_add(crate::fs_base::read_fs());
    }
    let Some(number) = word.bit_register() else { return address };
    let register = if number as usize == RDI { frame.rdi } else { frame.registers[number as usize] };
    let bytes = i64::from(word.size());
    // The register counts bits from the operand on, in words of its size, and is as wide as they are.
    let bit = match bytes {
        2 => i64::from(register as i16),
        4 => i64::from(register as i32),
        _ => register as i64,
    };
    address.wrapping_add_signed(bit.div_euclid(bytes * 8) * bytes)
}

fn announce(word: Word, address: u64, pc: u64) {
    let size = u64::from(word.size());
    let whole = size.is_power_of_two() && address.is_multiple_of(size);
    match word.kind() {
        Kind::Atomic if size.is_power_of_two() && size <= 16 => {
            atomics::arrive(address, size.min(8) as u8, pc);
            remember(Kind::Atomic, address, size, pc);
        }
        Kind::Write if word.is_partly() => {
            // The bytes between are others' to write: none may wait with these.
            store_buffer::commit_own();
            range_write(address, pc, size);
        }
        Kind::Write if whole && size <= 8 => remember(Kind::Write, address, size, pc),
        Kind::Read if whole && size <= 8 => {
            atomics::load(address, size as u8, true, pc);
        }
        Kind::Read => range_read(address, pc, size),
        Kind::Write => range_write(address, pc, size),
        _ => range_update(address, pc, size),
    }
}

fn remember(kind: Kind, address: u64, size: u64, pc: u64) {
    let size = size as u8;
    ANNOUNCED.0.set(Some(Announced { kind, address, size, pc, old: value(address, size) }));
}

/// Where the program may not read, its own instruction is about to fault.
fn value(address: u64, size: u8) -> u128 {
    match size {
        16 => u128::from(ProgramMemory.read(address, 8)) | u128::from(ProgramMemory.read(address + 8, 8)) << 64,
        _ => u128::from(ProgramMemory.read(address, size)),
    }
}

/// The instruction that was announced is done.
fn finish() {
    let Some(Announced { kind, address, size, pc, old }) = ANNOUNCED.0.take() else { return };
    let new = value(address, size);
    if kind == Kind::Atomic {
        atomics::settle(address, size.min(8), pc, wide::folded(old), new != old);
    } else {
        store_buffer::write_value(address, size, old as u64);
        atomics::store(address, size, new as u64, pc);
    }
}

/// Registers say what it moves. String instructions go up or down.
fn string(frame: &Frame, word: Word) {
    let size = u64::from(word.size());
    let count = if word.is_counted() { frame.registers[RCX] } else { 1 };
    let Some(bytes) = count.checked_mul(size).filter(|bytes| *bytes > 0) else { return };
    let down = if frame.flags & BACKWARDS != 0 { bytes - size } else { 0 };
    work(bytes);
    if word.reads_string() {
        range_read(frame.registers[RSI].wrapping_sub(down), frame.pc, bytes);
    }
    if word.writes_string() {
        range_write(frame.registers[RDI].wrapping_sub(down), frame.pc, bytes);
    }
}

fn unseen(what: u32, pc: u64) {
    const TEXTS: [(Unseen, &str); 7] = [
        (
            Unseen::Memory,
            "memory accesses of inline assembly are not seen (declare them beside it by COREFOLD_ACCESS_READ, _WRITE or _RMW)",
        ),
        (Unseen::SystemCall, "inline assembly makes a system call, which is not simulated (libc's syscall() is)"),
        (Unseen::Random, "an instruction reads the host's random numbers (rdrand), so runs differ"),
        (Unseen::Transaction, "an instruction begins a hardware transaction, whose conflicts are not simulated"),
        (Unseen::Processor, "an instruction asks what the processor is (cpuid, rdpid) and gets the host's answer"),
        (
            Unseen::Bytes,
            "inline assembly consists of bytes, whose accesses are not known (declare them with COREFOLD_ACCESS_READ, \
             _WRITE or _RMW beside it)",
        ),
        (Unseen::Vectors, "a vector instruction gathers from or scatters to memory; its accesses are not simulated"),
    ];
    let is_caught = what == Unseen::SystemCall as u32 && system_calls::catches(pc);
    if !is_caught && let Some((_, text)) = TEXTS.iter().find(|(known, _)| *known as u32 == what) {
        note(text, pc);
        // What comes may store at once: what was stored before takes effect first.
        store_buffer::commit_own();
    }
    // It may have stored: not counted as a spin.
    stores_anywhere();
}

/// Keeps every register. The word that was pushed is taken off the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn corefold_assembly() {
    naked_asm!(
        ".cfi_startproc",
        "pushfq",
        ".cfi_adjust_cfa_offset 8",
        "cmp byte ptr [rip + {active}], 0",
        "je 2f",
        // A block's head, of known cost, before the limit: nothing else needs to be kept.
        "cmp byte ptr [rsp + 19], {block}",
        "jne 3f",
        "push rax",
        "push rdx",
        ".cfi_adjust_cfa_offset 16",
        "mov rdx, [rsp + 24]",
        "add rdx, {rest}",
        "mov rax, {mask}",
        "and rax, rdx",
        "mov rdx, {table}",
        "add rdx, ds:[{hot} + 8]",
        "movzx eax, word ptr [rax + rdx]",
        "test eax, eax",
        "jz 4f",
        "add rax, ds:[{hot} + 16]",
        "cmp rax, ds:[{hot} + 24]",
        "jae 4f",
        "mov ds:[{hot} + 16], rax",
        "mov rax, ds:[{captured}]",
        "mov qword ptr [rax + {comes_round}], 1",
        "pop rdx",
        "pop rax",
        "jmp 2f",
        "4: pop rdx",
        "pop rax",
        ".cfi_adjust_cfa_offset -16",
        "3: cld",
        "push r15", "push r14", "push r13", "push r12", "push r11", "push r10", "push r9", "push r8",
        "push rdi", "push rsi", "push rbp", "push rsp", "push rbx", "push rdx", "push rcx", "push rax",
        ".cfi_adjust_cfa_offset 128",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        ".cfi_offset rbp, -104",
        "sub rsp, {bytes}",
        "and rsp, -64",
        "movaps [rsp + {xmm}], xmm0", "movaps [rsp + {xmm} + 16], xmm1",
        "movaps [rsp + {xmm} + 32], xmm2", "movaps [rsp + {xmm} + 48], xmm3",
        "movaps [rsp + {xmm} + 64], xmm4", "movaps [rsp + {xmm} + 80], xmm5",
        "movaps [rsp + {xmm} + 96], xmm6", "movaps [rsp + {xmm} + 112], xmm7",
        "movaps [rsp + {xmm} + 128], xmm8", "movaps [rsp + {xmm} + 144], xmm9",
        "movaps [rsp + {xmm} + 160], xmm10", "movaps [rsp + {xmm} + 176], xmm11",
        "movaps [rsp + {xmm} + 192], xmm12", "movaps [rsp + {xmm} + 208], xmm13",
        "movaps [rsp + {xmm} + 224], xmm14", "movaps [rsp + {xmm} + 240], xmm15",
        "mov [rip + {unsaved}], rsp",
        "mov rdi, rbp",
        "call {body}",
        "cmp qword ptr [rip + {unsaved}], 0",
        "je 6f",
        "mov qword ptr [rip + {unsaved}], 0",
        // These leave the upper halves as they are.
        "5: movaps xmm0, [rsp + {xmm}]", "movaps xmm1, [rsp + {xmm} + 16]",
        "movaps xmm2, [rsp + {xmm} + 32]", "movaps xmm3, [rsp + {xmm} + 48]",
        "movaps xmm4, [rsp + {xmm} + 64]", "movaps xmm5, [rsp + {xmm} + 80]",
        "movaps xmm6, [rsp + {xmm} + 96]", "movaps xmm7, [rsp + {xmm} + 112]",
        "movaps xmm8, [rsp + {xmm} + 128]", "movaps xmm9, [rsp + {xmm} + 144]",
        "movaps xmm10, [rsp + {xmm} + 160]", "movaps xmm11, [rsp + {xmm} + 176]",
        "movaps xmm12, [rsp + {xmm} + 192]", "movaps xmm13, [rsp + {xmm} + 208]",
        "movaps xmm14, [rsp + {xmm} + 224]", "movaps xmm15, [rsp + {xmm} + 240]",
        "mov rsp, rbp",
        ".cfi_remember_state",
        ".cfi_def_cfa_register rsp",
        "pop rax", "pop rcx", "pop rdx", "pop rbx", "pop rbp", "pop rbp", "pop rsi", "pop rdi",
        "pop r8", "pop r9", "pop r10", "pop r11", "pop r12", "pop r13", "pop r14", "pop r15",
        ".cfi_restore rbp",
        ".cfi_adjust_cfa_offset -128",
        "2: popfq",
        ".cfi_adjust_cfa_offset -8",
        "ret 8",
        // Other code has run.
        ".cfi_restore_state",
        "6: mov eax, {state}",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "jmp 5b",
        ".cfi_endproc",
        active = sym crate::engine::ACTIVE,
        captured = const CAPTURED,
        comes_round = const offset_of!(Captured, comes_round),
        bytes = const BYTES,
        xmm = const XMM,
        state = const STATE,
        unsaved = sym UNSAVED,
        body = sym around,
        block = const TOP_BLOCK >> 24,
        rest = const REST,
        mask = const BLOCK_MASK,
        table = const BLOCK_COSTS,
        hot = const HOT,
    )
}
