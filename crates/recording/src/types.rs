// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run leaves behind.
use crate::CpuSet;
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Lines that a recording keeps: the most expensive.
pub const MOST_LINES: usize = 1024;

/// One simulated run of a program at one number of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments, after `{cpus}` was replaced.
    pub argv: Vec<String>,
    /// Name of the machine profile.
    pub machine: String,
    pub clock_hz: u64,
    /// CPUs the program saw.
    pub cpus: u32,
    pub seed: u64,
    pub status: Status,
    /// Virtual time of the region of interest: the whole program where it marks none.
    pub cycles: u64,
    /// Where threads' time went, added over all threads, in cycles.
    pub time: Time,
    /// Virtual cycles between two samples of a CPU, in the mean.
    pub sample_period: u64,
    pub threads: u32,
    pub modules: Vec<Module>,
    pub progress: Vec<Progress>,
    pub stacks: Vec<Stack>,
    pub lines: Vec<Line>,
    /// Lines that nobody fought for, added up.
    pub passed: Vec<Passed>,
    pub locks: Vec<Lock>,
    pub labels: Vec<Label>,
    /// What [`Object::site`] refers to.
    pub allocations: Vec<AllocSite>,
    /// Stack frames that something shared lies in.
    pub frames: Vec<Frame>,
    /// Where the blocks of thread-local variables of the program's own file end, of each thread: its thread pointer.
    pub thread_pointers: Vec<u64>,
    /// What could not be simulated, or was simulated as something simpler.
    pub notes: Vec<Note>,
    /// The last hold-ups of a seed's schedule, oldest first.
    pub held_up: Vec<HeldUp>,
    /// Transfers over all lines, by [`Class`].
    pub transfers: [u64; CLASSES],
    /// How the report was asked to reckon; the runner fills it in.
    pub work: Work,
    pub pace: Pace,
}

/// What may have decided how long a run took, and how much it did meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Basic blocks that ran, spins left out: an estimate from samples. 0: not known.
    pub blocks: u64,
    /// The thread that slept longest, and cycles that its sleeps and time-outs were to last, and did.
    pub sleeper: u32,
    pub asked: u64,
    pub slept: u64,
    /// Where it called a long one; 0 if that is not known.
    pub slept_at: u64,
    /// Cycles that all threads slept, and where the one that slept longest called a long sleep.
    pub sleeps: u64,
    pub sleeps_at: u64,
    /// Cycles from the run's beginning until nine of ten threads had begun.
    pub begun: u64,
    /// The thread that was at work (computing, or waiting for memory) longest, and for how many cycles.
    pub busiest: u32,
    pub busiest_worked: u64,
    /// How often the program read a clock, and timers that it had set came due.
    pub clock_reads: u64,
    pub alarms: u64,
    /// Cycles that the longest of these timers was set for.
    pub timer: u64,
    /// Cycles from the first to the last reading of the thread that read a clock most often.
    pub watched: u64,
}

/// How work grows with the number of CPUs, where the program marks no progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// All CPUs together do the same work at every count.
    #[default]
    Total,
    /// Each CPU does the same work at every count.
    PerCpu,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Status {
    #[default]
    Unfinished,
    Exited(i32),
    /// A fatal signal; `stack` is the faulting thread's, innermost first.
    Crashed {
        signal: i32,
        /// What the fault was about. None: the signal was sent.
        address: Option<u64>,
        thread: u32,
        stack: Vec<u64>,
        /// The thread's stack was used up.
        overflow: bool,
    },
    /// Every thread waits for another.
    Deadlock {
        waiters: Vec<Waiter>,
    },
    /// The threads that can run only look at memory (`spin`), or ran past the virtual time they may take.
    Livelock {
        spin: bool,
        running: Vec<Running>,
        waiters: Vec<Waiter>,
    },
    /// A thread came to heap memory that had been freed.
    UseAfterFree(Misuse),
    /// Stopped from outside (`--timeout`); `stacks` of the threads that were running, by thread, and what the others waited for.
    TimedOut {
        running: Vec<Running>,
        waiters: Vec<Waiter>,
        /// Virtual time went on: it would have got further.
        advances: bool,
        /// The thread that nothing was seen of any more.
        unseen: Option<Unseen>,
    },
    /// Stopped by a signal to the runner, as by Ctrl-C; otherwise as `TimedOut`.
    Interrupted {
        running: Vec<Running>,
        waiters: Vec<Waiter>,
    },
    /// The program did something that cannot be simulated; the sentence says what and what to do.
    Unsupported {
        what: String,
        stack: Vec<u64>,
    },
    OutOfMemory {
        bytes: u64,
        stack: Vec<u64>,
    },
}

/// A thread that came by no hook, so that virtual time stood still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unseen {
    pub thread: u32,
    pub pc: u64,
    /// The last hook that it came by, in code that has them at accesses only; 0 in other code.
    pub since: u64,
}

/// What a seed's schedule did to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldUp {
    pub thread: u32,
    pub how: Holding,
    /// When, and for how long, in cycles from the program's start.
    pub at: u64,
    pub cycles: u64,
    pub pc: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holding {
    /// Before an access at `pc`, for so many cycles.
    Access,
    /// Before an access at `pc`, as another thread got its CPU.
    Preempted,
    /// Before it began or went on, after a wait at `pc` (0: not known).
    Wake,
}

/// Use of a heap object that had been freed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misuse {
    /// `None`: it was freed again.
    pub access: Option<AccessKind>,
    pub address: u64,
    pub object: Object,
    pub thread: u32,
    /// Innermost first.
    pub stack: Vec<u64>,
    pub freed_by: u32,
    pub freed: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub thread: u32,
    pub stack: Vec<u64>,
}

/// A thread that waits, in a deadlock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiter {
    pub thread: u32,
    /// What it waits in, as its user calls it: `pthread_mutex_lock`, `futex`, `pthread_join`, `read`.
    pub call: String,
    /// Address of the object, thread number for a join, or file descriptor.
    pub on: u64,
    /// Threads that could end the wait, where known (the mutex's owner, the joined thread).
    pub held_by: Vec<u32>,
    pub stack: Vec<u64>,
}

/// Cycles by what they went to. Their sum is the thread's (or stack's, or run's) time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    pub compute: u64,
    /// Waiting for a line to arrive.
    pub stall: u64,
    /// Looking again and again at a line that another thread has to change.
    pub spin: u64,
    /// Off the CPU: futex, sleep, I/O, or waiting for a CPU. Joins of the main thread do not count.
    pub block: u64,
}

impl Time {
    pub fn total(&self) -> u64 {
        self.compute + self.stall + self.spin + self.block
    }
}

/// An ELF file that was mapped: `address - base` is an address as the file's symbols have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Module {
    pub path: String,
    pub build_id: Vec<u8>,
    pub base: u64,
    pub start: u64,
    pub end: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub name: String,
    pub visits: u64,
}

/// Samples of one call stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Code addresses, innermost first; all but the first are return addresses.
    pub frames: Vec<u64>,
    pub time: Time,
    /// Its share of the run's cycles: each of a sample's cycles, spins left out, over the threads that were at work then.
    pub latency: u64,
}

/// How far a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Class {
    /// The other hardware thread of the same core.
    Smt = 0,
    /// Same socket, not modified elsewhere: from the shared cache.
    LocalClean = 1,
    /// Same socket, modified in another core's cache.
    LocalModified = 2,
    RemoteClean = 3,
    RemoteModified = 4,
    Memory = 5,
    /// Own copy was there, the others' had to be invalidated.
    Upgrade = 6,
}
pub const CLASSES: usize = 7;
pub const CLASS_NAMES: [&str; CLASSES] =
    ["SMT sibling", "local clean", "local modified", "remote clean", "remote modified", "memory", "upgrade"];

/// A cache line that moved between CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Address of its first byte.
    pub address: u64,
    pub bytes: u32,
    pub objects: Vec<Object>,
    pub transfers: [u64; CLASSES],
    /// Cycles that CPUs waited for it.
    pub stall: u64,
    /// Cycles that CPUs spun on it.
    pub spin: u64,
    pub sites: Vec<Site>,
}

/// Lines of one 64 KiB of memory that came to CPUs from one place in the code and were only read, or
/// changed hands once: too many to tell one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// The first address that was touched.
    pub address: u64,
    pub size: u8,
    pub object: Option<Object>,
    pub pc: u64,
    pub kind: AccessKind,
    pub transfers: [u64; CLASSES],
    pub stall: u64,
}

/// A function's frame on a thread's stack, when a line of it was first shared. An address on a stack
/// belongs to the frame with the smallest `cfa` above it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Canonical frame address: DWARF's locations of the function's variables count from it.
    pub cfa: u64,
    /// Return address of a call in the function.
    pub pc: u64,
    pub thread: u32,
}

/// A heap object or mapping that lies on a line, wholly or in part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Object {
    pub address: u64,
    /// What the program asked for.
    pub bytes: u64,
    /// Index into [`Run::allocations`].
    pub site: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocSite {
    /// Return address of the allocating call first, then its callers'.
    pub stack: Vec<u64>,
    pub count: u64,
    pub bytes: u64,
    /// The most objects that were there at once.
    pub live: u64,
    /// What was mapped; `None` for heap objects.
    pub mapping: Option<Mapping>,
}

/// Memory that the program did not take from the heap but mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mapping {
    /// The file's name without its directory, which may be another in each run; empty if there is no file.
    pub file: String,
    /// Where in the file the mapping begins.
    pub offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AccessKind {
    Read,
    Write,
    AtomicLoad,
    AtomicStore,
    /// Read-modify-write.
    Rmw,
    /// One on bytes of two lines.
    SplitLock,
}

/// A place in the code that touched a line, at one offset of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Return address of the access.
    pub pc: u64,
    pub kind: AccessKind,
    /// Offset of the first byte in the line, and size in bytes.
    pub offset: u8,
    pub size: u8,
    /// Accesses that moved the line.
    pub transfers: u64,
    pub stall: u64,
    pub spin: u64,
    /// CPUs whose accesses from here moved the line or waited for it.
    pub cpus: CpuSet,
    /// Which accesses of other CPUs the line was fetched because of, by offset.
    pub conflicts: Vec<Conflict>,
}

/// Accesses from one place that had to fetch the line because another CPU had accessed it, one of the two
/// writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Offset in the line of a byte that the other CPU had accessed: if the two have a byte in common, of such a
    /// byte; else where the other CPU's last access began.
    pub offset: u8,
    /// Did the other CPU write there?
    pub wrote: bool,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LockKind {
    Mutex,
    RwLock,
    Spinlock,
    Semaphore,
    Barrier,
    CondVar,
    /// A word that threads spin on and take by an atomic read-modify-write.
    SpunWord,
    /// A word by which threads queue, each of which then spins on a word of its own: the tail of an MCS or CLH lock.
    SpinQueue,
    /// A futex that the program itself waits on.
    Futex,
    /// One that the C library takes in its own calls.
    Library,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    pub address: u64,
    pub kind: LockKind,
    /// What a library's lock is called; empty: the memory that it lies in names it.
    pub name: String,
    /// The heap object that it lies in, if any.
    pub object: Option<Object>,
    /// Of a spin queue: the word that a thread spun on longest.
    pub spun_on: Option<u64>,
    /// 0: not known, as of a flag.
    pub acquisitions: u64,
    /// Acquisitions that had to wait; waits, if acquisitions are not known.
    pub contended: u64,
    pub wait_cycles: u64,
    /// Of these, start-up waits: what threads waited before they had done any of their work.
    pub start_cycles: u64,
    /// Zero where it cannot be known: condition variables, barriers, words that no thread holds.
    pub hold_cycles: u64,
    /// Other locks that a thread waited for while it alone held this one, by address, and for how many cycles.
    pub held_waiting: Vec<(u64, u64)>,
    /// Where it was waited for longest: return address of the call.
    pub wait_pc: u64,
    /// Return addresses of the calls around that one, innermost first, as far as they are known.
    pub wait_callers: Vec<u64>,
    /// Of barriers and condition variables: whether threads met there.
    pub meetings: Meetings,
}

/// How threads waited for each other at one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meetings {
    /// Threads that waited or woke others, and those of them that waited.
    pub threads: u32,
    pub waiters: u32,
    /// Times that a thread began to wait; of these, those that were woken and waited again at once, without having
    /// let go of a lock.
    pub waits: u64,
    pub again: u64,
    /// Times that a thread woke others; of these, those where it woke all other threads that use the object, as
    /// the last that arrives at a barrier does.
    pub wakes: u64,
    pub rounds: u64,
    /// Times that a thread both was woken or waited, and woke others, without having let go of a lock between: it
    /// hands something over. A thread that arrives at a barrier does one or the other.
    pub handed_over: u64,
    /// Rounds in which it was the same thread as in the round before.
    pub same_again: u64,
    /// The thread that woke all others most often, and how often.
    pub last: u32,
    pub last_rounds: u64,
    /// Rounds in which it is known how long threads had been away since the last one; and by how much longer the one that was away
    /// longest was than the average, cycles over all these rounds: how uneven their shares of the work are.
    pub timed_rounds: u64,
    pub uneven: u64,
}

/// A name that the program gave to a piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    pub address: u64,
    pub bytes: u64,
    pub name: String,
    /// Bytes from one object to the next, where these are objects of the program's own allocator; 0: it is one object.
    pub stride: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub text: String,
    /// Where it happened; 0 if nowhere in particular.
    pub pc: u64,
    pub count: u64,
}
