// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the program allocates and maps.
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::storage::alloc_sites::SITE_DEPTH;
use crate::storage::objects;
use corefold_recording::Mapping;

/// The number of the place that allocates or maps `size` bytes now.
pub fn site_number(pc: u64, size: u64, mapping: Option<Mapping>) -> u32 {
    let mut stack = [0; SITE_DEPTH];
    stack[0] = pc;
    let called_at = Some(current().called_at.get()).filter(|pc| *pc != 0);
    let callers = called_at.into_iter().chain(current().calls(hot().frames.get()));
    stack[1..].iter_mut().zip(callers).for_each(|(slot, pc)| *slot = pc);
    objects::site_number(stack, size, mapping)
}
