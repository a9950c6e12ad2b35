// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run-ahead: while a locked operation waits for its line, the core makes no other access, but it executes
//! computation behind it, as far as its reorder buffer reaches. The CPU's clock is that of the operations, in order;
//! this is how far its computation is ahead of it.
use corefold_model::Ticks;

#[derive(Clone, Copy, Default)]
pub struct RunAhead {
    /// How long before the clock the core may have executed what the program computes next.
    ahead: Ticks,
    /// What still fits into the reorder buffer behind the operation that waited, in the time that it takes to issue.
    room: Ticks,
    /// The clock when this was last up to date.
    since: Ticks,
}

impl RunAhead {
    #[inline]
    pub fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// The part of the computation since the last access that overlapped with the wait takes no time. Returns the CPU's
    /// clock, which would be `clock`. That computation counts as issued at full width.
    #[inline]
    pub fn catch_up(&mut self, clock: Ticks) -> Ticks {
        if self.ahead == 0 { clock } else { self.computed(clock, clock.saturating_sub(self.since), 0) }
    }

    /// The same of computation that takes `issue` to issue; of the rest of its time it waits for operands. A chain of `waits`
    /// of it waits for the locked operation itself, and takes its time after that.
    #[cold]
    pub fn computed(&mut self, clock: Ticks, issue: Ticks, waits: Ticks) -> Ticks {
        let work = clock.saturating_sub(self.since);
        let (issue, free) = (issue.min(work), work.saturating_sub(waits));
        let fits = if issue <= self.room { free } else { free * self.room / issue };
        let hidden = fits.min(self.ahead);
        self.room -= issue.min(self.room);
        self.ahead = if free > hidden || self.room == 0 { 0 } else { self.ahead - hidden };
        self.since = clock - hidden;
        self.since
    }

    /// A locked operation has waited for its line until `clock`; the reorder buffer holds what takes `window` to issue.
    pub fn waited(&mut self, stall: Ticks, window: Ticks, clock: Ticks) {
        if window > 0 {
            *self = RunAhead { ahead: self.ahead.min(window) + stall, room: window, since: clock };
        }
    }

    /// An access is complete: computation after it takes time again.
    #[inline]
    pub fn passed(&mut self, clock: Ticks) {
        if self.ahead > 0 {
            self.since = clock;
        }
    }

    /// A misprediction: the core has discarded what it executed ahead.
    #[inline]
    pub fn lost(&mut self) {
        self.ahead = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computation_behind_a_wait_is_hidden_up_to_the_wait() {
        let mut ahead = RunAhead::default();
        assert_eq!(ahead.catch_up(50), 50, "nothing has waited");
        ahead.waited(100, 1000, 200);
        assert_eq!(ahead.catch_up(260), 200, "60 of the 100 are used");
        assert_eq!(ahead.catch_up(270), 230, "40 were left");
        assert_eq!((ahead.is_ahead(), ahead.catch_up(300)), (false, 300));
    }

    #[test]
    fn and_up_to_the_reorder_buffer() {
        let mut ahead = RunAhead::default();
        ahead.waited(100, 30, 200);
        assert_eq!(ahead.catch_up(280), 250);
        assert!(!ahead.is_ahead(), "more work than fits ends it");
    }

    #[test]
    fn what_waits_for_operands_takes_less_of_it() {
        let mut ahead = RunAhead::default();
        ahead.waited(100, 30, 200);
        assert_eq!(ahead.computed(240, 10, 0), 200);
        assert_eq!(ahead.computed(240, 10, 0), 200);
        assert_eq!(ahead.computed(216, 16, 0), 206, "10 of 16 fit");
        assert!(!ahead.is_ahead());
        ahead.waited(100, 30, 200);
        assert_eq!(ahead.computed(350, 15, 0), 250, "no longer than the wait");
        assert!(!ahead.is_ahead());
    }

    #[test]
    fn what_computes_with_the_result_waits_for_it() {
        let mut ahead = RunAhead::default();
        ahead.waited(100, 1000, 200);
        assert_eq!(ahead.computed(240, 10, 15), 215);
        assert_eq!(ahead.computed(235, 10, 30), 235, "all of it");
        assert_eq!(ahead.computed(335, 10, 0), 260, "75 were left, whatever waits");
        ahead.waited(100, 30, 200);
        assert_eq!(ahead.computed(240, 40, 40), 240);
        assert!(!ahead.is_ahead(), "the reorder buffer is full");
    }

    #[test]
    fn an_accesss_own_time_is_not_hidden() {
        let mut ahead = RunAhead::default();
        ahead.waited(100, 1000, 200);
        ahead.passed(240);
        assert_eq!(ahead.catch_up(250), 240);
    }

    #[test]
    fn a_misprediction_loses_it_and_no_reorder_buffer_has_none() {
        let mut ahead = RunAhead::default();
        ahead.waited(100, 1000, 200);
        ahead.lost();
        assert_eq!(ahead.catch_up(250), 250);
        ahead.waited(100, 0, 300);
        assert_eq!(ahead.catch_up(350), 350);
    }
}
