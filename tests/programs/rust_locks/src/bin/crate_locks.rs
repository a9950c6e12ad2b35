// SPDX-License-Identifier: MIT OR Apache-2.0
//! `crate_locks KIND THREADS`: the same with locks and channels of crates.
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::{Arc, Barrier};

#[derive(Default)]
struct Pool {
    first: u64,
    queue: Mutex<VecDeque<u64>>,
    config: RwLock<[u64; 8]>,
}

impl Pool {
    #[inline(never)]
    fn push(&self, item: u64) {
        let mut queue = self.queue.lock();
        queue.push_back(item + self.first);
        queue.pop_front();
    }

    #[inline(never)]
    fn reconfigure(&self, value: u64) {
        self.config.write()[3] += value;
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (kind, threads) = (args.next().unwrap(), args.next().unwrap().parse::<usize>().unwrap());
    let pool = Arc::new(Pool::default());
    let start = Barrier::new(threads);
    let (sender, receiver) = crossbeam_channel::bounded::<u64>(16);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (pool, kind, start, sender, receiver) = (&pool, &kind, &start, &sender, &receiver);
            scope.spawn(move || {
                start.wait();
                for round in 0..100 {
                    match kind.as_str() {
                        "mutex" => pool.push(round),
                        "rwlock" => pool.reconfigure(round),
                        "channel" => {
                            sender.send(round).unwrap();
                            receiver.recv().unwrap();
                        }
                        _ => panic!("no such kind"),
                    }
                }
            });
        }
    });
    println!("{kind}: {}", pool.queue.lock().len());
}
