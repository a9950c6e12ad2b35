// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the heap's objects go.
use crate::storage::places::{GRAIN, HEADER, LARGE, PAGE, Pages, Place, Places};
use proptest::prelude::*;

pub const BEGIN: u64 = 0x6000_0000_0000;
pub const BYTES: u64 = 1 << 40;
const THREADS: usize = 4;
/// Fewer than threads: some share one.
const ARENAS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Take {
        thread: usize,
        size: u64,
        align: u64,
    },
    /// Frees the live object of that index, counted round.
    Give {
        thread: usize,
        index: usize,
    },
    /// The thread ends; another with its number begins.
    End {
        thread: usize,
    },
}

/// An object, with its header: begin, end, and what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    pub address: u64,
    pub size: u64,
}

impl Live {
    pub fn overlaps(&self, begin: u64, end: u64) -> bool {
        self.address - HEADER < end && begin < self.address + self.size
    }
}

pub fn size() -> impl Strategy<Value = u64> {
    prop_oneof![0..200u64, 0..9000u64, 100_000..300_000u64, Just(1u64 << 20), (1u64 << 20)..(9u64 << 20)]
}

fn step() -> impl Strategy<Value = Step> {
    let thread = || 0..THREADS;
    let take =
        (thread(), size(), 4..24u32).prop_map(|(thread, size, bits)| Step::Take { thread, size, align: 1 << bits });
    let plain = (thread(), size()).prop_map(|(thread, size)| Step::Take { thread, size, align: 16 });
    let give = (thread(), any::<usize>()).prop_map(|(thread, index)| Step::Give { thread, index });
    let end = thread().prop_map(|thread| Step::End { thread });
    prop_oneof![4 => take, 4 => plain, 8 => give, 1 => end]
}

/// Frees the object, and says which pages may be wiped.
pub fn give(places: &mut Places, thread: usize, object: &Live) -> Option<Pages> {
    if places.is_large(object.address) {
        let pages = places.end_large(object.address).expect("it is live");
        places.give_large(pages);
        return Some(pages);
    }
    if !places.keep(thread, object.address, object.size) {
        places.give_back(object.address, object.size);
    }
    None
}

/// A place from where the runtime looks for it, in turn.
pub fn take(places: &mut Places, thread: usize, size: u64, align: u64) -> Option<u64> {
    match places.take(thread, size, align, true) {
        Place::At { address, .. } => return Some(address),
        Place::Nowhere => return None,
        Place::Arena => {}
    }
    let arena = places.arena_of(thread);
    let freed = places.take_freed(arena, size, align);
    if freed.is_some() && align <= GRAIN {
        while places.refill(thread, arena, size).is_some() {}
    }
    let address = freed.or_else(|| places.take_fresh(arena, size, align))?;
    assert_eq!(places.owner(address), arena, "it is another arena's");
    Some(address)
}

fn check(steps: Vec<Step>) {
    let mut places = Places::new(BEGIN, BYTES, ARENAS);
    let mut live: Vec<Live> = Vec::new();
    for step in steps {
        match step {
            Step::Take { thread, size, align } => {
                let address = take(&mut places, thread, size, align).expect("there is room");
                assert!((places.arena_of(thread) as usize) < ARENAS, "{step:?}");
                assert!(address.is_multiple_of(align), "{address:#x} for {step:?}");
                let (begin, end) = (address - HEADER, address + size.max(1));
                assert!(begin >= BEGIN && end <= BEGIN + BYTES, "{address:#x} for {step:?}");
                assert!(!live.iter().any(|other| other.overlaps(begin, end)), "{address:#x} for {step:?}");
                live.push(Live { address, size: size.max(1) });
            }
            Step::Give { thread, index } if !live.is_empty() => {
                let object = live.swap_remove(index % live.len());
                if let Some(pages) = give(&mut places, thread, &object) {
                    let end = pages.begin + pages.bytes;
                    assert!(object.overlaps(pages.begin, end) && object.address + object.size <= end);
                    assert!(!live.iter().any(|other| other.overlaps(pages.begin, end)), "{pages:?} are another's too");
                    assert!(pages.begin.is_multiple_of(PAGE) && pages.bytes.is_multiple_of(PAGE));
                }
            }
            Step::Give { .. } => {}
            Step::End { thread } => places.thread_ends(thread),
        }
    }
}

proptest! {
    #[test]
    fn no_two_objects_share_a_byte(steps in prop::collection::vec(step(), 1..80)) {
        check(steps);
    }
}

/// As glibc 2.36: what shares a line with what follows from where the first object lies.
#[test]
fn the_first_object_of_an_arena_lies_behind_what_glibc_keeps_there() {
    let mut places = Places::new(BEGIN, BYTES, ARENAS);
    for (thread, first) in [(0, 0x2a0), (1, 0xb70), (2, 0xb70)] {
        let arena = places.arena_of(thread);
        let mut next = || places.take_fresh(arena, 56, GRAIN).expect("there is room") % (1 << 20);
        assert_eq!([next(), next()], [first, first + 0x40]);
    }
}

/// A neighbour of an object with a large alignment keeps its bytes.
#[test]
fn pages_of_an_aligned_object_are_its_own() {
    let take = |size, align| Step::Take { thread: 0, size, align };
    check(vec![take(4 << 20, 2 << 20), take(1 << 20, 16), Step::Give { thread: 0, index: 0 }]);
}

/// Full is full: no object lies beyond the end.
#[test]
fn there_is_an_end() {
    let mut places = Places::new(BEGIN, 64 << 20, ARENAS);
    let mut count = 0;
    while let Some(address) = take(&mut places, 0, 1 << 20, 1 << 20) {
        assert!(address + (1 << 20) <= BEGIN + (64 << 20));
        count += 1;
    }
    assert!((10..=32).contains(&count), "{count}");
    while take(&mut places, 1, 1000, 16).is_some() {}
}

/// A thread has an arena of its own while there are some, one that ended leaves its own to the next, and later ones
/// share: the main thread's first, then the newest.
#[test]
fn threads_are_attached_to_arenas_as_in_glibc() {
    let mut places = Places::new(BEGIN, BYTES, 4);
    assert_eq!([0, 5, 2, 1].map(|thread| places.arena_of(thread)), [0, 1, 2, 3]);
    assert_eq!([6, 7, 8, 9, 10].map(|thread| places.arena_of(thread)), [0, 3, 2, 1, 0]);
    places.thread_ends(5);
    places.thread_ends(9);
    assert_eq!(places.arena_of(11), 1, "nobody else was attached to it");
}

/// With fewer arenas than there are threads from some time on (`M_ARENA_MAX`), those that are there are shared.
#[test]
fn no_arena_is_made_beyond_the_limit() {
    let mut places = Places::new(BEGIN, BYTES, 8);
    assert_eq!([0, 1].map(|thread| places.arena_of(thread)), [0, 1]);
    places.limit_arenas(2);
    assert_eq!([2, 3, 4, 1].map(|thread| places.arena_of(thread)), [0, 1, 0, 1]);
}

/// What a thread keeps goes back to where it came from when the thread ends: others can use it.
#[test]
fn a_thread_that_ends_leaves_nothing_behind() {
    let mut places = Places::new(BEGIN, BYTES, ARENAS);
    let objects: Vec<u64> = (0..7).filter_map(|_| take(&mut places, 0, 100, 16)).collect();
    assert!(objects.iter().all(|object| places.keep(1, *object, 100)));
    assert_eq!((places.arena_of(1), places.take_freed(0, 100, 16)), (1, None));
    places.thread_ends(1);
    assert_eq!(places.take(1, 100, 16, true), Place::Arena, "its cache is empty");
    let mut again: Vec<u64> = std::iter::from_fn(|| places.take_freed(0, 100, 16)).collect();
    again.sort_unstable();
    assert_eq!(again, objects);
}

#[test]
fn what_is_too_large_has_no_place_and_some_requests_go_past_the_cache() {
    let mut places = Places::new(BEGIN, 1 << 30, ARENAS);
    assert_eq!(places.take(0, 1 << 28, 16, true), Place::Nowhere);
    assert!(matches!(places.take(0, LARGE, 16, true), Place::At { zeroes: true, .. }));
    let object = take(&mut places, 0, 100, 16).unwrap();
    assert!(places.keep(0, object, 100));
    assert_eq!([places.take(0, 100, 16, false), places.take(0, 100, 64, true)], [Place::Arena; 2]);
    assert_eq!(places.take(0, 100, 16, true), Place::At { address: object, zeroes: false });
}

/// Pages that were given back are taken again, whoever asks.
#[test]
fn large_objects_take_no_more_memory_than_live_at_once() {
    let mut places = Places::new(BEGIN, 64 << 20, ARENAS);
    for round in 0..1000 {
        let objects = [0, 1, 2]
            .map(|thread| Live { address: take(&mut places, thread, 4 << 20, 16).expect("room"), size: 4 << 20 });
        objects.iter().for_each(|object| assert!(give(&mut places, round % 4, object).is_some()));
    }
}

/// Seven chunks of a size stay with the thread that freed them, larger ones none; more go back to where they came from.
#[test]
fn a_thread_keeps_seven_chunks_of_a_size() {
    let mut places = Places::new(BEGIN, BYTES, ARENAS);
    for (size, most) in [(24, 7), (1032, 7), (1033, 0)] {
        let objects: Vec<u64> = (0..9).filter_map(|_| take(&mut places, 0, size, 16)).collect();
        assert_eq!(objects.iter().filter(|object| places.keep(1, **object, size)).count(), most, "{size}");
        assert!(objects.iter().all(|object| places.owner(*object) == 0));
    }
}

/// Those that are freed are taken again, but for what their thread keeps: a program that allocates and frees needs no more.
#[test]
fn aligned_objects_are_taken_again() {
    for align in [64, 128, 4096] {
        let mut places = Places::new(BEGIN, BYTES, ARENAS);
        let mut all: Vec<u64> = Vec::new();
        for _ in 0..100 {
            let wanted = (0..70).map(|number| if number < 50 { align } else { GRAIN });
            let objects: Vec<Live> = wanted
                .filter_map(|align| Some(Live { address: take(&mut places, 0, 900, align)?, size: 900 }))
                .collect();
            objects.iter().for_each(|object| assert!(give(&mut places, 0, object).is_none()));
            all.extend(objects.iter().map(|object| object.address));
        }
        all.sort_unstable();
        all.dedup();
        assert!(all.len() <= 150, "{} places for 70 objects aligned to {align}", all.len());
    }
}
