// SPDX-License-Identifier: MIT OR Apache-2.0
//! `crate_locks KIND THREADS`: the same with locks and channels of crates.
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::{mpsc, Arc, Barrier};

#[derive(Default)]
struct Turn {
    holder: Mutex<usize>,
    passed: Condvar,
}

#[derive(Default)]
struct Pool {
    first: u64,
    queue: Mutex<VecDeque<u64>>,
    config: RwLock<[u64; 8]>,
    turn: Turn,
    ready: parking_lot::Once,
    spun: spin::Mutex<[u64; 4]>,
    sharded: crossbeam_utils::sync::ShardedLock<u64>,
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

    #[inline(never)]
    fn take_turn(&self, me: usize, threads: usize) {
        let mut holder = self.turn.holder.lock();
        while *holder != me {
            self.turn.passed.wait(&mut holder);
        }
        *holder = (me + 1) % threads;
        self.turn.passed.notify_all();
    }

    #[inline(never)]
    fn prepare(&self) {
        self.ready.call_once(|| assert_ne!(work(1, 20_000), 0));
    }

    #[inline(never)]
    fn bump(&self, by: u64) {
        let mut spun = self.spun.lock();
        spun[2] = work(spun[2] + by, 20);
    }

    #[inline(never)]
    fn republish(&self, value: u64) {
        let mut sharded = self.sharded.write().unwrap();
        *sharded = work(*sharded + value, 20);
    }
}

fn work(value: u64, steps: u64) -> u64 {
    (0..steps).fold(value, |hash, step| std::hint::black_box((hash ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Two threads that send each other one thing.
#[inline(never)]
fn answer(questions: &mpsc::Receiver<u64>, answers: &mpsc::Sender<u64>) {
    answers.send(work(questions.recv().unwrap(), 40)).unwrap();
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (kind, threads) = (args.next().unwrap(), args.next().unwrap().parse::<usize>().unwrap());
    let pool = Arc::new(Pool::default());
    let start = Barrier::new(threads);
    let (sender, receiver) = crossbeam_channel::bounded::<u64>(16);
    let mut ends = Vec::new();
    for _ in 0..threads.div_ceil(2) {
        let (there, back) = (mpsc::channel(), mpsc::channel());
        ends.extend([Some((there.1, back.0)), Some((back.1, there.0))]);
    }
    std::thread::scope(|scope| {
        for (me, end) in ends.into_iter().take(threads).enumerate() {
            let (pool, kind, start, sender, receiver) = (&pool, &kind, &start, &sender, &receiver);
            scope.spawn(move || {
                let (questions, answers) = end.unwrap();
                start.wait();
                if kind == "mpsc" && me % 2 == 0 {
                    answers.send(1).unwrap();
                }
                for round in 0..100 {
                    match kind.as_str() {
                        "mutex" => pool.push(round),
                        "rwlock" => pool.reconfigure(round),
                        "condvar" => pool.take_turn(me, threads),
                        "once" => pool.prepare(),
                        "spin" => pool.bump(round),
                        "sharded" => pool.republish(round),
                        "mpsc" => answer(&questions, &answers),
                        "channel" => {
                            sender.send(round).unwrap();
                            receiver.recv().unwrap();
                        }
                        _ => panic!("no such kind"),
                    }
                }
                start.wait();
            });
        }
    });
    println!("{kind}: {}", pool.queue.lock().len());
}
