// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a caller tells of a program's code, and what it is told.
use crate::rustc;

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
    pub(crate) fn is_instruction(self) -> bool {
        self.is_update() || matches!(self, Hook::Fence | Hook::AtomicLoad | Hook::AtomicStore)
    }

    /// Whether it stands for a read-modify-write.
    pub(crate) fn is_update(self) -> bool {
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
    /// From an address until a load that hits the first level has its value.
    pub load: u32,
    /// From a store until a load of the same word has what it stored.
    pub forward: u32,
    /// The same where both name the word by a register and a constant, which some cores recognise early.
    pub renamed: u32,
    /// The same where both name it by a register and an index.
    pub renamed_indexed: u32,
    /// At least this, however they name it, where two instructions of a loop store to the word.
    pub renamed_twice: u32,
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
