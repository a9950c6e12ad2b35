// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of a profile: what each measures, and what it may be.
use Absent::*;
use Dimension::*;

/// What a number measures; decides the units it may be given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// `ns` or `cycles` of the machine's clock.
    Time,
    /// The same; fractions of a cycle count.
    Rate,
    /// `count`: a whole number.
    Count,
    /// `bytes`: a whole number.
    Bytes,
    /// `percent`.
    Percent,
    /// `MHz`.
    Frequency,
    /// `GB/s`; kept in MB/s.
    Bandwidth,
}

impl Dimension {
    pub fn units(self) -> &'static [&'static str] {
        match self {
            Time | Rate => &["ns", "cycles"],
            Count => &["count"],
            Bytes => &["bytes"],
            Percent => &["percent"],
            Frequency => &["MHz"],
            Bandwidth => &["GB/s"],
        }
    }
}

pub struct Key {
    pub name: &'static str,
    pub dimension: Dimension,
    /// Least and greatest value, after conversion to cycles where it is a time.
    pub least: u64,
    pub most: u64,
    /// What holds where a profile does not say.
    pub absent: Absent,
}

/// What a key that a profile leaves out stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It may not be left out.
    Missing,
    /// The machine has no such thing, or nothing special.
    Number(u64),
    /// The same as this key, which comes earlier.
    Like(&'static str),
    /// It may be left out of a machine of one socket only, and stands for what this key says.
    OneSocket(&'static str),
}

const fn key(name: &'static str, dimension: Dimension, least: u64, most: u64) -> Key {
    Key { name, dimension, least, most, absent: Absent::Missing }
}

const fn maybe(name: &'static str, dimension: Dimension, least: u64, most: u64, absent: Absent) -> Key {
    Key { name, dimension, least, most, absent }
}

/// A second or so: no cost of one operation is longer.
const LONG: u64 = 4_000_000_000;

/// Of a profile that does not say: i7-3930K (Sandy Bridge-E), where a locked add takes 1,469.86 cycles across two lines and
/// 20.51 within one (atomic_ops_test, gist spayne).
const SPLIT_LOCK: u64 = 1449;

/// A cache no larger than this.
const LARGE: u64 = 1 << 32;

/// Every number of a profile, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    key("topology.sockets", Count, 1, 64),
    key("topology.cores_per_socket", Count, 1, 512),
    maybe("topology.cores_per_cluster", Count, 1, 512, Like("topology.cores_per_socket")),
    maybe("topology.sockets_per_group", Count, 1, 64, Like("topology.sockets")),
    key("topology.threads_per_core", Count, 1, 8),
    key("topology.line_bytes", Bytes, 64, 128),
    key("topology.clock", Frequency, 1, 100_000),
    key("latency.smt", Time, 0, LONG),
    key("latency.local_clean", Time, 1, LONG),
    key("latency.local_modified", Time, 1, LONG),
    maybe("latency.cluster_clean", Time, 1, LONG, Like("latency.local_clean")),
    maybe("latency.cluster_modified", Time, 1, LONG, Like("latency.local_modified")),
    maybe("latency.away_clean", Time, 1, LONG, Like("latency.local_clean")),
    maybe("latency.away_modified", Time, 1, LONG, Like("latency.local_modified")),
    maybe("latency.remote_clean", Time, 1, LONG, OneSocket("latency.local_clean")),
    maybe("latency.remote_modified", Time, 1, LONG, OneSocket("latency.local_modified")),
    maybe("latency.far_clean", Time, 1, LONG, Like("latency.remote_clean")),
    maybe("latency.far_modified", Time, 1, LONG, Like("latency.remote_modified")),
    key("latency.memory", Time, 1, LONG),
    maybe("latency.remote_memory", Time, 1, LONG, Like("latency.memory")),
    key("latency.request_percent", Percent, 0, 100),
    key("latency.snoop_percent", Percent, 0, 100),
    maybe("latency.data_by_home", Count, 0, 1, Number(0)),
    maybe("latency.migratory", Count, 0, 1, Number(0)),
    maybe("latency.spread", Percent, 0, 90, Number(0)),
    maybe("latency.queueing", Count, 0, 1, Number(1)),
    maybe("latency.in_order", Count, 0, 1, Number(0)),
    maybe("latency.home_node", Count, 0, 1, Number(1)),
    key("core.width", Count, 1, 64),
    key("core.rmw", Time, 1, LONG),
    maybe("core.rmw_held", Time, 0, LONG, Like("core.rmw")),
    maybe("core.split_lock", Time, 0, LONG, Number(SPLIT_LOCK)),
    maybe("core.reload", Time, 0, 10_000, Number(5)),
    maybe("core.load", Time, 1, 1000, Number(5)),
    maybe("core.forward", Time, 0, 10_000, Number(5)),
    maybe("core.renamed", Time, 0, 10_000, Like("core.forward")),
    maybe("core.renamed_indexed", Time, 0, 10_000, Like("core.forward")),
    maybe("core.renamed_twice", Time, 0, 10_000, Like("core.forward")),
    key("core.fence", Time, 0, LONG),
    key("core.pause", Time, 1, LONG),
    key("core.store_buffer", Count, 0, 1024),
    maybe("core.forwards_lost", Count, 0, 1, Number(1)),
    key("core.misses", Count, 1, 1024),
    maybe("core.transfers", Count, 1, 1024, Like("core.misses")),
    key("core.window", Time, 0, LONG),
    maybe("core.scheduler", Count, 1, 4096, Number(97)),
    maybe("core.fence_serializes", Count, 0, 1, Number(0)),
    maybe("core.chains", Count, 0, 1, Number(1)),
    maybe("core.taken_branch", Time, 0, 1000, Number(1)),
    maybe("core.mispredict", Time, 0, 1000, Number(0)),
    key("core.smt_percent", Percent, 100, 800),
    maybe("core.adjacent_line", Count, 0, 1, Number(0)),
    maybe("cache.l1", Bytes, 0, LARGE, Number(0)),
    maybe("cache.l1_ways", Count, 1, 64, Number(8)),
    maybe("cache.l2", Bytes, 0, LARGE, Number(0)),
    maybe("cache.l2_ways", Count, 1, 64, Number(8)),
    maybe("cache.l2_hit", Time, 0, LONG, Number(0)),
    maybe("cache.l2_line", Rate, 0, 1000, Number(0)),
    maybe("cache.l2_line_stored", Rate, 0, 1000, Like("cache.l2_line")),
    maybe("cache.l3", Bytes, 0, LARGE, Number(0)),
    maybe("cache.l3_ways", Count, 1, 64, Number(16)),
    maybe("cache.l3_hit", Time, 0, LONG, Number(0)),
    maybe("memory.bandwidth", Bandwidth, 0, 4_000_000, Number(0)),
    maybe("memory.link", Bandwidth, 0, 4_000_000, Number(0)),
    maybe("memory.directory", Count, 0, 1, Number(0)),
    key("system.syscall", Time, 1, LONG),
    maybe("system.futex", Time, 1, LONG, Like("system.syscall")),
    key("system.wake", Time, 1, LONG),
    // Drawn evenly: with more, some would end before they begin.
    maybe("system.wake_spread", Percent, 0, 57, Number(0)),
    maybe("system.futex_wake", Time, 1, LONG, Like("system.futex")),
    maybe("system.wake_call", Time, 1, LONG, Like("system.syscall")),
    key("system.context_switch", Time, 1, LONG),
    key("system.timeslice", Time, 1, 100 * LONG),
    maybe("system.numa_imbalance", Percent, 0, 100, Number(25)),
    key("system.wake_granularity", Time, 0, LONG),
    key("system.sleeper_credit", Time, 0, LONG),
    key("system.interrupt", Time, 0, LONG),
    key("system.interrupt_send", Time, 0, LONG),
    key("system.grace_period", Time, 0, LONG),
    key("system.thread_create", Time, 1, LONG),
    key("system.allocation", Time, 1, LONG),
    key("system.clock_read", Time, 1, LONG),
];

pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.name == name)
}

/// The clock while at most so many cores of a socket are active is a key, too: `turbo.8`.
pub const TURBO: Key = key("turbo", Frequency, 1, 100_000);

/// How many cores a key of that kind is about.
pub fn turbo(name: &str) -> Option<u16> {
    name.strip_prefix("turbo.")?.parse().ok().filter(|cores| *cores > 0)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|k| k.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_described_and_no_other() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md");
        let page = std::fs::read_to_string(page).unwrap();
        let keys: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next()).collect();
        let described: Vec<&str> = keys.iter().flat_map(|keys| keys.trim_end_matches('`').split("`, `")).collect();
        for name in names() {
            assert!(described.contains(&name), "{name} is not in docs/model.md");
        }
        for name in described {
            assert!(find(name).is_some() || name == "turbo.N", "{name} of docs/model.md is no key");
        }
    }
}
