// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's code: that of the files that call our hooks.
use crate::carrier::Carrier;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ops::Range;

/// The code of the files that call our hooks.
static KNOWN: Carrier<Vec<Range<u64>>> = Carrier::new(Vec::new());

pub fn files_changed() {
    let code = instrumented();
    KNOWN.with(|known| *known = code);
}

pub fn is_programs(pc: u64) -> bool {
    code_around(pc).is_some()
}

/// The segment of the program's code that the address is in.
pub fn code_around(pc: u64) -> Option<Range<u64>> {
    KNOWN.with(|known| known.iter().find(|code| code.contains(&pc)).cloned())
}

/// The code of the files that call our hooks.
fn instrumented() -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    // SAFETY: the callback gets the vector back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found.retain(|code| !crate::code::is_own(code.start));
    found
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents; the loader's own tables.
    unsafe {
        let (info, into) = (&*info, &mut *into.cast::<Vec<Range<u64>>>());
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        if calls_hooks(info, headers) {
            let code = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            into.extend(code.map(|h| info.dlpi_addr + h.p_vaddr..info.dlpi_addr + h.p_vaddr + h.p_memsz));
        }
    }
    0
}

/// Does the name of a hook stand among the file's symbols?
unsafe fn calls_hooks(info: &libc::dl_phdr_info, headers: &[libc::Elf64_Phdr]) -> bool {
    const DT_STRTAB: u64 = 5;
    const DT_STRSZ: u64 = 10;
    const HOOKS: [&[u8]; 2] = [b"\0corefold_block_", b"\0__tsan_func_entry\0"];
    let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return false };
    // SAFETY: the loader has relocated the dynamic section's addresses, but for the kernel's own file.
    unsafe {
        let entries = (info.dlpi_addr + dynamic.p_vaddr) as *const [u64; 2];
        let all = core::slice::from_raw_parts(entries, (dynamic.p_memsz / 16) as usize);
        let value = |tag| all.iter().find(|e| e[0] == tag).map_or(0, |e| e[1]);
        let (strings, bytes) = (value(DT_STRTAB), value(DT_STRSZ));
        if strings < info.dlpi_addr || strings == 0 {
            return false;
        }
        let names = core::slice::from_raw_parts(strings as *const u8, bytes as usize);
        HOOKS.iter().any(|hook| names.windows(hook.len()).any(|part| part == *hook))
    }
}
