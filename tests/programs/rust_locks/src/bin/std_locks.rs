// SPDX-License-Identifier: MIT OR Apache-2.0
//! `std_locks KIND THREADS`: threads that wait for a lock of this kind, in a structure behind an `Arc`; `sleep`: for time to pass.
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};

#[derive(Default)]
struct Turn {
    holder: Mutex<usize>,
    passed: Condvar,
}

struct Pool {
    queue: Mutex<VecDeque<u64>>,
    config: RwLock<[u64; 8]>,
    turn: Turn,
    all_here: Barrier,
    ready: Once,
    done: AtomicU64,
    start: Barrier,
}

impl Pool {
    fn new(threads: usize) -> Pool {
        Pool {
            queue: Mutex::default(),
            config: RwLock::default(),
            turn: Turn::default(),
            all_here: Barrier::new(threads),
            ready: Once::new(),
            done: AtomicU64::new(0),
            start: Barrier::new(threads),
        }
    }

    #[inline(never)]
    fn push(&self, item: u64) {
        let mut queue = self.queue.lock().unwrap();
        queue.push_back(spin(item, 400));
        queue.pop_front();
    }

    #[inline(never)]
    fn reconfigure(&self, value: u64) {
        let mut config = self.config.write().unwrap();
        config[3] = spin(config[3] + value, 40);
    }

    #[inline(never)]
    fn take_turn(&self, me: usize, threads: usize) {
        let mut holder = self.turn.holder.lock().unwrap();
        while *holder != me {
            holder = self.turn.passed.wait(holder).unwrap();
        }
        *holder = (me + 1) % threads;
        self.turn.passed.notify_all();
    }

    #[inline(never)]
    fn meet(&self, me: usize) {
        self.done.fetch_add(spin(me as u64, 100 * me as u64) & 1, Ordering::Relaxed);
        self.all_here.wait();
    }

    #[inline(never)]
    fn prepare(&self) {
        self.ready.call_once(|| assert_ne!(spin(1, 20_000), 0));
    }

    /// The first thread works as long as the others sleep.
    #[inline(never)]
    fn rest(&self, me: usize) {
        match me {
            0 => drop(self.done.fetch_add(spin(1, 20_000) & 1, Ordering::Relaxed)),
            _ => std::thread::sleep(std::time::Duration::from_micros(50)),
        }
    }
}

fn spin(value: u64, steps: u64) -> u64 {
    (0..steps).fold(value, |hash, step| std::hint::black_box((hash ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (kind, threads) = (args.next().unwrap(), args.next().unwrap().parse::<usize>().unwrap());
    let pool = Arc::new(Pool::new(threads));
    std::thread::scope(|scope| {
        for me in 0..threads {
            let (pool, kind) = (&pool, &kind);
            scope.spawn(move || {
                pool.start.wait();
                for round in 0..60 {
                    match kind.as_str() {
                        "mutex" => pool.push(round),
                        "rwlock" => pool.reconfigure(round),
                        "condvar" => pool.take_turn(me, threads),
                        "barrier" => pool.meet(me),
                        "once" => pool.prepare(),
                        "sleep" => pool.rest(me),
                        _ => panic!("no such kind"),
                    }
                }
            });
        }
    });
    println!("{kind}: {}", pool.queue.lock().unwrap().len());
}
