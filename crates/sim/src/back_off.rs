// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does a loop that computes for long between two looks at one word back off? It does if it computes for longer and longer, about
//! twice as long each time, and never for less time in the same wait. Work between two looks at a flag is not like that.
use alloc::vec::Vec;
use corefold_model::Ticks;

/// So many times in a row.
const GROWN: u8 = 3;

/// The wait of one thread that may back off.
#[derive(Default)]
pub struct BackOff {
    place: u64,
    /// Between the last two looks; 0 at first.
    computed: Ticks,
    grown: u8,
}

impl BackOff {
    /// A thread begins to look at a word.
    pub fn begins(&mut self) {
        (self.computed, self.grown) = (0, 0);
    }

    /// Between two looks from a place the thread has computed for so long. Does it wait so? `known` are the places whose loops
    /// have been found to back off, by any thread.
    pub fn waits(&mut self, known: &mut Vec<u64>, place: u64, computed: Ticks) -> bool {
        if self.place != place {
            self.begins();
            self.place = place;
        }
        let before = core::mem::replace(&mut self.computed, computed);
        let grows = before > 0 && computed >= before + before / 2 && computed <= 3 * before;
        self.grown = if grows { self.grown + 1 } else { 0 };
        let at = known.iter().position(|other| *other == place);
        match at {
            None if self.grown == GROWN => known.push(place),
            None => return false,
            Some(at) if computed < before - before / 4 => {
                known.swap_remove(at);
                return false;
            }
            Some(_) => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(times: impl IntoIterator<Item = (u64, Ticks)>) -> Vec<bool> {
        let (mut back_off, mut known) = (BackOff::default(), Vec::new());
        times.into_iter().map(|(place, computed)| back_off.waits(&mut known, place, computed)).collect()
    }

    #[test]
    fn who_computes_for_longer_and_longer_backs_off_from_then_on() {
        let times = [100, 200, 400, 800, 800, 790].map(|time| (1, time));
        assert_eq!(waits(times), [false, false, false, true, true, true]);
    }

    #[test]
    fn the_next_wait_begins_with_a_short_time_again() {
        let (mut back_off, mut known) = (BackOff::default(), vec![1]);
        assert!(back_off.waits(&mut known, 1, 800));
        back_off.begins();
        assert!(back_off.waits(&mut known, 1, 100) && back_off.waits(&mut known, 1, 200));
        assert!(!back_off.waits(&mut known, 1, 100) && known.is_empty());
    }

    #[test]
    fn what_one_thread_shows_counts_for_all() {
        let (mut one, mut other, mut known) = (BackOff::default(), BackOff::default(), Vec::new());
        [100, 200, 400].iter().for_each(|time| assert!(!one.waits(&mut known, 1, *time)));
        assert!(!other.waits(&mut known, 1, 100));
        assert!(one.waits(&mut known, 1, 800) && other.waits(&mut known, 1, 100));
    }

    #[test]
    fn work_of_the_same_length_or_of_any_is_none() {
        assert!(!waits((0..100).map(|_| (1, 500))).contains(&true));
        assert!(!waits((0..100).map(|i| (1, 100 << (i % 3)))).contains(&true));
        let draw = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let counted = waits((0..10_000).map(|i| (1, draw(i)))).into_iter().filter(|waits| *waits).count();
        assert!(counted < 100, "{counted}");
    }

    #[test]
    fn each_place_is_a_loop_of_its_own() {
        assert!(!waits([(1, 100), (2, 200), (3, 400), (4, 800), (5, 1600)]).contains(&true));
    }
}
