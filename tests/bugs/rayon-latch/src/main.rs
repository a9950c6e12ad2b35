// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pool's thread runs a job in another pool; then the first pool goes.
use rayon_core::ThreadPoolBuilder;

fn main() {
    let pool = || ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let lasting = pool();
    for _ in 0..3 {
        let passing = pool();
        assert_eq!(passing.install(|| lasting.install(|| 7)), 7);
    }
}
