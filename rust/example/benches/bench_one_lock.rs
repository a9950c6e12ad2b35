// SPDX-License-Identifier: MIT OR Apache-2.0
//! One queue for all threads.
use request_pool::Pool;

fn main() {
    let threads = std::thread::available_parallelism().unwrap().get();
    println!("{threads} threads: {}", Pool::new(1, 16000).serve(threads));
}
