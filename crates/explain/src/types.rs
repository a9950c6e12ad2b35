// SPDX-License-Identifier: MIT OR Apache-2.0
//! A symbolised run: the plain data that reports are made of.
//!
//! Percentages: a function's are of all the time that threads were on a CPU (compute, stall and spin),
//! as `perf report` has them; a line's `stall_percent` and `spin_percent` add up to its share of all
//! cycles that the run stalled or spun. Lists stand in the order in which they are to be shown.
use corefold_recording::{AccessKind, CLASSES, CpuSet, LockKind, Meetings, Pace, Progress, Time};
use std::fmt;

/// One run, explained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    pub run: RunFacts,
    pub ending: Ending,
    /// By self time, the most first.
    pub functions: Vec<Function>,
    /// Where hardly more than one thread was at work.
    pub stage: Option<Stage>,
    /// By cycles stalled and spun, the most first.
    pub lines: Vec<HotLine>,
    /// By cycles stalled, the most first.
    pub passed: Vec<PassedUse>,
    /// By cycles waited, the most first.
    pub locks: Vec<LockUse>,
}

/// What is known of a run as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    pub argv: Vec<String>,
    /// Name of the machine profile.
    pub machine: String,
    pub cpus: u32,
    pub threads: u32,
    pub clock_hz: u64,
    pub seed: u64,
    /// Virtual time, in cycles and in seconds.
    pub cycles: u64,
    pub seconds: f64,
    /// Where the threads' time went, added over all of them, in cycles.
    pub time: Time,
    pub progress: Vec<Progress>,
    /// Transfers over all lines by `corefold_recording::Class`, and their sum.
    pub transfers_by_class: [u64; CLASSES],
    pub transfers: u64,
    /// What may have decided how long it took, and where the thread that slept longest did so.
    pub pace: Pace,
    pub slept_at: Option<Place>,
    /// Where threads slept longest.
    pub sleeps_at: Option<Place>,
    /// What could not be simulated, or is unknown because debug information is missing.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    pub text: String,
    pub at: Option<Place>,
    pub count: u64,
}

/// How the run ended, in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending {
    /// The program ended by itself with exit code 0.
    pub success: bool,
    /// One sentence without a full stop: `exited with code 3`, `crashed: SIGSEGV at address 0x10 in thread 4`.
    pub summary: String,
    /// In a deadlock, one sentence a waiting thread, then the circle if there is one.
    pub details: Vec<String>,
    /// Of the threads that matter to the ending.
    pub stacks: Vec<ThreadStack>,
    /// What the seed's schedule did to threads last, oldest first; nothing, if the run ended well.
    pub held_up: Vec<Delay>,
}

/// A delay that a seed decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delay {
    pub thread: u32,
    /// `access`: before an access; `preempted`: there, as another thread got the CPU; `wake`: when it woke.
    pub how: &'static str,
    /// When, from the program's start, and for how long.
    pub at_seconds: f64,
    pub seconds: f64,
    pub at: Option<Place>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadStack {
    /// `None` where the recording does not say which.
    pub thread: Option<u32>,
    /// Innermost first; inlined functions are frames of their own.
    pub frames: Vec<Place>,
}

/// Uncontended transfers of an object's lines: first touch, read-only, or a single hand-off.
#[derive(Clone, Debug, PartialEq)]
pub struct PassedUse {
    pub object: String,
    pub at: Option<Place>,
    pub kind: AccessKind,
    pub transfers_by_class: [u64; CLASSES],
    pub stall: u64,
    /// Of all stall and spin of the run.
    pub stall_percent: f64,
    /// What was touched first on such lines: examples, each with its object and its cycles.
    pub fields: Vec<(ObjectUse, FieldUse)>,
}

/// A place in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Demangled; `module+0x1234` where nothing better is known.
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// `function (file.c:12)`, with the file's last component only.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({}:{line})", base_name(file)),
            (Some(file), None) => write!(f, " ({})", base_name(file)),
            _ => Ok(()),
        }
    }
}

/// The file's name; of the `lib.rs` and `mod.rs` of a crate from a registry, which might be any, the path from the crate's folder
/// on: `flume-0.11.1/src/lib.rs`.
pub fn base_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let in_registry = path.split_once("/registry/src/").and_then(|(_, index)| index.split_once('/'));
    match in_registry {
        Some((_, from_crate)) if matches!(name, "lib.rs" | "mod.rs") => from_crate,
        _ => name,
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    pub name: String,
    /// Where the function begins.
    pub file: Option<String>,
    pub line: Option<u32>,
    pub self_time: Time,
    /// Including what it called; counted once a stack, however often it stands in it.
    pub total_time: Time,
    pub self_percent: f64,
    pub total_percent: f64,
    /// Of the run's time, with what it called: each cycle over the number of threads that were at work then. `None`: it is not
    /// known who was.
    pub latency_percent: Option<f64>,
}

/// A serial stage: while it ran, no more than two threads were at work, in the mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// The function, and where it begins.
    pub name: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Of the run's time.
    pub percent: f64,
}

/// A cache line that moved between CPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotLine {
    pub address: u64,
    pub bytes: u32,
    /// The objects that were accessed on the line, in one phrase: `struct pcc at counter.c:42 (heap, 640 bytes)`.
    pub object: String,
    pub objects: Vec<ObjectUse>,
    /// What was accessed, by offset in the line.
    pub fields: Vec<FieldUse>,
    pub transfers: u64,
    /// By `corefold_recording::Class`.
    pub transfers_by_class: [u64; CLASSES],
    pub stall: u64,
    pub stall_percent: f64,
    pub spin: u64,
    pub spin_percent: f64,
    /// CPUs that it moved between, or that waited for it.
    pub cpus: CpuSet,
    pub verdict: Verdict,
    /// By cycles stalled and spun, the most first.
    pub sites: Vec<SiteUse>,
}

/// An object that lies on a line, wholly or in part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectUse {
    /// `struct pcc at counter.c:42 (heap, 640 bytes)`, `counter (counter.c:7)`,
    /// `jobs in main (stack of thread 0, queue.c:16)`, or the program's own label.
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    /// As the source has it, arrays with their length: `struct slot[80]`.
    pub type_name: Option<String>,
    pub storage: Storage,
    /// From one such object to the next, where an allocator of the program's own packs them; else 0.
    pub stride: u64,
    /// Where it was allocated, or where the variable is declared.
    pub origin: Option<Place>,
}

impl ObjectUse {
    /// Whether anything is known of it: a variable, an allocation or a label.
    pub fn is_known(&self) -> bool {
        self.storage != Storage::Unknown || self.name != UNKNOWN_OBJECT
    }
}

/// What [`ObjectUse::name`] is where nothing is known.
pub const UNKNOWN_OBJECT: &str = "memory of unknown origin";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    Heap,
    Global,
    /// Mapped by the program itself, from a file or not.
    Mapping,
    /// Placed by an allocator of the program's own, which named it by COREFOLD_OBJECTS.
    Slab,
    /// A thread's stack.
    Stack,
    /// A heap object of the C library's own, as of a stream.
    Library,
    /// None of these.
    #[default]
    Unknown,
}

/// A field on a line, and who uses it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldUse {
    /// From the object's type or variable on: `pcc.counters[3].delta`; `+0x18` where the type is not known.
    pub name: String,
    pub type_name: Option<String>,
    /// Index into [`HotLine::objects`].
    pub object: Option<usize>,
    pub offset_in_object: u64,
    /// Negative where the field begins on an earlier line.
    pub offset_in_line: i64,
    pub size: u64,
    /// CPUs that read it and that wrote it, and had to fetch the line for that.
    pub readers: u32,
    pub writers: u32,
    /// Accesses to it that moved the line, and the cycles they cost.
    pub transfers: u64,
    pub stall: u64,
    pub spin: u64,
    /// The elements of arrays that it lies in, outer before inner.
    pub elements: Vec<Element>,
}

/// An element of an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    /// `pcc.counters[3]`.
    pub name: String,
    pub type_name: String,
    pub address: u64,
    pub size: u64,
    /// The object is the array, not one of its members.
    pub of_object: bool,
}

/// Why a line moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub sharing: Sharing,
    /// One sentence without a full stop, naming the fields of both parties.
    pub sentence: String,
    /// Names of the fields that are written, and of those that are read and hardly ever written; those that were
    /// waited for longest first.
    pub written: Vec<String>,
    pub only_read: Vec<String>,
    /// CPUs that use those that are written; those that are read, if none is.
    pub users: u32,
    /// CPUs that use one of them, at most: fewer than `users` where they are elements of an array, or fields of several
    /// objects.
    pub users_each: u32,
    /// Share of the wait that is for bytes beside those that another CPU used.
    pub false_share: f64,
    /// What lies beside what, of false sharing: `different CPUs write different fields of one line`.
    pub reason: String,
    /// What padding would separate: `padding would separate a from b`; empty where that is not known.
    pub padding: String,
    /// Whether it would separate anything.
    pub separates: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// CPUs take the line from each other though they use different fields of it.
    False,
    /// CPUs use the same fields, and some write them.
    True,
    /// Fields that several CPUs use, and others that lie beside them.
    Both,
    /// No write was recorded.
    ReadOnly,
    /// Too little was recorded to tell.
    #[default]
    Unknown,
}

/// Threads that are woken together though few can go on: waits at a condition variable, and those that a thread began as soon as
/// it had been woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Herd {
    pub waits: u64,
    pub again: u64,
}

/// `false sharing`, as a table has it.
impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Sharing::False => "false sharing",
            Sharing::True => "true sharing",
            Sharing::Both => "true and false sharing",
            Sharing::ReadOnly => "only read",
            Sharing::Unknown => "unknown",
        })
    }
}

/// A place in the code that touches a line.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteUse {
    /// The innermost function, inlined or not.
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The functions that it is inlined into, inner before outer.
    pub inlined_into: Vec<Place>,
    pub kind: AccessKind,
    /// Name of the field, as in [`HotLine::fields`], its index there, and its address.
    pub field: String,
    pub field_index: usize,
    pub address: u64,
    /// The object is the C library's own: its layout cannot be changed.
    pub of_library: bool,
    pub transfers: u64,
    pub stall: u64,
    pub spin: u64,
    pub cpus: CpuSet,
    /// The accesses of other CPUs that the line had to be fetched because of.
    pub conflicts: Vec<ConflictUse>,
}

impl SiteUse {
    /// Times that the line was fetched because another CPU had used the same bytes, or others.
    pub fn conflict_counts(&self) -> (u64, u64) {
        let count = |same| self.conflicts.iter().filter(|c| c.same == same).map(|c| c.count).sum();
        (count(true), count(false))
    }
}

/// Why a line had to be fetched: what another CPU did.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUse {
    /// Name of the field that the other CPU accessed.
    pub field: String,
    /// Is that the field which the line is fetched for, or has it bytes in common?
    pub same: bool,
    pub wrote: bool,
    pub count: u64,
    /// Where the two lie in different elements of an array, or in different heap objects.
    pub beside: Option<Beside>,
}

/// An element of an array, or a heap object, which lies beside another one on the line.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    pub kind: Neighbours,
    /// `pcc.counters[3]`; of an object, its name.
    pub name: String,
    /// Its type, where that is known, and that of the other one.
    pub type_name: Option<String>,
    pub other_type: Option<String>,
    pub address: u64,
    pub size: u64,
    pub line_bytes: u32,
    /// Whether it lies in a heap object, whose address decides how elements lie on lines.
    pub is_heap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Neighbours {
    /// Structures in an array: the two accesses are to fields of two of them.
    Elements,
    Objects,
}

/// `atomic load`, as a table has it.
pub fn kind_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::AtomicLoad => "atomic load",
        AccessKind::AtomicStore => "atomic store",
        AccessKind::Rmw => "atomic rmw",
        AccessKind::SplitLock => "split lock",
    }
}

/// A lock, or another thing that threads wait for.
#[derive(Clone, Debug, PartialEq)]
pub struct LockUse {
    /// A label, a variable, or a field of an object; else `mutex at 0x… waited for in f`.
    pub name: String,
    pub kind: LockKind,
    /// Its type, where it is a lock of Rust: `Mutex`, `parking_lot RwLock`.
    pub type_name: Option<String>,
    pub address: u64,
    /// It lies in the data of a library of the distribution's.
    pub of_library: bool,
    /// Of a spin queue: the word that one of its threads spun on longest.
    pub spun_on: Option<u64>,
    /// 0: not known, and `contended` is how many waits there were.
    pub acquisitions: u64,
    pub contended: u64,
    pub wait_cycles: u64,
    /// Of these, start-up waits: of threads before they had done any of their work.
    pub start_cycles: u64,
    pub hold_cycles: u64,
    /// Other locks that a thread waited for while it alone held this one, by address, and for how many cycles.
    pub held_waiting: Vec<(u64, u64)>,
    /// Where it was waited for longest.
    pub waited_at: Option<Place>,
    /// Of a barrier, or a condition variable that is used as one (`kind` is then a barrier's).
    pub meetings: Option<Meetings>,
    /// Of condition variables whose wake-ups mostly wake threads that then wait again at once.
    pub herd: Option<Herd>,
    /// A barrier that the program made of a condition variable.
    pub made: bool,
    /// A condition variable of two threads that use it as a barrier, or hand something over: nothing recorded tells.
    pub may_be_barrier: bool,
}

/// `mutex`, as a table has it.
pub fn lock_kind_name(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Mutex => "mutex",
        LockKind::RwLock => "rwlock",
        LockKind::Spinlock => "spinlock",
        LockKind::Semaphore => "semaphore",
        LockKind::Barrier => "barrier",
        LockKind::CondVar => "condition variable",
        LockKind::SpunWord => "spun word",
        LockKind::SpinQueue => "spin queue",
        LockKind::Futex => "futex",
        LockKind::Library => "lock",
    }
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn files_that_many_crates_have_are_named_with_their_crate() {
        assert_eq!(base_name("/home/u/pool/src/lib.rs"), "lib.rs");
        let registry = "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        assert_eq!(base_name(&format!("{registry}/flume-0.11.1/src/lib.rs")), "flume-0.11.1/src/lib.rs");
        assert_eq!(base_name(&format!("{registry}/flume-0.11.1/src/select.rs")), "select.rs");
    }
}
