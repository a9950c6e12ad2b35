// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Linux's files say of the simulated machine: /sys/devices/system/cpu and node, /proc/cpuinfo and the like.
use crate::process_id::{OWN, PARENT};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use corefold_model::{Cache, Machine};

/// Kilobytes of memory, as `sysconf` has them.
pub const MEMORY_KB: u64 = 8 << 20;

pub struct Topology<'a> {
    pub machine: &'a Machine,
    /// CPUs that the program sees.
    pub cpus: u32,
}

/// A file's path below /sys/devices/system, and what is in it.
pub type File = (String, String);

impl Topology<'_> {
    fn those(&self, holds: impl Fn(u32) -> bool) -> Vec<u32> {
        (0..self.cpus).filter(|cpu| holds(*cpu)).collect()
    }

    fn core(&self, cpu: u32) -> u32 {
        self.machine.core_of(cpu)
    }

    fn socket(&self, cpu: u32) -> u32 {
        self.machine.socket_of(cpu)
    }

    /// The number of its last-level cache.
    fn cluster(&self, cpu: u32) -> u32 {
        let (all, each) = (u32::from(self.machine.cores_per_socket), u32::from(self.machine.cores_per_cluster.max(1)));
        self.socket(cpu) * all.div_ceil(each) + self.core(cpu) % all / each
    }

    pub fn nodes(&self) -> u32 {
        (0..self.cpus).map(|cpu| self.socket(cpu)).max().unwrap_or(0) + 1
    }

    /// Files that are not of one CPU.
    pub fn of_all(&self) -> Vec<File> {
        let (cpus, nodes) = (up_to(self.cpus), up_to(self.nodes()));
        let mut files = Vec::new();
        let mut add = |path: &str, text: &str| files.push((path.to_string(), text.to_string() + "\n"));
        ["online", "possible", "present"].iter().for_each(|name| add(&format!("cpu/{name}"), &cpus));
        add("cpu/offline", "");
        add("cpu/kernel_max", &(corefold_model::MOST_CPUS - 1).to_string());
        let cores: BTreeSet<u32> = (0..self.cpus).map(|cpu| self.core(cpu)).collect();
        add("cpu/smt/active", if cores.len() < self.cpus as usize { "1" } else { "0" });
        for name in ["online", "possible", "has_cpu", "has_memory", "has_normal_memory"] {
            add(&format!("node/{name}"), &nodes);
        }
        for node in 0..self.nodes() {
            let own = self.those(|cpu| self.socket(cpu) == node);
            let file = |name: &str| format!("node/node{node}/{name}");
            add(&file("cpulist"), &list(&own));
            add(&file("cpumap"), &map(&own, self.cpus));
            let distances = (0..self.nodes()).map(|other| if other == node { "10" } else { "21" });
            add(&file("distance"), &distances.collect::<Vec<_>>().join(" "));
            let each = MEMORY_KB / u64::from(self.nodes());
            let line = |what: &str, kb: u64| format!("Node {node} {:<16}{kb:>8} kB", format!("{what}:"));
            let lines = [line("MemTotal", each), line("MemFree", each / 2), line("MemUsed", each / 2)];
            add(&file("meminfo"), &lines.join("\n"));
        }
        files
    }

    /// Files of one CPU.
    pub fn of_cpu(&self, cpu: u32) -> Vec<File> {
        let mut files = Vec::new();
        let mut add = |path: String, text: String| files.push((format!("cpu/cpu{cpu}/{path}"), text + "\n"));
        add("online".into(), "1".into());
        let core = self.core(cpu) % u32::from(self.machine.cores_per_socket);
        for (name, number) in [("core_id", core), ("physical_package_id", self.socket(cpu)), ("die_id", 0)] {
            add(format!("topology/{name}"), number.to_string());
        }
        let siblings = self.those(|other| self.core(other) == self.core(cpu));
        let package = self.those(|other| self.socket(other) == self.socket(cpu));
        let sets = [
            ("thread_siblings", &siblings),
            ("core_cpus", &siblings),
            ("core_siblings", &package),
            ("package_cpus", &package),
            ("die_cpus", &package),
        ];
        for (name, set) in sets {
            add(format!("topology/{name}"), map(set, self.cpus));
            add(format!("topology/{name}_list"), list(set));
        }
        let cluster = self.those(|other| self.cluster(other) == self.cluster(cpu));
        let caches = &self.machine.caches;
        let levels = [
            (1, "Data", &caches.l1, &siblings),
            (2, "Unified", &caches.l2, &siblings),
            (3, "Unified", &caches.l3, &cluster),
        ];
        for (index, (level, kind, cache, shared)) in levels.into_iter().enumerate() {
            for (name, text) in self.of_cache(level, kind, cache, shared) {
                add(format!("cache/index{index}/{name}"), text);
            }
        }
        files
    }

    /// Of a cache without a limit, nothing about its size.
    fn of_cache(&self, level: u32, kind: &str, cache: &Cache, shared: &[u32]) -> Vec<(&'static str, String)> {
        let line = self.machine.line_bytes;
        let mut files = alloc::vec![
            ("level", level.to_string()),
            ("type", kind.to_string()),
            ("id", shared.first().copied().unwrap_or(0).to_string()),
            ("coherency_line_size", line.to_string()),
            ("shared_cpu_map", map(shared, self.cpus)),
            ("shared_cpu_list", list(shared)),
        ];
        if cache.bytes > 0 {
            files.push(("size", format!("{}K", cache.bytes >> 10)));
            files.push(("ways_of_associativity", cache.ways.to_string()));
            files.push(("number_of_sets", (cache.bytes / u64::from(line * cache.ways.max(1))).to_string()));
        }
        files
    }

    /// `features` are the host's, whose processor runs the code.
    pub fn cpuinfo(&self, features: &str) -> String {
        let machine = self.machine;
        let threads = u32::from(machine.cores_per_socket) * u32::from(machine.threads_per_core);
        let of = |cpu: u32| {
            let core = self.core(cpu) % u32::from(machine.cores_per_socket);
            format!(
                "processor\t: {cpu}\nvendor_id\t: corefold\nmodel name\t: {}\ncpu MHz\t\t: {}.000\ncache size\t: {} KB\n\
                 physical id\t: {}\nsiblings\t: {threads}\ncore id\t\t: {core}\ncpu cores\t: {}\napicid\t\t: {cpu}\n\
                 flags\t\t:{features}\nclflush size\t: {}\ncache_alignment\t: {}\n\n",
                machine.name,
                machine.clock_hz / 1_000_000,
                machine.caches.l3.bytes >> 10,
                self.socket(cpu),
                machine.cores_per_socket,
                machine.line_bytes,
                machine.line_bytes,
            )
        };
        (0..self.cpus).map(of).collect()
    }

    /// After so many hundredths of a second.
    pub fn stat(&self, since_start: u64) -> String {
        let line = |name: String, idle: u64| format!("{name} 0 0 0 {idle} 0 0 0 0 0 0\n");
        let each: String = (0..self.cpus).map(|cpu| line(format!("cpu{cpu}"), since_start)).collect();
        let all = line("cpu ".into(), since_start * u64::from(self.cpus));
        format!("{all}{each}intr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n")
    }

    /// The host's file about this process, as it would be of a thread on this machine.
    pub fn status(&self, host: &str, task: &Task) -> String {
        let nodes: Vec<u32> = (0..self.nodes()).collect();
        let ours = |line: &str| match line.split_once(':').map_or("", |(key, _)| key) {
            "Cpus_allowed" => format!("Cpus_allowed:\t{}\n", map(&task.cpus, self.cpus)),
            "Cpus_allowed_list" => format!("Cpus_allowed_list:\t{}\n", list(&task.cpus)),
            "Mems_allowed" => format!("Mems_allowed:\t{}\n", map(&nodes, self.nodes())),
            "Mems_allowed_list" => format!("Mems_allowed_list:\t{}\n", list(&nodes)),
            "Name" => format!("Name:\t{}\n", task.name),
            "State" => format!("State:\t{}\n", task.state),
            key @ ("Pid" | "NSpid") => format!("{key}:\t{}\n", task.id),
            key @ ("Tgid" | "NStgid" | "NSpgid") => format!("{key}:\t{OWN}\n"),
            key @ ("PPid" | "NSsid") => format!("{key}:\t{PARENT}\n"),
            "Threads" => format!("Threads:\t{}\n", task.threads),
            key @ ("voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches") => format!("{key}:\t0\n"),
            _ => format!("{line}\n"),
        };
        host.lines().map(ours).collect()
    }
}

/// A thread, or the process by its first one, where the host's files about them say nothing of it.
pub struct Task {
    pub id: i32,
    pub name: String,
    /// As `status` has it.
    pub state: &'static str,
    pub nice: i32,
    /// How many the process has.
    pub threads: usize,
    /// Those that it may run on.
    pub cpus: Vec<u32>,
    /// Hundredths of a second on CPUs; the process's: of all threads.
    pub ran: u64,
}

/// The host's /proc/self/stat, with what says nothing of the simulated machine replaced: IDs and terminal, page faults, and
/// times, in hundredths of a second.
pub fn stat_of(host: &str, task: &Task) -> String {
    let Some((_, rest)) = host.trim_end().rsplit_once(") ") else { return host.into() };
    // Numbered as in proc(5), whose third is the first here.
    let field = |(at, theirs): (usize, &str)| match at + 3 {
        3 => task.state.chars().take(1).collect(),
        4 | 6 => PARENT.to_string(),
        5 => OWN.to_string(),
        8 => "-1".into(),
        14 => task.ran.to_string(),
        18 => (20 + task.nice).to_string(),
        19 => task.nice.to_string(),
        20 => task.threads.to_string(),
        7 | 10..=13 | 15..=17 | 22 | 29..=31 | 35 | 39 | 42 | 43 => "0".into(),
        _ => String::from(theirs),
    };
    let fields: Vec<String> = rest.split(' ').enumerate().map(field).collect();
    format!("{} ({}) {}\n", task.id, task.name, fields.join(" "))
}

pub fn meminfo() -> String {
    let line = |(name, kb): (&str, u64)| format!("{:<16}{kb:>8} kB\n", format!("{name}:"));
    let (all, free) = (MEMORY_KB, MEMORY_KB / 2);
    let lines = [("MemTotal", all), ("MemFree", free), ("MemAvailable", free), ("Buffers", 0), ("Cached", 0)];
    let more = [("SwapTotal", 0), ("SwapFree", 0), ("Hugepagesize", 2048)];
    lines.into_iter().chain(more).map(line).collect()
}

fn up_to(count: u32) -> String {
    if count == 1 { "0".into() } else { format!("0-{}", count - 1) }
}

/// Ascending numbers as the kernel lists them: `0-3,8`.
fn list(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// The same as the kernel's bit maps: words of 32 bits, the highest first.
fn map(numbers: &[u32], of: u32) -> String {
    let mut words = alloc::vec![0u32; of.div_ceil(32).max(1) as usize];
    numbers.iter().for_each(|number| words[*number as usize / 32] |= 1 << (number % 32));
    words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}
