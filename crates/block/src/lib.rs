// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a basic block of x86-64 code takes, counting the program's own instructions only.
//!
//! gcc puts `call __sanitizer_cov_trace_pc` at the head of each basic block and hooks of the thread
//! sanitizer beside each access; the return address of the former names the block. `corefold cc` may have
//! put code in the place of such calls (`inline`): the end of that code is then the return address. From
//! there this crate
//! 1. decodes up to the next block (`walk`),
//! 2. describes each instruction by what it reads, writes and takes (`op`, `latency`),
//! 3. leaves out what instrumentation added: arguments of hooks, spills around them, separately stepped
//!    pointers and counters (`liveness`, `folding`, `counters`),
//! 4. sums issue slots and, for blocks of a loop, runs the loop through a small out-of-order
//!    pipeline, so that chains of dependent instructions cost their latency (`pipeline`, `cycles`).
//!
//! Code that was built with hooks at its accesses only has no blocks to name: the cost from one hook to
//! the next is estimated from the shortest path through the code between them (`between`, `paths`).
//!
//! Loads are first-level hits here: the model adds the cost of misses and atomic operations. The engine adds that of
//! mispredicted branches: this crate finds a branch's targets ([`branch_paths`]) and has the predictor ([`Predictor`]).
#![no_std]
extern crate alloc;

mod awaiting;
mod before;
mod between;
mod branch;
mod cas_retry;
pub mod clang;
mod code;
mod counters;
mod cycles;
mod folding;
pub mod inline;
pub mod inline_assembly;
mod instruction;
mod latency;
mod liveness;
mod op;
mod part;
mod path;
mod paths;
mod pipeline;
mod predictor;
mod results;
mod retry_loop;
pub mod rustc;
mod set;
mod target;
mod trail;
pub mod turn;
mod unhooked;
mod values;
mod walk;

pub use awaiting::Awaiting;
pub use between::{LEAVES, between};
pub use branch::paths as branch_paths;
pub use code::{Bias, Code, Core, Cost, Hook, Place};
pub use predictor::{History, Predictor};
pub use results::{Results, results};
pub use target::call_leaves;
pub use trail::{Pairs, Trail};
pub use unhooked::{Unhooked, calls_unhooked, comes_by_a_hook, unhooked_calls};

use alloc::vec::Vec;
use op::TICKS;
use path::Path;

/// The cost of the block whose `__sanitizer_cov_trace_pc` call returns to `return_address`, or whose inline
/// hook ends there.
///
/// Pure in its arguments: callers cache the answer. An unreadable address costs nothing.
pub fn cost(code: &impl Code, return_address: u64, core: &Core) -> Cost {
    cost_called(code, return_address, None, core)
}

/// The same in a function that returns to `returns_to`: where no loop of its own leads through the block, one of its
/// caller may.
pub fn cost_called(code: &impl Code, return_address: u64, returns_to: Option<u64>, core: &Core) -> Cost {
    cost_at(code, Place { head: return_address, returns_to, trip_count: None }, core).cost
}

pub struct Found {
    pub cost: Cost,
    /// The block of an inner loop on whose trip count the cost depends: the block itself or one on its path
    /// round.
    pub inner: Option<u64>,
    /// The blocks of the loops around it: the biases of their branches decide the cost, too.
    pub around: Vec<u64>,
}

/// What the block at `place` costs.
pub fn cost_at(code: &impl Code, place: Place, core: &Core) -> Found {
    let walk = walk::walk(code, place.head);
    let path = Path::hooked(&walk.steps, core);
    let flat = path.flat_ticks(core);
    let found = cycles::in_loops(code, place, walk, flat, core);
    let cost = Cost { sixteenths: pipeline::sixteenths(found.ticks), instructions: path.instructions() };
    Found { cost, inner: found.inner, around: found.blocks }
}

/// How many `pause` instructions the block at `head` has, up to the next block.
pub fn pauses(code: &impl Code, head: u64) -> u32 {
    walk::walk(code, head).steps.iter().map(walk::Step::pauses).sum()
}

/// How many instructions of the program's own the block at `head` has, up to the next block.
pub fn instructions(code: &impl Code, head: u64, core: &Core) -> u32 {
    Path::hooked(&walk::walk(code, head).steps, core).instructions()
}

/// The cost of instructions executed in the order of `addresses`, as single-stepping a program without
/// hooks records them: the reference that [`cost`] is compared with.
pub fn trace(code: &impl Code, addresses: &[u64], core: &Core) -> Cost {
    let steps = walk::follow(code, addresses);
    let path = Path::plain(&steps, core);
    let least = path.flat_ticks(core).max(path.taken_branches() * u64::from(core.taken_branch) * TICKS);
    let ticks = pipeline::run(path.ops.iter(), core).max(least);
    Cost { sixteenths: pipeline::sixteenths(ticks), instructions: path.instructions() }
}
