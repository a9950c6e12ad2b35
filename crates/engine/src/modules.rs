//! The ELF files that are mapped, so that a report can find their debug info.
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use corefold_recording::Module;

/// Every mapped ELF file but the runtime and the kernel's own, by address.
pub fn list() -> Vec<Module> {
    let mut modules = Vec::new();
    // SAFETY: the callback gets the vector back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
    modules.sort_by_key(|m: &Module| m.start);
    modules
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents.
    let (info, into) = unsafe { (&*info, &mut *into.cast::<Vec<Module>>()) };
    // SAFETY: a terminated string.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let path = if into.is_empty() && name.is_empty() { executable() } else { String::from_utf8_lossy(name).into_owned() };
    if path.starts_with('/') && !path.ends_with(corefold_launch::RUNTIME) {
        into.push(module(info, path));
    }
    0
}

fn module(info: &libc::dl_phdr_info, path: String) -> Module {
    // SAFETY: the loader's own table.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr;
    let loaded = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let start = loaded().map(|h| base + h.p_vaddr).min().unwrap_or(base);
    let end = loaded().map(|h| base + h.p_vaddr + h.p_memsz).max().unwrap_or(base);
    let notes = headers.iter().filter(|h| h.p_type == libc::PT_NOTE);
    let build_id = notes.filter_map(|h| build_id(base + h.p_vaddr, h.p_memsz)).next().unwrap_or_default();
    Module { path, build_id, base, start, end }
}

/// The GNU build id among the notes at `address`.
fn build_id(address: u64, bytes: u64) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    // SAFETY: a loaded segment.
    let mut rest = unsafe { core::slice::from_raw_parts(address as *const u8, bytes as usize) };
    while rest.len() >= 12 {
        let word = |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let (name, value, kind) = (word(0) as usize, word(4) as usize, word(8));
        let begin = 12 + name.next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && rest.get(12..16) == Some(b"GNU\0") {
            return rest.get(begin..begin + value).map(Vec::from);
        }
        rest = rest.get(begin + value.next_multiple_of(4)..)?;
    }
    None
}

/// The program's own path.
fn executable() -> String {
    let mut path = [0u8; 4096];
    // SAFETY: the buffer is writable.
    let n = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    String::from_utf8_lossy(&path[..n.max(0) as usize]).into_owned()
}
