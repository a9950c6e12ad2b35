// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures the host, natively, without privileges, in under a minute, and writes its profile.
//!
//! What one CPU does alone is taken from its fast rounds, as disturbances only add; what CPUs do to each
//! other, from the median. Everything that was not measured says what it was estimated from.
mod asm;
mod chance;
mod clock;
mod distance;
mod figure;
mod instructions;
mod pairs;
pub mod passes;
mod single;
mod system;
mod text;
mod topology;

pub use figure::{Figure, Spread};
pub use text::{number, spread};

use anyhow::{Result, anyhow, bail};
use clock::Clock;
use distance::Distance;
use std::num::NonZeroUsize;
use std::time::Duration;
use topology::{Topology, pin};

pub struct Calibration {
    pub figures: Vec<Figure>,
    /// Why the figures should not be believed.
    pub warnings: Vec<String>,
    pub text: String,
}

/// A spread of the better half that no quiet host has.
const NOISY: f64 = 0.25;

/// Passes at most, where nobody says how many: they take more than three seconds each.
pub const MOST_PASSES: NonZeroUsize = NonZeroUsize::new(14).unwrap();

/// Of a calibration: see [`Measuring::begin`].
const WAIT_BUDGET: Duration = Duration::from_secs(30);

pub fn calibrate(most_passes: NonZeroUsize) -> Result<Calibration> {
    let measuring = Measuring::begin(None, WAIT_BUDGET)?;
    let passes = passes::take(most_passes.get(), |_| measuring.pass())?;
    measuring.end(&passes.kept, &passes.disturbed, passes.stolen)
}

/// A calibration under way: whoever measures something else in the same time takes its passes by turns with that.
pub struct Measuring {
    topology: Topology,
    cpus: Vec<usize>,
    /// Threads that were running when it began.
    running: u64,
    distance: Option<Distance<Box<dyn Fn() -> f64>>>,
}

/// What one pass says: of each CPU, and of two together, and whether their latency was the usual one.
pub struct Pass {
    alone: Vec<Figure>,
    together: Vec<Figure>,
    as_usual: bool,
}

impl Pass {
    /// Whether two CPUs were measured at their usual latency.
    pub fn is_as_usual(&self) -> bool {
        self.as_usual
    }
}

impl Measuring {
    /// `pair`: the CPUs whose latency is watched, the nearest if that is not said; `wait_budget`: for how long it waits, in all, for the usual core-to-core latency to return.
    pub fn begin(pair: Option<(usize, usize)>, wait_budget: Duration) -> Result<Measuring> {
        let topology = Topology::read();
        let cpus: Vec<usize> = topology.cpus.iter().map(|c| c.number).collect();
        if cpus.is_empty() {
            bail!("cannot tell which CPUs this process may run on");
        }
        let probe = |(a, b)| -> Box<dyn Fn() -> f64> { Box::new(move || distance::between(a, b)) };
        let distance = pair.or_else(|| topology.nearest()).map(|pair| Distance::new(probe(pair), wait_budget));
        Ok(Measuring { topology, cpus, running: running(), distance })
    }

    /// What `measure` says of two CPUs, and whether their latency was the usual one before it and after.
    pub fn together<T>(&self, mut measure: impl FnMut() -> T) -> (T, bool) {
        match &self.distance {
            Some(distance) => distance.measure(measure),
            None => (measure(), true),
        }
    }

    pub fn pass(&self) -> Result<Pass> {
        let (topology, cpus) = (&self.topology, &self.cpus);
        let (clock, alone) = pinned(|| pass(topology, cpus))?;
        let (together, as_usual) = self.together(|| pinned(|| between(clock, topology)));
        Ok(Pass { alone, together: together?, as_usual })
    }

    /// What passes say in which the hypervisor took at most this share of the CPUs, and others in which it took more.
    pub fn end<'a>(
        self,
        passes: impl IntoIterator<Item = &'a Pass>,
        disturbed: impl IntoIterator<Item = &'a Pass>,
        stolen: f64,
    ) -> Result<Calibration> {
        let [passes, disturbed]: [Vec<&Pass>; 2] = [passes.into_iter().collect(), disturbed.into_iter().collect()];
        let mut figures = merged(&passes, &disturbed);
        split(&mut figures);
        instructions::differences(&mut figures);
        let value = |key: &str| figure::value(&figures, key).unwrap_or_default();
        let clock = value("topology.clock");
        let window = (value("reorder buffer") / value("core.width").max(1.0)).round();
        figures.push(Figure::read("core.window", "cycles", window, "the reorder buffer, at the core's width"));
        estimates(&mut figures, &self.topology);
        let mut warnings = warnings(&figures, &self.topology, stolen, self.running);
        if let Some(distance) = self.distance.filter(|distance| distance.moved.get()) {
            let counted = if passes.iter().any(|pass| pass.as_usual) {
                "measurements at another latency were discarded"
            } else {
                "no pass had that latency: all were used"
            };
            warnings.push(format!(
                "core-to-core latency was not constant (usually {:.0} ns), as where a hypervisor migrates virtual CPUs; \
                 {counted}: pin the virtual CPUs, or measure again",
                distance.usual
            ));
        }
        let description = format!("this host, {} CPUs at {:.0} MHz", self.cpus.len(), clock);
        let text = text::profile(&description, &figures, &warnings);
        // What is written must be what is read.
        corefold_machine::parse("the calibrated profile", &text)?;
        Ok(Calibration { figures, warnings, text })
    }
}

/// What passes say: of two CPUs together those with the usual latency, if there is any.
fn merged<'a>(passes: &[&'a Pass], disturbed: &[&'a Pass]) -> Vec<Figure> {
    let some = passes.iter().any(|pass| pass.as_usual);
    let mut all = figure::merged(&of(passes.iter(), |pass| &pass.alone), &of(disturbed.iter(), |pass| &pass.alone));
    // What disturbs does not only add to these.
    let counts = passes.iter().filter(|pass| pass.as_usual || !some);
    all.extend(figure::merged(&of(counts, |pass| &pass.together), &[]));
    all
}

fn of<'b, 'a: 'b>(passes: impl Iterator<Item = &'b &'a Pass>, figures: fn(&Pass) -> &[Figure]) -> Vec<&'a [Figure]> {
    passes.map(|pass| figures(pass)).collect()
}

/// Cycles in which a read-modify-write holds its line, which is not measured: a load that hits, one to compute and one to
/// write back.
fn held(figures: &[Figure]) -> f64 {
    figure::value(figures, "core.load").unwrap_or(5.0) + 2.0
}

/// In a thread of its own, as `measure` pins it.
fn pinned<T: Send>(measure: impl FnOnce() -> T + Send) -> Result<T> {
    let result = std::thread::scope(|scope| scope.spawn(measure).join());
    result.map_err(|_| anyhow!("a pass of the calibration failed"))
}

fn pass(topology: &Topology, cpus: &[usize]) -> (Clock, Vec<Figure>) {
    pin(cpus[0]);
    let (clock, speed) = Clock::measure();
    let mut figures = shape(topology);
    figures.push(clock::figure(clock, speed));
    // The other thread of a core may be another's, and busy: then another core may be free, or this one a second later.
    let instructions = || cpus.iter().take(2).map(|&cpu| on(cpu, instructions::figures)).collect::<Vec<_>>();
    let mut of_each = instructions();
    pin(cpus[0]);
    figures.extend(single::memory(clock));
    figures.push(single::store_buffer());
    figures.push(single::misses(topology));
    figures.push(single::reorder_buffer());
    figures.extend(single::caches(clock, topology));
    figures.extend(system::figures(clock, cpus));
    of_each.extend(instructions());
    figures.extend(figure::merged(&of_each.iter().map(|figures| &figures[..]).collect::<Vec<_>>(), &[]));
    (clock, figures)
}

fn on<T>(cpu: usize, measured: impl FnOnce() -> T) -> T {
    pin(cpu);
    measured()
}

fn shape(t: &Topology) -> Vec<Figure> {
    let read = |key, value: usize| {
        Figure::read(key, "count", value as f64, "the kernel's description of the CPUs that may be used")
    };
    vec![
        read("topology.sockets", t.sockets()),
        read("topology.cores_per_socket", t.cores_per_socket()),
        read("topology.cores_per_cluster", t.cores_per_cluster()),
        read("topology.threads_per_core", t.threads_per_core()),
        Figure::read("topology.line_bytes", "bytes", 64.0, "all x86-64 processors"),
    ]
}

/// Transfers of each distance that there is, and how long a line stays.
fn between(clock: Clock, t: &Topology) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Some((a, b)) = t.pair(|a, b| a.same_core(b)) {
        let s = pairs::step(clock, a, b, pairs::State::Modified, pairs::By::Updates);
        let own = pairs::step(clock, a, b, pairs::State::Mine, pairs::By::Updates).low;
        let s = s.map(|ns| (ns - own).max(0.0));
        figures.push(Figure::usual(
            "latency.smt",
            "ns",
            s,
            "atomic update of a line that the sibling wrote, less one on a line of its own",
        ));
    }
    let cluster = t.pair(|a, b| a.same_cluster(b) && !a.same_core(b));
    let local = t.pair(|a, b| a.socket == b.socket && !a.same_cluster(b));
    let remote = t.pair(|a, b| a.socket != b.socket);
    if let Some((a, b)) = local.or(cluster) {
        figures.extend(pairs::transfers(
            clock,
            a,
            b,
            ["latency.local_clean", "latency.local_modified"],
            "by another core of the socket",
        ));
    }
    if let (Some((a, b)), Some(_)) = (cluster, local) {
        figures.extend(pairs::transfers(
            clock,
            a,
            b,
            ["latency.cluster_clean", "latency.cluster_modified"],
            "by a core with the same last-level cache",
        ));
    }
    if let Some((a, b)) = remote {
        figures.extend(pairs::transfers(
            clock,
            a,
            b,
            ["latency.remote_clean", "latency.remote_modified"],
            "by a core of another socket",
        ));
    }
    keep_transfers(&mut figures, clock.ns_of_cycles(1.0));
    if let Some((a, b)) = t.nearest() {
        tenure(&mut figures, clock, a, b);
    }
    figures
}

/// A pass in which lines of a CPU's own took as long as another's says nothing of transfers: other work ran beside it.
fn keep_transfers(figures: &mut Vec<Figure>, cycle: f64) {
    figures.retain(|figure| figure.value >= cycle);
}

const NEAREST: [&str; 3] = ["latency.cluster_modified", "latency.local_modified", "latency.remote_modified"];

/// What two CPUs do to a line that both want.
fn tenure(figures: &mut Vec<Figure>, clock: Clock, a: usize, b: usize) {
    figures.push(pairs::forwards_lost(clock, a, b));
    let (ns, operations) = pairs::tenure(clock, a, b);
    if !operations.median.is_finite() {
        return;
    }
    let transfer = NEAREST.into_iter().find_map(|key| figure::value(figures, key));
    figures.push(Figure::usual("contended add", "ns", ns, "two CPUs add to one word: an operation of each"));
    figures.push(Figure::usual(
        "operations kept",
        "count",
        operations,
        "additions in a row before the line leaves its owner",
    ));
    let Some(transfer) = transfer.filter(|t| *t > 0.0) else { return };
    figures.push(pairs::at_once(clock, a, b, transfer));
    figures.push(pairs::spread(clock, a, b));
}

/// How a transfer's time is split: while the snoop is on its way the owner goes on, so the operations that
/// it finishes say how long that takes; while the data is, nobody has the line, which is what remains of the
/// time from owner to owner; the rest of a transfer is the request's. An owner that finishes one operation only has the
/// snoop right behind the data: then both go by way of the home, and the snoop takes half as long as the data.
fn split(figures: &mut Vec<Figure>) {
    // The operation that is contended in these measurements is this one.
    let of = |key: &str| figure::value(figures, key);
    let transfer = NEAREST.into_iter().find_map(of);
    let (Some(transfer), Some(rmw), Some(each), Some(kept)) =
        (transfer, of(instructions::EXCHANGED_ADDED), of("contended add"), of("operations kept"))
    else {
        return;
    };
    let cycle = 1000.0 / of("topology.clock").unwrap_or(1000.0);
    let (own, exposed) = (rmw * cycle, (rmw - held(figures)) * cycle);
    let by_home = kept < 1.5;
    let [request, snoop] = legs(transfer, own, exposed.max(0.0), kept, each / 2.0);
    let ns_of = |key: &str| of(key).unwrap_or_default();
    let (upgrade, since) = (ns_of("update, shared"), ns_of("update, read since"));
    let migratory = f64::from(since < upgrade / 2.0);
    let after =
        format!("an update after a load: {since:.0} ns if the line was written before, {upgrade:.0} ns if it was read");
    let kept = "from how many additions an owner finishes before the line leaves it";
    figures.extend([
        Figure::derived("latency.request_percent", "percent", request, "what the other legs leave of a transfer"),
        Figure::derived("latency.snoop_percent", "percent", snoop, kept),
        Figure::derived("latency.data_by_home", "count", f64::from(by_home), kept),
        Figure::derived("latency.migratory", "count", migratory, &after),
    ]);
}

/// Percents of request and snoop, from nanoseconds of a transfer and of an operation on an owned line, of the part
/// of it in which a snoop still gets the line, operations in a row, and time for each of all operations.
///
/// An owner finishes whole operations: the snoop comes in the middle of the last that it begins.
fn legs(transfer: f64, own: f64, exposed: f64, in_a_row: f64, each: f64) -> [f64; 2] {
    let percent = |ns: f64| 100.0 * ns / transfer;
    let count = in_a_row.round().max(1.0);
    let stays = (count - 0.5) * own + exposed;
    if count < 2.0 {
        let data = percent(each - own).clamp(20.0, 60.0);
        return [(100.0 - 1.5 * data).floor(), (data / 2.0).floor()];
    }
    let snoop = percent(stays).clamp(10.0, 60.0);
    let data = percent(count * each - stays).clamp(10.0, 95.0 - snoop);
    [(100.0 - snoop - data).floor(), snoop.floor()]
}

/// What is not measured, or cannot be on this host.
fn estimates(figures: &mut Vec<Figure>, t: &Topology) {
    let held = held(figures);
    let mut unless = |key: &'static str, unit, value, from: &str| {
        if !figures.iter().any(|f| f.key == key) {
            figures.push(Figure::estimated(key, unit, value, from));
        }
    };
    let few = "not measured: too few CPUs, or other work on them; as on server processors since 2017";
    unless("latency.smt", "ns", 1.0, "not measured: no two CPUs of one core may be used, or other work on them");
    unless("latency.local_clean", "ns", 29.0, few);
    unless("latency.local_modified", "ns", 45.0, few);
    unless(
        "latency.request_percent",
        "percent",
        33.0,
        "assumed: request, snoop and data each take a third of a transfer",
    );
    unless(
        "latency.snoop_percent",
        "percent",
        33.0,
        "assumed: request, snoop and data each take a third of a transfer",
    );
    unless("latency.spread", "percent", 11.0, "what calibration measures on a server of 2023 with a mesh");
    unless("core.rmw_held", "cycles", held, "a load that hits, 1 to compute and 1 to write back");
    let smt = if t.threads_per_core() > 1 { 125.0 } else { 100.0 };
    unless(
        "core.smt_percent",
        "percent",
        smt,
        "what a second thread on a core commonly adds for mixed integer code; 100 without one",
    );
    unless("system.wake", "ns", 3000.0, few);
    unless("system.timeslice", "ns", 3e6, "Linux's minimum granularity for a busy CPU: about 3 ms");
    unless("system.wake_granularity", "ns", 4e6, "Linux before 6.6: 1 ms, times 1 + log2(CPUs, 8 at most)");
    unless("system.sleeper_credit", "ns", 12e6, "Linux before 6.6: 3 ms, times 1 + log2(CPUs, 8 at most)");
    unless(
        "system.interrupt",
        "ns",
        1200.0,
        "from the arrival of an inter-processor interrupt to the end of a handler that executes one fence",
    );
    unless(
        "system.interrupt_send",
        "ns",
        60.0,
        "a write to the interrupt controller, and one to a flag in the other CPU's cache line",
    );
    unless("system.grace_period", "ns", 1e7, "synchronize_rcu on a busy machine: two to three ticks of 4 ms");
}

/// Threads that run on this host now.
fn running() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().nth(3).and_then(|word| word.split('/').next()?.parse().ok()).unwrap_or(1)
}

/// Figures that decide a simulation's answer: the host must be quiet enough for these.
const KEYS: [&str; 6] = [
    "core.width",
    "core.rmw",
    "latency.local_clean",
    "latency.local_modified",
    "latency.remote_modified",
    "system.wake",
];

fn warnings(figures: &[Figure], t: &Topology, stolen: f64, running: u64) -> Vec<String> {
    let mut all = Vec::new();
    if stolen > passes::MOST_STOLEN {
        all.push(format!(
            "the hypervisor took {:.0} % of the CPU time: measurements between two CPUs are too high",
            100.0 * stolen
        ));
    }
    // Ourselves, and one more that may have been passing by.
    if running > 2 {
        all.push(format!("{running} threads were running at the start: end the other ones and measure again"));
    }
    for f in figures.iter().filter(|f| KEYS.contains(&f.key)) {
        if let Some(s) = f.spread
            && s.noise() > NOISY
        {
            let what = format!(
                "{} is uncertain: rounds from {:.1} to {:.1} {}",
                f.key,
                s.low.min(s.high),
                s.high.max(s.low),
                f.unit
            );
            all.push(format!("{what}; something else uses these CPUs or caches"));
        }
    }
    if t.cpus.len() < 2 {
        all.push("only one CPU may be used: latencies between CPUs are estimated, not measured".into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_split_by_what_its_owner_finishes() {
        // Four operations of 5 ns, exposed for 2.5, and 20 more for each of them while nobody has the line, of 125 ns.
        assert_eq!(legs(125.0, 5.0, 2.5, 3.8, 25.0), [20.0, 16.0]);
        // One of 5 ns, and 15 from owner to owner beside it, of 30: half of it is the data's, by way of the home.
        assert_eq!(legs(30.0, 5.0, 2.5, 1.2, 20.0), [25.0, 25.0]);
        // Whatever a noisy host says, it is a transfer.
        for odd in
            [legs(10.0, 5.0, 1.0, 100.0, 25.0), legs(1000.0, 5.0, 1.0, 1.0, 1.0), legs(100.0, 5.0, 1.0, 1.0, 500.0)]
        {
            assert!(odd.iter().all(|p| *p >= 0.0) && odd[0] + odd[1] <= 100.0, "{odd:?}");
        }
    }

    #[test]
    fn transfers_count_that_were_measured_at_the_usual_latency() {
        let pass = |ns: f64, as_usual| {
            let figure = |key| vec![Figure::derived(key, "ns", ns, "x")];
            Pass { alone: figure("a"), together: figure("b"), as_usual }
        };
        let values = |passes: &[Pass]| {
            merged(&passes.iter().collect::<Vec<_>>(), &[]).iter().map(|figure| figure.value).collect::<Vec<_>>()
        };
        assert_eq!(values(&[pass(165.0, false), pass(26.0, true), pass(28.0, true)]), [28.0, 26.0]);
        assert_eq!(values(&[pass(165.0, false), pass(14.0, false)]), [14.0, 14.0], "there is no other");
    }

    #[test]
    fn one_cpu_has_the_figures_of_transfers_estimated() {
        let mut figures = Vec::new();
        estimates(&mut figures, &Topology { cpus: vec![topology::Cpu::default()], caches: [None; 3] });
        for key in ["latency.local_modified", "latency.request_percent", "latency.spread"] {
            assert!(figure::value(&figures, key).is_some_and(|value| value > 0.0), "{key}");
        }
    }

    #[test]
    fn what_takes_less_than_a_cycle_is_no_transfer() {
        let mut figures: Vec<Figure> =
            [("latency.local_clean", 0.0), ("load, modified", 0.3), ("latency.local_modified", 40.0)]
                .into_iter()
                .map(|(key, ns)| Figure::read(key, "ns", ns, "x"))
                .collect();
        keep_transfers(&mut figures, 0.5);
        assert_eq!(figures.iter().map(|figure| figure.key).collect::<Vec<_>>(), ["latency.local_modified"]);
        estimates(&mut figures, &Topology { cpus: vec![topology::Cpu::default()], caches: [None; 3] });
        assert!(figure::value(&figures, "latency.local_clean").is_some_and(|ns| ns > 1.0));
    }

    #[test]
    fn uncertain_figures_are_warned_of() {
        let spread = |low, median| Spread { least: low, low, median, high: median };
        let figures = [
            Figure::usual("latency.local_modified", "ns", spread(50.0, 100.0), "x"),
            Figure::usual("core.rmw", "cycles", spread(18.0, 18.5), "x"),
        ];
        let topology = Topology { cpus: vec![topology::Cpu::default()], caches: [None; 3] };
        let said = warnings(&figures, &topology, 0.0, 1);
        assert!(
            said.iter().any(|w| w.starts_with("latency.local_modified is uncertain: rounds from 50.0 to 100.0 ns"))
        );
        assert!(said.iter().any(|w| w.starts_with("only one CPU")) && !said.iter().any(|w| w.contains("core.rmw")));
        let busy = warnings(&figures, &topology, 0.0, 9);
        assert!(busy.iter().any(|w| w.starts_with("9 threads were running")), "{busy:?}");
    }
}
