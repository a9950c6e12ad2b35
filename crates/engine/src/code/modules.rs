// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ELF files that are mapped, so that a report can find their debug info.
use crate::carrier::Carrier;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::Range;
use corefold_block::Hook;
use corefold_recording::Module;

/// Files, and the runtime's hooks by address.
struct Files {
    mapped: Vec<Module>,
    /// No more, with nothing in their place: samples may have been taken there.
    unmapped: Vec<Module>,
    hooks: Vec<(u64, Hook)>,
}

static FILES: Carrier<Files> = Carrier::new(Files { mapped: Vec::new(), unmapped: Vec::new(), hooks: Vec::new() });

fn has(module: &Module, address: u64) -> bool {
    (module.start..module.end).contains(&address)
}

/// Is the address in a file?
pub fn holds(address: u64) -> bool {
    FILES.with(|files| files.mapped.iter().any(|module| has(module, address)))
}

/// The addresses of the file that this one is in.
pub fn range_of(address: u64) -> Option<Range<u64>> {
    FILES.with(|files| files.mapped.iter().find(|module| has(module, address)).map(|module| module.start..module.end))
}

/// All, and those unmapped since, as samples may have been taken there.
pub fn all() -> Vec<Module> {
    files_changed();
    let mut all = FILES.with(|files| [&files.mapped[..], &files.unmapped[..]].concat());
    all.sort_by_key(|m| m.start);
    all
}

/// The hook that begins there.
pub fn hook_at(target: u64) -> Option<Hook> {
    FILES.with(|files| {
        let hooks = &files.hooks;
        hooks.binary_search_by_key(&target, |(address, _)| *address).ok().map(|at| hooks[at].1)
    })
}

/// Every mapped ELF file but the runtime and the kernel's own, by address.
pub fn list() -> Vec<Module> {
    let mut modules = Vec::new();
    // SAFETY: the callback gets the vector back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut modules).cast()) };
    modules.sort_by_key(|m: &Module| m.start);
    modules
}

/// Takes note of the files that are mapped now. The loader is asked here only, and nothing is lent meanwhile: it takes a lock,
/// and so others may run.
pub fn files_changed() {
    let mapped = list();
    let hooks = FILES.with(|files| files.hooks.is_empty()).then(find_hooks);
    FILES.with(|files| {
        let in_place = |old: &Module| mapped.iter().any(|m| m.start < old.end && old.start < m.end);
        files.unmapped.append(&mut files.mapped);
        files.unmapped.retain(|old| !in_place(old));
        files.mapped = mapped;
        if let Some(hooks) = hooks {
            files.hooks = hooks;
        }
    });
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents.
    let (info, into) = unsafe { (&*info, &mut *into.cast::<Vec<Module>>()) };
    // SAFETY: a terminated string.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let path = if into.is_empty() && name.is_empty() { executable() } else { absolute(name) };
    if path.starts_with('/') && !path.ends_with(corefold_launch::RUNTIME) && has_code(info) {
        into.push(module(info, path));
    }
    0
}

/// A library that was found by a relative path is known by that; the kernel's own has none at all.
fn absolute(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if name.starts_with('/') || !name.contains('/') {
        return name.into_owned();
    }
    let mut directory = [0u8; 4096];
    // SAFETY: the buffer is writable; the kernel ends what it writes with a zero byte.
    let n = unsafe { libc::syscall(libc::SYS_getcwd, directory.as_mut_ptr(), directory.len()) };
    let directory = String::from_utf8_lossy(&directory[..(n - 1).max(0) as usize]);
    alloc::format!("{directory}/{}", name.trim_start_matches("./"))
}

/// The runner's placeholders for other runtimes have none.
fn has_code(info: &libc::dl_phdr_info) -> bool {
    // SAFETY: the loader's own table.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    headers.iter().any(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0)
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

/// Addresses of our own exported hooks, sorted.
fn find_hooks() -> Vec<(u64, Hook)> {
    let mut hooks: Vec<(u64, Hook)> = Vec::new();
    // SAFETY: the callback gets the vector back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add_hooks), (&raw mut hooks).cast()) };
    hooks.sort_unstable_by_key(|(address, _)| *address);
    hooks
}

unsafe extern "C" fn add_hooks(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents.
    let (info, into) = unsafe { (&*info, &mut *into.cast::<Vec<(u64, Hook)>>()) };
    // SAFETY: a terminated string.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    if name.ends_with(corefold_launch::RUNTIME.as_bytes()) {
        for (symbol, address) in symbols(info) {
            if let Some(hook) = hook_kind(symbol) {
                into.push((address, hook));
            }
        }
    }
    0
}

fn hook_kind(symbol: &[u8]) -> Option<Hook> {
    let symbol = core::str::from_utf8(symbol).ok()?;
    Hook::named(symbol).or_else(|| symbol.starts_with("corefold_inline_").then_some(Hook::Access))
}

/// Names and addresses of the functions that a loaded file exports.
fn symbols(info: &libc::dl_phdr_info) -> Vec<(&'static [u8], u64)> {
    const DT_STRTAB: u64 = 5;
    const DT_SYMTAB: u64 = 6;
    const DT_GNU_HASH: u64 = 0x6fff_fef5;
    // SAFETY: the loader's own tables; it has relocated the dynamic section's addresses.
    unsafe {
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return Vec::new() };
        let entries = (info.dlpi_addr + dynamic.p_vaddr) as *const [u64; 2];
        let all = core::slice::from_raw_parts(entries, (dynamic.p_memsz / 16) as usize);
        let value = |tag| all.iter().find(|e| e[0] == tag).map_or(0, |e| e[1]);
        let (strings, table) = (value(DT_STRTAB), value(DT_SYMTAB));
        let count = symbol_count(value(DT_GNU_HASH) as *const u32);
        let symbols = core::slice::from_raw_parts(table as *const libc::Elf64_Sym, count);
        let name = |s: &libc::Elf64_Sym| CStr::from_ptr((strings + u64::from(s.st_name)) as *const c_char).to_bytes();
        symbols.iter().filter(|s| s.st_value != 0).map(|s| (name(s), info.dlpi_addr + s.st_value)).collect()
    }
}

/// The number of symbols, which ELF does not store: one more than the last in the hash table's chains.
unsafe fn symbol_count(table: *const u32) -> usize {
    if table.is_null() {
        return 0;
    }
    // SAFETY: the GNU hash section: bucket count, first hashed symbol, words of the bloom filter, shift,
    // the filter, the buckets, and a chain that ends in an odd hash.
    unsafe {
        let (buckets, first, bloom) = (*table as usize, *table.add(1) as usize, *table.add(2) as usize);
        let heads = table.add(4 + 2 * bloom);
        let chains = heads.add(buckets);
        let Some(mut last) = (0..buckets).map(|b| *heads.add(b) as usize).max().filter(|l| *l >= first) else {
            return first;
        };
        while *chains.add(last - first) & 1 == 0 {
            last += 1;
        }
        last + 1
    }
}
