// SPDX-License-Identifier: MIT OR Apache-2.0
//! Against a machine that has the bytes of each waiting store apart, and forwards them.
use super::*;
use proptest::prelude::*;

const CPUS: u32 = 3;
const BYTES: usize = 24;

#[derive(Clone, Default)]
struct Bytes([u8; BYTES]);

impl Memory for Bytes {
    fn read(&self, address: u64, size: u8) -> u64 {
        let mut word = [0; 8];
        word[..size as usize].copy_from_slice(&self.0[address as usize..][..size as usize]);
        u64::from_le_bytes(word)
    }
    fn write(&mut self, address: u64, size: u8, value: u64) {
        self.0[address as usize..][..size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
    }
}

/// A store of the machine that is compared with: its time, its order among all, its bytes.
struct Waiting {
    effect: Ticks,
    number: usize,
    address: usize,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Machine {
    committed: Bytes,
    buffers: [VecDeque<Waiting>; CPUS as usize],
    count: usize,
}

impl Machine {
    fn store(&mut self, cpu: u32, address: u64, bytes: &[u8], effect: Ticks) {
        let buffer = &mut self.buffers[cpu as usize];
        let effect = buffer.back().map_or(effect, |last| last.effect.max(effect));
        self.count += 1;
        buffer.push_back(Waiting { effect, number: self.count, address: address as usize, bytes: bytes.to_vec() });
    }

    fn commit(&mut self, cpu: usize) {
        let store = self.buffers[cpu].pop_front().expect("one waits");
        self.committed.0[store.address..][..store.bytes.len()].copy_from_slice(&store.bytes);
    }

    fn commit_until(&mut self, now: Ticks) {
        let first = |machine: &Machine| {
            let fronts = machine.buffers.iter().enumerate().filter_map(|(cpu, b)| Some((b.front()?, cpu)));
            fronts.map(|(s, cpu)| (s.effect, s.number, cpu)).min().filter(|(effect, ..)| *effect <= now)
        };
        while let Some((.., cpu)) = first(self) {
            self.commit(cpu);
        }
    }

    fn view(&self, cpu: u32) -> Bytes {
        let mut view = self.committed.clone();
        for store in &self.buffers[cpu as usize] {
            view.0[store.address..][..store.bytes.len()].copy_from_slice(&store.bytes);
        }
        view
    }
}

#[derive(Clone, Debug)]
enum Event {
    Store { address: u64, size: u8, value: u64, after: Ticks },
    Plain { address: u64, bytes: u64, value: u8 },
    Run(u32),
    Wait(Ticks),
    Drain(u32),
    Unmap { address: u64, bytes: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let sizes = prop_oneof![Just(1u8), Just(2), Just(4), Just(8)];
    prop_oneof![
        4 => (0u64..16, sizes, any::<u64>(), 0u64..30).prop_map(|(address, size, value, after)| Event::Store { address, size, value, after }),
        3 => (0u64..16, 0u32..4, any::<u8>()).prop_map(|(address, power, value)| Event::Plain { address, bytes: 1 << power, value }),
        3 => (0..CPUS).prop_map(Event::Run),
        2 => (1u64..20).prop_map(Event::Wait),
        1 => (0..CPUS).prop_map(Event::Drain),
        1 => (0u64..16, 1u64..9).prop_map(|(address, bytes)| Event::Unmap { address, bytes }),
    ]
}

/// Only what waits for these bytes, and what the same CPUs stored before.
fn commit_on(machine: &mut Machine, bytes: &Range<u64>) {
    let hits = |s: &Waiting| overlap(&(s.address as u64..(s.address + s.bytes.len()) as u64), bytes);
    let mut all: Vec<(Ticks, usize, usize)> = Vec::new();
    for (cpu, buffer) in machine.buffers.iter().enumerate() {
        let last = buffer.iter().rposition(hits).map_or(0, |last| last + 1);
        all.extend(buffer.iter().take(last).map(|s| (s.effect, s.number, cpu)));
    }
    all.sort_unstable();
    all.into_iter().for_each(|(.., cpu)| machine.commit(cpu));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]
    #[test]
    fn each_cpu_sees_what_is_committed_and_its_own_stores(events in prop::collection::vec(event(), 1..60)) {
        let (mut buffers, mut memory, mut machine) = (StoreBuffers::new(CPUS, 4), Bytes::default(), Machine::default());
        let (mut running, mut now) = (0, 0);
        for event in events {
            match event {
                Event::Store { address, size, value, after } => {
                    buffers.defer(&mut memory, running, (address, size), value, now + after, 0);
                    machine.store(running, address, &value.to_le_bytes()[..size as usize], now + after);
                }
                Event::Plain { address, bytes, value } => {
                    let stored: Vec<u8> = (0..bytes as u8).map(|at| value.wrapping_add(at)).collect();
                    if buffers.any_of(running) {
                        buffers.defer_plain(&memory, running, address..address + bytes, now, 0);
                        machine.store(running, address, &stored, now);
                    } else {
                        machine.committed.0[address as usize..][..stored.len()].copy_from_slice(&stored);
                    }
                    memory.0[address as usize..][..stored.len()].copy_from_slice(&stored);
                }
                Event::Run(cpu) => {
                    prop_assert!(buffers.view_changes(cpu) || memory.0 == machine.view(cpu).0);
                    buffers.change_view(&mut memory, cpu);
                    running = cpu;
                }
                Event::Wait(time) => {
                    now += time;
                    while buffers.is_due(now) {
                        buffers.commit(&mut memory, running, None);
                    }
                    machine.commit_until(now);
                }
                Event::Drain(cpu) => {
                    buffers.commit_all_of(&mut memory, cpu, running);
                    while !machine.buffers[cpu as usize].is_empty() {
                        machine.commit(cpu as usize);
                    }
                }
                Event::Unmap { address, bytes } => {
                    let range = address..address + bytes;
                    buffers.commit_on(&mut memory, &range, running);
                    commit_on(&mut machine, &range);
                    prop_assert!(!buffers.any_on(&range));
                }
            }
            prop_assert_eq!(memory.0, machine.view(running).0);
            for cpu in 0..CPUS {
                prop_assert_eq!(buffers.any_of(cpu), !machine.buffers[cpu as usize].is_empty());
            }
        }
    }
}

#[test]
fn a_line_that_was_taken_is_asked_for_once_more_and_delays_younger_stores() {
    let (mut buffers, mut memory) = (StoreBuffers::new(2, 4), Bytes::default());
    buffers.defer(&mut memory, 0, (0, 8), 1, 10, 0);
    buffers.defer(&mut memory, 0, (8, 8), 2, 12, 0);
    buffers.change_view(&mut memory, 1);
    assert_eq!((memory.read(0, 8), memory.read(8, 8)), (0, 0));
    let first =
        |buffers: &StoreBuffers| buffers.first_uncertain().map(|(cpu, store)| (cpu, store.address, store.effect));
    assert_eq!(first(&buffers), Some((0, 0, 10)));
    buffers.commit(&mut memory, 1, Some(50));
    assert!(!buffers.is_due(49) && buffers.is_due(50));
    assert_eq!(first(&buffers), None, "it is certain now");
    buffers.commit(&mut memory, 1, None);
    assert_eq!((memory.read(0, 8), memory.read(8, 8)), (1, 0));
    assert_eq!(first(&buffers), Some((0, 8, 50)), "not before the older one");
    buffers.commit(&mut memory, 1, None);
    assert_eq!(memory.read(8, 8), 2);
}

#[test]
fn a_full_buffer_names_its_oldest_store_and_plain_ones_take_no_room() {
    let (mut buffers, mut memory) = (StoreBuffers::new(1, 2), Bytes::default());
    buffers.defer(&mut memory, 0, (0, 8), 1, 10, 7);
    buffers.defer_plain(&memory, 0, 8..16, 10, 0);
    buffers.defer_plain(&memory, 0, 8..16, 10, 0);
    assert_eq!(buffers.in_the_way(0), None);
    buffers.defer(&mut memory, 0, (16, 8), 1, 10, 9);
    assert_eq!(buffers.in_the_way(0).map(|store| store.pc), Some(7));
    assert_eq!(buffers.youngest(0).map(|store| store.pc), Some(9));
    assert_eq!(buffers.make_certain(0, 4), 10);
}

/// A plain store that is ready waits for the atomic one before it, and is no atomic store.
#[test]
fn a_wait_for_all_stores_is_for_the_one_that_holds_up_the_others() {
    let (mut buffers, mut memory) = (StoreBuffers::new(1, 4), Bytes::default());
    buffers.defer(&mut memory, 0, (0, 8), 1, 10, 7);
    buffers.defer(&mut memory, 0, (8, 8), 1, 50, 8);
    buffers.defer_plain(&memory, 0, 16..24, 20, 9);
    let kind = |store: Option<Store>| store.map(|store| (store.pc, crate::parts(store.origin()).1));
    assert_eq!(kind(buffers.last(0)), Some((8, STORED)));
    assert_eq!(kind(buffers.youngest(0)), Some((9, WRITTEN)));
    buffers.defer_plain(&memory, 0, 0..8, 60, 10);
    assert_eq!(kind(buffers.last(0)), Some((10, WRITTEN)), "its own line comes later");
}
