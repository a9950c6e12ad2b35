// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose place a stack of calls is: functions of libraries, and those that only wrap a lock, stand for their callers.
use crate::code::Frame;
use crate::space::Space;
use crate::types::Place;
use crate::wrapper::{called_by, is_wrapper};

/// The functions at calls that return to these addresses, innermost first.
pub(crate) fn frames<'a>(space: &Space<'_>, calls: impl Iterator<Item = &'a u64>) -> Vec<Frame> {
    calls.flat_map(|pc| space.callers_at(*pc).to_vec()).collect()
}

/// Where the program calls, if that is known; else where a package does that cargo has fetched for it, or its library: the
/// last of the first `innermost` frames. A caller of Rust's names the function that it calls, in brackets.
pub(crate) fn in_program(frames: &[Frame], innermost: usize) -> Place {
    let is_own = |frame: &Frame| !is_library(frame) && !is_fetched(frame);
    let first = |wanted: &dyn Fn(&Frame) -> bool| frames.iter().position(wanted);
    let own = first(&is_own).or_else(|| first(&|frame| !is_library(frame))).unwrap_or(innermost - 1);
    let called = own.checked_sub(1).map(|at| frames[at].place());
    called_by(frames[own].place(), called.as_ref())
}

/// Where a thread is that has this stack: of Rust, whose library is inlined everywhere, in the program.
pub(crate) fn place(space: &Space<'_>, stack: &[u64]) -> Option<Place> {
    let innermost = space.call_place(*stack.first()?)?;
    let is_rust = innermost.file.as_deref().is_some_and(|file| file.ends_with(".rs"));
    if !is_rust {
        return Some(innermost);
    }
    let frames = frames(space, stack.iter());
    Some(if frames.iter().all(is_library) { innermost } else { in_program(&frames, 1) })
}

/// Is it of a package that the program depends on?
fn is_fetched(frame: &Frame) -> bool {
    let folders = ["/registry/src/", "/git/checkouts/"];
    frame.file.as_deref().is_some_and(|file| folders.iter().any(|folder| file.contains(folder)))
}

fn is_library(frame: &Frame) -> bool {
    frame.is_standard_library() || is_wrapper(&frame.function, frame.file.as_deref())
}
