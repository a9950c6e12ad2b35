// SPDX-License-Identifier: MIT OR Apache-2.0
//! What x86-TSO does not say: who sees a store at what time. For each byte that one operation alone stores to, as other
//! CPUs than its own look at it:
//! 1. who looks before the store's operation begins does not see it;
//! 2. who looks after its operation is over sees it, if that is locked, or a fence or a locked operation of the same CPU is
//!    over;
//! 3. who looks after another that saw it sees it.
//!
//! A load looks when it is over, or until its line has arrived if it asked for one; a locked operation at some time between its begin and its end.
use super::program::{Bytes, Op};
use super::schedule::Done;
use corefold_model::{Ticks, ticks};

/// In which a line arrives, at the latest.
const ARRIVAL: Ticks = ticks(500);

/// An operation's look at a byte.
#[derive(Clone, Copy, Debug)]
struct Look {
    earliest: Ticks,
    latest: Ticks,
    sees: bool,
}

/// The first breach of these rules.
pub fn breach(done: &[Done]) -> Option<String> {
    let stores = done.iter().enumerate().filter_map(|(at, store)| Some((at, store, stored(store.op)?)));
    stores
        .flat_map(|(at, store, (place, value))| {
            bytes(place).map(move |byte| (at, store, byte, byte_of(place, byte, value)))
        })
        .find_map(|(at, store, byte, value)| {
            let alone = done.iter().enumerate().all(|(other, done)| {
                other == at || stored(done.op).is_none_or(|(place, _)| !bytes(place).any(|its| its == byte))
            });
            if !alone || value == 0 {
                return None;
            }
            let looks: Vec<Look> =
                done.iter().filter(|look| look.cpu != store.cpu).filter_map(|done| look(done, byte)).collect();
            breach_of(store.begin, visible(&done[at..], store.cpu), &looks)
                .map(|rule| format!("{rule}: {store:?}, byte {byte:x}"))
        })
}

fn breach_of(begins: Ticks, visible: Option<Ticks>, looks: &[Look]) -> Option<&'static str> {
    let (seen, unseen): (Vec<&Look>, Vec<&Look>) = looks.iter().partition(|look| look.sees);
    let too_early = seen.iter().any(|look| look.latest < begins);
    let missed = unseen.iter().any(|look| visible.is_some_and(|visible| look.earliest > visible));
    let back = seen.iter().any(|first| unseen.iter().any(|then| first.latest < then.earliest));
    [(too_early, "seen before it begins"), (missed, "missed"), (back, "seen, and then not")]
        .into_iter()
        .find_map(|(breach, rule)| breach.then_some(rule))
}

/// When all see the first of these operations, at the latest, if that can be told.
fn visible(from_store: &[Done], cpu: usize) -> Option<Ticks> {
    let own = from_store.iter().filter(|done| done.cpu == cpu);
    own.into_iter().find(|done| done.op.is_locked() || done.op == Op::Fence).map(|done| done.end)
}

fn look(done: &Done, byte: u64) -> Option<Look> {
    let (place, earliest) = match done.op {
        Op::AtomicLoad(place) | Op::Await(place, ..) => (place, done.end),
        Op::Exchange(place, _) | Op::Add(place, _) => (place, done.begin),
        _ => return None,
    };
    let found = bytes(place).any(|its| its == byte).then_some(done.found?)?;
    let latest = done.end + if done.asked { ARRIVAL } else { 0 };
    Some(Look { earliest, latest, sees: byte_of(place, byte, found) != 0 })
}

fn stored(op: Op) -> Option<(Bytes, u64)> {
    match op {
        Op::Store(place, value)
        | Op::AtomicStore(place, value)
        | Op::Exchange(place, value)
        | Op::Add(place, value) => Some((place, value)),
        _ => None,
    }
}

fn bytes(place: Bytes) -> std::ops::Range<u64> {
    place.address..place.address + u64::from(place.size)
}

fn byte_of(place: Bytes, byte: u64, value: u64) -> u8 {
    (value >> (8 * (byte - place.address))) as u8
}
