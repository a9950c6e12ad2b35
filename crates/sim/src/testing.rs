// SPDX-License-Identifier: MIT OR Apache-2.0
//! What unit tests have in common: a machine, and a map as memory.
#[path = "../tests/common/machine.rs"]
mod machine;
#[path = "../tests/common/world.rs"]
mod world;

use crate::{Effects, Event, Lease, Options, Sim, What};
use corefold_model::Machine;
pub use machine::{machine, with_small_caches};
pub use world::World;

/// CPUs without run queues, of which the test says who runs.
pub struct Bench {
    pub sim: Sim,
    pub lease: Lease,
    pub world: World,
}

impl Bench {
    pub fn new(machine: &Machine) -> Bench {
        let mut sim = Sim::new(machine, Options::new(8));
        sim.cpus.iter_mut().for_each(|cpu| cpu.next_sample = u64::MAX);
        let mut bench = Bench { sim, lease: Lease::default(), world: World::default() };
        bench.runs(0, 0);
        bench
    }

    /// `cpu` runs, from `clock` on, and is alone.
    pub fn runs(&mut self, cpu: usize, clock: u64) -> Effects {
        self.sim.switch(&self.lease, &mut self.world, cpu, clock)
    }

    pub fn event(&self, what: What, address: u64) -> Event {
        Event::new(what, self.sim.cpu as u32, address, 8, 0)
    }

    /// A whole event of the running CPU.
    pub fn does(&mut self, what: What, address: u64) -> Effects {
        let mut event = self.event(what, address);
        let effects = self.sim.event(&self.lease, &mut self.world, &mut event);
        assert!(!effects.has(Effects::OTHERS));
        effects
    }

    pub fn clock(&self) -> u64 {
        self.lease.clock.get()
    }
}
