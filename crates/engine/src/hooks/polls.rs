// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that poll a word on a line of their own, which nobody has written to: such reads are inline, so that no spin
//! is seen in them. Now and then some are shown: a thread that polls for ever has to be found out.
use crate::engine::sim;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::shown::show_reads;
use crate::state::hooks::Polls;
use corefold_model::ticks;

/// Cycles from one check of a thread to the next.
const EVERY: u32 = 4_000_000;

/// To be called at times that do not depend on samples. A thread that polls while a timer is set waits for that.
pub fn check() {
    let clock = hot().clock.get();
    let on = current().spins.with(|spins| {
        if clock < spins.polls.next || !sim(|sim| sim.timers.is_empty()) {
            return None;
        }
        let first = spins.polls.next == 0;
        let on = !first && !spins.has_spun();
        spins.polls = Polls { next: clock + ticks(EVERY), on, others: 0 };
        Some(on)
    });
    if let Some(on) = on {
        show_reads(on);
    }
}
