// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says of the CPUs that this process may use.
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, Default)]
pub struct Cpu {
    pub number: usize,
    pub socket: String,
    pub core: String,
    /// CPUs that share its last-level cache.
    pub cluster: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    pub bytes: u64,
    pub ways: u64,
}

#[derive(Debug)]
pub struct Topology {
    /// That this process may run on.
    pub cpus: Vec<Cpu>,
    /// Of levels 1 to 3, where there is one.
    pub caches: [Option<Cache>; 3],
}

impl Topology {
    pub fn read() -> Topology {
        let cpus: Vec<Cpu> = allowed().into_iter().map(cpu).collect();
        let first = cpus.first().map_or(0, |c| c.number);
        let caches = [1, 2, 3].map(|level| cache(first, level));
        Topology { cpus, caches }
    }

    pub fn sockets(&self) -> usize {
        self.count(|c| c.socket.clone())
    }

    /// Rounded up where sockets differ, as where a container has but some CPUs.
    pub fn cores_per_socket(&self) -> usize {
        self.count(|c| (c.socket.clone(), c.core.clone())).div_ceil(self.sockets())
    }

    pub fn threads_per_core(&self) -> usize {
        let cores = self.count(|c| (c.socket.clone(), c.core.clone()));
        self.cpus.len().div_ceil(cores)
    }

    /// The largest number of cores with one last-level cache that divides a socket's.
    pub fn cores_per_cluster(&self) -> usize {
        let mut cores: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for c in &self.cpus {
            let list = cores.entry((&c.socket, &c.cluster)).or_default();
            if !list.contains(&c.core.as_str()) {
                list.push(&c.core);
            }
        }
        let (most, whole) = (cores.values().map(Vec::len).max().unwrap_or(1), self.cores_per_socket());
        (1..=most).rev().find(|n| whole.is_multiple_of(*n)).unwrap_or(whole)
    }

    fn count<T: Ord>(&self, f: impl Fn(&Cpu) -> T) -> usize {
        self.cpus.iter().map(f).collect::<std::collections::BTreeSet<T>>().len().max(1)
    }

    /// The first two CPUs that `f` says are what is looked for.
    pub fn pair(&self, f: impl Fn(&Cpu, &Cpu) -> bool) -> Option<(usize, usize)> {
        let others = |a| self.cpus.iter().map(move |b| (a, b));
        let mut all = self.cpus.iter().flat_map(others).filter(|(a, b)| a.number != b.number);
        all.find(|(a, b)| f(a, b)).map(|(a, b)| (a.number, b.number))
    }

    /// Two CPUs of different cores that are as near each other as any.
    pub fn nearest(&self) -> Option<(usize, usize)> {
        let cluster = self.pair(|a, b| a.same_cluster(b) && !a.same_core(b));
        let socket = || self.pair(|a, b| a.socket == b.socket && !a.same_cluster(b));
        cluster.or_else(socket).or_else(|| self.pair(|a, b| a.socket != b.socket))
    }
}

impl Cpu {
    pub fn same_core(&self, other: &Cpu) -> bool {
        self.socket == other.socket && self.core == other.core
    }
    pub fn same_cluster(&self, other: &Cpu) -> bool {
        self.socket == other.socket && self.cluster == other.cluster
    }
}

fn allowed() -> Vec<usize> {
    // SAFETY: an empty set is all zeros, and the call fills in no more than it is told there is room for.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: the number is within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|n| unsafe { libc::CPU_ISSET(*n, &set) }).collect()
}

/// Keeps the calling thread on one CPU.
pub fn pin(cpu: usize) {
    // SAFETY: as above; the number comes from `allowed`.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn word(path: &str) -> Option<String> {
    std::fs::read_to_string(Path::new("/sys/devices/system/cpu").join(path)).ok().map(|s| s.trim().to_string())
}

fn cpu(number: usize) -> Cpu {
    let of = |what: &str| word(&format!("cpu{number}/topology/{what}")).unwrap_or_default();
    let cluster = index(number, 3).and_then(|i| word(&format!("cpu{number}/cache/index{i}/shared_cpu_list")));
    Cpu { number, socket: of("physical_package_id"), core: of("core_id"), cluster: cluster.unwrap_or_default() }
}

/// The kernel's number for a CPU's cache of data of a level.
fn index(cpu: usize, level: u32) -> Option<u32> {
    (0..8).find(|i| {
        let of = |what: &str| word(&format!("cpu{cpu}/cache/index{i}/{what}"));
        of("level").as_deref() == Some(&level.to_string()) && of("type").as_deref() != Some("Instruction")
    })
}

fn cache(cpu: usize, level: u32) -> Option<Cache> {
    let of = |what: &str| word(&format!("cpu{cpu}/cache/index{}/{what}", index(cpu, level)?));
    let bytes = of("size")?.strip_suffix('K')?.parse::<u64>().ok()? * 1024;
    let ways = of("ways_of_associativity")?.parse().ok()?;
    (bytes % (ways * 64) == 0).then_some(Cache { bytes, ways })
}
