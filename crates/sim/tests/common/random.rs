// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs at random.
use super::Op::{self, *};
use super::program::Bytes;
use proptest::prelude::*;

/// So many times the cases that other tests get (`PROPTEST_CASES`).
pub fn times(factor: u32) -> ProptestConfig {
    ProptestConfig::with_cases(ProptestConfig::default().cases * factor)
}

/// Of two words on each of three lines.
pub fn op() -> impl Strategy<Value = Op> {
    let word = || (0u64..3, 0u64..2).prop_map(|(line, word)| Bytes::word(0x1000 + line * 64 + word * 8));
    prop_oneof![
        3 => (0u32..300).prop_map(Compute),
        3 => word().prop_map(Load),
        4 => word().prop_map(AtomicLoad),
        2 => (word(), 1u64..9).prop_map(|(word, value)| Store(word, value)),
        3 => (word(), 1u64..9).prop_map(|(word, value)| AtomicStore(word, value)),
        2 => (word(), 1u64..9).prop_map(|(word, value)| Exchange(word, value)),
        1 => Just(Fence),
    ]
}

/// Such operations, but for so many, and now and then as many plain ones in a row as it takes until a line is its CPU's alone:
/// of one line that others store to atomically, and of one that they do not.
pub fn ops(op: impl Strategy<Value = Op>, most: usize) -> impl Strategy<Value = Vec<Op>> {
    let hits = (2u64..4, 0u64..9, 13usize..16).prop_map(|(line, value, times)| {
        let place = Bytes::word(0x1000 + line * 64);
        vec![if value == 0 { Load(place) } else { Store(place, value) }; times]
    });
    let part = prop_oneof![15 => op.prop_map(|op| vec![op]), 1 => hits];
    prop::collection::vec(part, 0..most).prop_map(|parts| parts.concat())
}
