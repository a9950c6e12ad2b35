// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pool of requests: threads take them from queues, serve them, and count what they served.
use std::collections::VecDeque;
use std::sync::Mutex;

/// Apart from its neighbours' cache lines, and those that are fetched together with them.
#[repr(align(128))]
struct Queue {
    waiting: Mutex<VecDeque<u64>>,
}

/// Requests in so many queues.
pub struct Pool {
    queues: Vec<Queue>,
}

impl Pool {
    /// `requests`, dealt to the queues in turn.
    pub fn new(queues: usize, requests: u64) -> Pool {
        let deal = |first| Mutex::new((0..requests).skip(first).step_by(queues).collect());
        Pool { queues: (0..queues).map(|first| Queue { waiting: deal(first) }).collect() }
    }

    /// The next request for a thread.
    pub fn take(&self, thread: usize) -> Option<u64> {
        self.queues[thread % self.queues.len()].waiting.lock().unwrap().pop_front()
    }

    /// Serves all requests by so many threads; the sum of the answers.
    pub fn serve(&self, threads: usize) -> u64 {
        corefold::label(&self.queues[..], "queues");
        corefold::begin!();
        let work = |thread| {
            let mut sum = 0;
            while let Some(request) = self.take(thread) {
                sum += answer(request);
                corefold::progress!("requests");
            }
            sum
        };
        let all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        corefold::end!();
        all
    }
}

fn answer(request: u64) -> u64 {
    (0..300).fold(request, |hash, step| (hash ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7)) & 0xff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_served_once() {
        let expected = (0..1000).map(answer).sum::<u64>();
        for (queues, threads) in [(1, 1), (1, 4), (4, 4), (2, 4)] {
            assert_eq!(Pool::new(queues, 1000).serve(threads), expected, "{queues} queues, {threads} threads");
        }
    }
}
