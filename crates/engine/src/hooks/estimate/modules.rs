// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which loaded files have hooks at accesses and none at blocks. Each such file is found when its
//! constructor runs, and what it calls is redirected in its offset table: it is bound already
//! (`LD_BIND_NOW`), and other files' calls stay as they are.
use super::trampolines as detour;
use crate::carrier::Carrier;
use crate::engine::active;
use crate::sys;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

struct File {
    begin: u64,
    end: u64,
    /// Its name, without a directory.
    name: String,
    /// A slot of its offset table and what it was redirected to, if its blocks have no hooks.
    redirected: Option<(u64, u64)>,
}

/// Costs, packed as those of blocks, by the places that the code lies between.
pub static ESTIMATES: Carrier<HashMap<(u64, u64), u32, FxBuildHasher>> =
    Carrier::new(HashMap::with_hasher(FxBuildHasher));

/// Used by the loader's thread before the simulation, and by the carrier in it.
static FILES: Carrier<Vec<File>> = Carrier::new(Vec::new());

/// Is there code whose blocks have no hooks?
pub fn holds(address: u64) -> bool {
    let holds = |file: &File| file.redirected.is_some() && (file.begin..file.end).contains(&address);
    FILES.with(|files| files.iter().any(holds))
}

/// What reports state about it.
pub fn notes() -> BTreeSet<String> {
    let note = |file: &File| format!("compute time is estimated: {} has no basic-block hooks", file.name);
    FILES.with(|files| files.iter().filter(|file| file.redirected.is_some()).map(note).collect())
}

/// The constructor of a file runs: what it was loaded with is loaded, too. Where nothing is to be simulated,
/// nobody asks for time.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {
    if crate::parameters::launch_path().is_some() {
        // SAFETY: the callback needs no argument.
        unsafe { libc::dl_iterate_phdr(Some(look), core::ptr::null_mut()) };
    }
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents.
    let info = unsafe { &*info };
    let image = Image::of(info);
    if (image.begin..image.end).contains(&(look as *const () as u64)) {
        return 0;
    }
    // SAFETY: a terminated string.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    // The executable has no name here; the recording has it.
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("the program");
    let same = |file: &File| {
        let kept = |(slot, detour): (u64, u64)| read(slot) == detour;
        file.end == image.end && file.name == name && file.redirected.is_none_or(kept)
    };
    // Whether it is this one. Another one was unloaded, and this is at its address: what is known of it stays for the report.
    let there = FILES.with(|files| {
        let file = files.iter_mut().find(|file| file.begin == image.begin)?;
        let same = same(file);
        if !same {
            (file.begin, file.end) = (0, 0);
        }
        Some(same)
    });
    match there {
        Some(true) => return 0,
        Some(false) if active() => ESTIMATES.with(|known| known.clear()),
        _ => {}
    }
    let slots = image.slots();
    let hooked = slots.iter().any(|slot| detour::is_block(read(*slot)));
    let redirected = if hooked { None } else { image.redirect(&slots) };
    let file = File { begin: image.begin, end: image.end, name: String::from(name), redirected };
    FILES.with(|files| files.push(file));
    0
}

fn read(slot: u64) -> u64 {
    // SAFETY: a slot of a loaded file's offset table.
    unsafe { (slot as *const u64).read() }
}

/// A loaded file.
struct Image<'a> {
    base: u64,
    begin: u64,
    end: u64,
    headers: &'a [libc::Elf64_Phdr],
}

impl<'a> Image<'a> {
    fn of(info: &'a libc::dl_phdr_info) -> Image<'a> {
        // SAFETY: the loader's own table.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr;
        let loaded = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let begin = loaded().map(|h| base + h.p_vaddr).min().unwrap_or(base);
        let end = loaded().map(|h| base + h.p_vaddr + h.p_memsz).max().unwrap_or(base);
        Image { base, begin, end, headers }
    }

    /// Where it keeps the addresses of functions of other files.
    fn slots(&self) -> Vec<u64> {
        const DT_RELA: u64 = 7;
        const DT_RELASZ: u64 = 8;
        const DT_JMPREL: u64 = 23;
        const DT_PLTRELSZ: u64 = 2;
        const GLOB_DAT: u64 = 6;
        const JUMP_SLOT: u64 = 7;
        let Some(dynamic) = self.headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return Vec::new() };
        // SAFETY: the loader's own tables; it has relocated the dynamic section's addresses.
        let relocations = unsafe {
            let entries = (self.base + dynamic.p_vaddr) as *const [u64; 2];
            let all = core::slice::from_raw_parts(entries, (dynamic.p_memsz / 16) as usize);
            let value = |tag| all.iter().find(|e| e[0] == tag).map_or(0, |e| e[1]);
            [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)].map(|(table, bytes)| match value(table) {
                // Not relocated: the kernel's own file, which calls no hooks.
                table if table < self.base.max(1) => &[][..],
                table => core::slice::from_raw_parts(table as *const [u64; 3], (value(bytes) / 24) as usize),
            })
        };
        let slots = relocations.into_iter().flatten();
        let slots = slots.filter(|[_, kind, _]| [GLOB_DAT, JUMP_SLOT].contains(&(kind & 0xffff_ffff)));
        slots.map(|[offset, ..]| self.base + offset).collect()
    }

    /// Redirects calls of hooks to their trampolines; returns one of them, if there are any.
    fn redirect(&self, slots: &[u64]) -> Option<(u64, u64)> {
        const PAGE: u64 = 4096;
        let longer: Vec<(u64, u64)> = slots.iter().filter_map(|s| Some((*s, detour::of(read(*s))?))).collect();
        let first = *longer.first()?;
        let sealed = self.headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO);
        let (start, end) = sealed.map_or((0, 0), |h| {
            let start = self.base + h.p_vaddr;
            (start & !(PAGE - 1), (start + h.p_memsz) & !(PAGE - 1))
        });
        if start != end && !sys::protect(start, end - start, libc::PROT_READ | libc::PROT_WRITE) {
            sys::engine_fault("cannot write to the offset table of a file that is built with TSan");
        }
        for (slot, detour) in &longer {
            // SAFETY: a slot of the offset table, writable now, in a file whose constructors are just running.
            unsafe { (*slot as *mut u64).write(*detour) };
        }
        if start != end {
            sys::protect(start, end - start, libc::PROT_READ);
        }
        Some(first)
    }
}
