// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the addresses of a call stack to its functions.
use crate::code::Frame;
use crate::space::Space;
use crate::wrapper::is_rust_atomic;
use std::collections::HashMap;

/// A function's name, and where it begins: two files may have a static function of one name.
pub(crate) type Key = (String, Option<(String, u32)>);

/// The functions of call stacks, each address looked up once.
pub(crate) struct Keys<'a, 'b> {
    space: &'a Space<'b>,
    known: HashMap<u64, Vec<Key>>,
}

impl<'a, 'b> Keys<'a, 'b> {
    pub(crate) fn new(space: &'a Space<'b>) -> Keys<'a, 'b> {
        Keys { space, known: HashMap::new() }
    }

    /// All functions of a stack, innermost first, inlined ones included.
    pub(crate) fn of_stack(&mut self, frames: &[u64]) -> Vec<Key> {
        let mut keys = Vec::new();
        for (depth, address) in frames.iter().enumerate() {
            // All but the innermost are return addresses: the call is before them.
            let pc = if depth == 0 { *address } else { address.saturating_sub(1) };
            // Callers outside of all modules are the simulation's own: they start threads.
            if depth > 0 && self.space.spot(pc).is_none() {
                continue;
            }
            let space = self.space;
            let find = || match space.library_function(pc) {
                Some(name) => vec![(name, None)],
                None => called(&space.frames_at(pc)).map(|frame| key(space, pc, frame)).collect(),
            };
            keys.extend(self.known.entry(pc).or_insert_with(find).iter().cloned());
        }
        keys
    }
}

/// Of library functions that are inlined into each other, only the one that the program calls is named:
/// the others are internal. What Rust's atomic operations cost is their caller's, where it is known.
fn called(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    let is_inner = |depth: usize| frames[depth..].iter().take(2).filter(|f| f.is_standard_library()).count() == 2;
    let is_atomic = |frame: &Frame| frame.file.as_deref().is_some_and(is_rust_atomic);
    let last = frames.len().saturating_sub(1);
    let is_told = move |(depth, frame): &(usize, &Frame)| !is_inner(*depth) && (*depth == last || !is_atomic(frame));
    frames.iter().enumerate().filter(is_told).map(|(_, frame)| frame)
}

fn key(space: &Space<'_>, pc: u64, frame: &Frame) -> Key {
    let declared = space.debug_at(pc).zip(frame.die).and_then(|(debug, die)| debug.declared(die));
    (frame.function.clone(), declared)
}
