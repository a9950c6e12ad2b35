// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of a machine. All latencies are in cycles of its clock.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// No machine has more CPUs: the engine's queue of clocks keeps a CPU's number in so many bits.
pub const MOST_CPUS: u32 = 1 << CPU_BITS;
pub const CPU_BITS: u32 = 12;

/// A machine with every number in cycles. Profiles (crate `corefold-machine`) become one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub name: String,
    pub sockets: u16,
    pub cores_per_socket: u16,
    /// Cores that share a last-level cache; all of a socket on most machines.
    pub cores_per_cluster: u16,
    /// Sockets one hop from each other; all on most machines.
    pub sockets_per_group: u16,
    pub threads_per_core: u16,
    /// Bytes of a line: 64 or 128.
    pub line_bytes: u32,
    /// Of all CPUs.
    pub clock_hz: u64,
    /// The clock by the number of a socket's cores that are active, in ascending order; none: always the same.
    pub turbo: Vec<Turbo>,
    /// Which of the machine's CPUs the first, the second and so on of a run are; none: in the order of their numbers.
    pub order: Vec<u16>,
    pub latency: Latency,
    pub core: Core,
    pub caches: Caches,
    /// Megabytes a second of each socket's memory, and of its links to the others; 0: without a limit.
    pub memory_bandwidth: u32,
    pub link_bandwidth: u32,
    /// Which sockets may have a line is written down in its home's memory: requests between sockets read it there.
    pub directory_in_memory: bool,
    pub system: System,
}

/// The clock while at most so many cores of a socket are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turbo {
    pub cores: u16,
    pub clock_hz: u64,
}

/// Cycles from an access that misses to the arrival of its line, by where the line was: the one-way
/// transfer that a core-to-core ping-pong measures, less the operation itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Modified by the SMT sibling, in the cache they share.
    pub smt: u32,
    /// Between cores that share a last-level cache.
    pub cluster: Pair,
    /// Between clusters of a socket.
    pub local: Pair,
    /// The same, of a line whose home is another socket.
    pub away: Pair,
    /// Between sockets of a group.
    pub remote: Pair,
    /// Between sockets, where one of them or the line's home is in another group.
    pub far: Pair,
    pub memory: u32,
    /// Of another socket.
    pub remote_memory: u32,
    /// Of a transfer, percent spent until the request is at the line's home, and until the snoop is at
    /// the owner; the rest brings the data.
    pub request_percent: u8,
    pub snoop_percent: u8,
    /// The data goes to its requester by way of the home, which serves the next request right behind it; else the home
    /// waits until it has arrived.
    pub data_by_home: bool,
    /// A load of a line that another core has modified takes it over whole, as a store would.
    pub migratory: bool,
    /// Standard deviation of a transfer's time, of one line between the same two cores, in percent of it.
    pub spread: u32,
    /// Requests to a line wait for each other. All machines do this: off shows what it accounts for.
    pub queueing: bool,
    /// A home serves the requests of one cluster in the order in which they come.
    pub in_order: bool,
    /// The socket that a line's page lies in counts.
    pub home_node: bool,
}

/// A transfer's cycles, by what becomes of the copy that others have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub clean: u32,
    pub modified: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// Instructions issued a cycle.
    pub width: u32,
    /// Cycles of a read-modify-write on a line that the CPU owns.
    pub rmw: u32,
    /// Of these, the last ones, in which it holds the line: a snoop that comes earlier still gets it.
    pub rmw_held: u32,
    /// Cycles that one takes more on bytes of two lines: for so long it locks the bus.
    pub split_lock: u32,
    /// Cycles from the end of one until a load of its word has the value.
    pub reload: u32,
    /// Cycles of a load that hits the first level.
    pub load: u32,
    /// Cycles from a plain store until a load of its word has the value.
    pub forward: u32,
    /// The same where both name the word by a register and a constant.
    pub renamed: u32,
    /// The same where both name the word by a register and an index.
    pub renamed_indexed: u32,
    /// At least this where two instructions of a loop store to the word.
    pub renamed_twice: u32,
    /// Cycles of `mfence` with nothing to drain.
    pub fence: u32,
    /// The instruction `mfence` also waits for the results of all earlier instructions, and later ones for it.
    pub fence_serializes: bool,
    pub pause: u32,
    /// Stores that wait in the store buffer; without one the CPU waits for each.
    pub store_buffer: u32,
    /// A store that is in the store buffer, or has just left it, is forwarded to a load even if another core has taken its
    /// line; else the load waits for the line, if an earlier one has asked for it.
    pub forwards_lost: bool,
    /// Misses under way at once.
    pub misses: u32,
    /// Of these, lines that come from other cores.
    pub transfers: u32,
    /// Cycles that the core runs ahead of an unfinished load (its reorder buffer).
    pub window: u32,
    /// Parts of instructions that can wait for their operands.
    pub scheduler: u32,
    /// In a loop, instructions wait for each other's results. All machines do this.
    pub chains: bool,
    /// Cycles from one taken branch to the next.
    pub taken_branch: u32,
    /// Cycles that a mispredicted branch takes.
    pub mispredict: u32,
    /// Work that all hardware threads of a busy core get done, in percent of one alone.
    pub smt_percent: u32,
    /// A miss brings the other line of its aligned pair too.
    pub adjacent_line: bool,
}

/// Caches that run full. A second level of no bytes has no limit, and then no other has; a first level of
/// none holds what the second does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caches {
    pub l1: Cache,
    pub l2: Cache,
    /// Of each cluster.
    pub l3: Cache,
    /// Ticks, not cycles, between lines that the second level sends to the first, and takes from it; between those
    /// that stores ask for.
    pub line: u32,
    pub stored_line: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    pub bytes: u64,
    pub ways: u32,
    /// Cycles of a hit.
    pub latency: u32,
}

impl Caches {
    pub const ENDLESS: Caches = {
        const NONE: Cache = Cache { bytes: 0, ways: 1, latency: 0 };
        Caches { l1: NONE, l2: NONE, l3: NONE, line: 0, stored_line: 0 }
    };

    pub fn are_finite(&self) -> bool {
        self.l2.bytes > 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// Cycles of a system call that does not block.
    pub syscall: u32,
    /// The same of one about a futex that finds nothing to do.
    pub futex: u32,
    /// From a wake-up to the woken thread running on an idle CPU.
    pub wake: u32,
    /// Standard deviation of that, in percent of it.
    pub wake_spread: u32,
    /// What it takes from the thread that makes the call.
    pub wake_call: u32,
    /// A futex call that wakes nobody.
    pub futex_wake: u32,
    pub context_switch: u32,
    /// How long a thread runs before another that waits for its CPU gets it.
    pub timeslice: u64,
    /// How much fuller than the emptiest socket that of a thread's creator may be before the thread starts elsewhere, in percent
    /// of a socket's CPUs.
    pub numa_imbalance: u32,
    /// How far a woken thread must be behind the running one to take its CPU, and how much of its sleep
    /// counts for that.
    pub wake_granularity: u32,
    pub sleeper_credit: u32,
    /// What an interrupt by another CPU takes from the one that gets it, and sending it from the sender.
    pub interrupt: u32,
    pub interrupt_send: u32,
    /// Until the kernel knows that every CPU has passed a fence by itself.
    pub grace_period: u32,
    pub thread_create: u32,
    /// malloc or free that touches no other thread's line.
    pub allocation: u32,
    /// Reading the clock.
    pub clock_read: u32,
}

impl Machine {
    pub fn cores(&self) -> u32 {
        u32::from(self.sockets) * u32::from(self.cores_per_socket)
    }
    pub fn cpus(&self) -> u32 {
        self.cores() * u32::from(self.threads_per_core)
    }
    /// CPUs that a run can have.
    pub fn placed(&self) -> u32 {
        if self.order.is_empty() { self.cpus() } else { self.order.len() as u32 }
    }
    /// Which of the machine's CPUs the run's `cpu` is. They are numbered as Linux does: the cores of socket 0, then 1, …,
    /// then the second threads.
    fn number(&self, cpu: u32) -> u32 {
        self.order.get(cpu as usize).map_or(cpu, |number| u32::from(*number))
    }
    pub fn core_of(&self, cpu: u32) -> u32 {
        self.number(cpu) % self.cores()
    }
    /// Which of its core's hardware threads it is.
    pub fn thread_of(&self, cpu: u32) -> u32 {
        self.number(cpu) / self.cores()
    }
    /// Does a line's home socket matter?
    pub(crate) fn home_counts(&self) -> bool {
        let l = &self.latency;
        let far_memory = self.caches.are_finite() && l.remote_memory != l.memory;
        let differs = l.away != l.local || self.sockets_per_group < self.sockets || far_memory;
        l.home_node && self.sockets > 1 && (differs || self.directory_in_memory)
    }
    pub fn socket_of(&self, cpu: u32) -> u32 {
        self.core_of(cpu) / u32::from(self.cores_per_socket)
    }

    /// The machine while the first `cpus` of [`Machine::order`] are active, all of them at the mean clock of their cores. What
    /// passes outside of the cores takes as much time as before, so more or fewer cycles.
    pub fn running(&self, cpus: u32) -> Machine {
        let mut active = alloc::vec![false; self.cores() as usize];
        (0..cpus).for_each(|cpu| active[self.core_of(cpu) as usize] = true);
        let (mut cores, mut sum) = (0, 0);
        for socket in active.chunks(usize::from(self.cores_per_socket)) {
            let busy = socket.iter().filter(|core| **core).count();
            let step = self.turbo.iter().find(|step| usize::from(step.cores) >= busy).or(self.turbo.last());
            cores += busy as u64;
            sum += busy as u64 * step.map_or(self.clock_hz, |step| step.clock_hz);
        }
        if self.turbo.is_empty() { self.clone() } else { self.at(sum / cores.max(1)) }
    }

    fn at(&self, clock_hz: u64) -> Machine {
        let scaled = |cycles: u64| (cycles * clock_hz + self.clock_hz / 2) / self.clock_hz.max(1);
        let time = |cycles: u32| scaled(u64::from(cycles)).max(u64::from(cycles > 0)) as u32;
        let pair = |pair: Pair| Pair { clean: time(pair.clean), modified: time(pair.modified) };
        let (l, s) = (&self.latency, &self.system);
        Machine {
            clock_hz,
            latency: Latency {
                cluster: pair(l.cluster),
                local: pair(l.local),
                away: pair(l.away),
                remote: pair(l.remote),
                far: pair(l.far),
                memory: time(l.memory),
                remote_memory: time(l.remote_memory),
                ..*l
            },
            caches: Caches { l3: Cache { latency: time(self.caches.l3.latency), ..self.caches.l3 }, ..self.caches },
            system: System {
                syscall: time(s.syscall),
                futex: time(s.futex),
                wake: time(s.wake),
                wake_spread: s.wake_spread,
                wake_call: time(s.wake_call),
                futex_wake: time(s.futex_wake),
                context_switch: time(s.context_switch),
                timeslice: scaled(s.timeslice),
                numa_imbalance: s.numa_imbalance,
                wake_granularity: time(s.wake_granularity),
                sleeper_credit: time(s.sleeper_credit),
                interrupt: time(s.interrupt),
                interrupt_send: time(s.interrupt_send),
                grace_period: time(s.grace_period),
                thread_create: time(s.thread_create),
                allocation: time(s.allocation),
                clock_read: time(s.clock_read),
            },
            ..self.clone()
        }
    }
}
