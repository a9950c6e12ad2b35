// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where in the program memory is allocated, how often, and how many objects of each place live.
use alloc::vec::Vec;
use corefold_recording::{AllocSite, Mapping};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Return addresses kept of an allocating call.
pub const SITE_DEPTH: usize = 4;

#[derive(Default)]
pub struct AllocSites {
    sites: Vec<AllocSite>,
    /// Live objects of each site.
    live: Vec<u64>,
    numbers: HashMap<([u64; SITE_DEPTH], Option<Mapping>), u32, FxBuildHasher>,
}

impl AllocSites {
    /// The number of the place that allocates or maps `size` bytes now: its call and those around it.
    pub fn number(&mut self, stack: [u64; SITE_DEPTH], size: u64, mapping: Option<Mapping>) -> u32 {
        let next = self.sites.len() as u32;
        let key = (stack, mapping);
        let number = self.numbers.get(&key).copied().unwrap_or(next);
        if number == next {
            let stack = stack.iter().copied().filter(|pc| *pc != 0).collect();
            self.sites.push(AllocSite { stack, mapping: key.1.clone(), ..AllocSite::default() });
            self.live.push(0);
            self.numbers.insert(key, number);
        }
        let site = &mut self.sites[number as usize];
        site.count += 1;
        site.bytes += size;
        number
    }

    /// One live object more of the site.
    pub fn begins(&mut self, site: u32) {
        let (live, site) = (&mut self.live[site as usize], &mut self.sites[site as usize]);
        *live += 1;
        site.live = site.live.max(*live);
    }

    /// One less.
    pub fn ends(&mut self, site: u32) {
        self.live[site as usize] -= 1;
    }

    /// All, by number.
    pub fn all(&self) -> &[AllocSite] {
        &self.sites
    }
}
