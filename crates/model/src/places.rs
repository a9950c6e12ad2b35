// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where cores are, and how far it is between them.
use crate::Machine;
use crate::access::Class;
use alloc::vec::Vec;

/// A line's home where homes make no difference.
pub(crate) const ANYWHERE: u8 = u8::MAX;

/// The kind of path between two caches, which decides a transfer's latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// Cores that share a last-level cache.
    Cluster = 0,
    Local = 1,
    /// Within a socket, of a line whose home is another one.
    Away = 2,
    Remote = 3,
    /// A core or the home is in another group of sockets.
    Far = 4,
}

impl Distance {
    pub const ALL: usize = 5;

    pub fn class(self, dirty: bool) -> Class {
        match (self >= Distance::Remote, dirty) {
            (false, true) => Class::LocalModified,
            (false, false) => Class::LocalClean,
            (true, true) => Class::RemoteModified,
            (true, false) => Class::RemoteClean,
        }
    }
}

#[derive(Clone, Copy)]
struct Place {
    cluster: u16,
    socket: u8,
    group: u8,
}

pub(crate) struct Places {
    /// Of each core: divisions for each access would be among its most expensive instructions.
    cores: Vec<Place>,
    per_cluster: u32,
    per_socket: u32,
    sockets_per_group: u32,
}

impl Places {
    pub fn new(machine: &Machine) -> Self {
        let per_cluster = u32::from(machine.cores_per_cluster).max(1);
        let per_socket = u32::from(machine.cores_per_socket);
        let sockets_per_group = u32::from(machine.sockets_per_group).max(1);
        let place = |core: u32| {
            let socket = core / per_socket;
            let clusters = per_socket.div_ceil(per_cluster);
            let cluster = socket * clusters + core % per_socket / per_cluster;
            Place { cluster: cluster as u16, socket: socket as u8, group: (socket / sockets_per_group) as u8 }
        };
        Places { cores: (0..machine.cores()).map(place).collect(), per_cluster, per_socket, sockets_per_group }
    }

    pub fn clusters(&self) -> usize {
        self.cores.last().map_or(0, |last| usize::from(last.cluster) + 1)
    }

    #[inline]
    pub fn socket(&self, core: u16) -> u8 {
        self.cores[usize::from(core)].socket
    }

    #[inline]
    pub fn cluster(&self, core: u16) -> u16 {
        self.cores[usize::from(core)].cluster
    }

    /// Between two cores, for a line that lives in the memory of socket `home`.
    #[inline]
    pub fn between(&self, a: u16, b: u16, home: u8) -> Distance {
        let (a, b) = (self.cores[usize::from(a)], self.cores[usize::from(b)]);
        if a.cluster == b.cluster {
            Distance::Cluster
        } else if a.socket == b.socket {
            within(a.socket, home)
        } else if a.group == b.group && self.in_group(home, a.group) {
            Distance::Remote
        } else {
            Distance::Far
        }
    }

    #[inline]
    fn in_group(&self, home: u8, group: u8) -> bool {
        home == ANYWHERE || u32::from(home) / self.sockets_per_group == u32::from(group)
    }

    /// From `core` to the nearest of the others in a set that is not empty but for it.
    pub fn nearest(&self, set: &[u64], core: u16, home: u8) -> Distance {
        let [cluster, socket, group] = self.ranges(core);
        let others = |range| any_in(set, range, false);
        if others(cluster) {
            Distance::Cluster
        } else if cluster != socket && others(socket) {
            within(self.socket(core), home)
        } else if others(group) && self.in_group(home, self.cores[usize::from(core)].group) {
            Distance::Remote
        } else {
            Distance::Far
        }
    }

    /// From `core` to the farthest of a set.
    pub fn farthest(&self, set: &[u64], core: u16, home: u8) -> Distance {
        let [cluster, socket, group] = self.ranges(core);
        let beyond = |range| any_in(set, range, true);
        if !beyond(cluster) {
            Distance::Cluster
        } else if cluster != socket && !beyond(socket) {
            within(self.socket(core), home)
        } else if !beyond(group) && self.in_group(home, self.cores[usize::from(core)].group) {
            Distance::Remote
        } else {
            Distance::Far
        }
    }

    /// The cores of this one's cluster, socket and group.
    fn ranges(&self, core: u16) -> [(u32, u32); 3] {
        let core = u32::from(core);
        let socket = core / self.per_socket * self.per_socket;
        let cluster = socket + (core - socket) / self.per_cluster * self.per_cluster;
        let group = core / (self.per_socket * self.sockets_per_group) * (self.per_socket * self.sockets_per_group);
        [
            (cluster, (cluster + self.per_cluster).min(socket + self.per_socket)),
            (socket, socket + self.per_socket),
            (group, group + self.per_socket * self.sockets_per_group),
        ]
    }
}

fn within(socket: u8, home: u8) -> Distance {
    if home == socket || home == ANYWHERE { Distance::Local } else { Distance::Away }
}

/// Is a member of the set in the range (or, with `outside`, not in it)?
fn any_in(set: &[u64], (from, to): (u32, u32), outside: bool) -> bool {
    set.iter().enumerate().any(|(word, &bits)| {
        let mask = range_mask(word as u32, from, to);
        bits & if outside { !mask } else { mask } != 0
    })
}

/// Bits of word `word` of a set that stand for members `from..to`.
fn range_mask(word: u32, from: u32, to: u32) -> u64 {
    let below = |n: u32| match n.saturating_sub(word * 64) {
        n if n >= 64 => u64::MAX,
        n => (1 << n) - 1,
    };
    below(to) & !below(from)
}
