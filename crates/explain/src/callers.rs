// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who calls a function of Rust's library: by the stacks that were sampled.
use crate::code::Frame;
use crate::space::Space;
use corefold_recording::Stack;

/// The functions from the one at `pc` outward, as each stack that is in it has them, with the time sampled there.
pub(crate) fn of_function<'a>(
    pc: u64,
    stacks: &'a [Stack],
    space: &'a Space<'_>,
) -> impl Iterator<Item = (Vec<Frame>, u64)> + 'a {
    let entry = space.entry(pc - 1);
    stacks.iter().filter_map(move |stack| {
        let (inner, calls) = stack.frames.split_first()?;
        let is_it = entry.is_some() && space.entry(*inner) == entry;
        Some((outward(*inner, calls, space)?, stack.time.total())).filter(|_| is_it)
    })
}

/// Stacks are those of hooked functions: each notes the address that it returns to. A library's function without hooks
/// notes none, so that its caller is in the list only as the target of the next call.
fn outward(inner: u64, calls: &[u64], space: &Space<'_>) -> Option<Vec<Frame>> {
    let mut frames = space.frames_at(inner).to_vec();
    let (first, _) = calls.split_first()?;
    let called = space.call_target(*first)?;
    if Some(called) != space.entry(inner) {
        frames.extend(space.frames_at(called).last().cloned());
    }
    frames.extend(calls.iter().flat_map(|call| space.callers_at(*call).to_vec()));
    Some(frames)
}
