// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the machine's CPUs a run of fewer has.
use crate::{Error, Machine};
use std::path::Path;

/// In the order of their numbers: the cores of one socket, then those of the next, then the second hardware threads.
pub const COMPACT: &str = "compact";
/// As Linux starts threads that are not pinned: some on the socket of their creator, then on all in turn; one hardware thread of
/// each core first.
pub const SPREAD: &str = "spread";

/// Stands between a machine's name and that of a placement.
const PLACED: &str = " placed ";

/// Places the runs of a machine: [`COMPACT`], [`SPREAD`], or a file with the numbers of all CPUs that a run may have, in
/// their order. Its name says so.
pub fn place(machine: &mut Machine, placement: &str) -> Result<(), Error> {
    machine.order = match placement {
        COMPACT => return Ok(()),
        SPREAD => spread(machine),
        file => read(machine, file)?,
    };
    machine.name = format!("{}{PLACED}{placement}", machine.name);
    Ok(())
}

/// The machine's own name, and its placement.
pub fn placed(name: &str) -> (&str, &str) {
    name.split_once(PLACED).unwrap_or((name, COMPACT))
}

/// Each thread stays on the socket of its creator, the first, until that has `numa_imbalance` more than the emptiest of its
/// group, which then gets it; there on the first core without a thread, or the first hardware thread. Linux starts none at
/// a distance above 30 (`RECLAIM_DISTANCE`; kernel/sched/topology.c takes `SD_BALANCE_FORK` from those domains): the next group
/// of sockets gets what finds no hardware thread in this one.
fn spread(machine: &Machine) -> Vec<u16> {
    let (sockets, each, cores) = (usize::from(machine.sockets), machine.cores_per_socket, machine.cores() as u16);
    let group = usize::from(machine.sockets_per_group).max(1);
    let room = usize::from(each) * usize::from(machine.threads_per_core);
    let more = room * machine.system.numa_imbalance as usize / 100;
    let mut threads = vec![0; sockets];
    let next = |_| {
        let first = threads.iter().position(|threads| *threads < room).unwrap_or(0) / group * group;
        let of_group = first..(first + group).min(sockets);
        let emptiest = of_group.min_by_key(|socket| threads[*socket]).unwrap_or(0);
        let stays = threads[0] < room && threads[0] <= threads[emptiest] + more && more > 0;
        let socket = if stays { 0 } else { emptiest };
        let nth = threads[socket] as u16;
        threads[socket] += 1;
        nth / each * cores + socket as u16 * each + nth % each
    };
    (0..machine.cpus()).map(next).collect()
}

/// Numbers and ranges (`0-3`), one after the other.
fn read(machine: &Machine, file: &str) -> Result<Vec<u16>, Error> {
    let text = corefold_files::read_text(Path::new(file), 1 << 20).map_err(|e| {
        Error::file(file, format!("cannot read this placement: {e}; others are {COMPACT} and {SPREAD}"))
    })?;
    let mut order: Vec<u16> = Vec::new();
    for (line, words) in text.lines().enumerate() {
        let wrong = |what: String| Error::line(file, line + 1, what);
        for word in words.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty()) {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) else {
                return Err(wrong(format!("{word:?} must be the number of a CPU, or a range of them such as 0-3")));
            };
            for cpu in first..=last {
                if u32::from(cpu) >= machine.cpus() {
                    return Err(wrong(format!("CPU {cpu}: {} has {}, from 0 on", machine.name, machine.cpus())));
                }
                if order.contains(&cpu) {
                    return Err(wrong(format!("CPU {cpu} is there twice")));
                }
                order.push(cpu);
            }
        }
    }
    if order.is_empty() {
        return Err(Error::file(file, "names no CPU".into()));
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corefold_model::Turbo;

    fn machine() -> Machine {
        crate::load("skylake-2s-80").unwrap().machine
    }

    #[test]
    fn spread_takes_sockets_in_turn_and_cores_before_their_second_threads() {
        let mut m = machine();
        m.system.numa_imbalance = 0;
        place(&mut m, SPREAD).unwrap();
        let at = |cpu: u32| (m.socket_of(cpu), m.core_of(cpu), m.thread_of(cpu));
        assert_eq!(
            [0, 1, 2, 39, 40, 79].map(at),
            [(0, 0, 0), (1, 20, 0), (0, 1, 0), (1, 39, 0), (0, 0, 1), (1, 39, 1)]
        );
        assert_eq!(placed(&m.name), ("skylake-2s-80", SPREAD));
        assert_eq!(placed("skylake-2s-80"), ("skylake-2s-80", COMPACT));
    }

    #[test]
    fn the_creators_socket_may_be_fuller_by_a_quarter() {
        let mut m = machine();
        place(&mut m, SPREAD).unwrap();
        let on_first = |cpus: u32| (0..cpus).filter(|cpu| m.socket_of(*cpu) == 0).count();
        // A quarter of 40 CPUs, and one that is let in at the limit.
        assert_eq!([11, 12, 13, 41, 80].map(on_first), [11, 11, 12, 26, 40]);
        let mut all = m.order.clone();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..80), "each CPU once");
    }

    #[test]
    fn a_group_of_sockets_is_full_before_the_next_gets_threads() {
        let mut m = crate::load("skx-8s-8176").unwrap().machine;
        place(&mut m, SPREAD).unwrap();
        let highest = |cpus: u32| (0..cpus).map(|cpu| m.socket_of(cpu)).max();
        assert_eq!([56, 224, 225, 448].map(highest), [Some(3), Some(3), Some(4), Some(7)]);
        let cores = |cpus: u32| {
            let mut cores: Vec<_> = (0..cpus).map(|cpu| m.core_of(cpu)).collect();
            cores.sort_unstable();
            cores.dedup();
            cores.len()
        };
        assert_eq!([224, 336].map(cores), [112, 224]);
    }

    #[test]
    fn a_file_has_the_numbers_of_cpus() {
        let folder = std::env::temp_dir().join(format!("corefold-placement-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("order");
        let said = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let mut m = machine();
            let result = place(&mut m, file.to_str().unwrap());
            result.map(|()| m.order).map_err(|e| e.to_string().replace(file.to_str().unwrap(), "order"))
        };
        assert_eq!(said("0,40\n20-22 1\n").unwrap(), [0, 40, 20, 21, 22, 1]);
        assert_eq!(said("0\n80\n").unwrap_err(), "order:2: CPU 80: skylake-2s-80 has 80, from 0 on");
        assert_eq!(said("0-3 2").unwrap_err(), "order:1: CPU 2 is there twice");
        assert!(said("a").unwrap_err().contains("must be the number of a CPU"));
        assert_eq!(said("\n").unwrap_err(), "order: names no CPU");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(said_missing().contains("others are compact and spread"));
    }

    fn said_missing() -> String {
        place(&mut machine(), "sprad").unwrap_err().to_string()
    }

    #[test]
    fn the_clock_is_the_mean_of_the_active_cores() {
        let mut m = machine();
        m.turbo = vec![Turbo { cores: 2, clock_hz: 3_000_000_000 }, Turbo { cores: 20, clock_hz: 2_500_000_000 }];
        let clock = |m: &Machine, cpus: u32| m.running(cpus).clock_hz / 1_000_000;
        assert_eq!([1, 2, 3, 22, 40, 80].map(|cpus| clock(&m, cpus)), [3000, 3000, 2500, 2545, 2500, 2500]);
        m.system.numa_imbalance = 0;
        place(&mut m, SPREAD).unwrap();
        assert_eq!([4, 6].map(|cpus| clock(&m, cpus)), [3000, 2500]);
        // Second threads wake no further core.
        m.order = vec![0, 40, 1, 41];
        assert_eq!(clock(&m, 4), 3000);
    }

    #[test]
    fn what_passes_outside_of_the_cores_takes_as_long_at_each_clock() {
        let base = machine();
        let mut fast = base.clone();
        fast.turbo = vec![Turbo { cores: 20, clock_hz: 2 * base.clock_hz }];
        let fast = fast.running(1);
        assert_eq!(fast.latency.local.modified, 2 * base.latency.local.modified);
        assert_eq!(fast.latency.memory, 2 * base.latency.memory);
        assert_eq!(fast.system.wake, 2 * base.system.wake);
        assert_eq!((fast.core, fast.latency.smt), (base.core, base.latency.smt));
    }
}
