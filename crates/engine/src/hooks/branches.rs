// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branch bias and misprediction rates. The first visits of a block that ends in a branch call this module, and so does
//! the block after it: a predictor is simulated on them. The rate of mispredictions becomes part of the block's cost;
//! then its visits no longer call this module. From time to time some do again, to see whether the program's behaviour
//! has changed: then the rate is learnt anew.
//!
//! All threads share the predictor's tables, as if each core's were warm; each thread has its own history. Branches are
//! numbered in the order in which they were first met.
use crate::carrier::Carrier;
use crate::code::cost::core;
use crate::code::mapped::Mapped;
use crate::engine::{computed, launch, sim};
use crate::hooks::delays;
use crate::hooks::results;
use crate::hooks::trip_counts::{self, Cost};
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::scheduling::fiber::current;
use crate::scheduling::unhooked;
use crate::state::hooks::{Branching, DEEPEST};
use alloc::vec::Vec;
use corefold_block::{Bias, Code, Hook, Place, Predictor, Unhooked, branch_paths};
use corefold_model::{TICKS_PER_CYCLE, ticks};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Blocks whose numbers are at hand without a look-up, at most.
const RECENT: usize = 32;
/// Visits of a block until its branch is known; fewer for a branch that always goes the same way.
const VISITS: u16 = 4096;
const FEWER: u16 = 1024;
/// Visits until it is known whether a branch has changed.
const AGAIN: u16 = 1024;
/// The rate may differ by this much before it counts as changed: so few visits give no better precision.
const ALIKE: u32 = 16;
/// Cycles of all CPUs until branches are checked again: at least this many, and this many for each visit since the
/// last check. That keeps the host's cost of checking at a few per cent.
const LEAST_CYCLES: u64 = 2_000_000;
const CYCLES_PER_VISIT: u64 = 2000;
/// The first half of the visits does not count: the tables fill, and programs start differently from their steady
/// state.
const HALF: u16 = 2;
/// The fewest predictions that give a rate.
const LEAST: u16 = 64;

/// Visits of a block by other paths until a branch that may lead there is given up: its thread may have left it for
/// good.
const OTHERS: u16 = 4096;

#[derive(Default)]
struct Branches {
    predictor: Predictor,
    blocks: Vec<Block>,
    by_pc: HashMap<u64, u32, FxBuildHasher>,
    /// By block: those whose costs depend on its branch.
    dependent: HashMap<u64, Vec<u32>, FxBuildHasher>,
    /// Of some blocks, by a part of the address: blocks that never leave the slow path look here first.
    numbers: [(u64, u32); RECENT],
    /// Since branches were last checked.
    cycles: u64,
    visits: u64,
}

struct Block {
    pc: u64,
    /// The table entry of its cost; none before its first visit.
    entry: *mut u32,
    /// Packed; 0 while it is not known. At first without mispredictions.
    cost: u32,
    /// It is in `entry`, unless all visits come here (`slow`).
    known: bool,
    /// Where its function returned to when that became so.
    returns_to: Option<u64>,
    /// Why all its visits come here.
    slow: Slow,
    /// The program's own; none: not counted yet.
    instructions: Option<u32>,
    /// How many pending branches may lead here, and visits since one did.
    awaited: u32,
    others: u16,
    /// Where its branch may lead.
    paths: Option<[u32; 2]>,
    /// What is known of that so far; none: learnt.
    branch: Option<Branch>,
    /// The result when it was learnt.
    learnt: Option<Branch>,
}

/// What has to be done at each visit.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slow {
    /// `pause` instructions: what the thread does in them is no computing.
    pauses: u32,
    unhooked: Unhooked,
    /// A seed's schedule may hold the thread up before it calls code without hooks.
    is_held_up: bool,
    /// A fence may have to wait for its results.
    results_matter: bool,
}

impl Slow {
    const UNKNOWN: Slow =
        Slow { pauses: u32::MAX, unhooked: Unhooked::Never, is_held_up: false, results_matter: false };
    const NO: Slow = Slow { pauses: 0, ..Slow::UNKNOWN };

    #[cold]
    fn of(pc: u64) -> Slow {
        deep(|| Slow {
            pauses: corefold_block::pauses(&Mapped, pc),
            unhooked: unhooked::learn(pc),
            is_held_up: sim(|sim| sim.delays.is_some()) && unhooked::may_call(pc),
            results_matter: results::matter(pc),
        })
    }
}

const BLANK: Block = Block {
    pc: 0,
    entry: core::ptr::null_mut(),
    cost: 0,
    known: false,
    returns_to: None,
    slow: Slow::UNKNOWN,
    instructions: None,
    awaited: 0,
    others: 0,
    paths: None,
    branch: None,
    learnt: None,
};

#[derive(Clone, Copy, Default)]
struct Branch {
    visits: u16,
    /// Predictions that count, and the mispredicted ones of these.
    guesses: u16,
    wrong: u16,
    /// How often the branch went to the second target.
    second: u16,
    /// It is known, and being checked for a change.
    again: bool,
}

/// The code, and what has been observed of its branches.
struct Observed<'a>(&'a Branches);

impl Code for Observed<'_> {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        Mapped.bytes(address, len)
    }

    fn bytes_before(&self, address: u64, len: usize) -> &[u8] {
        Mapped.bytes_before(address, len)
    }

    fn hook(&self, target: u64) -> Option<Hook> {
        Mapped.hook(target)
    }

    fn bias(&self, block: u64) -> Option<Bias> {
        let at = *self.0.by_pc.get(&block)?;
        self.0.bias(at, &self.0.blocks[at as usize].learnt?)
    }
}

static BRANCHES: Carrier<Option<Branches>> = Carrier::new(None);

#[inline]
fn with<R>(work: impl FnOnce(&mut Branches) -> R) -> R {
    BRANCHES.with(|branches| work(branches.get_or_insert_default()))
}

/// Code has been unmapped: other code, with cells elsewhere, may come to lie there.
pub fn forget(gone: impl Fn(u64) -> bool) {
    with(|branches| branches.forget(gone));
}

/// All that is known of blocks is to be learnt again.
pub fn start_anew() {
    with(Branches::start_anew);
}

/// The packed cost of a visit of the block at `pc`, whose `entry` is empty, and whether it is known now.
#[inline]
pub fn visit(entry: *mut u32, pc: u64) -> (u32, bool) {
    let (mut at, mut slow) = with(|branches| {
        let at = branches.number(pc);
        (at, branches.block(at).slow)
    });
    if slow == Slow::UNKNOWN {
        slow = Slow::of(pc);
        with(|branches| branches.block(at).slow = slow);
    }
    if slow != Slow::NO {
        if slow.pauses > 0 {
            current().spins.with(|spins| spins.pauses(computed(slow.pauses * launch().machine.core.pause)));
        }
        if slow.results_matter {
            results::begin(pc);
        }
        if slow.unhooked != Unhooked::Never {
            unhooked::calls(slow.unhooked);
        }
        if slow.is_held_up {
            delays::call(pc);
            // Others may have run, and have come here, or changed what is known.
            at = with(|branches| branches.number(pc));
        }
        if with(|branches| branches.block(at).known) {
            return (with(|branches| branches.block(at).cost), false);
        }
    }
    let (cost, known) = visit_unknown(entry, at, pc);
    (cost, known && slow == Slow::NO)
}

/// How many instructions the block at `pc` has.
pub fn instructions(pc: u64) -> u32 {
    let (at, known) = with(|branches| {
        let at = branches.number(pc);
        (at, branches.block(at).instructions)
    });
    known.unwrap_or_else(|| {
        let counted = deep(|| corefold_block::instructions(&Mapped, pc, &core()));
        with(|branches| branches.block(at).instructions = Some(counted));
        counted
    })
}

/// The packed cost of the block at `pc`, if each visit takes that, and does nothing else but to count its pauses.
pub fn settled(pc: u64) -> Option<u32> {
    with(|branches| {
        let at = *branches.by_pc.get(&pc)?;
        let block = branches.block(at);
        let only_pauses = Slow { pauses: 0, ..block.slow } == Slow::NO;
        (block.known && only_pauses).then_some(block.cost)
    })
}

#[inline(never)]
fn visit_unknown(entry: *mut u32, at: u32, pc: u64) -> (u32, bool) {
    let penalty = launch().machine.core.mispredict;
    let fiber = current();
    with(|branches| {
        fiber.branches.with(|own| branches.arrive(at, own));
        branches.meet(at, entry, pc);
        let cost = match branches.block(at).cost {
            0 => branches.cost_now(at, pc),
            cost => cost,
        };
        if fiber.spins.with(|spins| spins.spinning()) {
            // The thread does not decide when it ends.
            let block = branches.block(at);
            (block.branch, block.learnt) = (None, None);
        }
        fiber.branches.with(|own| branches.depart(at, own, penalty));
        let block = branches.block(at);
        block.known = block.cost != 0 && block.branch.is_none() && block.awaited == 0;
        (if block.cost == 0 { cost } else { block.cost }, block.known)
    })
}

/// Counts what the running CPU has run for, once that is enough.
pub fn count_cycles() {
    if let Some(passed) = sim(|sim| sim.take_counted(hot().clock.get())) {
        with(|branches| branches.time_passes(passed / TICKS_PER_CYCLE));
    }
}

impl Branches {
    /// What the block costs as far as is known, its branch aside.
    fn cost_now(&mut self, at: u32, pc: u64) -> u32 {
        match trip_counts::visit(&Observed(self), pc) {
            Err(meanwhile) => meanwhile,
            Ok(Cost { packed, around }) => {
                self.depends(at, around);
                let block = self.block(at);
                (block.cost, block.returns_to) = (packed, trip_counts::caller());
                packed
            }
        }
    }

    /// The cost of a block depends on the branches of these.
    fn depends(&mut self, at: u32, around: Vec<u64>) {
        for pc in around {
            let dependent = self.dependent.entry(pc).or_default();
            if !dependent.contains(&at) {
                dependent.push(at);
            }
        }
    }

    /// CPUs have run for so many cycles more.
    fn time_passes(&mut self, cycles: u64) {
        self.cycles += cycles;
        if self.cycles < LEAST_CYCLES.max(self.visits * CYCLES_PER_VISIT) {
            return;
        }
        (self.cycles, self.visits) = (0, 0);
        // Warm tables would have memorised the few stretches of a program's data that they are trained on.
        self.predictor = Predictor::default();
        for block in self.blocks.iter_mut().filter(|block| block.learnt.is_some() && block.branch.is_none()) {
            block.branch = Some(Branch { again: true, ..Branch::default() });
            block.open();
        }
    }

    fn forget(&mut self, gone: impl Fn(u64) -> bool) {
        self.by_pc.retain(|pc, _| !gone(*pc));
        self.dependent.retain(|pc, _| !gone(*pc));
        self.numbers = [(0, 0); RECENT];
        for block in self.blocks.iter_mut().filter(|block| gone(block.pc)) {
            *block = Block { pc: block.pc, ..BLANK };
        }
    }

    fn start_anew(&mut self) {
        for block in &mut self.blocks {
            block.open();
            *block = Block { pc: block.pc, ..BLANK };
        }
    }

    #[inline]
    fn number(&mut self, pc: u64) -> u32 {
        let place = (pc ^ pc >> 6) as usize % RECENT;
        if self.numbers[place].0 != pc {
            self.numbers[place] = (pc, self.look_up(pc));
        }
        self.numbers[place].1
    }

    fn look_up(&mut self, pc: u64) -> u32 {
        let next = self.blocks.len() as u32;
        let number = *self.by_pc.entry(pc).or_insert(next);
        if number == next {
            self.blocks.push(Block { pc, ..BLANK });
        }
        number
    }

    fn block(&mut self, at: u32) -> &mut Block {
        &mut self.blocks[at as usize]
    }

    /// The first visit of a block, or of another one at the same place: an entry that was filled is empty.
    fn meet(&mut self, at: u32, entry: *mut u32, pc: u64) {
        let block = self.block(at);
        if block.entry == entry && !block.known {
            return;
        }
        *block = Block { pc, entry, awaited: block.awaited, ..BLANK };
        let paths = deep(|| branch_paths(&Mapped, pc, &core())).map(|paths| paths.map(|path| self.number(path)));
        let block = self.block(at);
        (block.paths, block.branch) = (paths, paths.map(|_| Branch::default()));
    }

    /// The thread is at the block: that tells which way the latest branch went that may lead here.
    fn arrive(&mut self, at: u32, own: &mut Branching) {
        let leads = |from: &u32| self.paths(*from).is_some_and(|paths| paths.contains(&at));
        let Some(place) = own.pending[..own.count].iter().rposition(leads) else { return self.block(at).pass() };
        let from = own.pending[place];
        self.block(at).others = 0;
        for index in place..own.count {
            self.await_no_more(own.pending[index]);
        }
        own.count = place;
        let Block { paths: Some([_, second]), branch: Some(branch), .. } = &mut self.blocks[from as usize] else {
            return;
        };
        let right = self.predictor.guesses(from, &mut own.history, *second == at);
        branch.guesses += 1;
        branch.second += u16::from(*second == at);
        branch.wrong += u16::from(!right);
    }

    /// The thread goes on to the block's branch, if that is to be learnt.
    fn depart(&mut self, at: u32, own: &mut Branching, penalty: u32) {
        let block = &mut self.blocks[at as usize];
        let Some(branch) = &mut block.branch else { return };
        self.visits += u64::from(block.learnt.is_some());
        if branch.is_learnt() {
            if block.cost != 0 {
                self.learnt(at, penalty);
            }
            return;
        }
        if branch.begins_to_count() {
            (branch.guesses, branch.wrong, branch.second) = (0, 0, 0);
        }
        branch.visits += 1;
        if own.count == DEEPEST {
            self.await_no_more(own.pending[0]);
            own.pending.rotate_left(1);
            own.count -= 1;
        }
        own.pending[own.count] = at;
        own.count += 1;
        for path in self.paths(at).unwrap_or_default() {
            self.await_at(path);
        }
    }

    fn learnt(&mut self, at: u32, penalty: u32) {
        let Some(branch) = self.block(at).branch.take() else { return };
        if branch.again {
            let block = self.block(at);
            let is_other = block.learnt.is_some_and(|before| !branch.is_like(&before));
            block.branch = is_other.then(Branch::default);
            return;
        }
        self.block(at).learnt = Some(branch);
        self.cost_anew(at, penalty);
        let dependent = self.dependent.get(&self.blocks[at as usize].pc).cloned().unwrap_or_default();
        for other in dependent {
            if other != at && self.blocks[other as usize].is_learnt() {
                self.cost_anew(other, penalty);
            }
        }
    }

    /// Costs a block by what has been observed of branches.
    fn cost_anew(&mut self, at: u32, penalty: u32) {
        let Block { pc, returns_to, learnt, .. } = self.blocks[at as usize];
        let place = Place { head: pc, returns_to, trip_count: trip_counts::of_loop(pc) };
        let Cost { packed, around } = Cost::of(trip_counts::cost_of(&Observed(self), place));
        let cost = raised(packed, learnt.map_or(0, |branch| branch.penalty(penalty)));
        let block = self.block(at);
        if block.cost != cost {
            block.cost = cost;
            block.open();
        }
        self.depends(at, around);
    }

    /// Which way the branch of a block goes.
    fn bias(&self, at: u32, branch: &Branch) -> Option<Bias> {
        let [_, second] = self.paths(at).filter(|_| branch.guesses >= LEAST)?;
        let visits = u32::from(branch.second) * Bias::ALL / u32::from(branch.guesses);
        Some(Bias { to: self.blocks[second as usize].pc, visits })
    }

    fn paths(&self, at: u32) -> Option<[u32; 2]> {
        self.blocks[at as usize].paths
    }

    /// The next visit of the block is to come here.
    fn await_at(&mut self, at: u32) {
        let block = self.block(at);
        block.awaited += 1;
        block.open();
    }

    fn await_no_more(&mut self, from: u32) {
        for path in self.paths(from).unwrap_or_default() {
            let block = self.block(path);
            block.awaited = block.awaited.saturating_sub(1);
        }
    }
}

impl Block {
    /// All that its own cost depends on has been observed.
    fn is_learnt(&self) -> bool {
        self.cost != 0 && self.paths.is_some() == self.learnt.is_some()
    }

    /// The next visit is to come here.
    fn open(&mut self) {
        if core::mem::take(&mut self.known) {
            // SAFETY: the entry of a block that was visited and whose code is still mapped: see `forget`.
            unsafe { self.entry.write(0) };
        }
    }

    /// A visit by a thread that comes from elsewhere.
    fn pass(&mut self) {
        self.others += u16::from(self.awaited > 0);
        if self.others == OTHERS {
            (self.awaited, self.others) = (0, 0);
        }
    }
}

impl Branch {
    fn is_learnt(&self) -> bool {
        match self.again {
            true => self.visits == AGAIN,
            false => self.visits == VISITS || self.visits == FEWER && self.wrong == 0,
        }
    }

    fn begins_to_count(&self) -> bool {
        match self.again {
            true => self.visits == AGAIN / HALF,
            false => [VISITS / HALF, FEWER / HALF].contains(&self.visits),
        }
    }

    /// Does it go the same way as often, and is it guessed as well?
    fn is_like(&self, other: &Branch) -> bool {
        let (ours, theirs) = (u32::from(self.guesses), u32::from(other.guesses));
        let alike = |a: u16, b: u16| (u32::from(a) * theirs).abs_diff(u32::from(b) * ours) * ALIKE <= ours * theirs;
        ours < u32::from(LEAST) || alike(self.wrong, other.wrong) && alike(self.second, other.second)
    }

    /// What its wrong guesses take, in the mean of all.
    fn penalty(&self, cycles: u32) -> u32 {
        if self.guesses < LEAST {
            return 0;
        }
        let sixteenths = ticks(cycles) * u64::from(self.wrong) / u64::from(self.guesses);
        sixteenths.min(0x1fff) as u32
    }
}

/// The packed cost with so many sixteenths more: a core that has to begin anew waits beside a busy sibling, too.
fn raised(cost: u32, sixteenths: u32) -> u32 {
    let half = |cost: u32| (cost & 0xffff).saturating_add(sixteenths).min(0xffff);
    half(cost) | half(cost >> 16) << 16
}
