// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free ranges of an address space, against a list of what is free.
use crate::storage::ranges::Ranges;
use proptest::prelude::*;

const BEGIN: u64 = 1000;
const END: u64 = 1100;

#[derive(Clone, Debug)]
enum Step {
    Take { bytes: u64, align: u64 },
    Remove { begin: u64, end: u64 },
    Give { begin: u64, end: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (BEGIN..END, 1..30u64).prop_map(|(begin, bytes)| (begin, (begin + bytes).min(END)));
    prop_oneof![
        2 => (1..30u64, 0..5u32).prop_map(|(bytes, bits)| Step::Take { bytes, align: 1 << bits }),
        1 => range().prop_map(|(begin, end)| Step::Remove { begin, end }),
        2 => range().prop_map(|(begin, end)| Step::Give { begin, end }),
    ]
}

proptest! {
    #[test]
    fn the_lowest_that_fits_is_taken(steps in prop::collection::vec(step(), 0..60)) {
        let mut ranges = Ranges::new(BEGIN, END);
        let mut free = vec![true; END as usize];
        let is_free = |free: &[bool], begin: u64, end: u64| {
            begin >= BEGIN && end <= END && free[begin as usize..end as usize].iter().all(|free| *free)
        };
        for step in steps {
            match step {
                Step::Take { bytes, align } => {
                    let lowest = (BEGIN..END).find(|at| at.is_multiple_of(align) && is_free(&free, *at, at + bytes));
                    prop_assert_eq!(ranges.take(bytes, align), lowest);
                    if let Some(at) = lowest {
                        free[at as usize..(at + bytes) as usize].fill(false);
                    }
                }
                Step::Remove { begin, end } => {
                    ranges.remove(begin, end);
                    free[begin as usize..end as usize].fill(false);
                }
                Step::Give { begin, end } => {
                    ranges.give(begin, end);
                    free[begin as usize..end as usize].fill(true);
                }
            }
            for begin in BEGIN..END {
                for end in [begin + 1, begin + 7, END] {
                    prop_assert_eq!(ranges.is_free(begin, end), is_free(&free, begin, end), "{} to {}", begin, end);
                }
            }
        }
    }
}
