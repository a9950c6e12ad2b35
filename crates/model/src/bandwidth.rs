// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the memory of each socket, and its links to others, deliver in a time.
//!
//! Lines are counted by epoch, and what one epoch could not deliver is left to the next: calls come nearly in the order of
//! time, as CPUs run ahead of each other by less than an epoch. A line waits for those counted before it, less the time that
//! has passed since the epoch began. So up to an epoch's worth passes at once, and no more than the bandwidth in the long run.
use crate::{Machine, TICKS_PER_CYCLE, Ticks};
use alloc::vec::Vec;

/// A microsecond or less.
const EPOCH: Ticks = 1024 * TICKS_PER_CYCLE;

#[derive(Clone, Copy, Default)]
struct Meter {
    epoch: Ticks,
    /// What has been asked of the epoch, in ticks; with what is left of those before.
    asked: Ticks,
}

pub(crate) struct Bandwidth {
    /// Ticks of a line; none if there is no limit.
    line: Ticks,
    meters: Vec<Meter>,
}

impl Bandwidth {
    /// `megabytes` a second, of each socket; 0: without a limit.
    pub fn new(machine: &Machine, megabytes: u32) -> Self {
        let bytes = u64::from(machine.line_bytes) * machine.clock_hz * TICKS_PER_CYCLE;
        let line = bytes.checked_div(u64::from(megabytes) * 1_000_000).unwrap_or(0);
        let sockets = if line == 0 { 0 } else { usize::from(machine.sockets) };
        Bandwidth { line, meters: alloc::vec![Meter::default(); sockets] }
    }

    /// How long a line waits that is asked of `socket` at `now`.
    #[inline]
    pub fn wait(&mut self, socket: u8, now: Ticks) -> Ticks {
        let Some(meter) = self.meters.get_mut(usize::from(socket)) else { return 0 };
        let epoch = now / EPOCH;
        if epoch > meter.epoch {
            meter.asked = meter.asked.saturating_sub((epoch - meter.epoch).saturating_mul(EPOCH));
            meter.epoch = epoch;
        }
        let wait = (meter.epoch * EPOCH + meter.asked).saturating_sub(now.max(meter.epoch * EPOCH));
        meter.asked += self.line;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line takes 4 cycles.
    fn limited() -> Bandwidth {
        Bandwidth { line: 4 * TICKS_PER_CYCLE, meters: alloc::vec![Meter::default(); 2] }
    }

    #[test]
    fn lines_wait_once_more_are_asked_for_than_can_come() {
        let mut memory = limited();
        // One a cycle: four times what can come.
        let waits: Vec<Ticks> = (0..8192).map(|cycle| memory.wait(0, cycle * TICKS_PER_CYCLE)).collect();
        let last = (8191 * TICKS_PER_CYCLE + waits[8191]) / TICKS_PER_CYCLE;
        assert!((8191 * 4 - 1024..=8192 * 4).contains(&last), "{last}");
        assert_eq!(memory.wait(1, 8192 * TICKS_PER_CYCLE), 0, "another socket's");
    }

    #[test]
    fn below_the_limit_none_waits() {
        let mut memory = limited();
        assert!((0..4096).all(|line| memory.wait(0, line * 5 * TICKS_PER_CYCLE) == 0));
        // After a rest, an epoch's worth may be behind.
        assert_eq!(memory.wait(0, 1 << 40), 0);
    }

    #[test]
    fn one_that_comes_late_counts_with_the_others() {
        let mut memory = limited();
        memory.wait(0, 5 * EPOCH);
        assert!(memory.wait(0, 5 * EPOCH - 100) <= 4 * TICKS_PER_CYCLE);
    }
}
