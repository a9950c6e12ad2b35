// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detects spins: the same place in the code reads the same bytes again, finds them unchanged, and the thread has
//! stored nothing and computed little in between. Its iterations are alike, and the word that it waits for is written by
//! some other thread.
use crate::code::cost;
use crate::counts::lock_table::LOCKS;
use crate::engine::line_start;
use crate::hot::{Captured, TRIED, WROTE, hot};
use crate::scheduling::alike::Alike;
use crate::scheduling::look::{Look, NOTHING, Spun};
use crate::scheduling::stack_stores::StackStores;
use crate::scheduling::turns::Turns;
use crate::scheduling::waits::{Calls, Instant, Spin, Waits};
use crate::state::hooks::{Decoded, Polls};
use crate::state::scheduler::SCHED;
use crate::storage::relayout::simulated;
use core::ops::Range;
use corefold_block::turn::Saved;
use corefold_model::Ticks;
use corefold_recording::AccessKind;
use corefold_sim::{BackOff, LOOKS, Update, Watched};

/// What a read found.
pub struct Found {
    pub cpu: u32,
    pub pc: u64,
    pub address: u64,
    pub size: u8,
    pub value: u64,
    pub what: AccessKind,
    /// As in [`Look::asks`].
    pub asks: u64,
    /// Is it an acquire load, or stronger? A wait orders what follows by one.
    pub orders: bool,
    pub at: Ticks,
    /// The fiber's stall so far, without what counts as spinning.
    pub stall: Ticks,
}

/// The last reads of a fiber: a loop may read a few words in turn. Its fields are in the order of their use:
/// with hundreds of fibers, each line of it that a read touches is a cache miss on the host.
#[repr(C)]
pub struct Spins {
    turns: Turns,
    pub captured: Captured,
    /// What plain reads have read since the last store: hashes of place and address, or 0.
    repeated: [u32; REPEATED],
    /// Where the next one goes.
    oldest: usize,
    /// The places of `looks`, close together; 0: none.
    places: [u64; LOOKS],
    looks: [Look; LOOKS],
    spinning: bool,
    /// Those of `looks` that have spun, a bit each: all of them are more lines than a look should touch.
    spun: u8,
    /// Those of `looks` that have changed in the current spin.
    changed: u8,
    /// Is anything in `looks`?
    any: bool,
    /// Until when spinning is counted, and the fiber's stall by then.
    counted: (Ticks, Ticks),
    pub waits: Waits,
    /// When the current spin began, and the fiber's pauses by then.
    began: (Ticks, Ticks),
    /// Stall that counts as spinning.
    converted: Ticks,
    /// Ticks that the fiber has spent in `pause` instructions.
    paused: Ticks,
    /// When the fiber last yielded its CPU to nobody, and for how long.
    rested: (Ticks, Ticks),
    /// Lines that plain reads of one iteration touched.
    read: [Watched; LOOKS],
    /// What ended the current spin: a word that changed. No place: nothing yet.
    ended: Look,
    /// When the fiber last skipped turns.
    pub last_skip: Range<Ticks>,
    /// When the fiber first ran, or the region of interest began.
    pub started: Ticks,
    /// Counted as spinning, and found not to be.
    refused: Spun,
    alike: Alike,
    back_off: BackOff,
    pub decoded: Decoded,
    pub polls: Polls,
    pub stores: StackStores,
    /// Where the thread's stack of calls begins.
    frames_base: *const u64,
}

impl Spins {
    /// Of a thread whose stack of calls begins at `frames_base`.
    pub fn new(frames_base: *const u64) -> Self {
        Spins {
            turns: Turns::default(),
            captured: Captured::default(),
            repeated: [0; REPEATED],
            oldest: 0,
            places: [0; LOOKS],
            looks: [NOTHING; LOOKS],
            spinning: false,
            spun: 0,
            changed: 0,
            any: false,
            counted: (0, 0),
            waits: Waits::default(),
            began: (0, 0),
            converted: 0,
            paused: 0,
            rested: (0, 0),
            read: [Watched::default(); LOOKS],
            ended: NOTHING,
            last_skip: 0..0,
            started: 0,
            refused: Spun::default(),
            alike: Alike::default(),
            back_off: BackOff::default(),
            decoded: Decoded::default(),
            polls: Polls::default(),
            stores: StackStores::default(),
            frames_base,
        }
    }
}

/// Reads of a loop that are known to be repeated, at most.
const REPEATED: usize = 16;
const _: () = assert!(LOOKS <= u8::BITS as usize);

/// The slots of [`Spins::spun`].
fn slots(spun: u8) -> impl Iterator<Item = usize> {
    (0..LOOKS).filter(move |slot| spun >> slot & 1 != 0)
}

#[cold]
fn backs_off(wait: &mut BackOff, pc: u64, computed: Ticks) -> bool {
    SCHED.back_offs.with(|known| wait.waits(known, pc, computed))
}

impl Spins {
    /// Where a read from this place is, or goes.
    #[inline]
    fn slot(&self, pc: u64) -> usize {
        self.find(pc).unwrap_or_else(|| self.room())
    }

    #[inline]
    fn find(&self, pc: u64) -> Option<usize> {
        self.places.iter().position(|place| *place == pc)
    }

    #[cold]
    fn room(&self) -> usize {
        let free = self.places.iter().position(|place| *place == 0);
        free.unwrap_or_else(|| (0..LOOKS).min_by_key(|slot| self.looks[*slot].at).unwrap_or(0))
    }

    /// Would another read of `address` from here continue a spin?
    #[inline]
    pub fn continues(&self, pc: u64, address: u64) -> bool {
        self.find(pc).is_some_and(|slot| self.looks[slot].address == address)
    }

    /// Has the fiber read `address` from here before, with no store since? To be asked once for each read.
    #[inline]
    pub fn again(&mut self, pc: u64, address: u64) -> bool {
        let read = ((pc ^ address.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 | 1;
        // All are compared at once: no branches.
        if self.repeated.iter().fold(false, |any, known| any | (*known == read)) {
            return true;
        }
        self.repeated[self.oldest % REPEATED] = read;
        self.oldest += 1;
        false
    }

    /// Records a read; it continues a spin if at most `longest` of computing has passed since the same read before: stall,
    /// pauses and yields are none. Where a loop reads several words, each counts the time since the one before. A loop whose
    /// iterations are not alike computes, unless it pauses for most of its time, or updates the word and fails.
    #[inline]
    pub fn look(&mut self, found: &Found, longest: Ticks) -> Option<Spun> {
        let stalled = found.stall + self.converted;
        let slot = self.slot(found.pc);
        let look = &mut self.looks[slot];
        // Bits of a map are looked at one after the other, and nobody waits for any; a lock's bit is asked for each time.
        let asks = look.asks & found.asks;
        let same_question = asks != 0 || look.asks == found.asks;
        let again = look.pc == found.pc && look.address == found.address && same_question;
        if again {
            look.asks = asks;
        }
        let time = found.at.saturating_sub(look.at);
        let stall = stalled.saturating_sub(look.stall);
        let same = again && look.value == found.value;
        let rested = if self.rested.0 > look.at { self.rested.1 } else { 0 };
        let mut paused = self.paused - look.paused;
        let computed = time.saturating_sub(stall + rested + paused);
        let mut computes = computed > longest;
        if computes && again && backs_off(&mut self.back_off, found.pc, computed) {
            self.paused += computed;
            (paused, computes) = (paused + computed, false);
        } else if same && look.computes {
            (look.at, look.stall, look.paused, self.spinning) = (found.at, stalled, self.paused, false);
            return None;
        }
        let spun = same && !computes;
        if again && !spun && !computes {
            self.waits.go_on(found.address, Instant { at: found.at, idle: stalled + self.paused });
        }
        self.spinning = spun;
        self.captured.watched &= u64::from(self.turns.watching);
        if !spun {
            self.turns.end();
        } else if look.pc == self.turns.pc {
            self.turns.another(time, stall);
        } else if self.turns.pc == 0 && look.pc != self.turns.impure {
            self.turns.begin(look.pc);
        }
        // Of the time in which it could do something else: a contended word takes long to arrive.
        let backs_off = paused > time.saturating_sub(stall) / 2;
        let part = (spun || again && backs_off && !computes).then(|| self.goes_on_until(found, stalled));
        if !spun {
            self.replace(found, stalled, again);
            return part;
        }
        if self.ended.pc == found.pc {
            self.ended = NOTHING; // the loop has gone on after the change: only what ends it was waited for
        } else if self.turns.pc == found.pc
            && !backs_off
            && found.what != AccessKind::Rmw
            && self.alike.computes(found.pc, found.at, &mut self.captured, self.frames_base)
        {
            slots(self.spun).for_each(|slot| self.looks[slot].computes = true);
            self.ended = NOTHING;
            self.refuse();
            self.spinning = false;
        }
        part
    }

    /// The thread has spun since it last read from there. Returns what of that was not counted before.
    fn goes_on_until(&mut self, found: &Found, stalled: Ticks) -> Spun {
        let is_first = self.spun == 0;
        let slot = self.slot(found.pc);
        let look = &mut self.looks[slot];
        if is_first {
            let begin = Instant { at: look.at, idle: look.stall + look.paused };
            self.began = (look.at, look.paused);
            self.waits.begins(begin, SCHED.longest_spin.get());
        }
        if look.spun.time == 0 {
            LOCKS.with(|locks| locks.spins(found.address));
        }
        let from = if self.counted.0 > look.at { self.counted } else { (look.at, look.stall) };
        let part = Spun { time: found.at.saturating_sub(from.0), stall: stalled.saturating_sub(from.1) };
        (look.at, look.stall, look.paused) = (found.at, stalled, self.paused);
        look.spun.time += part.time;
        look.spun.stall += part.stall;
        self.spun |= u8::from(look.spun.time > 0) << slot;
        self.counted = (found.at, stalled);
        self.converted += part.stall;
        part
    }

    /// An update has succeeded where it had failed before. If the thread has mostly paused in between, it has waited.
    #[cold]
    pub fn succeeds(&mut self, found: &Found, longest: Ticks) -> Option<Spun> {
        let stalled = found.stall + self.converted;
        let look = &self.looks[self.slot(found.pc)];
        let (time, paused) = (found.at.saturating_sub(look.at), self.paused - look.paused);
        let computed = time.saturating_sub(stalled.saturating_sub(look.stall) + paused);
        let backs_off = computed > longest && backs_off(&mut self.back_off, found.pc, computed);
        if backs_off {
            self.paused += computed;
        }
        (backs_off || paused > time / 2 && computed <= longest).then(|| self.goes_on_until(found, stalled))
    }

    /// A compare-and-swap has failed as it did when it was last tried: what the thread has stored in between does not
    /// count.
    #[inline]
    pub fn failed(&mut self, pc: u64, address: u64, value: u64) {
        if self.continues(pc, address) && self.looks[self.slot(pc)].value == value {
            hot().wrote.set(0);
            self.turns.end();
        }
    }

    /// The thread, which has stalled for `stall` so far, has updated a word by a read-modify-write.
    #[inline]
    pub fn tries(&mut self, update: Update, stall: Ticks) {
        let now = Instant { at: hot().clock.get(), idle: stall + self.converted + self.paused };
        self.waits.tries(update, now);
    }

    /// What was counted as spinning since the last accounting is no spin.
    fn refuse(&mut self) {
        self.changed = 0;
        for slot in slots(core::mem::take(&mut self.spun)) {
            let spun = core::mem::take(&mut self.looks[slot].spun);
            self.refused.time += spun.time;
            self.refused.stall += spun.stall;
            self.converted -= spun.stall;
        }
        self.turns.end();
    }

    /// What was counted as spinning, and is to be reversed. Rarely anything.
    #[inline]
    pub fn take_refused(&mut self) -> Option<Spun> {
        let any = self.refused.time > 0 || self.refused.stall > 0;
        any.then(|| core::mem::take(&mut self.refused))
    }

    /// A read that is no spin: the word has changed, or it is the first such read.
    fn replace(&mut self, found: &Found, stalled: Ticks, again: bool) {
        let slot = self.slot(found.pc);
        if !again && (self.looks[slot].spun.time > 0 || self.ended.pc != 0) {
            self.settle(true);
        } else if self.ended.pc == found.pc {
            self.ended = NOTHING;
        }
        let Found { cpu, asks, pc, address, value, at, size, what, orders, .. } = *found;
        let changed = again && self.looks[slot].value != value;
        let spun = self.looks[slot].spun;
        let (stall, paused) = (stalled, self.paused);
        let calls = Calls::now();
        let look =
            Look { cpu, asks, pc, address, value, at, stall, paused, size, what, orders, computes: false, spun, calls };
        if changed && self.spun != 0 {
            self.changed |= 1 << slot;
            self.ends(look);
        }
        self.looks[slot] = look;
        self.places[slot] = pc;
        self.any = true;
    }

    /// The current spin is over, as a word has changed. If several change in the same iteration, it waited for the one
    /// that orders what follows, or that it reads from two places: a seqlock's sequence, not the data it protects.
    fn ends(&mut self, word: Look) {
        let twice = |word: &Look| self.looks.iter().any(|look| look.pc != word.pc && look.address == word.address);
        let weight = |word: &Look| (word.orders, twice(word));
        if self.ended.pc == 0 || weight(&word) > weight(&self.ended) {
            self.ended = Look { spun: Spun::default(), ..word };
        }
    }

    /// The fiber did something that a spin does not do, or (if not `over`) something was done to it. To be called by
    /// [`crate::scheduling::fiber::Fiber`].
    pub fn forget(&mut self, over: bool) {
        self.repeated = [0; REPEATED];
        if core::mem::take(&mut self.any) {
            self.settle(over);
            self.back_off.begins();
            for (place, look) in self.places.iter_mut().zip(&mut self.looks).filter(|(place, _)| **place != 0) {
                (*place, look.pc) = (0, 0);
            }
        }
        self.spinning = false;
        self.turns.end();
    }

    /// Has the fiber paused or yielded in the current spin, or updated a word of it after that?
    fn has_waited(&self) -> bool {
        let tried = |slot: usize| self.waits.tried_since(self.looks[slot].address, self.began.0);
        self.paused > self.began.1 || self.rested.0 > self.began.0 || slots(self.spun).any(tried)
    }

    /// Has the thread tried in vain to take another word, after it looked at those of its spin?
    fn tried_elsewhere(&self) -> bool {
        let last = self.looks.iter().filter(|look| look.pc != 0).max_by_key(|look| look.at);
        let of_spin = |last: &Look| slots(self.spun).any(|slot| self.looks[slot].address == last.address);
        last.is_some_and(|last| last.what == AccessKind::Rmw && !of_spin(last))
    }

    /// The fiber has left its CPU, as waiters do, unless it did something else before: it has stored, or tried to take another
    /// word, such as a mutex.
    pub fn left_cpu(&mut self, wrote: u8) {
        let tried = |slot: usize| self.waits.tried(self.looks[slot].address);
        let stored = wrote == WROTE || wrote == TRIED && !slots(self.spun).any(tried);
        self.forget(stored || self.tried_elsewhere());
    }

    /// The thread looks again from `pc` after an update, and had seen no change before: neither has ended a spin.
    pub fn goes_on_after_update(&mut self, pc: u64, address: u64) {
        if self.spun != 0 && self.ended.pc == 0 && self.continues(pc, address) {
            self.refuse();
        }
    }

    /// Charges a spin to the word that it waited for. If it is over, and no word has changed, it was none: a thread has read
    /// statistics, say. But who tries to take the word by an update has waited, or pauses in between, or leaves the CPU
    /// before anything else.
    fn settle(&mut self, over: bool) {
        let (ended, changed) = (core::mem::take(&mut self.ended.pc), core::mem::take(&mut self.changed));
        // An update that failed again and again has succeeded, if nothing was seen to change.
        let weight = |slot: &usize| {
            let look = &self.looks[*slot];
            (look.what == AccessKind::Rmw, changed >> *slot & 1, look.spun.time)
        };
        let Some(likely) = slots(self.spun).max_by_key(weight) else { return };
        let fails = self.looks[likely].what == AccessKind::Rmw;
        let places = slots(self.spun).map(|slot| self.looks[slot].pc);
        let unlike = self.alike.takes_doubt(places) && !fails;
        let doubtful = unlike || over && !self.has_waited();
        if doubtful && ended == 0 && !self.turns.pure {
            return self.refuse();
        }
        let word = if ended == 0 { self.looks[likely] } else { Look { pc: ended, ..self.ended } };
        if ended != 0 || self.turns.pure {
            word.is_waited_for();
        }
        let (mut all, mut relieved) = (Spun::default(), 0);
        for slot in slots(core::mem::take(&mut self.spun)) {
            let look = &mut self.looks[slot];
            let spun = core::mem::take(&mut look.spun);
            all.time += spun.time;
            all.stall += spun.stall;
            relieved += look.relieve(spun.stall);
        }
        let end = Instant { at: word.at, idle: word.stall + word.paused };
        let callers = word.calls.callers(self.frames_base);
        let changed = ended != 0 || fails;
        let Look { address, pc, .. } = word;
        let queue = self.waits.queue(address, SCHED.longest_spin.get());
        self.waits.spun(Spin { address, queue, changed, begin: self.began.0, pc, callers, time: all.time, end });
        // The spin's stall was charged when it happened: to its reads, or to a store that it had to wait for,
        // where it stays. No cycle counts twice.
        word.spent(all.time - (all.stall - relieved), relieved);
    }

    /// The fiber has paused for so long: that is no computing, nor is a loop that mostly does that.
    #[inline]
    pub fn pauses(&mut self, time: Ticks) {
        self.paused += time;
    }

    /// The fiber has yielded its CPU to nobody from `begin` to `end`: that is no computing, however long it takes.
    pub fn rested(&mut self, begin: Ticks, end: Ticks) {
        self.rested = (end, end.saturating_sub(begin));
    }

    /// Would every further iteration be like the last, as far as this thread goes? Called after a read from `pc`.
    #[inline(always)]
    pub fn is_steady(&mut self, pc: u64) -> bool {
        self.turns.steady == pc && !self.turns.decoded && self.are_pure()
    }

    fn are_pure(&mut self) -> bool {
        self.turns.are_pure(&mut self.captured, &mut self.read, self.polls.on(), self.frames_base)
    }

    /// Records a line that is read from, while the lines of an iteration are being collected. False: they are not.
    pub fn note_read(&mut self, address: u64) -> bool {
        if !self.turns.watching {
            return false;
        }
        let line = line_start(simulated(address, 1));
        let after = hot().clock.get().saturating_sub(self.looks[self.slot(self.turns.pc)].at);
        match self.read.iter_mut().find(|slot| matches!(slot.line, 0) || slot.line == line) {
            Some(slot) => *slot = Watched { line, after },
            None => self.turns.is_impure(),
        }
        true
    }

    /// Is each block of the current iteration an event, to be passed to [`Spins::enters`]?
    #[inline]
    pub fn watches(&self) -> bool {
        self.turns.watching
    }

    /// A block begins. Code that is not instrumented may count in memory that no hook sees.
    pub fn enters(&mut self, pc: u64) {
        if self.turns.watching && cost::calls_unseen(pc) {
            self.turns.is_impure();
        }
    }

    /// The thread looks at `address`, and has stored before. Are its stores to be shown from now on?
    pub fn stores_between(&mut self, pc: u64, address: u64) -> bool {
        self.stores.looks_again(pc, address, &mut self.captured)
    }

    /// Other data that the loop reads has been written: it may behave differently now.
    pub fn disturbed(&mut self) {
        self.turns.end();
    }

    /// The current loop does not end by itself.
    pub fn goes_on_for_ever(&mut self) {
        self.turns.pure = true;
    }

    /// Does it spin in a loop that it can only leave when a word changes?
    pub fn goes_on(&self) -> bool {
        self.spinning && self.turns.pc != 0 && self.turns.pure
    }

    /// Between two reads from the same place, one iteration apart.
    pub fn period(&self) -> Ticks {
        self.turns.period
    }

    /// The registers at the read that is under way, if it puts them back when it returns; the next one saves them, too.
    pub fn registers(&mut self) -> Option<Saved> {
        let captured = &mut self.captured;
        if captured.state != Captured::WANTED {
            captured.state = Captured::REGISTERS_WANTED;
        }
        let mut registers = captured.registers;
        registers[Captured::STACK_POINTER] += 8; // the read's return address
        (captured.restored != 0).then_some(registers)
    }

    /// It puts these back in their place, but for the stack pointer.
    pub fn set_registers(&mut self, registers: &Saved) {
        const KEPT: usize = Captured::STACK_POINTER;
        self.captured.registers[..KEPT].copy_from_slice(&registers[..KEPT]);
    }

    /// It is known from its code that the loop which reads from `pc` goes on for as long as it finds this value.
    pub fn goes_on_from(&mut self, pc: u64) {
        self.alike.known = pc;
        if self.turns.pc != pc {
            self.turns.begin(pc);
        }
        (self.turns.pure, self.turns.decoded) = (true, true);
    }

    /// Turns that are known from their code take so long.
    pub fn takes(&mut self, period: Ticks) {
        self.turns.period = period;
    }

    /// How often the steady spin has been skipped so far.
    pub fn skips(&self) -> u32 {
        u32::from(self.turns.skips)
    }

    /// The place that the steady spin reads from.
    pub fn place(&self) -> u64 {
        self.turns.pc
    }

    /// The other lines that the steady spin reads.
    pub fn read(&self) -> [Watched; LOOKS] {
        self.read
    }

    /// The lines of the words that the steady spin waits for, after a read from its first place.
    pub fn lines(&self) -> [Watched; LOOKS] {
        let now = self.looks[self.slot(self.turns.pc)].at;
        let line = |look: &Look| {
            let part = look.pc != 0 && look.at + self.turns.period >= now;
            let after = if look.pc == self.turns.pc { 0 } else { (look.at + self.turns.period).saturating_sub(now) };
            if part {
                Watched { line: line_start(simulated(look.address, look.size.into())), after }
            } else {
                Watched::default()
            }
        };
        self.looks.each_ref().map(line)
    }

    /// So much of the steady spin was not simulated: the times of its reads are moved later by that.
    pub fn skipped(&mut self, time: Ticks) {
        for (slot, look) in self.looks.iter_mut().enumerate().filter(|(_, look)| look.pc != 0) {
            let first = look.pc == self.turns.pc;
            if !self.turns.decoded || first {
                look.at += time;
            }
            if first {
                look.spun.time += time;
                self.spun |= u8::from(look.spun.time > 0) << slot;
            }
        }
        self.counted.0 += time;
        // The next read is one turn later, which is skipped as well.
        self.rested.0 += time + self.turns.period;
        self.turns.same = Turns::TRIED - 2;
        self.turns.steady = 0;
        self.turns.skips = self.turns.skips.saturating_add(1);
    }

    /// Is the thread in a spin that is being counted?
    pub fn has_spun(&self) -> bool {
        self.spun != 0
    }

    #[inline]
    pub fn spinning(&self) -> bool {
        self.spinning
    }
}
