// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations: carried out here, at the moment their line arrives.
use crate::counts::lock_table::LOCKS;
use crate::engine::{active, running_cpu};
use crate::entry::{look_entry, with_pc};
use crate::hooks::access::{event, issue, keeps_to_stack, looked, looked_for, stores_anywhere, succeeded, wrote};
use crate::hooks::awaited;
use crate::hooks::delays;
use crate::hooks::skip::{skip, skip_turns};
use crate::hooks::split;
use crate::hot::{TRIED, WROTE, hot};
use crate::scheduling::fiber::current;
use crate::scheduling::peek;
use crate::scheduling::program_memory::ProgramMemory;
use crate::scheduling::program_memory::read_value;
use crate::scheduling::run_ahead;
use crate::scheduling::shown;
use crate::scheduling::store_buffer;
use crate::scheduling::trace;
use crate::scheduling::unhooked;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};
use corefold_block::turn::Look;
use corefold_model::Ticks;
use corefold_recording::AccessKind;
use corefold_sim::{Event, Memory, Update, What};

/// `__ATOMIC_RELAXED` and `__ATOMIC_SEQ_CST`, as the hooks' order argument has them.
const RELAXED: u32 = 0;
const SEQ_CST: u32 = 5;

/// Is the address in memory of the runtime, as a coz counter is? Such accesses cost nothing.
fn is_ours(address: u64) -> bool {
    address.wrapping_sub(crate::layout::RUNTIME) < crate::layout::RUNTIME_BYTES
}

#[inline]
fn traced(address: u64, size: u8, pc: u64, what: AccessKind) {
    if hot().traced.get() != 0 {
        trace::saw(address, size.into(), pc, what);
    }
}

/// A simulated load of 1, 2, 4 or 8 bytes; `orders`: of acquire order or stronger.
pub fn load(address: u64, size: u8, orders: bool, pc: u64) -> u64 {
    if !active() || is_ours(address) {
        return read_value(address, size);
    }
    loop {
        let value = look(address, size, orders, pc);
        if current().spins.with(|spins| spins.is_steady(pc)) && skip() || skip_turns(&Look { pc, address, size, value })
        {
            continue;
        }
        return value;
    }
}

fn look(address: u64, size: u8, orders: bool, pc: u64) -> u64 {
    traced(address, size, pc, AccessKind::AtomicLoad);
    if shown::all_accesses() {
        delays::atomic(address, size, pc, AccessKind::AtomicLoad);
    }
    let mut event = event(What::AtomicLoad, address, u32::from(size), pc, AccessKind::AtomicLoad);
    event.awaited = hot().wrote.get() == 0 && current().spins.with(|spins| spins.continues(pc, address));
    let value = issue(&mut event).value;
    // Perhaps the simulator could not read it: then the program cannot, either.
    if value == 0 && peek::touch_to_read(ProgramMemory.held_at(address)) {
        return look(address, size, orders, pc);
    }
    looked(address, pc, size, value, AccessKind::AtomicLoad, orders);
    value
}

/// Returns when the store takes effect, as far as is known.
pub fn store(address: u64, size: u8, value: u64, pc: u64) -> Ticks {
    if !active() || is_ours(address) {
        store_buffer::write_value(address, size, value);
        return hot().clock.get();
    }
    peek::touch_to_write(ProgramMemory.held_at(address), size);
    traced(address, size, pc, AccessKind::AtomicStore);
    hot().wrote.set(1);
    keeps_to_stack(address);
    if shown::all_accesses() {
        delays::atomic(address, size, pc, AccessKind::AtomicStore);
    }
    let what = What::AtomicStore(value);
    let effects = issue(&mut event(what, address, u32::from(size), pc, AccessKind::AtomicStore));
    unhooked::note_store(pc);
    let effect = effects.outcome.effect;
    LOCKS.with(|locks| locks.stored(address, effect));
    effect
}

/// A store of sequential consistency, which is an exchange whose old value nobody looks at: it takes no lock.
fn store_in_order(address: u64, size: u8, value: u64, pc: u64) {
    let old = update_as(Updates::Stores, address, size, pc, |_| Some(value));
    if old != value && active() {
        LOCKS.with(|locks| locks.stored(address, hot().clock.get()));
    }
}

/// A simulated read-modify-write: `f` gets the old value and gives the new one, if there is to be one.
/// Returns the old value.
pub fn update(address: u64, size: u8, pc: u64, f: impl FnOnce(u64) -> Option<u64>) -> u64 {
    update_as(Updates::May, address, size, pc, f)
}

#[inline]
fn update_as(what: Updates, address: u64, size: u8, pc: u64, f: impl FnOnce(u64) -> Option<u64>) -> u64 {
    let simulated = active() && !is_ours(address);
    if simulated {
        arrive_to_update(address, size, pc);
    }
    let old = read_value(address, size);
    let new = f(old);
    if let Some(new) = new {
        store_buffer::write_value(address, size, new);
    }
    if simulated {
        let what = if what == Updates::Fails && new.is_some() { Updates::Swaps } else { what };
        settle_on(what, address, size, pc, old, new.is_some_and(|new| new != old));
    }
    old
}

/// Ahead of an update that the program carries out in its next instructions, if it finds what it expects.
extern "C" fn announced(address: u64, pc: u64) {
    if active() && !is_ours(address) {
        arrive_to_update(address, 1, pc);
        stores_anywhere();
    }
}
with_pc! { __corefold_atomic_store "rsi" announced; }

/// The line of `size` bytes has arrived, and they can be written.
pub fn arrive_to_update(address: u64, size: u8, pc: u64) {
    loop {
        arrive(address, size, pc);
        if !peek::touch_to_write(ProgramMemory.held_at(address), size) {
            return;
        }
    }
}

/// A read-modify-write that the program itself carries out: its line arrives, so that it may do so now.
pub fn arrive(address: u64, size: u8, pc: u64) {
    if !is_ours(address) {
        arrive_on(address, size, pc);
    }
}

/// The program has carried it out.
pub fn settle(address: u64, size: u8, pc: u64, old: u64, changed: bool) {
    if !is_ours(address) {
        settle_on(Updates::May, address, size, pc, old, changed);
    }
}

#[inline]
fn arrive_on(address: u64, size: u8, pc: u64) {
    traced(address, size, pc, AccessKind::Rmw);
    if shown::all_accesses() {
        delays::atomic(address, size, pc, AccessKind::Rmw);
    }
    if split::is_split(address, size) {
        split::arrive(address, size, pc);
        return store_buffer::flush(hot().clock.get());
    }
    let ahead = run_ahead::is_ahead(running_cpu());
    issue(&mut event(What::Update, address, u32::from(size), pc, AccessKind::Rmw));
    awaited::updated(running_cpu(), pc, ahead);
}

/// What an update is to the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Updates {
    /// It may take a lock, and may have failed if it changed nothing.
    May,
    /// The same: it sets or clears these bits.
    Bits(u64),
    /// The same, with a new value that does not depend on the old one.
    Exchanges,
    /// A compare-and-swap that has failed, or not.
    Fails,
    Swaps,
    /// A store.
    Stores,
}

#[inline]
fn settle_on(what: Updates, address: u64, size: u8, pc: u64, old: u64, changed: bool) {
    if !changed {
        if what == Updates::Fails && wrote() {
            // Such as the expected value, which it has overwritten.
            current().spins.with(|spins| spins.failed(pc, address, old));
        }
        // A failed compare-and-swap is mispredicted: compilers and predictors expect success.
        run_ahead::lost(running_cpu());
        let asks = match what {
            Updates::Bits(bits) => bits,
            _ => 0,
        };
        looked_for(asks, address, pc, size, old, AccessKind::Rmw, true);
        return;
    }
    if keeps_to_stack(address) {
        return;
    }
    if what == Updates::Stores {
        hot().wrote.set(WROTE);
        return;
    }
    if (what == Updates::Swaps || !wrote()) && current().spins.with(|spins| spins.continues(pc, address)) {
        succeeded(address, pc, size, old);
    }
    let again = hot().wrote.get() == TRIED && current().spins.with(|spins| spins.waits.tried(address));
    if wrote() && !again {
        current().ends_spin();
        current().ends_wait();
    }
    let new = read_value(address, size);
    let released = LOCKS.with(|locks| locks.updated(address, (old, new), again));
    hot().wrote.set(if released { WROTE } else { TRIED });
    let fiber = current();
    let update = Update { address, old, new, exchange: what == Updates::Exchanges };
    fiber.spins.with(|spins| spins.tries(update, fiber.time.get().stall));
}

/// The instruction `mfence`.
pub fn fence() {
    if active() {
        issue(&mut Event::fence(running_cpu()));
    }
}

macro_rules! atomic_hooks {
    ($module:ident $type:ty, $atomic:ty, $bytes:literal, $load:ident $store:ident $exchange:ident $add:ident $sub:ident
     $and:ident $or:ident $xor:ident $nand:ident $strong:ident $weak:ident $value:ident) => {
        mod $module {
            use super::*;
            extern "C" fn load(at: u64, order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).load(SeqCst);
                }
                super::load(at, $bytes, order != RELAXED, pc) as $type
            }
            extern "C" fn store(at: u64, value: $type, order: u32, pc: u64) {
                if !active() {
                    return native(at).store(value, SeqCst);
                }
                if order == SEQ_CST {
                    super::store_in_order(at, $bytes, value as u64, pc);
                } else {
                    super::store(at, $bytes, value as u64, pc);
                }
            }
            fn native(at: u64) -> &'static $atomic {
                // SAFETY: the program's atomic object; used only where nothing is simulated.
                unsafe { &*(at as *const $atomic) }
            }
            extern "C" fn exchange(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).swap(value, SeqCst);
                }
                update_as(Updates::Exchanges, at, $bytes, pc, |_| Some(value as u64)) as $type
            }
            extern "C" fn add(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_add(value, SeqCst);
                }
                update(at, $bytes, pc, |old| Some((old as $type).wrapping_add(value) as u64)) as $type
            }
            extern "C" fn sub(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_sub(value, SeqCst);
                }
                update(at, $bytes, pc, |old| Some((old as $type).wrapping_sub(value) as u64)) as $type
            }
            extern "C" fn and(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_and(value, SeqCst);
                }
                update_as(Updates::Bits(!value as u64), at, $bytes, pc, |old| Some(old & value as u64)) as $type
            }
            extern "C" fn or(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_or(value, SeqCst);
                }
                update_as(Updates::Bits(value as u64), at, $bytes, pc, |old| Some(old | value as u64)) as $type
            }
            extern "C" fn xor(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_xor(value, SeqCst);
                }
                update(at, $bytes, pc, |old| Some(old ^ value as u64)) as $type
            }
            extern "C" fn nand(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_nand(value, SeqCst);
                }
                update(at, $bytes, pc, |old| Some(!(old as $type & value) as u64)) as $type
            }
            /// Expected value in, found value out.
            fn compare(at: u64, expected: $type, value: $type, pc: u64) -> $type {
                if !active() {
                    return native(at).compare_exchange(expected, value, SeqCst, SeqCst).unwrap_or_else(|found| found);
                }
                let swapped = |old| (old as $type == expected).then_some(value as u64);
                update_as(Updates::Fails, at, $bytes, pc, swapped) as $type
            }
            extern "C" fn swap_if(at: u64, expected: *mut $type, value: $type, _ok: u32, _else: u32, pc: u64) -> i32 {
                // SAFETY: the compiler passes the address of the expected value.
                let want = unsafe { *expected };
                let found = compare(at, want, value, pc);
                if found != want {
                    // SAFETY: as above. Not on success, when it may be another thread's: that of a push is in the node.
                    unsafe { *expected = found };
                }
                i32::from(found == want)
            }
            extern "C" fn swap_value(at: u64, expected: $type, value: $type, _ok: u32, _else: u32, pc: u64) -> $type {
                compare(at, expected, value, pc)
            }
            with_pc! {
                $store "rcx" store; $exchange "rcx" exchange; $add "rcx" add; $sub "rcx" sub;
                $and "rcx" and; $or "rcx" or; $xor "rcx" xor; $nand "rcx" nand;
                $strong "r9" swap_if; $weak "r9" swap_if; $value "r9" swap_value;
            }
            look_entry! { #[unsafe(no_mangle)] $load "mov rdx, [rsp]" load }
        }
    };
}

atomic_hooks!(bytes1 u8, AtomicU8, 1, __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
    __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or
    __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong
    __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val);
atomic_hooks!(bytes2 u16, AtomicU16, 2, __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
    __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or
    __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong
    __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val);
atomic_hooks!(bytes4 u32, AtomicU32, 4, __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
    __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or
    __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong
    __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val);
atomic_hooks!(bytes8 u64, AtomicU64, 8, __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
    __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or
    __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong
    __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val);

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(order: u32) {
    if !active() {
        core::sync::atomic::fence(SeqCst);
    } else if order == SEQ_CST {
        issue(&mut Event::locked_fence(running_cpu()));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: u32) {}

/// The program's own assembly is about to update these bytes: what it costs.
pub fn annotate(address: u64, size: u8, pc: u64) {
    update(address, size, pc, |_| None);
    // It will change them, which no spin does.
    stores_anywhere();
    current().ends_spin();
}
