// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a CPU is in the machine.
use corefold_model::Machine;

/// Where a CPU is: the numbers of its group of sockets, its socket, its cluster of cores within that, and its hardware
/// thread within the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    domains: [u32; 3],
    pub(crate) hardware_thread: u32,
}

impl Place {
    pub(crate) fn of(machine: &Machine, cpu: u32) -> Place {
        let (core, socket) = (machine.core_of(cpu), machine.socket_of(cpu));
        let within = core % u32::from(machine.cores_per_socket);
        let group = socket / u32::from(machine.sockets_per_group.max(1));
        let cluster = within / u32::from(machine.cores_per_cluster.max(1));
        Place { domains: [group, socket, cluster], hardware_thread: machine.thread_of(cpu) }
    }

    /// How far a thread moves: 0 within a last-level cache, 1 within a socket, 2 within a group of sockets, or 3.
    pub(crate) fn distance(&self, other: &Place) -> u32 {
        let differs = |level: &usize| self.domains[*level] != other.domains[*level];
        (0..3).find(differs).map_or(0, |level| 3 - level as u32)
    }
}
