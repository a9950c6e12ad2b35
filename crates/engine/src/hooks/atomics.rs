// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations: carried out here, at the moment their line arrives.
use crate::account::trace;
use crate::engine::{active, current, engine, tag_of};
use crate::entry::with_pc;
use crate::hooks::access::{charge_blame, is_quiet, looked, origin, read_value, timed};
use crate::hooks::hot::{hot, look_entry};
use crate::hooks::{run_ahead, split, store_buffer};
use crate::scheduling::spin_skip::skip;
use crate::scheduling::{perturb, sched};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};
use corefold_model::{Blame, Kind, Tag, ticks};
use corefold_recording::AccessKind;

/// `__ATOMIC_RELAXED` and `__ATOMIC_SEQ_CST`, as the hooks' order argument has them.
const RELAXED: u32 = 0;
const SEQ_CST: u32 = 5;

/// Is the address in memory of the runtime, as a coz counter is? Such accesses cost nothing.
fn is_ours(address: u64) -> bool {
    address.wrapping_sub(crate::layout::RUNTIME) < crate::layout::RUNTIME_BYTES
}

#[inline]
fn traced(address: u64, size: u8, pc: u64, what: AccessKind) {
    if hot!().traced != 0 {
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
        if !current().spins.is_steady(pc) || !skip() {
            return value;
        }
    }
}

fn look(address: u64, size: u8, orders: bool, pc: u64) -> u64 {
    traced(address, size, pc, AccessKind::AtomicLoad);
    if perturb::on() {
        perturb::atomic(address, size, pc, AccessKind::AtomicLoad);
    }
    let cpu = engine().sim.cpu as u32;
    if is_quiet(address, cpu, false) {
        return loaded(address, size, orders, pc);
    }
    let again = hot!().wrote == 0 && current().spins.continues(pc, address);
    let kind = if again { Kind::LoadAwaited } else { Kind::Load };
    let asked = hot!().clock;
    timed(address, pc, u32::from(size), kind, AccessKind::AtomicLoad);
    if hot!().clock > asked {
        // The value is that of now: the CPU that had the line before may still be behind in virtual time.
        sched::sync();
    }
    loaded(address, size, orders, pc)
}

/// The value that a load finds now.
fn loaded(address: u64, size: u8, orders: bool, pc: u64) -> u64 {
    store_buffer::flush(sched::shown());
    let value = read_value(address, size);
    looked(address, pc, size, value, AccessKind::AtomicLoad, orders);
    value
}

pub fn store(address: u64, size: u8, value: u64, pc: u64) {
    if !active() || is_ours(address) {
        return store_buffer::write_value(address, size, value);
    }
    traced(address, size, pc, AccessKind::AtomicStore);
    hot!().wrote = 1;
    if perturb::on() {
        perturb::atomic(address, size, pc, AccessKind::AtomicStore);
    }
    let cpu = engine().sim.cpu as u32;
    run_ahead::catch_up(cpu);
    make_room(cpu);
    let before = *tag_of(address);
    let mut effect = timed(address, pc, u32::from(size), Kind::AtomicStore, AccessKind::AtomicStore).effect;
    if value == 0 {
        engine().locks.stored(address, effect);
    }
    if perturb::on() {
        effect = perturb::stored(address, size, pc, effect);
    }
    if effect <= hot!().clock && !store_buffer::any_of(cpu) {
        return store_buffer::write_value(address, size, value);
    }
    keep_clean(address, cpu, before);
    store_buffer::defer(cpu, address, size, value, effect, pc);
}

/// Waits until the running CPU's store buffer has room for one more store.
#[inline]
fn make_room(cpu: u32) {
    if let Some(store) = store_buffer::in_the_way(cpu) {
        await_store(cpu, &store);
    }
}

/// Waits until all stores of the running CPU have committed, however often their lines have to be requested again.
#[inline]
pub fn await_own_stores(cpu: u32) {
    while let Some(store) = store_buffer::youngest(cpu) {
        await_store(cpu, &store);
    }
}

#[cold]
fn await_store(cpu: u32, store: &corefold_sim::Store) {
    let stall = store.effect.saturating_sub(hot!().clock);
    hot!().clock += stall;
    let origin = origin(store.pc, AccessKind::AtomicStore, u32::from(store.size));
    charge_blame(cpu, &Blame { address: store.address, origin, stall });
    sched::sync();
    store_buffer::flush(hot!().clock);
}

/// A store waits on a line that is the CPU's own since it asked for it. The line counts as clean: plain stores to it take
/// the slow path and wait as well, and another CPU that asks for it finds it as it was ([`store_buffer::reveal`]).
fn keep_clean(address: u64, cpu: u32, before: Tag) {
    let tag = tag_of(address);
    if *tag == Tag::private_dirty(cpu) && before != *tag {
        *tag = Tag::private_clean(cpu);
    }
}

/// A simulated read-modify-write: `f` gets the old value and gives the new one, if there is to be one.
/// Returns the old value.
pub fn update(address: u64, size: u8, pc: u64, f: impl FnOnce(u64) -> Option<u64>) -> u64 {
    let simulated = active() && !is_ours(address);
    if simulated {
        arrive_on(address, size, pc);
    }
    let old = read_value(address, size);
    let new = f(old);
    if let Some(new) = new {
        store_buffer::write_value(address, size, new);
    }
    if simulated {
        settle_on(address, size, pc, old, new.is_some_and(|new| new != old));
    }
    old
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
        settle_on(address, size, pc, old, changed);
    }
}

#[inline]
fn arrive_on(address: u64, size: u8, pc: u64) {
    traced(address, size, pc, AccessKind::Rmw);
    if perturb::on() {
        perturb::atomic(address, size, pc, AccessKind::Rmw);
    }
    if split::is_split(address, size) {
        split::arrive(address, size, pc);
        return store_buffer::flush(hot!().clock);
    }
    let outcome = timed(address, pc, u32::from(size), Kind::Rmw, AccessKind::Rmw);
    if outcome.transfer.is_some() || outcome.stall > 0 {
        // The operation takes effect when the line has arrived; CPUs that are behind run first.
        let rest = outcome.done - outcome.effect;
        hot!().clock -= rest;
        sched::sync();
        hot!().clock += rest;
    }
    store_buffer::flush(hot!().clock);
}

#[inline]
fn settle_on(address: u64, size: u8, pc: u64, old: u64, changed: bool) {
    if !changed {
        // A failed compare-and-swap is mispredicted: compilers and predictors expect success.
        run_ahead::lost(engine().sim.cpu as u32);
        looked(address, pc, size, old, AccessKind::Rmw, true);
        return;
    }
    hot!().wrote = 1;
    if old == 0 {
        engine().locks.taken(address);
    } else if read_value(address, size) == 0 {
        engine().locks.stored(address, hot!().clock);
    }
}

/// A full fence.
pub fn fence() {
    if !active() {
        return;
    }
    let cpu = engine().sim.cpu as u32;
    run_ahead::end(cpu);
    let before = hot!().clock;
    let drained = engine().sim.model.drain(cpu, before);
    crate::hooks::access::charge_late(cpu);
    hot!().clock = drained;
    await_own_stores(cpu);
    hot!().clock += ticks(engine().launch.machine.core.fence);
    store_buffer::flush(hot!().clock);
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
                    update(at, $bytes, pc, |_| Some(value as u64));
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
                update(at, $bytes, pc, |_| Some(value as u64)) as $type
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
                update(at, $bytes, pc, |old| Some(old & value as u64)) as $type
            }
            extern "C" fn or(at: u64, value: $type, _order: u32, pc: u64) -> $type {
                if !active() {
                    return native(at).fetch_or(value, SeqCst);
                }
                update(at, $bytes, pc, |old| Some(old | value as u64)) as $type
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
                update(at, $bytes, pc, |old| (old as $type == expected).then_some(value as u64)) as $type
            }
            extern "C" fn swap_if(at: u64, expected: *mut $type, value: $type, _ok: u32, _else: u32, pc: u64) -> i32 {
                // SAFETY: the compiler passes the address of the expected value.
                let want = unsafe { *expected };
                let found = compare(at, want, value, pc);
                // SAFETY: as above.
                unsafe { *expected = found };
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
        fence();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: u32) {}

/// The program's own assembly is about to update these bytes: what it costs.
pub fn annotate(address: u64, size: u8, pc: u64) {
    update(address, size, pc, |_| None);
    // It will change them, which no spin does.
    hot!().wrote = 1;
    current().ends_spin();
}
