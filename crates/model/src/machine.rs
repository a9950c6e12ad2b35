// SPDX-License-Identifier: MIT OR Apache-2.0
//! The facts of a machine that the model computes with. All latencies are in cycles of its clock.
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// A machine with every number in cycles. Profiles (crate `corefold-machine`) become one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub name: String,
    pub sockets: u16,
    pub cores_per_socket: u16,
    pub threads_per_core: u16,
    /// Bytes of a line: 64 or 128.
    pub line_bytes: u32,
    pub clock_hz: u64,
    pub latency: Latency,
    pub core: Core,
    pub system: System,
}

/// Cycles from an access that misses to the arrival of its line, by where the line was: the one-way
/// transfer that a core-to-core ping-pong measures, less the operation itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Modified by the SMT sibling, in the cache they share.
    pub smt: u32,
    pub local_clean: u32,
    pub local_modified: u32,
    pub remote_clean: u32,
    pub remote_modified: u32,
    pub memory: u32,
    /// Of a transfer, percent spent until the request is at the line's home, and until the snoop is at
    /// the owner; the rest brings the data.
    pub request_percent: u8,
    pub snoop_percent: u8,
    /// Cycles for which a clean line's home serves one read.
    pub home_busy: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// Instructions issued a cycle.
    pub width: u32,
    /// Cycles of a read-modify-write on a line that the CPU owns.
    pub rmw: u32,
    /// Cycles of a full fence with nothing to drain.
    pub fence: u32,
    pub pause: u32,
    /// Stores that wait in the store buffer.
    pub store_buffer: u32,
    /// Misses under way at once.
    pub misses: u32,
    /// Cycles that the core runs on past an unfinished load (its reorder buffer).
    pub window: u32,
    /// Work that all hardware threads of a busy core get done, in percent of one alone.
    pub smt_percent: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// Cycles of a system call that does not block.
    pub syscall: u32,
    /// From a wake-up to the woken thread running on an idle CPU.
    pub wake: u32,
    pub context_switch: u32,
    /// How long a thread runs before another that waits for its CPU gets it.
    pub timeslice: u64,
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
    /// CPUs are numbered as Linux does: the cores of socket 0, then 1, …, then the second threads.
    pub fn core_of(&self, cpu: u32) -> u32 {
        cpu % self.cores()
    }
    pub fn socket_of(&self, cpu: u32) -> u32 {
        self.core_of(cpu) / u32::from(self.cores_per_socket)
    }
}
