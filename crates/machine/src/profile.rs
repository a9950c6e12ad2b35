// SPDX-License-Identifier: MIT OR Apache-2.0
//! From entries to a checked machine.
use crate::keys::{Dimension, KEYS, Key, find};
use crate::text::{Entry, Reader};
use crate::{Error, Machine};
use corefold_model::{Core, Latency, System};
use std::collections::BTreeMap;

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Source(String),
    /// Nobody measured it; says what it was estimated from.
    Estimated(String),
}

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
        let entry = entries.remove(key.name).ok_or_else(|| reader.missing(key.name))?;
        let number = convert(&reader, key, &entry, clock)?;
        numbers.0.insert(key.name, (number, entry.line));
        facts.push(fact(key, entry, number));
    }
    numbers.check(&reader)?;
    let machine = numbers.machine(read.name, clock);
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

/// The entry's value as a whole number: cycles for a time.
fn convert(reader: &Reader, key: &Key, entry: &Entry, clock_hz: u64) -> Result<u64, Error> {
    let wrong = |what: String| reader.at(entry.line, format!("{}: {what}", key.name));
    let units = key.dimension.units();
    if !units.contains(&entry.unit.as_str()) {
        return Err(wrong(format!("unit {:?} must be {}", entry.unit, units.join(" or "))));
    }
    let scaled = if entry.unit == "ns" { entry.value * clock_hz as f64 / 1e9 } else { entry.value };
    let whole = matches!(key.dimension, Dimension::Count | Dimension::Bytes | Dimension::Percent);
    if whole && scaled.fract() != 0.0 {
        return Err(wrong(format!("\"value\" {} must be a whole number", entry.value)));
    }
    let number = scaled.round();
    if number < key.least as f64 || number > key.most as f64 {
        let unit = if entry.unit == "ns" { "cycles" } else { &entry.unit };
        return Err(wrong(format!("{number} {unit} is not within {} to {}", key.least, key.most)));
    }
    Ok(number as u64)
}

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
        let split = self.get("latency.request_percent") + self.get("latency.snoop_percent");
        if split > 100 {
            let what = format!("latency.snoop_percent: with latency.request_percent it makes {split}, more than 100");
            return Err(reader.at(self.line("latency.snoop_percent"), what));
        }
        Ok(())
    }

    fn machine(&self, name: String, clock_hz: u64) -> Machine {
        Machine {
            name,
            sockets: self.get("topology.sockets") as u16,
            cores_per_socket: self.get("topology.cores_per_socket") as u16,
            threads_per_core: self.get("topology.threads_per_core") as u16,
            line_bytes: self.get("topology.line_bytes"),
            clock_hz,
            latency: self.latency(),
            core: self.core(),
            system: self.system(),
        }
    }

    fn latency(&self) -> Latency {
        Latency {
            smt: self.get("latency.smt"),
            local_clean: self.get("latency.local_clean"),
            local_modified: self.get("latency.local_modified"),
            remote_clean: self.get("latency.remote_clean"),
            remote_modified: self.get("latency.remote_modified"),
            memory: self.get("latency.memory"),
            request_percent: self.get("latency.request_percent") as u8,
            snoop_percent: self.get("latency.snoop_percent") as u8,
            home_busy: self.get("latency.home_busy"),
        }
    }

    fn core(&self) -> Core {
        Core {
            width: self.get("core.width"),
            rmw: self.get("core.rmw"),
            fence: self.get("core.fence"),
            pause: self.get("core.pause"),
            store_buffer: self.get("core.store_buffer"),
            misses: self.get("core.misses"),
            window: self.get("core.window"),
            smt_percent: self.get("core.smt_percent"),
        }
    }

    fn system(&self) -> System {
        System {
            syscall: self.get("system.syscall"),
            wake: self.get("system.wake"),
            context_switch: self.get("system.context_switch"),
            timeslice: self.long("system.timeslice"),
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
        ("smt", l.smt, "local_clean", l.local_clean),
        ("local_clean", l.local_clean, "local_modified", l.local_modified),
        ("local_modified", l.local_modified, "remote_modified", l.remote_modified),
        ("local_clean", l.local_clean, "remote_clean", l.remote_clean),
        ("remote_clean", l.remote_clean, "remote_modified", l.remote_modified),
        ("local_clean", l.local_clean, "memory", l.memory),
    ];
    let odd = pairs.into_iter().filter(|(_, near, _, far)| near > far);
    odd.map(|(n, near, f, far)| {
        format!("{file}: latency.{n} ({near} cycles) is longer than latency.{f} ({far} cycles)")
    })
    .collect()
}

#[cfg(test)]
mod tests;
