// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run-ahead: while a locked operation waits for its line, the core makes no other access, but it executes
//! computation behind it, as far as its reorder buffer reaches. The CPU's clock is that of the operations, in order;
//! this module holds how far its computation is ahead of it.
use crate::engine::engine;
use crate::hooks::hot::hot;
use corefold_model::Ticks;

#[derive(Clone, Copy, Default)]
pub struct Front {
    /// How long before the clock the core may have executed what the program computes next.
    ahead: Ticks,
    /// Work that still fits into the reorder buffer behind the operation that waited.
    room: Ticks,
    /// The clock when this was last up to date.
    since: Ticks,
}

impl Front {
    #[inline]
    pub fn is_ahead(&self) -> bool {
        self.ahead > 0
    }
}

/// The part of the computation since the last access that overlapped with the wait takes no time.
#[inline]
pub fn catch_up(cpu: u32) {
    let front = &mut engine().sched.cpus[cpu as usize].front;
    if front.ahead > 0 {
        computed(front);
    }
}

#[cold]
fn computed(front: &mut Front) {
    let work = hot!().clock.saturating_sub(front.since);
    let hidden = work.min(front.ahead).min(front.room);
    hot!().clock -= hidden;
    front.room -= hidden;
    front.ahead = if work > hidden { 0 } else { front.ahead - hidden };
    front.since = hot!().clock;
}

/// A locked operation has waited for its line.
pub fn waited(cpu: u32, stall: Ticks) {
    let window = engine().model.window();
    let front = &mut engine().sched.cpus[cpu as usize].front;
    if window > 0 {
        *front = Front { ahead: front.ahead.min(window) + stall, room: window, since: hot!().clock };
    }
}

/// An access is complete: computation after it takes time again.
#[inline]
pub fn passed(cpu: u32) {
    let front = &mut engine().sched.cpus[cpu as usize].front;
    if front.ahead > 0 {
        front.since = hot!().clock;
    }
}

/// Nothing is reordered past this place (a fence).
pub fn end(cpu: u32) {
    catch_up(cpu);
    lost(cpu);
}

/// A misprediction: the core has discarded what it executed ahead.
#[inline]
pub fn lost(cpu: u32) {
    engine().sched.cpus[cpu as usize].front.ahead = 0;
}
