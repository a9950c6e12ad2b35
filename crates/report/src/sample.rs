// SPDX-License-Identifier: MIT OR Apache-2.0
//! Explained runs made by hand, for tests: small builders, and one whole curve of each kind.
use crate::accuracy::{CodeKind, Expected};
use corefold_explain::*;
use corefold_recording::{AccessKind, LockKind, Progress, Time};

const CLOCK_HZ: u64 = 2_000_000_000;

/// What `make accuracy` might have measured.
pub fn known_errors() -> Vec<Expected> {
    let known = |machine: Option<&str>, kind, cpus, points, median, worst_factor| Expected {
        machine: machine.map(String::from),
        kind,
        cpus,
        points,
        median,
        worst_factor,
    };
    vec![
        known(Some("skylake-2s-80"), Some(CodeKind::ContendedAtomics), (17, 80), 14, 0.12, 1.29),
        known(None, Some(CodeKind::ContendedAtomics), (2, 4), 40, 0.15, 1.3),
        known(None, Some(CodeKind::SpinLocks), (2, 4), 30, 0.4, 1.75),
        known(None, Some(CodeKind::PrivateData), (1, 1), 20, 0.05, 1.31),
        known(None, None, (2, 4), 90, 0.2, 1.75),
    ]
}

/// A run that finished and says nothing else.
pub fn run(cpus: u32) -> Explained {
    let ending = Ending { success: true, summary: "exited with code 0".into(), ..Ending::default() };
    let run = RunFacts {
        argv: vec!["/build/bench/counter".into(), "--threads".into(), cpus.to_string(), "1000000".into()],
        machine: "skylake-2s-80".into(),
        cpus,
        threads: cpus,
        clock_hz: CLOCK_HZ,
        seed: 0,
        ..RunFacts::default()
    };
    Explained { run, ending, ..Explained::default() }
}

/// A run that took so many cycles, all of it compute.
pub fn timed(cpus: u32, cycles: u64) -> Explained {
    let mut run = run(cpus);
    run.run.cycles = cycles;
    run.run.seconds = cycles as f64 / CLOCK_HZ as f64;
    run.run.time.compute = cycles * u64::from(cpus);
    run
}

/// A run that took a microsecond for every 2000 cycles at most, so that rates are round.
pub fn progressing(cpus: u32, cycles: u64, visits: &[(&str, u64)]) -> Explained {
    let mut run = timed(cpus, cycles);
    run.run.seconds = 1e-6;
    run.run.progress = visits.iter().map(|&(name, visits)| Progress { name: name.into(), visits }).collect();
    run
}

pub fn failed(cpus: u32, summary: &str) -> Explained {
    let mut run = timed(cpus, 1000);
    run.ending = Ending { success: false, summary: summary.into(), ..Ending::default() };
    run.run.time = Time::default();
    run
}

/// Gives the run's whole thread time these shares, in percent.
pub fn spend(mut run: Explained, compute: u64, stall: u64, spin: u64, block: u64) -> Explained {
    let whole = run.run.cycles * u64::from(run.run.cpus);
    let part = |percent: u64| whole / 100 * percent;
    run.run.time = Time { compute: part(compute), stall: part(stall), spin: part(spin), block: part(block) };
    run
}

pub fn place(function: &str, file: &str, line: u32) -> Place {
    Place { function: function.into(), file: Some(format!("/src/bench/{file}")), line: Some(line) }
}

/// With its own and its whole share of the time in percent; `waiting` is the part of its own time, 0 to 1, that is stalled.
pub fn function(name: &str, line: u32, own: f64, total: f64, waiting: f64) -> Function {
    let stall = (own * waiting * 1000.0) as u64;
    Function {
        name: name.into(),
        file: Some("/src/bench/counter.c".into()),
        line: Some(line),
        self_time: Time { compute: (own * 1000.0) as u64 - stall, stall, ..Time::default() },
        self_percent: own,
        total_percent: total,
        latency_percent: Some(total),
        ..Function::default()
    }
}

pub fn site(place: &Place, kind: AccessKind, field: &str, stall: u64, spin: u64) -> SiteUse {
    SiteUse {
        function: place.function.clone(),
        file: place.file.clone(),
        line: place.line,
        inlined_into: Vec::new(),
        kind,
        field: field.into(),
        field_index: 0,
        address: 0,
        of_library: false,
        transfers: (stall + spin) / 200,
        stall,
        spin,
        cpus: (0..8).collect(),
        conflicts: Vec::new(),
    }
}

/// The site, with its fetches because of what other CPUs wrote to a field: its own, or another.
pub fn against(mut site: SiteUse, field: &str) -> SiteUse {
    let same = site.field == field;
    site.conflicts.push(ConflictUse { field: field.into(), same, wrote: true, count: site.transfers, beside: None });
    site
}

/// A line of the object `name` that cost `stall` cycles in one place.
pub fn hot_line(address: u64, name: &str, stall: u64) -> HotLine {
    let object = ObjectUse { name: name.into(), address, bytes: 64, storage: Storage::Global, ..ObjectUse::default() };
    HotLine {
        address,
        bytes: 64,
        object: name.into(),
        objects: vec![object],
        fields: vec![FieldUse { name: format!("{name}.n"), object: Some(0), stall, ..FieldUse::default() }],
        transfers: stall / 200,
        stall,
        cpus: (0..8).collect(),
        sites: vec![site(&place("add", "counter.c", 31), AccessKind::Rmw, &format!("{name}.n"), stall, 0)],
        ..HotLine::default()
    }
}

pub fn lock(name: &str, kind: LockKind, address: u64, wait_cycles: u64) -> LockUse {
    LockUse {
        name: name.into(),
        kind,
        type_name: None,
        of_library: false,
        address,
        spun_on: None,
        acquisitions: 1_000_000,
        contended: 970_000,
        wait_cycles,
        start_cycles: 0,
        hold_cycles: 90_000_000,
        held_waiting: Vec::new(),
        waited_at: Some(place("push", "queue.c", 18)),
        meetings: None,
        herd: None,
        made: false,
        may_be_barrier: false,
    }
}

/// 80 counters of 8 bytes in one heap object: ten lines, each shared by eight CPUs that share no byte.
pub fn false_sharing() -> Vec<Explained> {
    let cycles = [(1, 40_000_000), (2, 30_000_000), (4, 21_000_000), (8, 16_000_000), (16, 9_000_000)];
    let more = [(40, 12_000_000), (80, 13_000_000)];
    let mut runs: Vec<Explained> = cycles.iter().chain(&more).map(|&(n, c)| timed(n, c)).collect();
    for run in &mut runs {
        run.run.progress = vec![Progress { name: "add".into(), visits: 1_000_000 }];
    }
    let last = runs.pop().map(|run| spend(run, 25, 72, 0, 3));
    runs.extend(last.map(counters));
    runs
}

/// Threads so short that one thread, which creates them, takes most of the time: an eighth of the CPUs
/// is busy, and what those wait for is false sharing.
pub fn creating() -> Vec<Explained> {
    let mut runs: Vec<Explained> = [(1, 10_000_000), (8, 8_000_000)].map(|(n, c)| timed(n, c)).to_vec();
    let mut last = timed(80, 8_000_000);
    last.run.time = Time { compute: 49_600_000, stall: 30_400_000, ..Time::default() };
    last.run.pace.begun = 7_200_000;
    last.lines = vec![counter_line(0)];
    let part = 30_400_000.0 / last.lines[0].stall as f64;
    let shrink = |cycles: u64| (cycles as f64 * part).round() as u64;
    last.lines[0].stall = shrink(last.lines[0].stall);
    for site in &mut last.lines[0].sites {
        site.stall = shrink(site.stall);
    }
    runs.push(last);
    runs
}

fn counters(mut run: Explained) -> Explained {
    run.lines = (0..10).map(counter_line).collect();
    run.run.transfers = run.lines.iter().map(|l| l.transfers).sum();
    run.functions = vec![
        function("add", 28, 81.4, 81.4, 0.88),
        function("worker", 44, 14.1, 96.9, 0.0),
        function("sum(struct pcc const*)", 36, 1.6, 1.6, 0.94),
        function("rare", 60, 0.2, 0.2, 0.0),
    ];
    run.run.notes =
        vec![Note { text: "inline assembly is not seen".into(), at: Some(place("rdtsc", "clock.h", 9)), count: 3 }];
    run
}

fn counter_line(i: u64) -> HotLine {
    let (cost, address) = (73_000_000 - i * 1_000_000, 0x10_0000_2040 + i * 64);
    let field = |k: u64| format!("pcc.counters[{}].delta", i * 8 + k);
    let (add, sum) = (place("add", "counter.c", 31), place("sum(struct pcc const*)", "counter.c", 38));
    let mut line = hot_line(address, "struct pcc at counter.c:52 (heap, 640 bytes)", cost);
    line.fields = (0..8)
        .map(|k| FieldUse {
            name: field(k),
            object: Some(0),
            offset_in_line: k as i64 * 8,
            size: 8,
            readers: 1,
            writers: 1,
            stall: cost / 8,
            ..FieldUse::default()
        })
        .collect();
    let slot = |k: u64| {
        let cpus = std::iter::once((i * 8 + k) as u32).collect();
        let site = SiteUse { cpus, ..site(&add, AccessKind::Rmw, &field(k), cost / 9, 0) };
        against(site, &field((k + 1) % 8))
    };
    line.sites = (0..8).map(slot).collect();
    line.sites.push(against(site(&sum, AccessKind::AtomicLoad, &field(0), cost / 9, 0), &field(1)));
    line.cpus = (i as u32 * 8..i as u32 * 8 + 8).collect();
    line.transfers_by_class = [0, 0, line.transfers / 4, 0, line.transfers - line.transfers / 4, 0, 0];
    line.verdict = judge(line.sites.iter(), |_| true);
    line
}

/// One test-and-set lock: 80 CPUs are slower than one.
pub fn one_lock() -> Vec<Explained> {
    let mut runs: Vec<Explained> =
        [(1, 20_000_000), (8, 48_000_000), (40, 110_000_000)].map(|(n, c)| spend(timed(n, c), 40, 10, 50, 0)).to_vec();
    let mut last = spend(timed(80, 160_000_000), 3, 16, 81, 0);
    let word = 0x4_1080;
    let (take, drop) = (place("lock_take", "queue.c", 12), place("lock_drop", "queue.c", 17));
    let (stall, spin) = (last.run.time.stall / 100 * 98, last.run.time.spin / 100 * 99);
    let mut line = hot_line(word, "queue (queue.c:7)", stall);
    line.spin = spin;
    line.address = 0x4_1080;
    line.sites = vec![
        site(&take, AccessKind::AtomicLoad, "queue.lock", stall / 4, spin),
        site(&take, AccessKind::Rmw, "queue.lock", stall / 2, 0),
        site(&drop, AccessKind::AtomicStore, "queue.lock", stall / 4, 0),
    ];
    line.cpus = (0..80).collect();
    line.sites = line.sites.into_iter().map(|site| against(site, "queue.lock")).collect();
    line.sites.iter_mut().for_each(|site| site.cpus = (0..80).collect());
    line.transfers = line.sites.iter().map(|s| s.transfers).sum();
    line.transfers_by_class = [0, 0, line.transfers / 2, 0, line.transfers / 2, 0, 0];
    line.verdict = judge(line.sites.iter(), |_| true);
    last.lines = vec![line, hot_line(0x4_2000, "stats (queue.c:9)", 2_000)];
    last.locks = vec![
        lock("queue.lock", LockKind::SpunWord, word, spin),
        lock("start", LockKind::Barrier, 0x4_3000, 900_000_000),
        lock("log_mutex", LockKind::Mutex, 0x4_3080, 100),
    ];
    last.locks[1].hold_cycles = 0;
    last.functions = vec![function("lock_take", 10, 93.0, 93.0, 0.99), function("work", 30, 3.0, 99.9, 0.0)];
    runs.push(last);
    runs
}

/// Private work: cores double it, hardware threads add a little.
pub fn scaling() -> Vec<Explained> {
    let speedups = [(1, 1.0), (2, 2.0), (8, 7.98), (20, 19.9), (40, 39.7), (80, 66.4)];
    let mut runs: Vec<Explained> =
        speedups.map(|(n, s)| spend(timed(n, (80_000_000.0 / s) as u64), 99, 1, 0, 0)).to_vec();
    for run in &mut runs {
        run.functions = vec![function("work", 12, 99.1, 100.0, 0.01)];
        run.lines = vec![hot_line(0x5000, "done (work.c:4)", 300)];
    }
    runs
}

/// Counts that fail in different ways beside one that does not.
pub fn failing() -> Vec<Explained> {
    let mut crash = failed(8, "crashed: SIGSEGV at address 0x10 in thread 4");
    let stack = |frames| ThreadStack { thread: Some(4), frames };
    crash.ending.stacks = vec![stack(vec![place("pop", "queue.c", 33), place("worker", "main.c", 20)])];
    let mut deadlock = failed(16, "deadlock: every thread waits for another");
    deadlock.ending.details = vec![
        "thread 1 waits for mutex `b` (held by thread 2) in pthread_mutex_lock, at left (main.c:14)".into(),
        "thread 2 waits for mutex `a` (held by thread 1) in pthread_mutex_lock, at right (main.c:21)".into(),
        "thread 1 waits for thread 2, and thread 2 for thread 1".into(),
    ];
    deadlock.ending.stacks = [(1, "left", 14), (2, "right", 21)]
        .map(|(thread, name, line)| ThreadStack { thread: Some(thread), frames: vec![place(name, "main.c", line)] })
        .to_vec();
    let mut slow = failed(80, "stopped at the time limit");
    slow.run.progress = vec![Progress { name: "op".into(), visits: 1234 }];
    vec![spend(timed(1, 40_000_000), 97, 3, 0, 0), crash, deadlock, slow]
}
