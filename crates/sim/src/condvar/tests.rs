// SPDX-License-Identifier: MIT OR Apache-2.0
//! Condition variables under every kind of schedule (`machine`).
extern crate std;

mod machine;

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use machine::*;
use proptest::prelude::*;
use std::sync::Mutex;

/// Choices, some of which are made many times in turn: others may do much while a thread does not run.
fn schedule() -> impl Strategy<Value = Vec<u8>> {
    let times = prop_oneof![Just(1), 1..25usize];
    let choices = prop::collection::vec((any::<u8>(), times), 0..100);
    choices.prop_map(|choices| choices.iter().flat_map(|(choice, times)| vec![*choice; *times]).collect())
}

proptest! {
    /// Nobody leaves: each signal ends one wait, and which signals find somebody is known.
    #[test]
    fn as_many_waits_end_as_there_are_signals(
        schedule in schedule(),
        count in 1..7usize,
        signals in prop::collection::vec((prop_oneof![3 => Just(1), 1 => 2..4u32, 1 => Just(u32::MAX)], any::<bool>()), 0..6),
        disturbed in prop::collection::vec(0..7usize, 0..3),
    ) {
        let signaller = |(most, held): (u32, bool)| program(move |thread| match held {
            true => thread.locked(|| thread.signals(most)),
            false => thread.signals(most),
        });
        let disturber = |other| program(move |thread| thread.disturbs(other % count, false));
        let programs: Vec<Program> = waiters(count, None)
            .chain(signals.iter().copied().map(signaller))
            .chain(disturbed.iter().copied().map(disturber))
            .collect();
        let machine = run(&schedule, &programs);
        machine.check();
        let given = machine.given(0, machine.log.len());
        prop_assert_eq!(machine.sleepers().len(), count - given);
        prop_assert_eq!((0..count).filter(|thread| machine.ended(*thread) == Some(Ended::Signalled)).count(), given);
    }

    /// A signal that is given with the mutex held finds those who have given it back and have no signal yet.
    #[test]
    fn a_signal_finds_those_who_wait(
        schedule in schedule(),
        count in 1..5usize,
        signals in prop::collection::vec(prop_oneof![1..4u32, Just(u32::MAX)], 1..4),
    ) {
        let signaller = program(|thread| signals.iter().for_each(|most| thread.locked(|| {
            let before = thread.machine().log.clone();
            let unlocked = before.iter().filter(|h| matches!(h, Happened::Unlocked(_))).count();
            let waiting = unlocked - thread.machine().given(0, before.len());
            thread.signals(*most);
            let machine = thread.machine();
            assert_eq!(machine.given(before.len(), machine.log.len()), waiting.min(*most as usize));
        })));
        let programs: Vec<Program> = waiters(count, None).chain([signaller]).collect();
        run(&schedule, &programs).check();
    }

    /// Time-outs, cancellations, and wake-ups for nothing.
    #[test]
    fn who_leaves_takes_no_signal_from_another(
        schedule in schedule(),
        patient in 1..4usize,
        hasty in 0..3usize,
        signals in prop::collection::vec(1..3u32, 0..4),
        disturbed in prop::collection::vec((0..6usize, any::<bool>()), 0..3),
    ) {
        let count = patient + hasty;
        let signaller = |most| program(move |thread| thread.signals(most));
        let disturber = |(other, cancels): (usize, bool)| program(move |thread| thread.disturbs(other % count, cancels));
        let all = waiters(patient, None).chain(waiters(hasty, Some(1)));
        let programs: Vec<Program> = all
            .chain(signals.iter().copied().map(signaller))
            .chain(disturbed.iter().copied().map(disturber))
            .collect();
        let machine = run(&schedule, &programs);
        machine.check();
        for thread in 0..count {
            match machine.ended(thread) {
                Some(Ended::TimedOut) => prop_assert!(thread >= patient),
                Some(Ended::Cancelled) => prop_assert!(machine.cancelled[thread]),
                Some(Ended::NotHeld) => prop_assert!(false),
                None => prop_assert!(!machine.cancelled[thread]),
                Some(Ended::Signalled) => {}
            }
        }
    }

    /// Of a time-out and a signal the one that comes first counts.
    #[test]
    fn a_signal_that_came_in_time_is_taken(schedule in schedule()) {
        let programs: Vec<Program> = waiters(1, Some(1)).chain([program(|thread| thread.signals(1))]).collect();
        let machine = run(&schedule, &programs);
        machine.check();
        let in_time = machine.at(Happened::Given(1)).is_some_and(|at| Some(at) < machine.at(Happened::Awake(0)));
        prop_assert_eq!(machine.ended(0), Some(if in_time { Ended::Signalled } else { Ended::TimedOut }));
    }

    /// As programs use them: who waits looks again. Signals are given with the mutex held, or after.
    #[test]
    fn every_token_is_consumed(schedule in schedule(), count in 1..4usize, held in any::<bool>(), deadline in any::<bool>()) {
        let tokens = Mutex::new(0);
        let consumer = |thread: Thread| thread.locked(|| {
            while *tokens.lock().unwrap() == 0 {
                thread.waits(deadline.then_some(1));
            }
            *tokens.lock().unwrap() -= 1;
        });
        let producer = |thread: Thread| {
            thread.locked(|| {
                *tokens.lock().unwrap() += 1;
                if held {
                    thread.signals(1);
                }
            });
            if !held {
                thread.signals(1);
            }
        };
        let consumers = (0..count).map(|_| program(consumer));
        let programs: Vec<Program> = consumers.chain((0..count).map(|_| program(producer))).collect();
        let machine = run(&schedule, &programs);
        prop_assert!(machine.sleepers().is_empty(), "{:?}", machine.log);
    }

    /// Nobody uses the object after that.
    #[test]
    fn it_is_destroyed_when_the_last_has_left(schedule in schedule(), count in 0..4usize) {
        let destroyer = program(move |thread| {
            let have_arrived = || thread.machine().log.iter().filter(|h| matches!(h, Happened::Unlocked(_))).count() == count;
            let mut done = false;
            while !done {
                thread.locked(|| {
                    done = have_arrived();
                    if done {
                        thread.signals(u32::MAX);
                    }
                });
            }
            destroy(thread);
            thread.machine().destroyed = true;
        });
        let machine = run(&schedule, &waiters(count, None).chain([destroyer]).collect::<Vec<_>>());
        prop_assert!(machine.sleepers().is_empty(), "{:?}", machine.log);
        machine.check();
    }
}

/// One that waits once, after so many signals.
fn waiter_after<'a>(signals: usize) -> Program<'a> {
    program(move |thread| {
        thread.until(|machine| machine.given(0, machine.log.len()) == signals);
        thread.locked(|| _ = thread.waits(None));
    })
}

/// Who is blocked when a signal is given, and alone so, has it however late it runs.
#[test]
fn a_signal_is_not_for_those_who_come_later() {
    let late = (0..2).map(|_| waiter_after(1));
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        thread.holds_up(&[0]);
        thread.signals(1);
        thread.until(|machine| machine.sleepers() == [1, 2]);
        thread.signals(1);
        thread.disturbs(2, false);
        thread.lets_others_run(100);
        thread.holds_up(&[]);
    });
    let machine = run(&[], &waiters(1, None).chain(late).chain([director]).collect::<Vec<_>>());
    machine.check();
    assert_eq!(machine.ended(0), Some(Ended::Signalled), "{:?}", machine.log);
    assert_eq!(machine.sleepers().len(), 1, "{:?}", machine.log);
}

/// Another takes the signal that a waiter has seen, and a second one comes before the waiter sleeps again: wherever it is
/// held up meanwhile.
#[test]
fn who_is_not_the_first_to_take_a_signal_looks_again() {
    for (first, second) in (0..8).flat_map(|first| (0..8).map(move |second| (first, second))) {
        let other = program(|thread| {
            thread.until(|machine| machine.sleepers() == [0]);
            thread.locked(|| _ = thread.waits(None));
        });
        let director = program(move |thread| {
            thread.until(|machine| machine.at(Happened::Unlocked(1)).is_some());
            thread.holds_up(&[0, 1]);
            thread.signals(1);
            thread.holds_up(&[1]);
            thread.lets_others_run(first);
            thread.holds_up(&[0]);
            thread.lets_others_run(20);
            thread.holds_up(&[1]);
            thread.lets_others_run(second);
            thread.holds_up(&[0, 1]);
            thread.signals(1);
            thread.holds_up(&[]);
        });
        let machine = run(&[], &waiters(1, None).chain([other, director]).collect::<Vec<_>>());
        machine.check();
        assert!(machine.sleepers().is_empty(), "{:?}", machine.log);
    }
}

/// Wherever a waiter is held up as it takes its signal, though it is cancelled, and though a later group has its group's
/// index.
#[test]
fn who_has_a_signal_takes_no_later_one() {
    for (steps, cancelled) in (0..10).flat_map(|steps| [(steps, false), (steps, true)]) {
        let director = program(move |thread| {
            thread.until(|machine| machine.sleepers() == [0]);
            thread.holds_up(&[0]);
            thread.signals(1);
            thread.machine().cancelled[0] = cancelled;
            thread.holds_up(&[]);
            thread.lets_others_run(steps);
            thread.holds_up(&[0]);
            thread.until(|machine| machine.sleepers().contains(&1));
            thread.signals(1);
            thread.until(|machine| machine.sleepers() == [2, 3]);
            thread.holds_up(&[0, 2, 3]);
            thread.signals(1);
            thread.holds_up(&[2, 3]);
            thread.lets_others_run(20);
            thread.holds_up(&[]);
        });
        let others = [waiter_after(1), waiter_after(2), waiter_after(2), director];
        let machine = run(&[], &waiters(1, None).chain(others).collect::<Vec<_>>());
        machine.check();
        assert_eq!(machine.ended(0), Some(Ended::Signalled), "{:?}", machine.log);
    }
}

#[test]
fn signals_for_two_groups_are_no_more_than_were_asked_for() {
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0, 1]);
        thread.signals(1);
        thread.until(|machine| machine.sleepers() == [1, 2, 3]);
        thread.signals(2);
    });
    let others = [waiter_after(1), waiter_after(1), director];
    let machine = run(&[], &waiters(2, None).chain(others).collect::<Vec<_>>());
    machine.check();
    assert_eq!(machine.given(0, machine.log.len()), 3);
}

/// Its group was closed before the wake-up, and waiters of the one that has its index now wait for the same word.
#[test]
fn a_late_wake_up_finds_who_has_a_signal() {
    let late = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        signal(thread, 1, |count| {
            thread.log(Happened::Given(count));
            thread.holds_up(&[thread.number]);
        });
    });
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0, 1]);
        thread.signals(1);
        thread.until(|machine| machine.sleepers() == [0, 2]);
        thread.holds_up(&[]);
    });
    let others = [waiter_after(1), waiter_after(2), late, director];
    let machine = run(&[], &waiters(1, None).chain(others).collect::<Vec<_>>());
    machine.check();
    assert_eq!(machine.sleepers(), [2]);
}

/// The first in the queue is woken for a signal, but is cancelled before it takes it.
#[test]
fn who_leaves_passes_a_wake_up_on() {
    let second = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        thread.locked(|| _ = thread.waits(None));
    });
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0, 1]);
        thread.holds_up(&[0]);
        thread.signals(1);
        thread.machine().cancelled[0] = true;
        thread.holds_up(&[]);
    });
    let machine = run(&[], &waiters(1, None).chain([second, director]).collect::<Vec<_>>());
    machine.check();
    assert_eq!([0, 1].map(|thread| machine.ended(thread)), [Some(Ended::Cancelled), Some(Ended::Signalled)]);
}

#[test]
fn a_group_is_closed_only_for_others_to_have_signals() {
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        thread.signals(u32::MAX);
        thread.signals(1);
    });
    let machine = run(&[], &waiters(1, None).chain([director]).collect::<Vec<_>>());
    let first_ticket = TICKET.wrapping_neg();
    assert_eq!([START, SECOND].map(|word| machine.words[&word]), [first_ticket, first_ticket.wrapping_add(TICKET)]);
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost() {
    let machine = run(
        &[],
        &[program(|thread| {
            assert!(!signal(thread, 1, |_| panic!("to whom?")));
            thread.locked(|| _ = thread.waits(None));
        })],
    );
    assert_eq!(machine.sleepers(), [0]);
    machine.check();
}

#[test]
fn a_new_one_has_no_waiters_and_its_own_clock() {
    for monotonic in [false, true] {
        run(
            &[],
            &[program(|thread| {
                init(thread, monotonic);
                assert_eq!((is_monotonic(thread), thread.load(TICKETS)), (monotonic, 0));
                thread.waits_without_mutex(|| {});
                assert_eq!(is_monotonic(thread), monotonic);
                destroy(thread);
            })],
        );
    }
}

/// One that does not hold the mutex that it is to give back.
struct NotHolder<F>(F);

impl<F: Fn()> Waiting for NotHolder<F> {
    /// With what comes before it is found out.
    fn unlock(&mut self) -> bool {
        self.0();
        false
    }

    fn is_cancelled(&self) -> bool {
        false
    }

    fn is_awake(&mut self) {
        panic!("it did not wait");
    }

    fn lock(&mut self) {
        panic!("it had no mutex");
    }
}

impl Thread<'_> {
    fn waits_without_mutex(self, meanwhile: impl Fn()) {
        let ended = wait(self, None, &mut NotHolder(meanwhile));
        assert_eq!(ended, Ended::NotHeld);
        self.log(Happened::Ended(self.number, ended));
    }
}

proptest! {
    #[test]
    fn who_does_not_hold_the_mutex_does_not_wait(schedule in schedule()) {
        let without = program(|thread| thread.waits_without_mutex(|| {}));
        let signaller = program(|thread| thread.signals(1));
        run(&schedule, &waiters(2, None).chain([without, signaller]).collect::<Vec<_>>()).check();
    }
}

/// Another has begun to wait meanwhile.
#[test]
fn who_does_not_hold_the_mutex_passes_its_signal_on() {
    let without = program(|thread| {
        thread.waits_without_mutex(|| thread.until(|machine| machine.sleepers() == [1]));
    });
    let director = program(|thread| {
        thread.until(|machine| machine.words[&WAITERS] >= WAITER);
        thread.signals(1);
    });
    let machine = run(&[], &[without, waiter_after(1), director]);
    machine.check();
    assert_eq!(machine.ended(1), Some(Ended::Signalled));
}
