// SPDX-License-Identifier: MIT OR Apache-2.0
//! From entries to a checked machine.
use crate::keys::{Absent, Dimension, KEYS, Key, TURBO, find, turbo};
use crate::text::{Entry, Origin, Reader};
use crate::{Error, Machine};
use corefold_model::{Cache, Caches, Core, Latency, MOST_CPUS, Pair, System, TICKS_PER_CYCLE, Turbo};
use std::collections::BTreeMap;

/// One number of a profile, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub key: String,
    pub value: f64,
    pub unit: String,
    /// The value in cycles of the machine's clock, where it is a time.
    pub cycles: Option<u64>,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub machine: Machine,
    /// One line.
    pub description: String,
    /// In a fixed order: topology, latencies, core, system.
    pub facts: Vec<Fact>,
    /// What looks odd and is allowed all the same.
    pub warnings: Vec<String>,
}

pub(crate) fn parse(file: &str, text: &str) -> Result<Profile, Error> {
    let reader = Reader { file, text };
    let read = reader.read()?;
    let mut entries: BTreeMap<String, Entry> = read.entries.into_iter().map(|e| (e.key.clone(), e)).collect();
    let clock = clock_hz(&reader, &entries)?;
    let mut numbers = Numbers(BTreeMap::new());
    let mut facts = Vec::new();
    for key in KEYS {
        let Some(entry) = entries.remove(key.name) else {
            let number = match key.absent {
                Absent::Missing => return Err(reader.missing(key.name)),
                Absent::Number(number) => (number, 0),
                Absent::OneSocket(_) if numbers.get("topology.sockets") > 1 => return Err(reader.missing(key.name)),
                Absent::Like(other) | Absent::OneSocket(other) => numbers.0[other],
            };
            numbers.0.insert(key.name, number);
            continue;
        };
        let number = convert(&reader, key, &entry, clock)?;
        numbers.0.insert(key.name, (number, entry.line));
        facts.push(fact(key, entry, number));
    }
    numbers.check(&reader)?;
    let mut machine = numbers.machine(read.name, clock);
    // What is left in the table is no key of its own.
    for (name, entry) in entries {
        let cores = turbo(&name).expect("other names were refused");
        if cores > machine.cores_per_socket {
            let what = format!("{name}: a socket has {} cores", machine.cores_per_socket);
            return Err(reader.at(entry.line, what));
        }
        let clock_hz = convert(&reader, &TURBO, &entry, clock)? * 1_000_000;
        machine.turbo.push(Turbo { cores, clock_hz });
        facts.push(fact(&TURBO, entry, 0));
    }
    machine.turbo.sort_by_key(|step| step.cores);
    let warnings = unordered(file, &machine.latency);
    Ok(Profile { machine, description: read.description, facts, warnings })
}

fn fact(key: &Key, entry: Entry, number: u64) -> Fact {
    let cycles = (key.dimension == Dimension::Time).then_some(number);
    Fact { key: entry.key, value: entry.value, unit: entry.unit, cycles, origin: entry.origin }
}

/// The clock comes first: nanoseconds cannot be read without it.
fn clock_hz(reader: &Reader, entries: &BTreeMap<String, Entry>) -> Result<u64, Error> {
    let key = find("topology.clock").expect("it is in the table of keys");
    let entry = entries.get(key.name).ok_or_else(|| reader.missing(key.name))?;
    convert(reader, key, entry, 0)?;
    Ok((entry.value * 1e6).round() as u64)
}

/// The entry's value as a whole number: cycles for a time, ticks for a rate.
fn convert(reader: &Reader, key: &Key, entry: &Entry, clock_hz: u64) -> Result<u64, Error> {
    let wrong = |what: String| reader.at(entry.line, format!("{}: {what}", key.name));
    let units = key.dimension.units();
    if !units.contains(&entry.unit.as_str()) {
        return Err(wrong(format!("unit {:?} must be {}", entry.unit, units.join(" or "))));
    }
    let scaled = match entry.unit.as_str() {
        "ns" => entry.value * clock_hz as f64 / 1e9,
        "GB/s" => entry.value * 1e3,
        _ => entry.value,
    };
    let whole = matches!(key.dimension, Dimension::Count | Dimension::Bytes | Dimension::Percent);
    if whole && scaled.fract() != 0.0 {
        return Err(wrong(format!("\"value\" {} must be a whole number", entry.value)));
    }
    // A rate is kept in ticks.
    let parts = if key.dimension == Dimension::Rate { TICKS_PER_CYCLE as f64 } else { 1.0 };
    let number = (scaled * parts).round() / parts;
    if number < key.least as f64 || number > key.most as f64 {
        let unit = if entry.unit == "ns" { "cycles" } else { &entry.unit };
        return Err(wrong(format!("{number} {unit} is not within {} to {}", key.least, key.most)));
    }
    Ok((number * parts) as u64)
}

/// What makes the number of CPUs.
const CPUS: [&str; 3] = ["topology.sockets", "topology.cores_per_socket", "topology.threads_per_core"];

/// What others are made of.
const PARTS: [(&str, &str); 2] =
    [("topology.cores_per_cluster", "topology.cores_per_socket"), ("topology.sockets_per_group", "topology.sockets")];

/// Bytes, ways and cycles of each level; a hit in the first is part of the instruction's own time.
const LEVELS: [[&str; 3]; 3] = [
    ["cache.l1", "cache.l1_ways", ""],
    ["cache.l2", "cache.l2_ways", "cache.l2_hit"],
    ["cache.l3", "cache.l3_ways", "cache.l3_hit"],
];

/// The profile's numbers, each with its line.
struct Numbers(BTreeMap<&'static str, (u64, usize)>);

impl Numbers {
    fn line(&self, key: &str) -> usize {
        self.0[key].1
    }

    fn long(&self, key: &str) -> u64 {
        self.0[key].0
    }

    /// The table of keys bounds every number but the timeslice to 32 bits.
    fn get(&self, key: &str) -> u32 {
        self.long(key) as u32
    }

    fn check(&self, reader: &Reader) -> Result<(), Error> {
        let line_bytes = self.get("topology.line_bytes");
        if line_bytes != 64 && line_bytes != 128 {
            let what = format!("topology.line_bytes: {line_bytes} must be 64 or 128");
            return Err(reader.at(self.line("topology.line_bytes"), what));
        }
        let [sockets, cores, threads] = CPUS.map(|key| self.get(key));
        let cpus = u64::from(sockets) * u64::from(cores) * u64::from(threads);
        if cpus > u64::from(MOST_CPUS) {
            let what = format!(
                "{}: {sockets} sockets of {cores} cores of {threads} threads are {cpus} CPUs, and {MOST_CPUS} is the most that can be simulated",
                CPUS[1]
            );
            return Err(reader.at(self.line(CPUS[1]), what));
        }
        for (part, whole) in PARTS {
            let (some, all) = (self.get(part), self.get(whole));
            if some > all || all % some != 0 {
                let what = format!("{part}: {some} must divide {whole}, {all}");
                return Err(reader.at(self.line(part), what));
            }
        }
        for level in LEVELS {
            self.check_cache(reader, level)?;
        }
        let split = self.get("latency.request_percent") + self.get("latency.snoop_percent");
        if split > 100 {
            let what = format!("latency.snoop_percent: the sum with latency.request_percent is {split}, more than 100");
            return Err(reader.at(self.line("latency.snoop_percent"), what));
        }
        Ok(())
    }

    /// A cache has a whole number of sets; all levels have limits or none has.
    fn check_cache(&self, reader: &Reader, [size, ways, _]: [&'static str; 3]) -> Result<(), Error> {
        let (bytes, of_a_way) = (self.long(size), self.long(ways) * self.long("topology.line_bytes"));
        let wrong = |what: String| Err(reader.at(self.line(size), format!("{size}: {what}")));
        if bytes % of_a_way != 0 {
            return wrong(format!("{bytes} bytes is not a whole number of sets of {of_a_way} bytes"));
        }
        if bytes == 0 && size != "cache.l1" && LEVELS.iter().any(|[other, ..]| self.long(other) > 0) {
            return Err(reader.missing(size));
        }
        Ok(())
    }

    fn cache(&self, [size, ways, hit]: [&'static str; 3]) -> Cache {
        let latency = if hit.is_empty() { 0 } else { self.get(hit) };
        Cache { bytes: self.long(size), ways: self.get(ways), latency }
    }

    fn pair(&self, clean: &str, modified: &str) -> Pair {
        Pair { clean: self.get(clean), modified: self.get(modified) }
    }

    fn machine(&self, name: String, clock_hz: u64) -> Machine {
        Machine {
            name,
            sockets: self.get("topology.sockets") as u16,
            cores_per_socket: self.get("topology.cores_per_socket") as u16,
            cores_per_cluster: self.get("topology.cores_per_cluster") as u16,
            sockets_per_group: self.get("topology.sockets_per_group") as u16,
            threads_per_core: self.get("topology.threads_per_core") as u16,
            line_bytes: self.get("topology.line_bytes"),
            clock_hz,
            turbo: Vec::new(),
            order: Vec::new(),
            latency: self.latency(),
            core: self.core(),
            caches: {
                let [l1, l2, l3] = LEVELS.map(|level| self.cache(level));
                let (line, stored_line) = (self.get("cache.l2_line"), self.get("cache.l2_line_stored"));
                Caches { l1, l2, l3, line, stored_line }
            },
            memory_bandwidth: self.get("memory.bandwidth"),
            link_bandwidth: self.get("memory.link"),
            directory_in_memory: self.get("memory.directory") == 1,
            system: self.system(),
        }
    }

    fn latency(&self) -> Latency {
        Latency {
            smt: self.get("latency.smt"),
            cluster: self.pair("latency.cluster_clean", "latency.cluster_modified"),
            local: self.pair("latency.local_clean", "latency.local_modified"),
            away: self.pair("latency.away_clean", "latency.away_modified"),
            remote: self.pair("latency.remote_clean", "latency.remote_modified"),
            far: self.pair("latency.far_clean", "latency.far_modified"),
            memory: self.get("latency.memory"),
            remote_memory: self.get("latency.remote_memory"),
            request_percent: self.get("latency.request_percent") as u8,
            snoop_percent: self.get("latency.snoop_percent") as u8,
            data_by_home: self.get("latency.data_by_home") == 1,
            migratory: self.get("latency.migratory") == 1,
            spread: self.get("latency.spread"),
            queueing: self.get("latency.queueing") == 1,
            in_order: self.get("latency.in_order") == 1,
            home_node: self.get("latency.home_node") == 1,
        }
    }

    fn core(&self) -> Core {
        Core {
            width: self.get("core.width"),
            rmw: self.get("core.rmw"),
            rmw_held: self.get("core.rmw_held"),
            split_lock: self.get("core.split_lock"),
            reload: self.get("core.reload"),
            load: self.get("core.load"),
            forward: self.get("core.forward"),
            renamed: self.get("core.renamed"),
            renamed_indexed: self.get("core.renamed_indexed"),
            renamed_twice: self.get("core.renamed_twice"),
            fence: self.get("core.fence"),
            pause: self.get("core.pause"),
            store_buffer: self.get("core.store_buffer"),
            forwards_lost: self.get("core.forwards_lost") == 1,
            misses: self.get("core.misses"),
            transfers: self.get("core.transfers"),
            window: self.get("core.window"),
            scheduler: self.get("core.scheduler"),
            fence_serializes: self.get("core.fence_serializes") == 1,
            chains: self.get("core.chains") == 1,
            taken_branch: self.get("core.taken_branch"),
            mispredict: self.get("core.mispredict"),
            smt_percent: self.get("core.smt_percent"),
            adjacent_line: self.get("core.adjacent_line") == 1,
        }
    }

    fn system(&self) -> System {
        System {
            syscall: self.get("system.syscall"),
            futex: self.get("system.futex"),
            wake: self.get("system.wake"),
            wake_spread: self.get("system.wake_spread"),
            wake_call: self.get("system.wake_call"),
            futex_wake: self.get("system.futex_wake"),
            context_switch: self.get("system.context_switch"),
            timeslice: self.long("system.timeslice"),
            numa_imbalance: self.get("system.numa_imbalance"),
            wake_granularity: self.get("system.wake_granularity"),
            sleeper_credit: self.get("system.sleeper_credit"),
            interrupt: self.get("system.interrupt"),
            interrupt_send: self.get("system.interrupt_send"),
            grace_period: self.get("system.grace_period"),
            thread_create: self.get("system.thread_create"),
            allocation: self.get("system.allocation"),
            clock_read: self.get("system.clock_read"),
        }
    }
}

/// Farther should cost more. A real machine may break this rule, a typing error does so more often.
fn unordered(file: &str, l: &Latency) -> Vec<String> {
    let pairs = [
        ("smt", l.smt, "local_clean", l.local.clean),
        ("cluster_clean", l.cluster.clean, "local_clean", l.local.clean),
        ("cluster_modified", l.cluster.modified, "local_modified", l.local.modified),
        ("local_clean", l.local.clean, "local_modified", l.local.modified),
        ("local_modified", l.local.modified, "remote_modified", l.remote.modified),
        ("local_clean", l.local.clean, "remote_clean", l.remote.clean),
        ("remote_clean", l.remote.clean, "remote_modified", l.remote.modified),
        ("remote_modified", l.remote.modified, "far_modified", l.far.modified),
        ("cluster_clean", l.cluster.clean, "memory", l.memory),
    ];
    let odd = pairs.into_iter().filter(|(_, near, _, far)| near > far);
    odd.map(|(n, near, f, far)| {
        format!("{file}: latency.{n} ({near} cycles) is longer than latency.{f} ({far} cycles)")
    })
    .collect()
}

#[cfg(test)]
mod tests;
