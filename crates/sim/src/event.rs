// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a front end tells the simulator, and what it is told.
use corefold_model::{Access, Blame, Class, Kind, Outcome, Tag, Ticks};

/// What the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A plain load. Where its loop has read the word before it is as an atomic one: to the machine it is the same
    /// instruction.
    Load,
    /// The value is that of its effect.
    AtomicLoad,
    /// It comes before the store itself, which the program carries out.
    Store,
    /// The simulator carries it out, when its line is there.
    AtomicStore(u64),
    /// A locked operation. The front end carries it out once the event is over, before any other.
    Update,
    /// `mfence`.
    Fence,
    /// A locked operation on the thread's own stack, which gcc and rustc take for a sequentially consistent fence.
    LockedFence,
    /// What it costs, for a front end that does the rest: a part of a larger operation.
    Timed(Kind),
}

/// How far an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Begin,
    /// The CPUs behind have run: is the load's line still here?
    Quiet,
    /// What it has to wait for before its access.
    Earlier,
    /// The CPUs behind have run, so that a store of its own can take effect.
    Room,
    Drained,
    /// Who goes first?
    Order,
    /// The access itself.
    Access,
    /// It has taken effect; what comes after.
    After,
    Over,
}

/// One thing that the program does on a CPU; [`crate::Sim::event`] takes it as often as it says that others run first.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub what: What,
    pub access: Access,
    /// A plain load that does not repeat the thread's last: its value may be as old as the slack.
    pub may_be_old: bool,
    /// It continues a spin: its value decides what comes next.
    pub awaited: bool,
    pub(crate) phase: Phase,
    /// It has waited for its line: that may come later than was known when it asked.
    pub(crate) waits: bool,
    pub(crate) asked: Ticks,
    /// A load that nobody spins on: its value is not looked at.
    pub(crate) only_timed: bool,
    /// Of a load: when it was ready to be made. Of a plain store: when it takes effect. Of an update: its time after that.
    pub(crate) mark: Ticks,
    /// The tag before the access.
    pub(crate) before: Tag,
}

impl Event {
    /// `size` bytes, all on one line; `origin` is [`crate::origin()`] of the place in the code.
    #[inline(always)]
    pub fn new(what: What, cpu: u32, address: u64, size: u32, origin: u64) -> Event {
        let kind = match what {
            What::Load | What::AtomicLoad | What::Fence | What::LockedFence => Kind::Load,
            What::Store => Kind::Store,
            What::AtomicStore(_) => Kind::AtomicStore,
            What::Update => Kind::Rmw,
            What::Timed(kind) => kind,
        };
        Event {
            what,
            access: Access { cpu, address, size, kind, origin },
            may_be_old: false,
            awaited: false,
            phase: Phase::Begin,
            waits: false,
            asked: 0,
            only_timed: false,
            mark: 0,
            before: Tag::UNTOUCHED,
        }
    }

    pub fn fence(cpu: u32) -> Event {
        Event::new(What::Fence, cpu, 0, 0, 0)
    }

    pub fn locked_fence(cpu: u32) -> Event {
        Event::new(What::LockedFence, cpu, 0, 0, 0)
    }
}

/// What follows from an event, or from a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    /// If [`Effects::ACCESSED`]: its outcome, when it was asked for, and the line's tag since then.
    pub outcome: Outcome,
    pub asked: Ticks,
    pub tag: Tag,
    /// If [`Effects::VALUE`]: what was found. Of a plain store: when others see it.
    pub value: u64,
    /// One byte, as each is set in one: what is read must have been written whole, or it has to wait until it is stored.
    flags: u8,
    /// Of the stores that asked again for their lines, so many did before the access.
    pub retries_before: u16,
}

const _: () = assert!(size_of::<Effects>() <= 64);

impl Default for Effects {
    #[inline]
    fn default() -> Effects {
        let outcome = Outcome { done: 0, effect: 0, stall: 0, transfer: None::<Class>, dirtied: false };
        Effects { outcome, asked: 0, tag: Tag::UNTOUCHED, value: 0, flags: 0, retries_before: 0 }
    }
}

impl Effects {
    /// Other CPUs, or timers, come first; then the event goes on.
    pub const OTHERS: u8 = 1;
    /// The model was asked: the access is to be accounted for.
    pub const ACCESSED: u8 = 2;
    /// The thread sees a value.
    pub const VALUE: u8 = 4;
    /// [`crate::Sim::take_wait`] has something: waits for earlier accesses.
    pub const WAITED: u8 = 8;
    /// [`crate::Sim::take_retry`] has something: stores that asked for their lines once more.
    pub const RETRIED: u8 = 16;
    /// The line has got its record: a second CPU has accessed it.
    pub const SHARED: u8 = 32;
    /// The limit is to be set anew.
    pub const LIMIT: u8 = 64;
    /// The store's line had a record before.
    pub const WAS_SHARED: u8 = 128;

    /// As new: flags say what of the rest is meant.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.flags = 0;
    }

    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }
}

/// A wait that was paid later than the access that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub blame: Blame,
    /// The record of the line that it was for, if it had one then.
    pub record: Option<u32>,
}

/// A store has asked once more for its line, which another CPU had taken meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    pub access: Access,
    pub record: Option<u32>,
    pub outcome: Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_is_one_of_its_own() {
        use Effects as E;
        let all = [E::OTHERS, E::ACCESSED, E::VALUE, E::WAITED, E::RETRIED, E::SHARED, E::LIMIT, E::WAS_SHARED];
        for flag in all {
            let mut effects = Effects::default();
            effects.set(flag);
            let set: Vec<u8> = all.into_iter().filter(|other| effects.has(*other)).collect();
            assert_eq!(set, [flag]);
            effects.clear();
            assert!(!effects.has(flag));
        }
    }

    #[test]
    fn an_event_asks_for_what_its_operation_is_to_the_machine() {
        let kind = |what| Event::new(what, 3, 0x1000, 4, 7).access.kind;
        assert_eq!([kind(What::Load), kind(What::AtomicLoad)], [Kind::Load; 2]);
        assert_eq!([kind(What::Store), kind(What::AtomicStore(1))], [Kind::Store, Kind::AtomicStore]);
        assert_eq!([kind(What::Update), kind(What::Timed(Kind::Rmw))], [Kind::Rmw; 2]);
        let access = Event::new(What::Load, 3, 0x1000, 4, 7).access;
        assert_eq!((access.cpu, access.address, access.size, access.origin), (3, 0x1000, 4, 7));
    }
}
