// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose code calls: the runtime's own, libc's, or the program's.
pub mod cost;
pub mod innermost;
pub mod instrumented;
pub mod loaded;
pub mod mapped;
pub mod modules;
pub mod system_calls;
pub mod unwind;

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

/// The machine code of a loaded file. Empty until [`find`]: nothing is simulated before.
#[repr(C)]
pub struct Code {
    begin: AtomicU64,
    bytes: AtomicU64,
    /// Where the file's last part ends, which may be data.
    end: AtomicU64,
}

impl Code {
    const fn unknown() -> Self {
        Code { begin: AtomicU64::new(0), bytes: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    /// Takes the file that is loaded at `base`.
    fn learn(&self, base: u64) {
        // SAFETY: an ELF file's image begins with its header, and its program headers are mapped with it.
        let headers = unsafe {
            let header = &*(base as *const libc::Elf64_Ehdr);
            let first = (base + header.e_phoff) as *const libc::Elf64_Phdr;
            core::slice::from_raw_parts(first, usize::from(header.e_phnum))
        };
        let runs = |h: &&libc::Elf64_Phdr| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0;
        if let Some(code) = headers.iter().find(runs) {
            self.begin.store(base + code.p_vaddr, Ordering::Relaxed);
            self.bytes.store(code.p_memsz, Ordering::Relaxed);
        }
        let ends = headers.iter().filter(|h| h.p_type == libc::PT_LOAD).map(|h| base + h.p_vaddr + h.p_memsz);
        self.end.store(ends.max().unwrap_or(0), Ordering::Relaxed);
    }

    fn holds(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.begin.load(Ordering::Relaxed)) < self.bytes.load(Ordering::Relaxed)
    }
}

/// The runtime's; its address is known to assembly, the size 8 bytes behind it.
pub static OWN: Code = Code::unknown();
static LIBC: Code = Code::unknown();
static PROGRAM: Code = Code::unknown();
static LIBC_BASE: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    /// Defined by the linker: the first byte of the runtime's image.
    static __ehdr_start: libc::Elf64_Ehdr;
}

/// Learns where the runtime's, libc's and the program's code lie. Returns libc's version.
pub fn find() -> &'static [u8] {
    OWN.learn(&raw const __ehdr_start as u64);
    // SAFETY: the result is plain data; only libc has that function.
    unsafe {
        let function = libc::dlsym(libc::RTLD_NEXT, c"gnu_get_libc_version".as_ptr());
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(function, &mut found) != 0 {
            LIBC.learn(found.dli_fbase as u64);
            LIBC_BASE.store(found.dli_fbase as u64, Ordering::Relaxed);
        }
        if libc::dladdr(libc::getauxval(libc::AT_ENTRY) as *const c_void, &mut found) != 0 {
            PROGRAM.learn(found.dli_fbase as u64);
        }
        let version = core::mem::transmute::<*mut c_void, extern "C" fn() -> *const c_char>(function);
        CStr::from_ptr(version()).to_bytes()
    }
}

/// Where libc is loaded, and its dynamic section.
pub fn libc_image() -> Option<(u64, &'static [[u64; 2]])> {
    let base = LIBC_BASE.load(Ordering::Relaxed);
    // SAFETY: as in `learn`; the loader leaves the section mapped.
    unsafe {
        let header = (base as *const libc::Elf64_Ehdr).as_ref()?;
        let headers =
            core::slice::from_raw_parts((base + header.e_phoff) as *const libc::Elf64_Phdr, header.e_phnum.into());
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC)?;
        let entries = (base + dynamic.p_vaddr) as *const [u64; 2];
        Some((base, core::slice::from_raw_parts(entries, (dynamic.p_memsz / 16) as usize)))
    }
}

/// The program's own file, without its libraries.
pub fn is_program(pc: u64) -> bool {
    PROGRAM.holds(pc)
}

/// Is the word in the program's file as it is loaded, behind the code, where its data is?
pub fn is_loaded(word: u64) -> bool {
    let (begin, end) = (PROGRAM.begin.load(Ordering::Relaxed), PROGRAM.end.load(Ordering::Relaxed));
    (begin..end.saturating_sub(7)).contains(&word)
}

pub fn is_own(pc: u64) -> bool {
    OWN.holds(pc)
}

/// libc may hold locks that know nothing of fibers: nobody else may run before its call returns.
pub fn is_libc(pc: u64) -> bool {
    LIBC.holds(pc)
}
