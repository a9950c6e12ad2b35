// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that hold for every program: CPUs make random accesses to a few lines, always the one
//! whose clock is smallest, as the engine has it with no slack.
mod common;
use common::machine;
use corefold_model::{Access, Blame, Kind, Model, Outcome, Tag, Ticks, ticks};
use proptest::prelude::*;

const LINES: u64 = 4;

#[derive(Clone, Debug)]
struct Step {
    line: u64,
    offset: u64,
    kind: Kind,
    think: u32,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(Kind::Load),
        Just(Kind::LoadAwaited),
        Just(Kind::Store),
        Just(Kind::AtomicStore),
        Just(Kind::Rmw)
    ];
    (0..LINES, 0..8u64, kind, 0..120u32).prop_map(|(line, word, kind, think)| Step {
        line,
        offset: word * 8,
        kind,
        think,
    })
}

fn programs() -> impl Strategy<Value = Vec<Vec<Step>>> {
    prop::collection::vec(prop::collection::vec(step(), 0..60), 1..=8)
}

#[derive(Clone, Debug, PartialEq)]
struct Event {
    cpu: u32,
    line: u64,
    kind: Kind,
    asked: Ticks,
    outcome: Outcome,
}

/// Runs one program a CPU; every access in the order it was asked for.
fn run(programs: &[Vec<Step>]) -> Vec<Event> {
    let mut model = Model::new(&machine(), 0);
    let mut tags = [Tag::UNTOUCHED; LINES as usize];
    let mut clocks = vec![0; programs.len()];
    let mut next = vec![0; programs.len()];
    // The event of an access whose line should have arrived by the CPU's clock.
    let mut waits: Vec<Option<usize>> = vec![None; programs.len()];
    let mut events: Vec<Event> = Vec::new();
    while let Some(cpu) = (0..programs.len()).filter(|c| next[*c] < programs[*c].len()).min_by_key(|c| (clocks[*c], *c))
    {
        let step = &programs[cpu][next[cpu]];
        if let Some(at) = waits[cpu] {
            match model.postponed(tags[step.line as usize], cpu as u32, clocks[cpu]) {
                Some(later) => {
                    let outcome = &mut events[at].outcome;
                    (outcome.done, outcome.effect) = (outcome.done + later - clocks[cpu], later);
                    clocks[cpu] = later;
                }
                None => {
                    clocks[cpu] = events[at].outcome.done + ticks(step.think);
                    (waits[cpu], next[cpu]) = (None, next[cpu] + 1);
                }
            }
            continue;
        }
        let access =
            Access { cpu: cpu as u32, address: step.line * 64 + step.offset, size: 8, kind: step.kind, origin: 0 };
        let asked = clocks[cpu];
        // As `sim` does: what an access has to wait for is waited for before it asks.
        if step.kind == Kind::Rmw && !model.is_idle(access.cpu) {
            clocks[cpu] = model.drain(access.cpu, asked);
            continue;
        }
        clocks[cpu] = model.retire(access.cpu, asked);
        if clocks[cpu] != asked {
            continue;
        }
        let outcome = model.access(&mut tags[step.line as usize], &access, asked);
        if matches!(step.kind, Kind::Rmw | Kind::LoadAwaited) && outcome.stall > 0 {
            (clocks[cpu], waits[cpu]) = (outcome.effect, Some(events.len()));
        } else {
            clocks[cpu] = outcome.done + ticks(step.think);
            next[cpu] += 1;
        }
        events.push(Event { cpu: cpu as u32, line: step.line, kind: step.kind, asked, outcome });
    }
    events
}

fn core(cpu: u32) -> u32 {
    machine().core_of(cpu)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 2))]

    #[test]
    fn clocks_never_go_back(programs in programs()) {
        for event in run(&programs) {
            prop_assert!(event.outcome.done >= event.asked, "{event:?}");
            prop_assert!(event.outcome.effect >= event.asked, "{event:?}");
        }
    }

    #[test]
    fn no_access_is_lost(programs in programs()) {
        prop_assert_eq!(run(&programs).len(), programs.iter().map(Vec::len).sum::<usize>());
    }

    #[test]
    fn the_same_program_has_the_same_outcome(programs in programs()) {
        prop_assert_eq!(run(&programs), run(&programs));
    }

    /// Read-modify-writes of one line by different cores never coincide: there is one owner at a time.
    #[test]
    fn a_line_has_one_owner(programs in programs()) {
        let events = run(&programs);
        for line in 0..LINES {
            let mut updates: Vec<&Event> =
                events.iter().filter(|e| e.line == line && e.kind == Kind::Rmw).collect();
            updates.sort_by_key(|e| e.outcome.effect);
            for pair in updates.windows(2) {
                let apart = pair[0].outcome.effect < pair[1].outcome.effect;
                prop_assert!(apart || core(pair[0].cpu) == core(pair[1].cpu), "{pair:?}");
            }
        }
    }

    /// A load served from the own cache is of a copy that came after the last write elsewhere: what it
    /// returns is the last write in virtual time.
    #[test]
    fn a_hit_is_never_stale(mut programs in programs()) {
        // A load that the CPU runs past tells when it was asked for, not when its copy came.
        for step in programs.iter_mut().flatten().filter(|s| s.kind != Kind::Rmw) {
            step.kind = Kind::LoadAwaited;
        }
        let events = run(&programs);
        for (at, load) in events.iter().enumerate() {
            if load.kind != Kind::LoadAwaited || load.outcome.transfer.is_some() || load.outcome.done != load.asked {
                continue;
            }
            let before = &events[..at];
            let here = |e: &&Event| e.line == load.line;
            let own = before.iter().filter(here).filter(|e| core(e.cpu) == core(load.cpu));
            let fetched = own.map(|e| e.outcome.effect).max();
            let is_write = |e: &&Event| {
                e.kind == Kind::Rmw && core(e.cpu) != core(load.cpu) && e.outcome.effect <= load.asked
            };
            let written = before.iter().filter(here).filter(is_write).map(|e| e.outcome.effect).max();
            prop_assert!(written.is_none() || fetched >= written, "{load:?} after a write at {written:?}");
        }
    }

    /// Stores of one CPU become visible in program order.
    #[test]
    fn stores_commit_in_order(programs in programs()) {
        let events = run(&programs);
        for cpu in 0..programs.len() as u32 {
            let mine = |e: &&Event| e.cpu == cpu && matches!(e.kind, Kind::AtomicStore | Kind::Rmw);
            let effects: Vec<Ticks> = events.iter().filter(mine).map(|e| e.outcome.effect).collect();
            prop_assert!(effects.is_sorted(), "{effects:?}");
        }
    }
}

fn access(cpu: u32, address: u64, kind: Kind) -> Access {
    Access { cpu, address, size: 8, kind, origin: 7 }
}

/// Misses that do not depend on each other overlap; a chain of awaited ones does not.
#[test]
fn independent_misses_overlap() {
    let time = |kind| {
        let mut model = Model::new(&machine(), 0);
        let mut tags = [Tag::UNTOUCHED; 3];
        let mut now = 0;
        for (line, tag) in tags.iter_mut().enumerate() {
            now = model.access(tag, &access(0, line as u64 * 64, kind), now).done;
        }
        model.drain(0, now)
    };
    let one = ticks(machine().latency.memory);
    assert_eq!(time(Kind::Load), one);
    assert_eq!(time(Kind::LoadAwaited), 3 * one);
}

/// A store does not stall, and the same CPU's load of the stored bytes is served at once.
#[test]
fn the_store_buffer_hides_and_forwards() {
    let mut model = Model::new(&machine(), 0);
    let mut tag = Tag::UNTOUCHED;
    model.access(&mut tag, &access(1, 0, Kind::Rmw), 0);
    model.access(&mut tag, &access(2, 0, Kind::Rmw), ticks(5_000));
    let late = ticks(10_000);
    let store = model.access(&mut tag, &access(0, 8, Kind::Store), late);
    assert_eq!((store.done, store.transfer.is_some()), (late, true));
    assert_eq!(model.access(&mut tag, &access(0, 8, Kind::LoadAwaited), late).done, late);
    assert!(model.access(&mut tag, &access(0, 16, Kind::LoadAwaited), late).done > late);
}

/// The owner goes on hitting until the other's request has had the time to reach it.
#[test]
fn an_owner_hits_until_the_snoop_arrives() {
    let mut model = Model::new(&machine(), 0);
    let mut tag = Tag::UNTOUCHED;
    model.access(&mut tag, &access(0, 0, Kind::Rmw), 0);
    let start = ticks(10_000);
    let taken = model.access(&mut tag, &access(1, 0, Kind::Rmw), start);
    let hit = model.access(&mut tag, &access(0, 0, Kind::Rmw), start + ticks(1));
    assert_eq!(hit.transfer, None);
    let lost = model.access(&mut tag, &access(0, 0, Kind::Rmw), start + model.lookahead());
    assert!(lost.transfer.is_some() && lost.effect > taken.effect);
}

/// A line that one CPU keeps to itself costs nothing, however it was shared before, unless it is
/// written atomically.
#[test]
fn a_line_comes_to_rest() {
    for (kind, demoted) in [(Kind::Store, Some(1)), (Kind::Rmw, None)] {
        let mut model = Model::new(&machine(), 0);
        let mut tag = Tag::UNTOUCHED;
        // The first time, the line is just handed over; the second time it gets a record.
        for (turn, cpu) in [0, 1, 0].into_iter().enumerate() {
            model.access(&mut tag, &access(cpu, 0, kind), ticks(1000 * turn as u32));
        }
        let mut now = ticks(4000);
        for _ in 0..40 {
            now = model.access(&mut tag, &access(1, 0, kind), now).done + ticks(100);
        }
        assert_eq!(tag.private_cpu(), demoted);
        let records = model.shared_lines();
        assert!(model.access(&mut tag, &access(0, 0, kind), now).transfer.is_some());
        assert_eq!(model.shared_lines(), records, "its record is used again");
    }
}

/// What a CPU waits for late is charged to the access that it had run past.
#[test]
fn late_waits_are_blamed_on_their_cause() {
    let mut model = Model::new(&machine(), 0);
    let (mut loaded, mut stored) = (Tag::UNTOUCHED, Tag::UNTOUCHED);
    let memory = ticks(machine().latency.memory);
    let load = Access { cpu: 0, address: 8, size: 8, kind: Kind::Load, origin: 1 };
    assert_eq!(model.access(&mut loaded, &load, 0).stall, 0);
    assert_eq!(model.drain(0, 0), memory);
    assert_eq!(model.take_blame(0), Some(Blame { address: 8, origin: 1, stall: memory }));
    let store = Access { cpu: 0, address: 64, size: 8, kind: Kind::Store, origin: 2 };
    assert_eq!(model.access(&mut stored, &store, memory).stall, 0);
    model.drain(0, memory + 10);
    assert_eq!(model.take_blame(0), Some(Blame { address: 64, origin: 2, stall: memory - 10 }));
    assert_eq!(model.take_blame(0), None);
}
