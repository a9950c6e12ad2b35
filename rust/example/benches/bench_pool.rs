// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue for each thread.
use request_pool::Pool;

fn main() {
    let threads = std::thread::available_parallelism().unwrap().get();
    println!("{threads} threads: {}", Pool::new(threads, 16000).serve(threads));
}
