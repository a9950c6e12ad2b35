// SPDX-License-Identifier: MIT OR Apache-2.0
//! private.c in Rust: `private THREADS ACCESSES`; every thread works on memory of its own.
const WORDS: u64 = 512;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("THREADS ACCESSES"));
    let (threads, accesses) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(100_000_000));
    let work = move || {
        let mut mine = vec![1; WORDS as usize];
        for round in 0..accesses / threads / (2 * WORDS) {
            for (i, slot) in mine.iter_mut().enumerate() {
                *slot += round ^ i as u64; // one read, one write
            }
        }
        mine.iter().sum::<u64>()
    };
    let all: Vec<_> = (0..threads).map(|_| std::thread::spawn(work)).collect();
    println!("{}", all.into_iter().map(|thread| thread.join().expect("a thread")).sum::<u64>());
}
