// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks that a thread executes, as pairs of places in one function with the program's code between.
use crate::LEAVES;

/// Where the way to the next hook begins: behind the last hook, or behind the call of a function that has
/// just returned. 0 before the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trail(u64);

/// The code executed, from and to; see [`crate::between`].
pub type Pairs = [Option<(u64, u64)>; 2];

impl Trail {
    /// A hook that returns to `pc`.
    pub fn pass(&mut self, pc: u64) -> Pairs {
        [self.to(pc, pc), None]
    }

    /// The hook of a function's entry, which returns to `pc`; the function will return to `returns_to`.
    pub fn enter(&mut self, pc: u64, returns_to: u64) -> Pairs {
        [self.to(returns_to, pc), None]
    }

    /// The hook of a function's exit. At the function's end it is jumped to, and itself returns to the caller.
    pub fn exit(&mut self, pc: u64, returns_to: u64) -> Pairs {
        if pc == returns_to {
            return [self.to(LEAVES, returns_to), None];
        }
        [self.to(pc, returns_to), Some((pc, LEAVES))]
    }

    /// The last hook executed; 0: none.
    pub fn last(&self) -> u64 {
        self.0
    }

    fn to(&mut self, to: u64, next: u64) -> Option<(u64, u64)> {
        let from = core::mem::replace(&mut self.0, next);
        (from != 0).then_some((from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_splits_the_way_in_its_caller() {
        let mut trail = Trail::default();
        assert_eq!(trail.enter(10, 90), [None, None], "nothing is known of before");
        assert_eq!(trail.pass(12), [Some((10, 12)), None]);
        assert_eq!(trail.enter(50, 20), [Some((12, 20)), None]);
        assert_eq!(trail.exit(55, 20), [Some((50, 55)), Some((55, LEAVES))]);
        assert_eq!(trail.pass(22), [Some((20, 22)), None]);
        assert_eq!(trail.exit(90, 90), [Some((22, LEAVES)), None], "jumped to");
        assert_eq!(trail.pass(95), [Some((90, 95)), None]);
    }
}
