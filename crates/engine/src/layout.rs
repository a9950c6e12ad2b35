// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where things lie in the simulated process. With fixed places, addresses do not depend on the host,
//! the environment or the directory, and the tables for an address are found by arithmetic.

/// A [`corefold_model::Tag`] for every 64 bytes of the address space.
pub const SHADOW: u64 = corefold_block::inline::SHADOW as u64;
pub const SHADOW_BYTES: u64 = 1 << 43;
pub const SHADOW_SHIFT: u32 = 6;
/// The cost of every basic block, by its address: 4 bytes for each 4 bytes of code.
pub const BLOCK_COSTS: u64 = 0x2000_0000_0000;
pub const BLOCK_BYTES: u64 = 1 << 38;
/// Which bits of a code address index the table. Modules 256 GiB apart would share entries; without
/// address randomisation a program's lie within two narrow bands that do not.
pub const BLOCK_MASK: u64 = (BLOCK_BYTES - 1) & !3;
/// The runtime's own memory.
pub const RUNTIME: u64 = 0x3000_0000_0000;
pub const RUNTIME_BYTES: u64 = 1 << 40;
/// Thread stacks, each with its stack of return addresses.
pub const STACKS: u64 = 0x4000_0000_0000;
pub const STACKS_BYTES: u64 = 1 << 42;
/// The program's anonymous and file mappings.
pub const MAPPINGS: u64 = 0x5000_0000_0000;
pub const MAPPINGS_BYTES: u64 = 1 << 42;
/// One bit for every 16 bytes of the heap: does an object begin there?
pub const HEAP_STARTS: u64 = 0x3800_0000_0000;
/// One bit for every 16 bytes of the heap: was it freed? In schedules drawn from a seed only.
pub const HEAP_FREED: u64 = 0x3880_0000_0000;
/// The program's arguments and environment.
pub const ARGUMENTS: u64 = 0x3900_0000_0000;
pub const ARGUMENTS_BYTES: u64 = 1 << 38;
/// What the heap keeps of each of its arenas.
pub const HEAP_ARENAS: u64 = 0x3980_0000_0000;
pub const HEAP_ARENAS_BYTES: u64 = 16 << 20;
/// Lines that stand for others: see [`crate::storage::relayout`]. Nothing is ever mapped there.
pub const ELSEWHERE: u64 = 0x7000_0000_0000;
pub const ELSEWHERE_BYTES: u64 = 1 << 42;
/// The program's heap.
pub const HEAP: u64 = 0x6000_0000_0000;
pub const HEAP_BYTES: u64 = 1 << 42;
