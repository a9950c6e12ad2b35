// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a thread's place up its stack, by the tables for exceptions that each file has (`.eh_frame`). The list of calls that
//! the hooks keep has the program's functions only; what lies between the innermost of these and a wait, such as the compiled
//! part of Rust's standard library, has no hooks.
//!
//! The unwinder of libgcc would do the same for the running thread only, and calls functions of libc, which are simulated.
use crate::carrier::Carrier;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::neutral_stack::deep;
use crate::stacks;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection,
};

/// Functions without hooks between two with them, at most.
const MOST: usize = 32;
/// By DWARF's numbers for x86-64: those that a function keeps for its caller, and where the return address is counted as one.
const KEPT: [usize; 7] = [3, 6, 12, 13, 14, 15, PC];
const SP: usize = 7;
const PC: usize = 16;

/// A thread's registers, by DWARF's numbers.
#[derive(Clone, Copy, Default)]
pub struct Registers([u64; 17]);

/// A loaded file with a table.
struct File {
    begin: u64,
    end: u64,
    /// The sorted index of the table, and the end of the part of the file that both are in.
    index: u64,
    index_bytes: u64,
    tables_end: u64,
}

static FILES: Carrier<Vec<File>> = Carrier::new(Vec::new());

pub fn files_changed() {
    let loaded = loaded();
    FILES.with(|files| *files = loaded);
}

impl Registers {
    /// Those of the caller, as they are here.
    #[inline(always)]
    pub fn here() -> Registers {
        let mut registers = Registers::default();
        // SAFETY: stores to a variable of this frame.
        unsafe {
            core::arch::asm!(
                "lea {pc}, [rip]",
                "mov [{to} + 128], {pc}",
                "mov [{to} + 24], rbx",
                "mov [{to} + 48], rbp",
                "mov [{to} + 56], rsp",
                "mov [{to} + 96], r12",
                "mov [{to} + 104], r13",
                "mov [{to} + 112], r14",
                "mov [{to} + 120], r15",
                to = in(reg) registers.0.as_mut_ptr(),
                pc = out(reg) _,
                options(nostack, preserves_flags),
            );
        }
        registers
    }

    /// Those of a thread that does not run: `switch_stack` has pushed them at `sp`.
    pub fn saved(sp: u64) -> Registers {
        // SAFETY: the stack of a thread, which ends far above what was pushed last.
        let word = |at: u64| unsafe { ((sp + 8 * at) as *const u64).read() };
        let mut registers = Registers::default();
        // Word 0 is how to round.
        [15, 14, 13, 12, 3, 6, PC].iter().zip(1..).for_each(|(register, at)| registers.0[*register] = word(at));
        registers.0[SP] = sp + 64;
        registers
    }

    pub fn sp(&self) -> u64 {
        self.0[SP]
    }

    /// The return addresses on the stack between the one to the program's code at `pc` and the one at `outer`, innermost first;
    /// none where these two do not follow each other.
    pub fn between(self, pc: u64, outer: u64) -> Vec<u64> {
        deep(|| self.calls_between(pc, outer))
    }

    fn calls_between(mut self, pc: u64, outer: u64) -> Vec<u64> {
        let (mut met, mut found) = (false, Vec::new());
        while found.len() < MOST && self.go_up() {
            match self.0[PC] {
                here if here == outer && met => return found,
                here if met => found.push(here),
                here => met = here == pc,
            }
        }
        Vec::new()
    }

    /// The last return address on the stack before `outer`, if that is found.
    pub fn before(self, outer: u64) -> Option<u64> {
        deep(|| self.call_before(outer))
    }

    fn call_before(mut self, outer: u64) -> Option<u64> {
        for _ in 0..MOST {
            let here = self.0[PC];
            if !self.go_up() {
                return None;
            }
            if self.0[PC] == outer {
                return Some(here);
            }
        }
        None
    }

    /// To the caller of the function.
    fn go_up(&mut self) -> bool {
        let Some(end) = stack_end(self.0[SP]) else { return false };
        let Some(caller) = self.caller() else { return false };
        let goes_up = caller.0[SP] > self.0[SP] && caller.0[SP] < end && caller.0[PC] != 0;
        *self = caller;
        goes_up
    }

    fn caller(&self) -> Option<Registers> {
        // The call may be the function's last instruction.
        let at = self.0[PC] - 1;
        FILES.with(|files| files.iter().find(|file| (file.begin..file.end).contains(&at))?.caller(self, at))
    }
}

/// The end of the thread's stack that an address is on.
fn stack_end(sp: u64) -> Option<u64> {
    (sp.wrapping_sub(STACKS) < STACKS_BYTES).then(|| stacks::stack_end(sp))
}

impl File {
    fn caller(&self, registers: &Registers, at: u64) -> Option<Registers> {
        // SAFETY: the loader keeps the file mapped, whose tables are read-only.
        let bytes = |begin: u64, bytes: u64| unsafe {
            EndianSlice::new(core::slice::from_raw_parts(begin as *const u8, bytes as usize), LittleEndian)
        };
        let index = EhFrameHdr::from(bytes(self.index, self.index_bytes));
        let bases = BaseAddresses::default().set_eh_frame_hdr(self.index);
        let parsed = index.parse(&bases, 8).ok()?;
        let gimli::Pointer::Direct(table) = parsed.eh_frame_ptr() else { return None };
        if !(self.begin..self.tables_end).contains(&table) {
            return None;
        }
        let bases = bases.set_eh_frame(table);
        let section = EhFrame::from(bytes(table, self.tables_end - table));
        let entry = parsed.table()?.fde_for_address(&section, &bases, at, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&section, &bases, &mut context, at).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let cfa = registers.0.get(usize::from(register.0))?.wrapping_add_signed(*offset);
        let end = stack_end(registers.0[SP])?;
        let mut caller = *registers;
        caller.0[SP] = cfa;
        for kept in KEPT {
            match row.register(Register(kept as u16)) {
                RegisterRule::Undefined if kept == PC => return None,
                RegisterRule::Undefined | RegisterRule::SameValue => {}
                RegisterRule::Offset(offset) => {
                    let slot = cfa.wrapping_add_signed(offset);
                    if slot < registers.0[SP] || slot >= end {
                        return None;
                    }
                    // SAFETY: a word of a thread's stack, above its stack pointer.
                    caller.0[kept] = unsafe { (slot as *const u64).read_unaligned() };
                }
                _ => return None,
            }
        }
        Some(caller)
    }
}

fn loaded() -> Vec<File> {
    let mut found: Vec<File> = Vec::new();
    // SAFETY: the callback gets the vector back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents; the loader's own tables.
    let (info, into) = unsafe { (&*info, &mut *into.cast::<Vec<File>>()) };
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let range = |header: &libc::Elf64_Phdr| {
        let begin = info.dlpi_addr + header.p_vaddr;
        begin..begin + header.p_memsz
    };
    let parts = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(range);
    let index = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(range);
    let Some(index) = index else { return 0 };
    if let (Some(begin), Some(end), Some(tables)) = (
        parts().map(|part| part.start).min(),
        parts().map(|part| part.end).max(),
        parts().find(|part| part.contains(&index.start)),
    ) {
        let index_bytes = index.end - index.start;
        into.push(File { begin, end, index: index.start, index_bytes, tables_end: tables.end });
    }
    0
}
