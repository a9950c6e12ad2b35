// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which objects there are, and where they were allocated, as the program allocates and frees them.
use crate::places::{BEGIN, BYTES, Live, give, size, take};
use crate::storage::alloc_sites::{AllocSites, SITE_DEPTH};
use crate::storage::headers::{Headers, Words};
use crate::storage::places::{HEADER, LARGE, Places};
use corefold_recording::{Mapping, Object};
use hashbrown::HashMap;
use proptest::prelude::*;
use rustc_hash::FxBuildHasher;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Where the bits are: beyond the heap.
const STARTS: u64 = BEGIN + BYTES;

#[derive(Default)]
struct Memory(RefCell<HashMap<u64, u64, FxBuildHasher>>);

impl Words for Memory {
    fn read(&self, address: u64) -> u64 {
        assert!(address.is_multiple_of(8), "{address:#x}");
        self.0.borrow().get(&address).copied().unwrap_or(0)
    }

    fn write(&self, address: u64, value: u64) {
        assert!(address.is_multiple_of(8), "{address:#x}");
        self.0.borrow_mut().insert(address, value);
    }
}

struct Heap {
    places: Places,
    headers: Headers<Memory>,
    sites: AllocSites,
}

impl Heap {
    fn new() -> Heap {
        let headers = Headers { words: Memory::default(), heap: BEGIN, starts: STARTS };
        Heap { places: Places::new(BEGIN, BYTES, 2), headers, sites: AllocSites::default() }
    }

    /// As the runtime does it, at a place in the program that is known by its number.
    fn allocate(&mut self, thread: usize, size: u64, align: u64, pc: u64) -> Object {
        let address = take(&mut self.places, thread, size, align).expect("there is room");
        let site = self.sites.number(stack(pc), size, None);
        self.sites.begins(site);
        self.headers.begins(&self.places, address, size, site);
        Object { address, bytes: size, site }
    }

    /// False: no object begins there.
    fn free(&mut self, thread: usize, address: u64) -> bool {
        if self.headers.is_freed(address) {
            return false;
        }
        let Object { bytes, site, .. } = self.headers.object_at(address);
        self.headers.ends(address);
        let is_there = self.places.is_live_large(address) || self.headers.ends_small(address);
        if is_there {
            give(&mut self.places, thread, &Live { address, size: bytes });
            self.sites.ends(site);
        }
        is_there
    }

    fn is_object(&self, address: u64) -> bool {
        self.headers.is_object(&self.places, address)
    }

    fn on(&self, begin: u64, bytes: u64) -> Vec<Object> {
        self.headers.objects_on(&self.places, begin, bytes)
    }
}

fn stack(pc: u64) -> [u64; SITE_DEPTH] {
    let mut stack = [0; SITE_DEPTH];
    stack[..2].copy_from_slice(&[pc, 7]);
    stack
}

#[derive(Clone, Debug)]
enum Step {
    Allocate {
        thread: usize,
        size: u64,
        align: u64,
        pc: u64,
    },
    /// The live object of that index, counted round.
    Free {
        thread: usize,
        index: usize,
    },
    /// One that was freed before, if nothing has taken its place; or what is no object.
    FreeAgain {
        index: usize,
    },
    LookWithin {
        index: usize,
        at: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let allocate = (0..3usize, size(), prop_oneof![Just(4u32), 4..13u32], 1..4u64)
        .prop_map(|(thread, size, bits, pc)| Step::Allocate { thread, size, align: 1 << bits, pc });
    prop_oneof![
        6 => allocate,
        4 => (0..3usize, any::<usize>()).prop_map(|(thread, index)| Step::Free { thread, index }),
        1 => any::<usize>().prop_map(|index| Step::FreeAgain { index }),
        1 => (any::<usize>(), 1..100u64).prop_map(|(index, at)| Step::LookWithin { index, at }),
    ]
}

/// What a line on and around each of them holds.
fn check_lines(heap: &Heap, live: &[Object], freed: &[Object]) {
    for object in live.iter().chain(freed).step_by(3) {
        let last = object.address + object.bytes.saturating_sub(1);
        for begin in [object.address, object.address + object.bytes / 2, last, object.address - HEADER] {
            let (begin, bytes) = (begin & !63, 64);
            let on_line = |other: &&Object| other.address < begin + bytes && begin < other.address + other.bytes;
            let mut expected: Vec<Object> = live.iter().filter(on_line).cloned().collect();
            expected.sort_by_key(|object| object.address);
            assert_eq!(heap.on(begin, bytes), expected, "on {begin:#x}");
        }
    }
}

fn check(steps: Vec<Step>) {
    let mut heap = Heap::new();
    let (mut live, mut freed): (Vec<Object>, Vec<Object>) = (Vec::new(), Vec::new());
    let mut most: BTreeMap<u64, usize> = BTreeMap::new();
    let mut pcs: BTreeMap<u32, u64> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Allocate { thread, size, align, pc } => {
                let object = heap.allocate(thread, size, align, pc);
                freed.retain(|old| old.address != object.address);
                assert_eq!(*pcs.entry(object.site).or_insert(pc), pc, "two places have one number");
                live.push(object);
                let now = live.iter().filter(|object| pcs[&object.site] == pc).count();
                most.entry(pc).and_modify(|most| *most = now.max(*most)).or_insert(now);
            }
            Step::Free { thread, index } if !live.is_empty() => {
                let object = live.swap_remove(index % live.len());
                assert!(heap.free(thread, object.address), "{object:?}");
                freed.push(object);
            }
            Step::FreeAgain { index } if !freed.is_empty() => {
                assert!(!heap.free(0, freed[index % freed.len()].address), "it is freed twice");
            }
            Step::LookWithin { index, at } if !live.is_empty() => {
                let object = &live[index % live.len()];
                assert!(!heap.is_object(object.address + at) || live.iter().any(|o| o.address == object.address + at));
            }
            Step::Free { .. } | Step::FreeAgain { .. } | Step::LookWithin { .. } => {}
        }
        for object in &live {
            assert!(heap.is_object(object.address) && !heap.headers.is_freed(object.address), "{object:?}");
            assert_eq!(heap.headers.object_at(object.address), *object);
        }
        for object in &freed {
            assert!(!heap.is_object(object.address) && heap.headers.is_freed(object.address), "{object:?}");
        }
    }
    check_lines(&heap, &live, &freed);
    for (number, site) in heap.sites.all().iter().enumerate() {
        let pc = pcs[&(number as u32)];
        assert_eq!((&site.stack[..], site.live), (&[pc, 7][..], most[&pc] as u64));
    }
}

proptest! {
    #[test]
    fn each_object_is_there_from_its_allocation_to_its_end(steps in prop::collection::vec(step(), 1..60)) {
        check(steps);
    }
}

#[test]
fn an_objects_size_and_site_are_kept_to_the_largest() {
    let heap = Heap::new();
    for (size, site) in [(0, 0), (1, (1 << 23) - 1), ((1 << 40) - 1, 5)] {
        heap.headers.begins(&heap.places, BEGIN + 16, size, site);
        assert_eq!(heap.headers.object_at(BEGIN + 16), Object { address: BEGIN + 16, bytes: size, site });
        heap.headers.ends(BEGIN + 16);
        assert_eq!(heap.headers.object_at(BEGIN + 16), Object { address: BEGIN + 16, bytes: size, site });
    }
}

/// A small object that begins as far before a line as one can is found on it.
#[test]
fn the_largest_small_object_is_found_on_its_last_line() {
    let mut heap = Heap::new();
    let object = heap.allocate(0, LARGE - 1, 16, 1);
    let end = object.address + object.bytes;
    assert_eq!(heap.on((end - 1) & !63, 64), [object]);
    assert_eq!(heap.on(end.next_multiple_of(64), 64), []);
}

#[test]
fn what_is_no_multiple_of_the_alignment_is_no_object() {
    let mut heap = Heap::new();
    let object = heap.allocate(0, 100, 16, 1);
    assert!(!heap.is_object(object.address + 8) && heap.headers.is_freed(object.address + 8));
    assert!(!heap.free(0, object.address + 4) && heap.is_object(object.address));
}

#[test]
fn a_place_is_its_stack_and_its_mapping() {
    let mut sites = AllocSites::default();
    let mapping = |file: &str| Some(Mapping { file: file.to_owned(), ..Mapping::default() });
    let all = [(1, None), (2, None), (1, mapping("a")), (1, mapping("b"))];
    let numbers = |sites: &mut AllocSites| all.clone().map(|(pc, mapping)| sites.number(stack(pc), 10, mapping));
    assert_eq!([numbers(&mut sites), numbers(&mut sites)], [[0, 1, 2, 3]; 2]);
    assert!(sites.all().iter().all(|site| (site.count, site.bytes, site.live) == (2, 20, 0)));
    [1, 1, 3].into_iter().for_each(|site| sites.begins(site));
    sites.ends(1);
    sites.begins(1);
    assert_eq!([0, 1, 2, 3].map(|site| sites.all()[site].live), [0, 2, 0, 1]);
}
