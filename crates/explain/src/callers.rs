// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose place a stack of calls is: functions of libraries, and those that only wrap a lock, stand for their callers.
use crate::code::Frame;
use crate::space::Space;
use crate::types::Place;
use crate::wrapper::{called_by, is_rust, is_wrapper};

/// The functions at calls that return to these addresses, innermost first. Callers that lie in no module tell nothing: the
/// runtime, which calls a thread's function.
pub(crate) fn frames<'a>(space: &Space<'_>, calls: impl Iterator<Item = &'a u64>) -> Vec<Frame> {
    let known = calls.enumerate().filter(|(depth, pc)| *depth == 0 || space.spot(**pc).is_some());
    known.flat_map(|(_, pc)| space.callers_at(*pc).to_vec()).collect()
}

/// Where the program calls, if that is known; else where its library does: the last of the first `innermost` frames. A
/// caller of Rust's names the function that it calls, in brackets.
pub(crate) fn in_program(frames: &[Frame], innermost: usize) -> Place {
    let own = frames.iter().position(|frame| !is_library(frame)).unwrap_or(innermost - 1);
    called_from(frames, own)
}

/// The same, but that Rust's packages which cargo has fetched stand for their callers as well, where these are known.
pub(crate) fn in_own_packages(frames: &[Frame], innermost: usize) -> Place {
    let is_own = |frame: &Frame| is_rust(frame.file.as_deref()) && !is_library(frame) && !is_fetched(frame);
    let waits_in_fetched = frames.iter().find(|frame| !is_library(frame)).is_some_and(is_fetched);
    match frames.iter().position(is_own).filter(|_| waits_in_fetched) {
        Some(own) => called_from(frames, own),
        None => in_program(frames, innermost),
    }
}

fn called_from(frames: &[Frame], own: usize) -> Place {
    let called = own.checked_sub(1).map(|at| frames[at].place());
    called_by(frames[own].place(), called.as_ref())
}

/// Where a thread is that has this stack: of Rust, whose library is inlined everywhere, in the program.
pub(crate) fn place(space: &Space<'_>, stack: &[u64]) -> Option<Place> {
    let innermost = space.call_place(*stack.first()?)?;
    if !is_rust(innermost.file.as_deref()) {
        return Some(innermost);
    }
    let frames = frames(space, stack.iter());
    Some(if frames.iter().all(is_library) { innermost } else { in_program(&frames, 1) })
}

/// Is it Rust of a package that the program depends on?
fn is_fetched(frame: &Frame) -> bool {
    let in_folder = |file: &str| ["/registry/src/", "/git/checkouts/"].iter().any(|folder| file.contains(folder));
    is_rust(frame.file.as_deref()) && frame.file.as_deref().is_some_and(in_folder)
}

fn is_library(frame: &Frame) -> bool {
    frame.is_standard_library() || is_wrapper(&frame.function, frame.file.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[(&str, &str)]) -> Vec<Frame> {
        let frame =
            |(function, file): &(&str, &str)| Frame { file: Some((*file).into()), ..Frame::named((*function).into()) };
        functions.iter().map(frame).collect()
    }

    const MAP: &str = "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/dashmap-6.2.1/src/lib.rs";
    const POLL: &str = "/home/u/.cargo/git/checkouts/runtime-4f3/src/park.rs";
    const DATABASE: &str = "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/db-0.2.0/port.cc";
    const START: (&str, &str) = ("std::sys::thread::start", "/rustc/1/library/std/src/sys/thread.rs");

    #[test]
    fn a_wait_in_a_fetched_package_is_its_caller_s() {
        let waits = |functions: &[(&str, &str)]| in_own_packages(&frames(functions), 1).function;
        let own = ("Sessions::renew", "src/main.rs");
        assert_eq!(
            waits(&[("Shard::lock", MAP), ("DashMap::get_mut", MAP), own, START]),
            "Sessions::renew [DashMap::get_mut]"
        );
        assert_eq!(waits(&[own, ("Pool::run", POLL), ("main", "src/main.rs")]), "Sessions::renew");
        assert_eq!(waits(&[("Worker::park", POLL), ("Worker::run", POLL), START]), "Worker::park", "nobody called it");
        let c = ("db::Port::lock", DATABASE);
        assert_eq!(waits(&[c, ("main", "bench.cc")]), "db::Port::lock", "a program built from a package's source");
        assert_eq!(waits(&[c, own]), "db::Port::lock");
    }
}
