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
pub use predictor::{History, Predictor};
pub use results::{Results, results};
pub use target::call_leaves;
pub use trail::{Pairs, Trail};
pub use unhooked::{Unhooked, calls_unhooked, comes_by_a_hook, unhooked_calls};

use alloc::vec::Vec;
use op::TICKS;
use path::Path;

/// The code that blocks are read from, and what the engine knows of it.
pub trait Code {
    /// Up to `len` bytes at `address`; fewer where readable memory ends, none where it is not readable.
    /// Asked for instructions and for slots of the global offset table.
    fn bytes(&self, address: u64, len: usize) -> &[u8];
    /// Up to `len` bytes of code that end at `address`; none if what stands there is not known.
    fn bytes_before(&self, _address: u64, _len: usize) -> &[u8] {
        &[]
    }
    /// Whether a call to `target` is a hook of the runtime. `target` is where the call ends up, after any
    /// stub of the procedure linkage table. Stubs must be bound already (`LD_BIND_NOW`): a lazily bound one
    /// leads nowhere known, and its hook would count as an ordinary call.
    fn hook(&self, target: u64) -> Option<Hook>;
    /// Where the branch leads that ends the block which this return address names, as far as that has been observed.
    fn bias(&self, _block: u64) -> Option<Bias> {
        None
    }
}

/// What a function of the runtime stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `__sanitizer_cov_trace_pc`: a basic block begins.
    Block,
    /// Plain accesses, function entry and exit, and progress points: no instruction of the program.
    Access,
    /// A read-modify-write or a fence, of `__tsan_atomic*`: the call replaces one instruction, whose latency
    /// the model adds. It waits for all that comes before it, and loads after it wait for it.
    Atomic,
    /// One of these that stores only if it finds what it expects, and says whether it did.
    CompareSwap,
    /// The same, which says what it found.
    CompareSwapWord,
    /// `__tsan_atomic_thread_fence`: an instruction only if its order is sequentially consistent.
    Fence,
    /// An atomic load or store: an instruction like its plain kind.
    AtomicLoad,
    AtomicStore,
    /// In inline assembly, ahead of the instruction that it announces: of a locked instruction or a fence the
    /// model adds the latency. Changes no register.
    Ahead,
    /// A call ahead of a locked instruction, whose latency the model adds.
    AheadOfLocked,
    /// In inline assembly: no instruction of the program, and changes no register.
    Beside,
    /// A block begins in inline assembly, or in the middle of a basic block of the compiler's. Changes no register.
    Head,
}

impl Hook {
    /// Whether the hook stands for an instruction of the program.
    fn is_instruction(self) -> bool {
        self.is_update() || matches!(self, Hook::Fence | Hook::AtomicLoad | Hook::AtomicStore)
    }

    /// Whether it stands for a read-modify-write.
    fn is_update(self) -> bool {
        matches!(self, Hook::Atomic | Hook::CompareSwap | Hook::CompareSwapWord)
    }

    /// What a function of the thread sanitizer's interface stands for, by its name.
    pub fn named(symbol: &str) -> Option<Hook> {
        Some(match symbol {
            "__sanitizer_cov_trace_pc" => Hook::Block,
            "__tsan_atomic_signal_fence" | "corefold_progress" => Hook::Access,
            "__tsan_atomic_thread_fence" => Hook::Fence,
            // The program's own copying, under another name.
            _ if symbol.starts_with("__tsan_mem") => return None,
            _ if symbol.starts_with("__tsan_atomic") && symbol.ends_with("_load") => Hook::AtomicLoad,
            _ if symbol.starts_with("__tsan_atomic") && symbol.ends_with("_store") => Hook::AtomicStore,
            _ if symbol.starts_with("__tsan_atomic") && symbol.ends_with("_compare_exchange_val") => {
                Hook::CompareSwapWord
            }
            _ if symbol.starts_with("__tsan_atomic") && symbol.contains("_compare_exchange_") => Hook::CompareSwap,
            _ if symbol.starts_with("__tsan_atomic") => Hook::Atomic,
            _ if symbol.starts_with("__tsan_") => Hook::Access,
            rustc::ANNOUNCES => Hook::AheadOfLocked,
            _ => return None,
        })
    }
}

/// The core parameters that a block's time depends on, in cycles of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Instructions issued a cycle; at least 1.
    pub width: u32,
    pub pause: u32,
    /// A locked read-modify-write that no hook replaces, as inline assembly and bare libraries have.
    pub rmw: u32,
    /// A full fence that no hook replaces.
    pub fence: u32,
    /// From a store until a load of the same word has what it stored.
    pub forward: u32,
    /// The same where both name the word by a register and a constant, which some cores recognise early.
    pub renamed: u32,
    /// From the end of a locked operation until a load of its word has its value: it is not forwarded.
    pub reload: u32,
    /// For how long it issues at full width until its reorder buffer is full; 0 if that is not known.
    pub window: u32,
    /// Parts of instructions that can wait for their operands, a load and what is computed with it being two; at least
    /// 1.
    pub scheduler: u32,
    /// Instructions of a loop wait for each other's results.
    pub chains: bool,
    /// From one taken branch to the next, where there are several in a round of a loop.
    pub taken_branch: u32,
}

/// What one visit of a block costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Sixteenths of a cycle: blocks of one instruction take a fraction of a cycle.
    pub sixteenths: u32,
    /// The program's own instructions; moves between registers, spills and stack adjustment not counted.
    pub instructions: u32,
}

impl Cost {
    pub fn cycles(&self) -> f64 {
        f64::from(self.sixteenths) / 16.0
    }
}

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

/// A block, and what is known of its context.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The return address that names it.
    pub head: u64,
    /// Where its function returns to: where no loop of its own leads through the block, one of its caller may.
    pub returns_to: Option<u64>,
    /// Where the block is a loop, its average trip count.
    pub trip_count: Option<u32>,
}

/// How often a block's branch leads to one of the two blocks that it may lead to.
#[derive(Clone, Copy, Debug)]
pub struct Bias {
    /// The block, by the return address that names it.
    pub to: u64,
    /// In [`Bias::ALL`] visits.
    pub visits: u32,
}

impl Bias {
    pub const ALL: u32 = 1024;
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
