// SPDX-License-Identifier: MIT OR Apache-2.0
//! The branch predictor: two-bit counters, one a branch, and tables indexed by longer and longer branch histories. The
//! longest history with an entry decides. (TAGE: Seznec
//! and Michaud, "A case for (partially) tagged geometric history length branch prediction", 2006: its five-component
//! predictor, and one more table of the next length, as later ones look farther back.)
use alloc::boxed::Box;
use alloc::vec;

/// Branches that each table looks back by.
const LENGTHS: [u32; 5] = [5, 15, 44, 130, 390];
const TABLE_BITS: u32 = 10;
const BASE_BITS: u32 = 12;
const TAG_BITS: u32 = 9;
/// Branches after which usefulness counters are halved.
const AGEING: u32 = 1 << 18;

/// The directions of a thread's last branches, the latest in the lowest bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct History([u64; 7]);

impl History {
    pub fn push(&mut self, taken: bool) {
        let mut next = u64::from(taken);
        for word in &mut self.0 {
            (*word, next) = (*word << 1 | next, *word >> 63);
        }
    }

    /// The latest `length` of them and `seed`, in one word.
    fn hash(&self, length: u32, seed: u64) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let (whole, rest) = self.0.split_at(length as usize / 64);
        let last = rest[0] & ((1 << (length % 64)) - 1);
        let words = whole.iter().copied().chain([last]);
        mixed(words.fold(mixed(seed), |sum, word| (sum ^ word).wrapping_mul(ODD).rotate_left(29)))
    }
}

fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    word ^ word >> 27
}

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// 0 to 7: 4 and more say yes.
    counter: u8,
    /// 0 to 3.
    useful: u8,
}

pub struct Predictor {
    /// 0 to 3: 2 and more say yes.
    base: Box<[u8]>,
    tables: [Box<[Entry]>; LENGTHS.len()],
    /// 8 and more: a new entry's prediction is no better than the shorter history's.
    trust_others: u8,
    branches: u32,
}

impl Default for Predictor {
    fn default() -> Self {
        let table = || vec![Entry::default(); 1 << TABLE_BITS].into_boxed_slice();
        Predictor {
            base: vec![1; 1 << BASE_BITS].into_boxed_slice(),
            tables: core::array::from_fn(|_| table()),
            trust_others: 8,
            branches: 0,
        }
    }
}

/// Where a branch lies in the tables, after some history.
struct Found {
    base: usize,
    at: [usize; LENGTHS.len()],
    tags: [u16; LENGTHS.len()],
    /// The table of the longest history that knows it, and that of the next.
    longest: Option<usize>,
    next: Option<usize>,
}

impl Predictor {
    /// The branch of this number is `taken`, or not: returns whether that was predicted, and updates tables and history.
    pub fn guesses(&mut self, branch: u32, history: &mut History, taken: bool) -> bool {
        let found = self.find(branch, history);
        let other = found.next.map_or(self.base[found.base] >= 2, |table| self.says(&found, table));
        let guess = match found.longest {
            Some(table) if !(self.is_new(&found, table) && self.trust_others >= 8) => self.says(&found, table),
            _ => other,
        };
        self.learn(&found, other, guess, taken);
        history.push(taken);
        guess == taken
    }

    fn find(&self, branch: u32, history: &History) -> Found {
        let hashes = LENGTHS.map(|length| history.hash(length, u64::from(branch) << 8 | u64::from(length)));
        let at = hashes.map(|hash| (hash >> (64 - TABLE_BITS)) as usize);
        // No tag is 0: that is an empty entry's.
        let tags = hashes.map(|hash| (hash as u16 & ((1 << TAG_BITS) - 1)).max(1));
        let mut known = (0..LENGTHS.len()).rev().filter(|&table| self.tables[table][at[table]].tag == tags[table]);
        let (longest, next) = (known.next(), known.next());
        Found { base: (mixed(branch.into()) >> (64 - BASE_BITS)) as usize, at, tags, longest, next }
    }

    fn entry(&mut self, found: &Found, table: usize) -> &mut Entry {
        &mut self.tables[table][found.at[table]]
    }

    fn says(&self, found: &Found, table: usize) -> bool {
        self.tables[table][found.at[table]].counter >= 4
    }

    fn is_new(&self, found: &Found, table: usize) -> bool {
        let entry = self.tables[table][found.at[table]];
        entry.useful == 0 && matches!(entry.counter, 3 | 4)
    }

    fn learn(&mut self, found: &Found, other: bool, guess: bool, taken: bool) {
        if let Some(longest) = found.longest {
            let says = self.says(found, longest);
            if self.is_new(found, longest) && says != other {
                self.trust_others = step(self.trust_others, other == taken, 15);
            }
            let entry = self.entry(found, longest);
            if says != other {
                entry.useful = step(entry.useful, says == taken, 3);
            }
            entry.counter = step(entry.counter, taken, 7);
        } else {
            self.base[found.base] = step(self.base[found.base], taken, 3);
        }
        if guess != taken {
            self.take_in(found, taken);
        }
        self.age();
    }

    /// A wrong guess takes an entry of a longer history, if there is one that is of no use: twice as often that of the
    /// next longer as of the one after it, or two cases that want the same entries may go on taking them in turns.
    fn take_in(&mut self, found: &Found, taken: bool) {
        let longer = found.longest.map_or(0, |table| table + 1)..LENGTHS.len();
        let mut free = longer.clone().filter(|&table| self.tables[table][found.at[table]].useful == 0);
        let first = free.next();
        let after = free.next().filter(|_| mixed(self.branches.into()) >> 32 & 3 == 0);
        if let Some(table) = after.or(first) {
            *self.entry(found, table) = Entry { tag: found.tags[table], counter: 3 + u8::from(taken), useful: 0 };
        } else {
            longer.for_each(|table| self.entry(found, table).useful -= 1);
        }
    }

    fn age(&mut self) {
        self.branches += 1;
        if self.branches.is_multiple_of(AGEING) {
            self.tables.iter_mut().flatten().for_each(|entry| entry.useful /= 2);
        }
    }
}

fn step(counter: u8, up: bool, most: u8) -> u8 {
    if up { (counter + 1).min(most) } else { counter.saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDS: u32 = 20_000;

    fn random() -> impl FnMut() -> u64 {
        let mut state = 88_172_645_463_325_252u64;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
        }
    }

    /// Of each of so many branches that alternate as `taken` says: mispredictions in percent, once warm.
    fn missed<const N: usize>(mut taken: impl FnMut(u32, usize) -> bool) -> [u32; N] {
        let (mut predictor, mut history) = (Predictor::default(), History::default());
        let mut wrong = [0; N];
        for round in 0..2 * ROUNDS {
            for (branch, wrong) in wrong.iter_mut().enumerate() {
                let guessed = predictor.guesses(branch as u32, &mut history, taken(round, branch));
                *wrong += u32::from(!guessed && round >= ROUNDS);
            }
        }
        wrong.map(|wrong| (wrong * 100 + ROUNDS / 2) / ROUNDS)
    }

    #[test]
    fn what_repeats_is_guessed() {
        assert_eq!(missed(|_, _| true), [0]);
        assert_eq!(missed(|round, _| round % 2 == 0), [0]);
        assert_eq!(missed(|round, _| [0, 1, 4].contains(&(round % 7))), [0]);
        assert_eq!(missed(|round, _| round % 10 == 9), [0], "a loop of ten rounds");
        assert_eq!(missed(|round, branch| round % (branch as u32 + 2) == 0), [0; 5], "several by turns");
    }

    #[test]
    fn chance_is_not() {
        let mut random_bits = random();
        let [even] = missed(|_, _| random_bits() & 1 == 0);
        assert!((48..=52).contains(&even), "{even}");
        let mut random_bits = random();
        let [quarter] = missed(|_, _| random_bits() & 3 == 0);
        assert!((25..=33).contains(&quarter), "{quarter}");
    }

    #[test]
    fn what_hangs_on_another_branch_is_guessed() {
        let mut random_bits = random();
        let mut last = false;
        let [first, second, third] = missed(|_, branch| match branch {
            0 => {
                last = random_bits() & 1 == 0;
                last
            }
            1 => !last,
            _ => true,
        });
        assert!((48..=52).contains(&first), "{first}");
        assert!(second <= 1 && third == 0, "{second} {third}");
    }
}
