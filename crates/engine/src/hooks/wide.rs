// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations on 16 bytes, as lock-free stacks use them for a pointer and its tag.
use crate::engine::active;
use crate::hooks::atomics;
use core::arch::naked_asm;

/// Exchanges what is at `address` for `f` of it, if that is something. Returns what was there.
fn update(address: u64, pc: u64, f: impl Fn(u128) -> Option<u128>) -> u128 {
    if !active() {
        return native(address, f);
    }
    let at = address as *mut u128;
    atomics::arrive_to_update(address, 8, pc);
    // SAFETY: the program's atomic object; only the carrier touches it while a simulation runs.
    let old = unsafe { at.read() };
    let new = f(old);
    if let Some(new) = new {
        // SAFETY: as above.
        unsafe { at.write(new) };
    }
    atomics::settle(address, 8, pc, folded(old), new.is_some_and(|new| new != old));
    old
}

/// Both halves in one word, which is 0 if both are: a spin watches the one as well as the other.
pub fn folded(value: u128) -> u64 {
    let (low, high) = (value as u64, (value >> 64) as u64);
    match low ^ high.wrapping_mul(0x9e37_79b9_7f4a_7c15) {
        0 if value != 0 => 1,
        word => word,
    }
}

fn native(address: u64, f: impl Fn(u128) -> Option<u128>) -> u128 {
    let mut seen = 0;
    loop {
        let new = f(seen).unwrap_or(seen);
        // SAFETY: the program's atomic object; gcc asks for it only where the processor has the instruction.
        let found = unsafe { swap(address as *mut u128, seen, new) };
        if found == seen {
            return found;
        }
        seen = found;
    }
}

/// Exchanges `old` for `new`; returns what was there.
unsafe fn swap(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: the caller's address; `rbx`, which the compiler keeps for itself, is put back.
    unsafe {
        core::arch::asm!(
            // Registers by name: any other might be given `rbx` for the address.
            "xchg rbx, rsi",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            inout("rsi") new as u64 => _,
            in("rdi") at,
            inout("rax") low,
            inout("rdx") high,
            in("rcx") (new >> 64) as u64,
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

extern "C" fn load(at: u64, _order: u32, pc: u64) -> u128 {
    update(at, pc, |_| None)
}

extern "C" fn store(at: u64, value: u128, _order: u32, pc: u64) {
    update(at, pc, |_| Some(value));
}

extern "C" fn exchange(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |_| Some(value))
}

extern "C" fn add(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |old| Some(old.wrapping_add(value)))
}

extern "C" fn sub(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |old| Some(old.wrapping_sub(value)))
}

extern "C" fn and(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |old| Some(old & value))
}

extern "C" fn or(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |old| Some(old | value))
}

extern "C" fn xor(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |old| Some(old ^ value))
}

extern "C" fn nand(at: u64, value: u128, _order: u32, pc: u64) -> u128 {
    update(at, pc, |old| Some(!(old & value)))
}

/// The return address comes in place of the order; that of failure stands on the stack.
extern "C" fn swap_value(at: u64, expected: u128, value: u128, pc: u64) -> u128 {
    update(at, pc, |old| (old == expected).then_some(value))
}

extern "C" fn swap_if(at: u64, expected: *mut u128, value: u128, _ok: u32, _else: u32, pc: u64) -> i32 {
    // SAFETY: the compiler passes the address of the expected value.
    let want = unsafe { expected.read_unaligned() };
    let found = update(at, pc, |old| (old == want).then_some(value));
    if found != want {
        // SAFETY: as above. Not on success, when it may be another thread's.
        unsafe { expected.write_unaligned(found) };
    }
    i32::from(found == want)
}

crate::entry::with_pc! {
    __tsan_atomic128_load "rdx" load;
    __tsan_atomic128_store "r8" store;
    __tsan_atomic128_exchange "r8" exchange;
    __tsan_atomic128_fetch_add "r8" add;
    __tsan_atomic128_fetch_sub "r8" sub;
    __tsan_atomic128_fetch_and "r8" and;
    __tsan_atomic128_fetch_or "r8" or;
    __tsan_atomic128_fetch_xor "r8" xor;
    __tsan_atomic128_fetch_nand "r8" nand;
    __tsan_atomic128_compare_exchange_val "r9" swap_value;
}

macro_rules! swaps {
    ($($name:ident)*) => {$(
        /// All argument registers are taken: the return address goes onto the stack, as a seventh argument.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            naked_asm!("push [rsp]", "call {body}", "add rsp, 8", "ret", body = sym swap_if)
        }
    )*};
}

swaps! { __tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak }
