// SPDX-License-Identifier: MIT OR Apache-2.0
//! getcontext, makecontext, swapcontext: libc's own do the work; each context has its own stack of calls as
//! the hooks keep it, and its own mask.
use crate::carrier::Carrier;
use crate::engine::charge;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::foreign_stack::CONTEXTS;
use crate::trampoline::{Arguments, before};
use alloc::vec::Vec;
use core::arch::naked_asm;
use core::sync::atomic::Ordering;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

#[derive(Clone, Default)]
struct Context {
    /// Return addresses, outermost first.
    calls: Vec<u64>,
    mask: u64,
    /// Made by makecontext and not begun yet.
    fresh: bool,
}

struct Known {
    contexts: HashMap<u64, Context, FxBuildHasher>,
    /// Where glibc has a context's function return to.
    ends_at: u64,
}

static KNOWN: Carrier<Known> = Carrier::new(Known { contexts: HashMap::with_hasher(FxBuildHasher), ends_at: 0 });

fn know(context: u64, is: Context) {
    CONTEXTS.store(true, Ordering::Relaxed);
    KNOWN.with(|known| known.contexts.insert(context, is));
}

/// Registers to save or restore, and the mask, which is a system call.
const CYCLES: u32 = 30;

fn save(context: u64) {
    charge(CYCLES);
    let base = current().frames_base;
    let depth = (hot().frames.get() as usize).saturating_sub(base as usize) / 8;
    // SAFETY: written by the function-entry hook, up to the top.
    let calls = unsafe { core::slice::from_raw_parts(base, depth) }.to_vec();
    know(context, Context { calls, mask: current().signals.mask.get(), fresh: false });
}

fn restore(context: u64) {
    crate::scheduling::sched::enter_kernel();
    let found = KNOWN.with(|known| {
        let found = known.contexts.get_mut(&context)?;
        let base = current().frames_base;
        for (i, call) in found.calls.iter().enumerate() {
            // SAFETY: as deep as it once was on a stack of the same size.
            unsafe { base.add(i).write(*call) };
        }
        // SAFETY: as above.
        hot().frames.set(unsafe { base.add(found.calls.len()) });
        Some((core::mem::take(&mut found.fresh), found.mask))
    });
    let Some((fresh, mask)) = found else { return };
    if fresh {
        end_here(context);
    }
    crate::threads::signals::blocking::change(mask);
}

/// The context's function returns to us first.
fn end_here(context: u64) {
    // SAFETY: glibc's makecontext has put a return address at the context's stack pointer.
    unsafe {
        let sp = (*(context as *const libc::ucontext_t)).uc_mcontext.gregs[libc::REG_RSP as usize] as *mut u64;
        let ours = corefold_context_ends as *const () as u64;
        if *sp != ours {
            KNOWN.with(|known| known.ends_at = *sp);
            *sp = ours;
        }
    }
}

/// A context's function has returned, and `link` is next, if it is not null: glibc goes on to it.
extern "C" fn ends(link: u64) -> u64 {
    if link != 0 {
        restore(link);
    }
    KNOWN.with(|known| known.ends_at)
}

/// Where glibc keeps the next context is in rbx. After the return the stack pointer is as glibc's code
/// there expects it.
#[unsafe(naked)]
extern "C" fn corefold_context_ends() {
    naked_asm!("mov rdi, [rbx]", "sub rsp, 16", "call {ends}", "add rsp, 16", "jmp rax", ends = sym ends)
}

pub extern "C" fn gets(arguments: &Arguments, _pc: u64) {
    save(arguments.rdi);
}

pub extern "C" fn sets(arguments: &Arguments, _pc: u64) {
    restore(arguments.rdi);
}

pub extern "C" fn swaps(arguments: &Arguments, _pc: u64) {
    save(arguments.rdi);
    restore(arguments.rsi);
}

pub extern "C" fn makes(arguments: &Arguments, _pc: u64) {
    let mask = current().signals.mask.get();
    know(arguments.rdi, Context { calls: Vec::new(), mask, fresh: true });
}

before! {
    crate::threads::contexts::gets => getcontext;
    crate::threads::contexts::sets => setcontext;
    crate::threads::contexts::swaps => swapcontext;
    crate::threads::contexts::makes => makecontext;
}
