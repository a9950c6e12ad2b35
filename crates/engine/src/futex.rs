//! Waiting on a word of memory: what the simulated kernel does for futexes. The pthread objects are
//! built on it, as glibc's are.
use crate::atomics;
use crate::engine::{charge, current, engine};
use crate::fiber::{Wait, Woken};
use crate::hot::hot;
use crate::sched;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use corefold_model::{Ticks, ticks};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Fibers that wait, by address, in order of arrival.
#[derive(Default)]
pub struct Queues(HashMap<u64, VecDeque<Waiting>, FxBuildHasher>);

struct Waiting {
    fiber: usize,
    bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Woken,
    /// The word did not hold the expected value.
    Changed,
    TimedOut,
}

/// Waits until [`wake`], if the word still holds `expected`. `call` is what the user calls this wait.
pub fn wait(address: u64, expected: u32, bits: u32, deadline: Option<Ticks>, call: &'static str, pc: u64) -> Waited {
    sched::enter_kernel();
    if atomics::load(address, 4, pc) as u32 != expected {
        return Waited::Changed;
    }
    let me = engine().sched.fiber;
    if let Some(deadline) = deadline {
        if deadline <= hot!().clock {
            return Waited::TimedOut;
        }
        sched::set_timer(me, deadline);
    }
    engine().sched.queues.0.entry(address).or_default().push_back(Waiting { fiber: me, bits });
    sched::block(Wait::Futex { address, call });
    if current().woken == Woken::ByTimer {
        return Waited::TimedOut;
    }
    sched::cancel_timer(me);
    Waited::Woken
}

/// Wakes up to `most` fibers that wait with any of `bits`; returns how many.
pub fn wake(address: u64, most: u32, bits: u32) -> u32 {
    sched::enter_kernel();
    let latency = ticks(engine().launch.machine.system.wake);
    let mut woken = 0;
    while woken < most {
        let Some(fiber) = engine().sched.queues.take(address, bits) else { break };
        woken += 1;
        charge(engine().launch.machine.system.syscall / 4);
        sched::wake(fiber, hot!().clock, latency);
    }
    woken
}

impl Queues {
    fn take(&mut self, address: u64, bits: u32) -> Option<usize> {
        let queue = self.0.get_mut(&address)?;
        let at = queue.iter().position(|w| w.bits & bits != 0)?;
        let waiting = queue.remove(at)?;
        if queue.is_empty() {
            self.0.remove(&address);
        }
        Some(waiting.fiber)
    }
}

/// The fiber waits no more: its timer fired.
pub fn forget(fiber: usize) {
    if let Wait::Futex { address, .. } = engine().fibers[fiber].wait
        && let Some(queue) = engine().sched.queues.0.get_mut(&address)
    {
        queue.retain(|w| w.fiber != fiber);
    }
}

/// Threads that hold what is waited for at `address`, where the object says so.
pub fn holders(address: u64, call: &str) -> Vec<u32> {
    crate::mutex::owner(address, call).into_iter().collect()
}
