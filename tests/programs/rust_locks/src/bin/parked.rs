// SPDX-License-Identifier: MIT OR Apache-2.0
//! `parked KIND THREADS`: threads that pass a token on, each parked until it has it.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;

struct Ring {
    turn: AtomicUsize,
    threads: std::sync::Mutex<Vec<Option<Thread>>>,
    parkers: Vec<crossbeam_utils::sync::Unparker>,
}

impl Ring {
    #[inline(never)]
    fn pass_std(&self, me: usize) {
        while self.turn.load(Ordering::Acquire) != me {
            std::thread::park();
        }
        let next = (me + 1) % self.parkers.len();
        self.turn.store(next, Ordering::Release);
        self.threads.lock().unwrap()[next].as_ref().unwrap().unpark();
    }

    #[inline(never)]
    fn pass_crossbeam(&self, parker: &crossbeam_utils::sync::Parker, me: usize) {
        while self.turn.load(Ordering::Acquire) != me {
            parker.park();
        }
        let next = (me + 1) % self.parkers.len();
        self.turn.store(next, Ordering::Release);
        self.parkers[next].unpark();
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (kind, threads) = (args.next().unwrap(), args.next().unwrap().parse::<usize>().unwrap());
    let parkers: Vec<_> = (0..threads).map(|_| crossbeam_utils::sync::Parker::new()).collect();
    let ring = Arc::new(Ring {
        turn: AtomicUsize::new(0),
        threads: vec![None; threads].into(),
        parkers: parkers.iter().map(|parker| parker.unparker().clone()).collect(),
    });
    let start = std::sync::Barrier::new(threads);
    std::thread::scope(|scope| {
        for (me, parker) in parkers.into_iter().enumerate() {
            let (ring, kind, start) = (&ring, &kind, &start);
            scope.spawn(move || {
                ring.threads.lock().unwrap()[me] = Some(std::thread::current());
                start.wait();
                for _ in 0..20 {
                    match kind.as_str() {
                        "std" => ring.pass_std(me),
                        "crossbeam" => ring.pass_crossbeam(&parker, me),
                        _ => panic!("no such kind"),
                    }
                }
                start.wait();
            });
        }
    });
    println!("{kind}: {}", ring.turn.load(Ordering::Relaxed));
}
