// SPDX-License-Identifier: MIT OR Apache-2.0
//! When an allocation is reason to look at the memory in use, and when it is refused.
use crate::storage::allocated::{Allocated, LOOK_EVERY, Verdict};
use proptest::prelude::*;

const LIMIT: u64 = 1 << 30;

#[test]
fn a_request_beyond_the_limit_is_refused_a_mapping_is_not() {
    let mut allocated = Allocated::new();
    assert_eq!([LIMIT + 1, LIMIT].map(|bytes| allocated.take(bytes, LIMIT)), [Verdict::Refused, Verdict::Granted]);
    assert_eq!(allocated.bytes(), LIMIT, "what is refused is not counted");
    assert_eq!(Allocated::new().map(LIMIT + 1, LIMIT), Verdict::Look);
}

#[test]
fn without_a_limit_all_is_granted() {
    let mut allocated = Allocated::new();
    assert_eq!([allocated.take(1 << 40, 0), allocated.map(1 << 40, 0)], [Verdict::Granted; 2]);
    assert_eq!(allocated.bytes(), 2 << 40);
}

#[test]
fn beyond_the_limit_each_sixteen_megabytes_are_reason_to_look() {
    let mut allocated = Allocated::new();
    allocated.take(LIMIT, LIMIT);
    let mut looks = || (1..=48).filter(|_| allocated.take(1 << 20, LIMIT) == Verdict::Look).count();
    assert_eq!([looks(), looks()], [3, 3]);
    assert_eq!([LOOK_EVERY - 1, 1].map(|bytes| allocated.take(bytes, LIMIT)), [Verdict::Granted, Verdict::Look]);
    allocated.give(LOOK_EVERY + (96 << 20));
    assert_eq!(allocated.take(1, LIMIT), Verdict::Granted);
    allocated.give(1);
    assert_eq!(allocated.bytes(), LIMIT);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u64),
    Map(u64),
    Give(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop_oneof![0..64u64 << 20, LIMIT - 10..LIMIT + 10, Just(1u64 << 20)];
    prop_oneof![3 => bytes().prop_map(Step::Take), 2 => bytes().prop_map(Step::Map), 1 => bytes().prop_map(Step::Give)]
}

proptest! {
    /// Against a list of what was asked for beyond the limit since the last look.
    #[test]
    fn looks_are_as_rare_as_they_may_be(steps in prop::collection::vec(step(), 0..60)) {
        let mut allocated = Allocated::new();
        let (mut bytes, mut unseen) = (0u64, Vec::new());
        for step in steps {
            let (verdict, asked) = match step {
                Step::Give(given) => {
                    allocated.give(given);
                    bytes -= given.min(bytes);
                    continue;
                }
                Step::Take(asked) => (allocated.take(asked, LIMIT), asked),
                Step::Map(asked) => (allocated.map(asked, LIMIT), asked),
            };
            if matches!(step, Step::Take(_)) && asked > LIMIT {
                prop_assert_eq!(verdict, Verdict::Refused);
                continue;
            }
            bytes += asked;
            if bytes > LIMIT {
                unseen.push(asked);
            }
            let look = unseen.iter().sum::<u64>() >= LOOK_EVERY;
            prop_assert_eq!(verdict, if look { Verdict::Look } else { Verdict::Granted });
            if look {
                unseen.clear();
            }
        }
        prop_assert_eq!(allocated.bytes(), bytes);
    }
}
