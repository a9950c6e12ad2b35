// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of spinning threads, each of which waits for a word of its own: MCS and CLH locks, and those whose nodes have numbers.

/// A word that a thread has updated by an atomic read-modify-write.
#[derive(Clone, Copy, Default)]
pub struct Update {
    pub address: u64,
    pub old: u64,
    pub new: u64,
    /// Was it an exchange? Its new value does not depend on the old one.
    pub exchange: bool,
}

/// A queue in which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub tail: u64,
    /// Its nodes have numbers: it is a queue only if several threads join it.
    pub numbered: bool,
}

/// Of a node, the word that is spun on lies in so many bytes.
const NODE: u64 = 64;

impl Update {
    /// Of which this is the tail, if the thread, which spins on `word` since shortly after this update, waits in it: behind
    /// somebody whose node was there. It has put its own node there and waits for a word of that (as in an MCS lock), or for
    /// a word of the node that it found there (as in a CLH lock). Where nodes have numbers instead of addresses: it has
    /// exchanged one for another.
    pub fn queue(&self, word: u64) -> Option<Queue> {
        let Update { address: tail, old, new, exchange } = *self;
        let near = |node: u64| word.wrapping_sub(node & !7) < NODE;
        let behind = old & !7 != 0 && new & !7 != 0;
        let addressed = behind && (near(new) || near(old));
        let numbered = !addressed && exchange && old != 0 && new != 0 && (old | new) >> 32 == 0;
        (word != tail && (addressed || numbered)).then_some(Queue { tail, numbered })
    }

    /// The lock that a thread waits for which has just made this update, and sleeps on `word` next: it has put its node there,
    /// beside the lock's flags, which it has not changed, and `word` is the node's. Nobody's node needs to have been there: who
    /// holds such a lock has none in its queue. A list of jobs has no flags, and numbers beside its head change each time.
    pub fn lock_of_sleeper(&self, word: u64) -> Option<u64> {
        let keeps_flags = self.new & 7 != 0 && self.new & 7 == self.old & 7;
        (keeps_flags && word != self.address && word.wrapping_sub(self.new & !7) < NODE).then_some(self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: u64 = 0x1000;

    fn queue(old: u64, new: u64, exchange: bool, word: u64) -> Option<Queue> {
        Update { address: TAIL, old, new, exchange }.queue(word)
    }

    const NODE_AT: u64 = 0x7f00_0000_1200;
    const OTHER: u64 = 0x7f00_0000_9900;

    #[test]
    fn the_tail_of_a_queue_has_the_nodes_address() {
        let found = Some(Queue { tail: TAIL, numbered: false });
        assert_eq!(queue(OTHER, NODE_AT, false, NODE_AT + 8), found, "MCS");
        assert_eq!(queue(NODE_AT, OTHER, true, NODE_AT), found, "CLH");
        assert_eq!(queue(OTHER, NODE_AT, true, 0x2000), None, "it spins on something else");
        assert_eq!(queue(0, NODE_AT, true, NODE_AT + 8), None, "nobody was there");
        assert_eq!(queue(NODE_AT, 0, false, NODE_AT + 8), None, "it has left");
    }

    #[test]
    fn who_sleeps_on_a_word_of_a_node_that_it_has_queued_waits_for_the_lock() {
        let lock = |old, new, word| Update { address: TAIL, old, new, exchange: false }.lock_of_sleeper(word);
        assert_eq!(lock(1, NODE_AT | 1, NODE_AT), Some(TAIL), "the first in the queue");
        assert_eq!(lock(OTHER | 3, NODE_AT | 3, NODE_AT + 8), Some(TAIL));
        assert_eq!(lock(0, NODE_AT, NODE_AT + 8), None, "a job in a list");
        assert_eq!(lock(OTHER | 1, NODE_AT | 2, NODE_AT), None, "a list whose head has a number");
        assert_eq!(lock(1, 3, NODE_AT), None, "the lock's flags alone");
        assert_eq!(lock(1, NODE_AT | 1, OTHER), None, "it sleeps on something else");
    }

    #[test]
    fn numbers_of_nodes_are_exchanged() {
        assert_eq!(queue(3, 7, true, 0x2000), Some(Queue { tail: TAIL, numbered: true }));
        assert_eq!(queue(3, 4, false, 0x2000), None, "a ticket");
        assert_eq!(queue(0, 7, true, 0x2000), None, "nobody was there");
        assert_eq!(queue(3, 7, true, TAIL), None, "a spin lock");
    }
}
