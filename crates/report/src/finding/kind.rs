// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kind of code that limits a program, whose accuracy the report quotes.
use super::cause::Cause;
use crate::accuracy::CodeKind;
use crate::hot::Group;
use corefold_explain::Sharing;
use corefold_recording::{AccessKind, LockKind};

/// The kind of code that `cause` makes of a program; `None`: no one kind.
pub fn kind(cause: &Cause) -> Option<CodeKind> {
    match cause {
        Cause::Lines(group) => Some(of_lines(group)),
        Cause::Lock(lock) => Some(match lock.kind {
            LockKind::SpunWord | LockKind::SpinQueue | LockKind::Spinlock => CodeKind::SpinLocks,
            _ => CodeKind::BlockingLocks,
        }),
        Cause::ManyLines => None,
        Cause::Idle(second) => second.as_ref().and_then(|cause| kind(cause)),
        Cause::Function(_) | Cause::Nothing => Some(CodeKind::PrivateData),
    }
}

/// By the most expensive of the accesses that write; lines without writes are shared reads.
fn of_lines(group: &Group) -> CodeKind {
    let writers = group.sites.iter().filter(|site| site.writes());
    match writers.max_by_key(|site| (site.wait(), site.transfers)) {
        _ if group.verdict.sharing == Sharing::ReadOnly => CodeKind::SharedReads,
        Some(site) if matches!(site.kind, AccessKind::Rmw | AccessKind::SplitLock) => CodeKind::ContendedAtomics,
        Some(_) => CodeKind::ContendedStores,
        None => CodeKind::SharedReads,
    }
}
