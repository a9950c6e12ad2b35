// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces: every access of one thread, written to a buffer of the program's. `corefold.h` has the contract.
//!
//! While the traced thread runs, the CPU's tags match no line, so that every access takes the slow path, where it is
//! written down; what it costs stays the same.
use crate::carrier::Carrier;
use crate::engine::{active, running_cpu, sim};
use crate::hot::hot;
use crate::scheduling::shown;
use crate::state::scheduler::running_fiber;
use crate::storage::relayout::tag_of;
use corefold_model::Tag;
use corefold_recording::AccessKind;
use corefold_sim::Lease;

/// `struct corefold_traced`.
#[repr(C)]
pub struct Traced {
    address: u64,
    pc: u64,
    bytes: u32,
    kind: u32,
}

struct Trace {
    fiber: usize,
    into: *mut Traced,
    most: usize,
    count: usize,
}

/// The thread whose accesses are written down, if any.
static TRACE: Carrier<Option<Trace>> = Carrier::new(None);

/// `fiber` begins to run on the running CPU.
#[inline]
pub fn runs(fiber: usize) {
    let traced = TRACE.with(|trace| trace.as_ref().is_some_and(|trace| trace.fiber == fiber));
    hot().traced.set(traced.into());
    if traced && !shown::all_accesses() {
        hot().trace();
    }
}

/// Writes down an access of the running thread, which is traced.
#[cold]
pub fn saw(address: u64, bytes: u64, pc: u64, what: AccessKind) {
    let kind = match what {
        AccessKind::Read | AccessKind::AtomicLoad => 0,
        AccessKind::Write | AccessKind::AtomicStore => 1,
        _ => 2,
    };
    TRACE.with(|trace| {
        let Some(trace) = trace else { return };
        if trace.count < trace.most {
            let traced = Traced { address, pc, bytes: bytes as u32, kind };
            // SAFETY: the program has said that there is room for so many.
            unsafe { trace.into.add(trace.count).write(traced) };
        }
        trace.count += 1;
    });
}

/// The same for a plain access. True if it costs nothing, as its line is the CPU's own.
#[cold]
pub fn saw_plain(address: u64, bytes: u64, pc: u64, what: AccessKind) -> bool {
    saw(address, bytes, pc, what);
    let (cpu, tag) = (running_cpu(), tag_of(address));
    let own = match what {
        AccessKind::Read => Lease::covers_read(tag, cpu),
        _ => tag == Tag::private_dirty(cpu),
    };
    own && !shown::all_accesses()
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_trace_begin(into: *mut Traced, most: usize) {
    if active() {
        let fiber = running_fiber();
        TRACE.with(|trace| *trace = Some(Trace { fiber, into, most, count: 0 }));
        runs(fiber);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_trace_end() -> usize {
    if !active() {
        return 0;
    }
    let count = TRACE.with(|trace| trace.take()).map_or(0, |trace| trace.count);
    use_tags();
    count
}

/// What the hooks compare with from now on: the running CPU's own tags, unless the running thread is traced.
#[inline]
pub fn use_tags() {
    sim(|sim| sim.use_tags(hot()));
    runs(running_fiber());
}
