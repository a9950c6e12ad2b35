// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which trampoline is for which hook: the table of `detour`.
use corefold_block::Hook;

/// A hook, and its trampoline.
#[repr(C)]
struct Detour {
    hook: u64,
    entry: u64,
    /// 0: plain; 1: an atomic update or a fence; 2: an atomic load; 3: an atomic store.
    kind: u64,
}

unsafe extern "C" {
    static corefold_detours: [Detour; 0];
    static corefold_detours_end: [Detour; 0];
}

fn all() -> &'static [Detour] {
    // SAFETY: the table below, which the loader has relocated.
    unsafe {
        let (begin, end) = (&raw const corefold_detours, &raw const corefold_detours_end);
        core::slice::from_raw_parts(begin.cast(), (end as usize - begin as usize) / size_of::<Detour>())
    }
}

/// The trampoline of a hook.
pub fn of(hook: u64) -> Option<u64> {
    all().iter().find(|detour| detour.hook == hook).map(|detour| detour.entry)
}

/// The hook that a trampoline calls.
pub fn kind(entry: u64) -> Option<Hook> {
    let detours = all();
    let (first, last) = (detours.first()?.entry, detours.last()?.entry);
    // Most calls are to other functions.
    let found = (first..=last).contains(&entry).then(|| detours.iter().find(|detour| detour.entry == entry))??;
    Some(match found.kind {
        0 => Hook::Access,
        1 => Hook::Atomic,
        2 => Hook::AtomicLoad,
        3 => Hook::AtomicStore,
        _ => Hook::Fence,
    })
}

/// Is it the hook of a block, or what stands for it where that is inline?
pub fn is_block(function: u64) -> bool {
    let blocks: [*const (); 2] = [
        crate::hooks::inline::__sanitizer_cov_trace_pc as *const (),
        crate::hooks::inline::corefold_block_unknown as *const (),
    ];
    blocks.contains(&(function as *const ()))
}
