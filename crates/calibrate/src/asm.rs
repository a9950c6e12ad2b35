// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is timed, instruction by instruction: the compiler must not touch it.
//!
//! Each function repeats its instruction [`REPEATS`] times without a loop, but for the few that say otherwise.
use core::arch::asm;

pub const REPEATS: u64 = 200;

/// The time-stamp counter, once all before it is done and before anything after it begins.
#[inline(always)]
pub fn now() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter.
    unsafe { asm!("rdtscp", "lfence", out("eax") low, out("edx") high, out("ecx") _, options(nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

macro_rules! repeated {
    ($($(#[$note:meta])* $name:ident $instruction:literal;)*) => {$(
        $(#[$note])*
        pub fn $name(at: &mut [u64; 8]) {
            let at: *mut u64 = at.as_mut_ptr();
            // SAFETY: reads and writes the bytes that are passed, and registers that it names.
            unsafe {
                asm!("/* {at} */", ".rept 200", $instruction, ".endr", at = in(reg) at, inout("rax") 1u64 => _,
                    inout("rcx") 1u64 => _)
            };
        }
    )*};
}

repeated! {
    /// Zero idioms, which cores since Sandy Bridge and Zen eliminate at rename. (Zen 4 fuses a `nop` with another or with
    /// one of these.)
    zeros "xor ecx, ecx";
    pause "pause";
    fetch_add "lock xadd [{at}], rcx";
    lock_add "lock add qword ptr [{at}], 1";
    exchange "xchg [{at}], rcx";
    compare_exchange "lock cmpxchg [{at}], rcx";
    locked "lock add qword ptr [{at}], 1; lock xadd [{at}], rcx; xchg [{at}], rcx; lock cmpxchg [{at}], rcx";
    mfence "mfence";
    stores "mov [{at}], rcx";
    /// Each loads what the last one stored, by an address that a core does not recognise while it renames registers.
    renewed_additions "lea rcx, [{at} - 8]; add qword ptr [rcx + rax * 8], 1";
    /// The load gets what the locked operation before it wrote; the next of these waits for the load.
    reloads "lock add qword ptr [{at}], 1; mov rcx, [{at}]";
}

/// [`REPEATS`] additions, ten a round of a loop: Zen 3 recognises by the instruction which store a load gets its value from,
/// and has room for 10 to 15 of them.
macro_rules! looped {
    ($($(#[$note:meta])* $name:ident $operand:literal;)*) => {$(
        $(#[$note])*
        pub fn $name(at: &mut [u64; 8]) {
            // SAFETY: changes the first of the words, and a register.
            unsafe {
                asm!("2:", ".rept 10", concat!("add qword ptr [", $operand, "], 1"), ".endr", "dec {n}", "jnz 2b",
                    "/* {one} */", at = in(reg) at.as_mut_ptr(), one = in(reg) 1u64, n = inout(reg) REPEATS / 10 => _,
                    options(nostack))
            };
        }
    )*};
}

looped! {
    /// Each loads what the last one stored.
    additions "{at}";
    /// As that, by a register and an index.
    indexed_additions "{at} + {one} * 8 - 8";
}

/// Increments of a counter that a store of its own resets after each 32.
pub fn counts(at: &mut [u64; 8]) {
    // SAFETY: changes the first of the words, and two registers.
    unsafe {
        asm!("2: mov {c}, [{at}]", "add {c}, 1", "mov [{at}], {c}", "dec {n}", "jz 3f", "cmp {c}, 32", "jb 2b",
            "mov qword ptr [{at}], 0", "jmp 2b", "3:", at = in(reg) at.as_mut_ptr(), c = out(reg) _, n = inout(reg) REPEATS => _,
            options(nostack))
    };
}

/// Jumps that are all taken, each to code of its own, twenty a round: few enough for the fastest part of a branch
/// predictor.
pub fn jumps(_: &mut [u64; 8]) {
    // SAFETY: changes one register.
    unsafe {
        asm!("3:", ".rept 19", "jmp 2f", ".p2align 5", "2:", ".endr", "dec {n}", "jnz 3b",
            n = inout(reg) REPEATS / 20 => _, options(nostack, nomem))
    };
}

/// A branch for each bit of the words, which is taken where it is set and leads to the next either way: each in code of
/// its own, as predictors keep few of them a line.
#[inline(never)]
pub fn branches(words: &[u64]) {
    let range = words.as_ptr_range();
    // SAFETY: reads the words, of which there are some.
    unsafe {
        asm!("3: mov {word}, [{at}]", ".rept 64", "shr {word}, 1", "jc 2f", ".p2align 5", "2:", ".endr", "add {at}, 8",
            "cmp {at}, {end}", "jne 3b", word = out(reg) _, at = inout(reg) range.start => _, end = in(reg) range.end,
            options(nostack, readonly))
    };
}

/// Multiplications, twenty a round, of which each waits for the last: three cycles on every x86-64 processor
/// since 2008. (Additions may take less than one: some processors carry them out while they rename.)
#[inline(never)]
pub fn multiplications(rounds: u64) {
    // SAFETY: changes registers only.
    unsafe {
        asm!("2:", ".rept 20", "imul {a}, {a}", ".endr", "dec {n}", "jnz 2b", a = inout(reg) 1u64 => _,
            n = inout(reg) rounds => _, options(nostack, nomem))
    };
}

/// Loads of a word that is zero, twenty a round, of which each has the next one's index.
#[inline(never)]
pub fn loads(zero: &u64, rounds: u64) {
    // SAFETY: reads a word of ours.
    unsafe {
        asm!("2:", ".rept 20", "mov {a}, [{at} + {a}]", ".endr", "dec {n}", "jnz 2b", a = inout(reg) 0u64 => _,
            at = in(reg) zero, n = inout(reg) rounds => _, options(nostack, readonly))
    };
}

/// Follows pointers for so many steps; returns the last.
#[inline(never)]
pub fn chase(start: *const u64, steps: u64) -> *const u64 {
    let mut at = start;
    // SAFETY: every word on the way holds the address of the next.
    unsafe {
        asm!("2: mov {at}, [{at}]", "dec {n}", "jnz 2b", at = inout(reg) at, n = inout(reg) steps => _,
            options(nostack, readonly))
    };
    at
}

/// Words of as many lines as have numbers.
pub const EVERY_LINE: usize = 8 << 16;

macro_rules! line_by_line {
    ($($(#[$note:meta])* $name:ident $access:literal;)*) => {$(
        $(#[$note])*
        #[inline(never)]
        pub fn $name(memory: &mut [u64], lines: &[u16]) {
            // Every number is that of a line: to look at each would take as long as what is timed.
            assert!(lines.len().is_multiple_of(4) && memory.len() >= EVERY_LINE);
            let end = lines.as_ptr_range().end;
            // SAFETY: accesses a word of each of these lines, which are the slice's.
            unsafe {
                asm!("2:", ".irp by, 0, 2, 4, 6", "movzx eax, word ptr [{l} + \\by]", "shl eax, 6", $access, ".endr",
                    "add {l}, 8", "cmp {l}, {e}", "jb 2b", l = inout(reg) lines.as_ptr() => _, e = in(reg) end,
                    m = in(reg) memory.as_mut_ptr(), out("rax") _, out("rcx") _, options(nostack))
            };
        }
    )*};
}

line_by_line! {
    /// Loads that do not wait for each other, a line each, in the order of the list; four a round.
    load_lines "mov rcx, [{m} + rax]";
    store_lines "mov [{m} + rax], rcx";
}

/// As [`chase`], and adds nothing to the second word of each on the way, atomically; the next step waits for it.
#[inline(never)]
pub fn chase_updating(start: *const u64, steps: u64) -> *const u64 {
    let mut at = start;
    // SAFETY: every word on the way holds the address of the next, and has a word of ours after it.
    unsafe {
        asm!("2: xor eax, eax", "lock xadd [{at} + 8], rax", "and rax, 0", "add {at}, rax", "mov {at}, [{at}]",
            "dec {n}", "jnz 2b", at = inout(reg) at, n = inout(reg) steps => _, out("rax") _, options(nostack))
    };
    at
}

/// Waits until all stores have left the store buffer.
pub fn drain() {
    // SAFETY: changes nothing.
    unsafe { asm!("mfence", options(nostack)) };
}

/// Loads from two addresses with instructions between them.
pub type TwoLoads = fn(*const u64, *const u64);

macro_rules! apart {
    ($($count:literal)*) => {
        /// By how many instructions lie between; the first are few and the last more than any core has under way. `mov`
        /// and `nop` alternate: a core has fewer physical registers than reorder-buffer entries, and Zen 4 fuses adjacent
        /// `nop`s.
        pub const APART: &[(u64, TwoLoads)] = &[$(($count, {
            fn loads(first: *const u64, second: *const u64) {
                // SAFETY: both are mapped.
                unsafe {
                    asm!("mov {t}, [{a}]", concat!(".rept ", $count, " / 2"), "nop", "mov {n:e}, 1", ".endr",
                        "mov {t}, [{b}]", a = in(reg) first, b = in(reg) second, t = out(reg) _, n = out(reg) _,
                        options(nostack, readonly))
                };
            }
            loads
        })),*];
    };
}

apart! { 16 64 96 128 160 192 224 256 320 352 384 448 512 576 640 768 1024 1536 }

/// Drops a line from all caches.
pub fn flush(line: *const u64) {
    // SAFETY: the line is mapped; what it holds does not change.
    unsafe { asm!("clflush [{0}]", "mfence", in(reg) line, options(nostack)) };
}

/// Stores to `missing` and then `count` times, an even number, alternately to two lines, as Zen 4 coalesces consecutive
/// stores to one; ticks until all of it has retired, though not left the store buffer.
pub fn stores_behind_a_miss(missing: &mut u64, held: &mut [u64; 16], count: u64) -> u64 {
    let (missing, held): (*mut u64, *mut [u64; 16]) = (missing, held);
    let begun = now();
    // SAFETY: both are ours to write.
    unsafe {
        asm!("mov [{m}], {n}", "2: mov [{h}], {n}", "mov [{h} + 64], {n}", "dec {n}", "jnz 2b", m = in(reg) missing,
            h = in(reg) held, n = inout(reg) count.div_ceil(2).max(1) => _, options(nostack))
    };
    now() - begun
}

/// [`REPEATS`] additions that are not atomic to a word whose line another CPU may write to.
pub fn add_plainly(word: &core::sync::atomic::AtomicU64) {
    // SAFETY: changes the word.
    unsafe { asm!(".rept 200", "add qword ptr [{at}], 1", ".endr", at = in(reg) word.as_ptr(), options(nostack)) };
}

/// As many stores.
pub fn store_plainly(word: &core::sync::atomic::AtomicU64) {
    // SAFETY: changes the word.
    unsafe { asm!(".rept 200", "mov qword ptr [{at}], 1", ".endr", at = in(reg) word.as_ptr(), options(nostack)) };
}

/// Adds to a contended word; returns what was there.
#[inline(always)]
pub fn add(word: &core::sync::atomic::AtomicU64) -> u64 {
    word.fetch_add(1, core::sync::atomic::Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is timed is divided by [`REPEATS`], however it is repeated.
    #[test]
    fn additions_to_a_word_are_as_many_as_they_are_taken_for() {
        for add in [additions, indexed_additions, renewed_additions] {
            let mut words = [0; 8];
            add(&mut words);
            assert_eq!(words, [REPEATS, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
}
