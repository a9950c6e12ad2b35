// SPDX-License-Identifier: MIT OR Apache-2.0
//! libc's frees, where the program has an allocator of its own. A kernel thread that ends has libc free what it kept for
//! the thread; but the program's code runs on the carrier only. So libc's pointer to `free` leads here.
use crate::code;
use crate::sys;
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

type Free = unsafe extern "C" fn(*mut c_void);

/// The `free` that the program's objects go to.
static FREE: AtomicUsize = AtomicUsize::new(0);
/// Nothing is freed for now: a kernel thread ends, and the carrier waits for that; or the loader looks a name up.
static PUT_OFF: AtomicBool = AtomicBool::new(false);
/// What is put off is never freed.
static LEFT: AtomicBool = AtomicBool::new(false);

struct Unfreed(UnsafeCell<Vec<usize>>);
// SAFETY: the carrier uses it, or the one thread that it waits for.
unsafe impl Sync for Unfreed {}
static UNFREED: Unfreed = Unfreed(UnsafeCell::new(Vec::new()));

/// Has libc's frees come here.
pub fn take_over() {
    // SAFETY: a terminated string.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"free".as_ptr()) } as usize;
    FREE.store(function, Ordering::Relaxed);
    slots(c"free").into_iter().for_each(|slot| {
        // It stays writable: other data, which libc does write, may share the page.
        let page = slot as u64 / PAGE * PAGE;
        if sys::protect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) {
            // SAFETY: a pointer that the loader has set; there is no other thread yet that could use it.
            unsafe { (slot as *mut usize).write(released as *const () as usize) };
        }
    });
}

const PAGE: u64 = 4096;

/// What `run` waits for frees nothing. Returns what it would have freed.
pub fn without_frees(run: impl FnOnce()) -> Vec<usize> {
    PUT_OFF.store(true, Ordering::Release); // the kernel thread is woken, or ends, in between
    run();
    PUT_OFF.store(false, Ordering::Release);
    // SAFETY: the other thread is gone.
    core::mem::take(unsafe { &mut *UNFREED.0.get() })
}

/// Calls libc where the program's code must not run. What libc would free meanwhile stays allocated.
pub fn leaving_unfreed<R>(call: impl FnOnce() -> R) -> R {
    let was = [&PUT_OFF, &LEFT].map(|flag| flag.swap(true, Ordering::Relaxed));
    let result = call();
    PUT_OFF.store(was[0], Ordering::Relaxed);
    LEFT.store(was[1], Ordering::Relaxed);
    result
}

/// Frees an object of the program's: others may run meanwhile.
pub fn free(object: usize) {
    // SAFETY: the program's `free`, and an object that libc had from the same allocator.
    unsafe { core::mem::transmute::<usize, Free>(FREE.load(Ordering::Relaxed))(object as *mut c_void) }
}

/// In place of `free` where libc calls it.
#[unsafe(naked)]
extern "C" fn released(_object: usize) {
    naked_asm!(
        "cmp byte ptr [rip + {waits}], 0",
        "jne {put_off}",
        "jmp [rip + {free}]",
        waits = sym PUT_OFF,
        put_off = sym put_off,
        free = sym FREE,
    )
}

extern "C" fn put_off(object: usize) {
    if object != 0 && !LEFT.load(Ordering::Relaxed) {
        // SAFETY: the carrier waits for this thread.
        unsafe { (*UNFREED.0.get()).push(object) };
    }
}

/// ELF's `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Where libc keeps pointers to the function of that name.
fn slots(name: &CStr) -> Vec<usize> {
    const DT_PLTRELSZ: u64 = 2;
    const DT_STRTAB: u64 = 5;
    const DT_SYMTAB: u64 = 6;
    const DT_RELA: u64 = 7;
    const DT_RELASZ: u64 = 8;
    const DT_JMPREL: u64 = 23;
    const SLOT: u64 = 6;
    const JUMP_SLOT: u64 = 7;
    let Some((base, dynamic)) = code::libc_image() else { return Vec::new() };
    let value = |tag| dynamic.iter().take_while(|entry| entry[0] != 0).find(|e| e[0] == tag).map_or(0, |e| e[1]);
    let tables = [(value(DT_RELA), value(DT_RELASZ)), (value(DT_JMPREL), value(DT_PLTRELSZ))];
    // SAFETY: libc's own tables, as the loader has them.
    let relocations = tables.into_iter().flat_map(|(at, bytes)| unsafe {
        core::slice::from_raw_parts(at as *const Relocation, bytes as usize / size_of::<Relocation>())
    });
    let is_it = |r: &&Relocation| {
        let (symbol, kind) = (r.info >> 32, r.info & 0xffff_ffff);
        // SAFETY: as above.
        matches!(kind, SLOT | JUMP_SLOT)
            && unsafe {
                let symbol = &*(value(DT_SYMTAB) as *const libc::Elf64_Sym).add(symbol as usize);
                CStr::from_ptr((value(DT_STRTAB) + u64::from(symbol.st_name)) as *const c_char) == name
            }
    };
    relocations.filter(is_it).map(|r| (base + r.offset) as usize).collect()
}
