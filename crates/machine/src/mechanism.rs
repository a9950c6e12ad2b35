// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the model does, each of which can be left out to see what it accounts for.
use corefold_model::{Caches, Machine};

pub struct Mechanism {
    pub name: &'static str,
    /// What a machine without it does.
    pub without: &'static str,
    /// Changes nothing on a machine that has no such thing.
    leave_out: fn(&mut Machine),
}

pub static MECHANISMS: [Mechanism; 17] = [
    Mechanism {
        name: "in-flight",
        without: "a line changes ownership at the moment of the request",
        leave_out: |m| (m.latency.request_percent, m.latency.snoop_percent) = (0, 0),
    },
    Mechanism {
        name: "store-buffer",
        without: "a CPU waits for the line of each store",
        leave_out: |m| m.core.store_buffer = 0,
    },
    Mechanism {
        name: "overlap",
        without: "a CPU waits for each load before it continues",
        leave_out: |m| (m.core.window, m.core.misses) = (0, 1),
    },
    Mechanism {
        name: "smt",
        without: "threads of a core do not slow each other down, and lines pass between them as between cores",
        leave_out: |m| {
            m.core.smt_percent = 100 * u32::from(m.threads_per_core);
            m.latency.smt = m.latency.cluster.modified;
        },
    },
    Mechanism {
        name: "home-node",
        without: "the socket whose memory holds a line makes no difference",
        leave_out: |m| m.latency.home_node = false,
    },
    Mechanism {
        name: "queueing",
        without: "requests for a line do not wait for each other",
        leave_out: |m| m.latency.queueing = false,
    },
    Mechanism {
        name: "arbitration",
        without: "requests of a cluster's cores for a line are served in the order in which they come",
        leave_out: |m| m.latency.in_order = true,
    },
    Mechanism {
        name: "migration",
        without: "a load of a line that another core wrote leaves it a copy",
        leave_out: |m| m.latency.migratory = false,
    },
    Mechanism {
        name: "spread",
        without: "a transfer between two cores always takes the same time: CPUs run in lockstep",
        leave_out: |m| m.latency.spread = 0,
    },
    Mechanism { name: "adjacent-line", without: "a miss brings one line", leave_out: |m| m.core.adjacent_line = false },
    Mechanism {
        name: "first-level",
        without: "the first level counts as part of the second: simulation is faster where data fits the second",
        leave_out: |m| m.caches.l1.bytes = 0,
    },
    Mechanism { name: "caches", without: "caches never run full", leave_out: |m| m.caches = Caches::ENDLESS },
    Mechanism {
        name: "bandwidth",
        without: "memory and links between sockets deliver any number of lines at once",
        leave_out: |m| (m.memory_bandwidth, m.link_bandwidth) = (0, 0),
    },
    Mechanism {
        name: "chains",
        without: "a loop takes its issue slots, however long its instructions wait for each other",
        leave_out: |m| m.core.chains = false,
    },
    Mechanism {
        name: "forwarding",
        without: "a load has what was just stored to its word as soon as it would have any other",
        leave_out: |m| {
            (m.core.forward, m.core.reload) = (0, 0);
            (m.core.renamed, m.core.renamed_indexed, m.core.renamed_twice) = (0, 0, 0);
        },
    },
    Mechanism {
        name: "scheduler",
        without: "any number of operations can wait for their operands",
        leave_out: |m| m.core.scheduler = 4096,
    },
    Mechanism { name: "mispredict", without: "branches are never mispredicted", leave_out: |m| m.core.mispredict = 0 },
];

/// The machine with one mechanism less; its name says so.
pub fn without(machine: &mut Machine, name: &str) {
    let mechanism = MECHANISMS.iter().find(|m| m.name == name).expect("one of MECHANISMS");
    (mechanism.leave_out)(machine);
    machine.name = format!("{} without {name}", machine.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_can_be_left_out_of_a_machine_that_has_it() {
        for mechanism in &MECHANISMS {
            let base =
                crate::load(if mechanism.name == "home-node" { "rome-2s-7742" } else { "clx-2s-8275cl" }).unwrap();
            // Neither of the two is known to do this.
            let has = corefold_model::Machine {
                latency: corefold_model::Latency { migratory: true, ..base.machine.latency },
                ..base.machine.clone()
            };
            let mut less = has.clone();
            without(&mut less, mechanism.name);
            assert!(less.name.ends_with(mechanism.name));
            less.name.clone_from(&has.name);
            assert_ne!(less, has, "{}", mechanism.name);
        }
    }
}
