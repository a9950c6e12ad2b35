// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks in loops: a chain of dependent instructions from one iteration to the next can make the loop
//! slower than its issue slots. What it adds is spread over the blocks of the loop.
use crate::before::before;
use crate::cas_retry::{goes_on_failing, taken_on_success};
use crate::op::TICKS;
use crate::path::Path;
use crate::retry_loop::is_retry_loop;
use crate::values::Address;
use crate::walk::{Step, Walk, walk};
use crate::{Bias, Code, Core, Hook, Place, pipeline};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use iced_x86::FlowControl;

/// Loops of more blocks are rarely bound by one chain.
const MOST_BLOCKS: usize = 12;
const MOST_LOOPS: usize = 6;
/// Paths visited in the search.
const MOST_PATHS: usize = 64;
/// After so many blocks an inner loop decides little.
const FAR: usize = 8;
/// A path is left out where the branch of a block takes it in fewer than one of so many visits.
const RARE: u32 = 64;

/// A path through a block to the head of the next.
struct Edge {
    steps: Vec<Step>,
    next: u64,
    /// It leads out of the function, to its caller.
    returns: bool,
}

/// A path through some blocks, from the one in question.
struct Route {
    blocks: Vec<u64>,
    steps: Vec<Step>,
    /// How many of the steps are those of the first block.
    first: usize,
    at: u64,
    /// It has left the function of the first block, for its caller.
    returned: bool,
}

impl Route {
    fn new(at: u64, steps: Vec<Step>) -> Route {
        Route { blocks: Vec::new(), steps, first: 0, at, returned: false }
    }

    fn begin_with(&mut self, steps: &[Step]) {
        self.steps.splice(..0, steps.iter().cloned());
        self.first += steps.len();
    }
}

/// Whether there are calls of functions that are not followed.
fn calls(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Call(..)))
}

/// Loops through a block, and the inner loop that others were left out for.
struct Loops {
    routes: Vec<Route>,
    inner: Option<u64>,
}

/// Time of the block at `place`, whose issue slots alone take `flat`, in the loops around it, the inner loop on whose
/// trip count that depends, and the blocks of these loops. Where several paths go round the loop, as through the arms of
/// an `if`, the mean of what they add counts, weighted by the biases of branches where they are known.
pub fn in_loops(code: &impl Code, place: Place, block: Walk, flat: u64, core: &Core) -> InLoops {
    if !core.chains {
        return InLoops { ticks: flat.max(returning(&block, core)), ..InLoops::default() };
    }
    let (ticks, around) = chained(code, place, block, flat, core);
    let mut blocks: Vec<u64> = around.routes.iter().flat_map(|route| route.blocks.iter().copied()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    InLoops { ticks, inner: around.inner, blocks }
}

/// What is found of a block: see [`crate::Found`].
#[derive(Default)]
pub struct InLoops {
    pub ticks: u64,
    pub inner: Option<u64>,
    pub blocks: Vec<u64>,
}

/// The same where chains count.
fn chained(code: &impl Code, place: Place, mut block: Walk, flat: u64, core: &Core) -> (u64, Loops) {
    let alone = block.next == Some(place.head);
    let spins = alone && again(&block, core);
    let mut around = loops(code, Place { returns_to: None, ..place }, &block, core);
    if !spins && around.routes.is_empty() && place.returns_to.is_some() {
        let inner = around.inner;
        around = loops(code, place, &block, core);
        around.inner = inner.or(around.inner);
    }
    let paths = around.routes.iter().map(|route| &route.steps[..]).chain(alone.then_some(&block.steps[..]));
    let before = before(code, place.head, paths, core);
    around.routes.iter_mut().for_each(|route| route.begin_with(&before));
    block.steps.splice(..0, before);
    if alone && !spins && calls(&block.steps) && !calls(&with_callees(code, &block.steps)) {
        // Its callees take their part of each iteration's time.
        let round = Route { first: block.steps.len(), ..Route::new(place.head, block.steps) };
        return (mean(code, place.head, &[round], flat, core), Loops { inner: None, ..around });
    }
    if alone && (!spins || around.routes.is_empty()) {
        let (ticks, inner) = by_itself(place, &block, &around.routes, flat, spins, core);
        return (ticks, Loops { inner, ..around });
    }
    let core = &without_renaming_of_two(&around.routes, core);
    let ticks = if around.routes.is_empty() {
        flat.max(returning(&block, core))
    } else {
        mean(code, place.head, &around.routes, flat, core)
    };
    (ticks, around)
}

/// What a block takes at least that returns, where nothing is known of the loop that calls its function.
fn returning(block: &Walk, core: &Core) -> u64 {
    if ends_in_return(&block.steps) { u64::from(core.taken_branch) * TICKS } else { 0 }
}

/// The same of a block that jumps to itself.
fn by_itself(place: Place, block: &Walk, outer: &[Route], flat: u64, spins: bool, core: &Core) -> (u64, Option<u64>) {
    let settled = pipeline::steady(&block.steps, |_| true, core);
    if settled.modelled {
        // In the time of an atomic operation, a core does other things.
        return (settled.ticks, None);
    }
    // Each read of a spin waits for its value: iterations after the one that ends it do not count.
    let branches = if calls(&block.steps) { 1 } else { Path::hooked(&block.steps, core).taken_branches() };
    let least = if spins { TICKS * u64::from(core.load) } else { pipeline::taking(branches, core) };
    let endless = flat.max(settled.ticks).max(least);
    // How much of the next iteration overlaps with the callee is not known.
    let followed: Vec<&Route> = outer.iter().filter(|route| !calls(&route.steps)).collect();
    if spins || followed.is_empty() {
        return (endless, None);
    }
    let Some(rounds) = place.trip_count else { return (endless, Some(place.head)) };
    let core = &without_renaming_of_two(outer, core);
    let inside = |route: &&Route| nested(block, rounds.max(1).into(), route, flat, endless, core).max(least);
    let sum: u64 = followed.iter().map(inside).sum();
    (sum / followed.len() as u64, Some(place.head))
}

/// What a round of the inner loop `block` takes that goes round `rounds` times in each round of an outer one: its
/// issue slots, and its part of what both take beyond theirs. Rounds of the outer loop overlap as far as the core
/// looks ahead; rounds of the inner one beyond that take `endless`.
fn nested(block: &Walk, rounds: u64, outer: &Route, flat: u64, endless: u64, core: &Core) -> u64 {
    let simulated = rounds.min(pipeline::rounds_in_sight(&block.steps, core));
    // The last iteration is the one that leaves the loop.
    let (ticks, slots) = pipeline::nested(&block.steps, simulated - 1, &outer.steps, core);
    let beyond = ticks.saturating_sub(slots);
    let short = slots.saturating_sub(ticks);
    (flat * simulated + beyond).saturating_sub(short) / rounds + endless * (rounds - simulated) / rounds
}

/// Some cores that recognise the word of a store early do so only where one instruction stores to it, and not where two
/// of a loop do, on whatever way round (Golden Cove: a counter that one more store sets to zero each 32 rounds takes four
/// times as long. On Zen 4 it takes as long as without that store).
fn without_renaming_of_two(loops: &[Route], core: &Core) -> Core {
    let mut stores: Vec<(Address, u64)> = Vec::new();
    for route in loops {
        let ops = Path::hooked(&route.steps, core).ops;
        stores.extend(ops.iter().filter_map(|op| Some((op.store?, op.instruction.ip()))));
    }
    let twice = |(at, ip): &(Address, u64)| stores.iter().any(|(other, by)| other == at && by != ip);
    if !stores.iter().any(twice) {
        return *core;
    }
    let [renamed, renamed_indexed] = [core.renamed, core.renamed_indexed].map(|early| early.max(core.renamed_twice));
    Core { renamed, renamed_indexed, ..*core }
}

/// What the first block, whose issue slots alone take `flat`, takes of a round, in the mean of the paths round.
fn mean(code: &impl Code, head: u64, routes: &[Route], flat: u64, core: &Core) -> u64 {
    let rounds: Vec<Round> = routes.iter().map(|route| Round::new(code, route, core)).collect();
    let mut weights = vec![0; routes.len()];
    Weights { code, head, routes }.divide(ALWAYS, 1, &Vec::from_iter(0..routes.len()), &mut weights);
    let sum =
        |of: &dyn Fn(&Round) -> u64| rounds.iter().zip(&weights).map(|(round, weight)| of(round) * weight).sum::<u64>();
    // Branches execute ahead of instructions that wait for operands, and in parallel.
    let branching = sum(&|round| round.branching).saturating_sub(sum(&|round| round.flat));
    let ticks = if branching > sum(&|round| round.settled.ticks.saturating_sub(round.flat)) {
        let [own, all] = [0, 1].map(|of| sum(&|round| round.branches[of]));
        sum(&|round| round.slots(flat)) + branching * own / all.max(1)
    } else {
        sum(&|round| round.slots(flat) + round.waiting())
    };
    ticks / weights.iter().sum::<u64>().max(1)
}

/// The weight of a path round that is always taken.
const ALWAYS: u64 = 1 << 20;

/// How often each path round is taken.
struct Weights<'a, C> {
    code: &'a C,
    head: u64,
    routes: &'a [Route],
}

impl<C: Code> Weights<'_, C> {
    /// The block after so many on a path; past its end the head again.
    fn block(&self, route: usize, depth: usize) -> u64 {
        self.routes[route].blocks.get(depth).copied().unwrap_or(self.head)
    }

    /// Divides `weight` among the routes that share their first `depth` blocks: where these part by the bias of the branch,
    /// or by their number if that is not known.
    fn divide(&self, weight: u64, depth: usize, among: &[usize], weights: &mut [u64]) {
        let ended = among.iter().all(|route| self.routes[*route].blocks.len() <= depth);
        if among.len() <= 1 || ended {
            among.iter().for_each(|route| weights[*route] = weight / among.len() as u64);
            return;
        }
        let bias = self.code.bias(self.block(among[0], depth - 1));
        let toward = |to: u64| among.iter().filter(|route| self.block(**route, depth) == to).count() as u64;
        let all = among.len() as u64;
        let mut rest = among.to_vec();
        while let Some(first) = rest.first() {
            let next = self.block(*first, depth);
            let (same, others): (Vec<usize>, Vec<usize>) =
                rest.iter().partition(|route| self.block(**route, depth) == next);
            let part = match bias {
                Some(Bias { to, visits }) if (1..all).contains(&toward(to)) => {
                    let visits = u64::from(if next == to { visits } else { Bias::ALL - visits });
                    let of = if next == to { toward(to) } else { all - toward(to) };
                    weight * visits / u64::from(Bias::ALL) * same.len() as u64 / of
                }
                _ => weight * same.len() as u64 / all,
            };
            self.divide(part, depth + 1, &same, weights);
            rest = others;
        }
    }
}

/// A path round a loop, seen from its first block.
struct Round {
    settled: pipeline::Steady,
    /// Time that its issue slots alone take, and its taken branches.
    flat: u64,
    branching: u64,
    /// Taken branches of the first block, and of all blocks.
    branches: [u64; 2],
}

impl Round {
    fn new(code: &impl Code, route: &Route, core: &Core) -> Round {
        let own = own(&route.steps[..route.first]);
        let steps = with_callees(code, &route.steps);
        let path = Path::hooked(&steps, core);
        let settled = pipeline::steady(&steps, |ip| own.contains(&ip), core);
        let taken = || path.ops.iter().filter(|op| op.is_taken());
        let branches = [taken().filter(|op| own.contains(&op.instruction.ip())).count(), taken().count()];
        let branches = branches.map(|count| count as u64);
        let flat = path.flat_ticks(core);
        // In the time of an atomic operation, or of a callee, a core does other things.
        let hidden = settled.modelled || calls(&steps);
        let branching = if hidden { flat } else { pipeline::taking(branches[1], core) };
        Round { settled, flat, branching, branches }
    }

    /// The first block's issue slots, or less, where they fit into the time of atomic operations.
    fn slots(&self, own: u64) -> u64 {
        let hidden = self.settled.modelled && self.settled.ticks < self.flat;
        if hidden { own * self.settled.ticks / self.flat } else { own }
    }

    /// The first block's part of what the loop takes beyond its slots: as far as the chain it waits for is in it.
    fn waiting(&self) -> u64 {
        self.settled.ticks.saturating_sub(self.flat) * self.settled.own / self.settled.chain.max(1)
    }
}

/// The addresses of what the first block does, which a path begins with: to its return, and what its callees do before
/// their first block.
fn own(steps: &[Step]) -> Vec<u64> {
    let returns = steps.iter().position(|step| ends_in_return(core::slice::from_ref(step)));
    let steps = &steps[..returns.map_or(steps.len(), |at| at + 1)];
    let prologue = |step: &Step| match step {
        Step::Call(_, prologue) => prologue.iter().map(Step::ip).collect(),
        _ => Vec::new(),
    };
    steps.iter().flat_map(|step| [step.ip()].into_iter().chain(prologue(step))).collect()
}

/// The steps, with those of the functions that are called in their place, where these are one block.
fn with_callees(code: &impl Code, steps: &[Step]) -> Vec<Step> {
    let mut all = Vec::new();
    for step in steps {
        match callee(code, step) {
            Some(callee) => all.extend(callee),
            None => all.push(step.clone()),
        }
    }
    all
}

fn callee(code: &impl Code, step: &Step) -> Option<Vec<Step>> {
    let Step::Call(call, prologue) = step else { return None };
    let Some(Step::Hook(Hook::Block, ip)) = prologue.last() else { return None };
    let body = walk(code, ip + 1);
    let whole = body.next.is_none() && body.exits.is_empty() && ends_in_return(&body.steps);
    whole.then(|| [&[Step::Run(*call, true)], &prologue[..], &body.steps].concat())
}

/// The innermost loops through `head`: the shortest paths back to it. Loops through an inner loop of one
/// block are left out: its rounds, not the path past it, set their time. Not one that tries again what another
/// thread can make fail: most often that succeeds at once.
fn loops(code: &impl Code, place: Place, block: &Walk, core: &Core) -> Loops {
    let mut found: Vec<Route> = Vec::new();
    let mut left_out = None;
    let mut longest = MOST_BLOCKS;
    let head = place.head;
    let start = Route::new(head, Vec::new());
    let mut routes = extend(start, likely(code.bias(head), head, &[], edges(code, block.clone(), place, false, core)));
    routes.retain(|route| route.at != head);
    for _ in 0..MOST_PATHS {
        let Some(route) = routes.pop_front() else {
            break;
        };
        if route.blocks.len() > longest || found.len() == MOST_LOOPS {
            break;
        }
        if route.at == head {
            longest = longest.min(route.blocks.len() * 2);
            if !is_retry_loop(&route.steps, core) {
                found.push(route);
            }
        } else if !route.blocks.contains(&route.at) {
            let block = walk(code, route.at);
            let (own, returned) = (route.at, route.returned);
            let inner = block.next == Some(own) && !again(&block, core);
            let edges = likely(code.bias(own), own, &route.blocks, edges(code, block, place, returned, core));
            let inner = inner && edges.iter().any(|edge| edge.next == own);
            left_out = left_out.or((inner && route.blocks.len() < FAR).then_some(own));
            if !inner || edges.iter().any(|edge| edge.next == head) {
                routes.extend(extend(route, edges).into_iter().filter(|longer| longer.at != own));
            }
        }
    }
    Loops { routes: found, inner: left_out }
}

fn extend(route: Route, edges: Vec<Edge>) -> VecDeque<Route> {
    let longer = |edge: Edge| Route {
        blocks: route.blocks.iter().copied().chain([route.at]).collect(),
        first: if route.blocks.is_empty() { edge.steps.len() } else { route.first },
        steps: route.steps.iter().cloned().chain(edge.steps).collect(),
        at: edge.next,
        returned: route.returned || edge.returns,
    };
    edges.into_iter().map(longer).collect()
}

/// The paths from the block at `own` that its branch does not take rarely; all of them where it closes a loop on the path, as that
/// has to be left.
fn likely(bias: Option<Bias>, own: u64, path: &[u64], mut edges: Vec<Edge>) -> Vec<Edge> {
    let Some(Bias { to, visits }) = bias else { return edges };
    let rare = |edge: &Edge| RARE * (if edge.next == to { visits } else { Bias::ALL - visits }) < Bias::ALL;
    let closes = |edge: &Edge| edge.next == own || path.iter().skip(1).any(|block| *block == edge.next);
    if edges.iter().any(|edge| !rare(edge)) && !edges.iter().any(closes) {
        edges.retain(|edge| !rare(edge));
    }
    edges
}

/// Whether the block, which jumps to itself, does so only to retry.
fn again(block: &Walk, core: &Core) -> bool {
    is_retry_loop(&block.steps, core) || goes_on_failing(block, core)
}

/// The paths from `block` on, without those that a compare-and-swap goes only if it fails; `returned`: it is one of the
/// caller.
fn edges(code: &impl Code, block: Walk, place: Place, returned: bool, core: &Core) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (exit, on_success) in block.exits.iter().zip(taken_on_success(&block, core)) {
        if on_success.is_some_and(|taken| taken != exit.taken) {
            continue;
        }
        let mut steps = block.steps[..exit.steps].to_vec();
        if let Some(Step::Run(_, taken)) = steps.last_mut() {
            *taken = exit.taken;
        }
        edges.extend(onward(code, steps, walk(code, exit.address), place, returned));
        if on_success.is_some() {
            return edges;
        }
    }
    edges.extend(onward(code, Vec::new(), block, place, returned));
    edges
}

/// The path that begins with `steps` and goes on with `rest`: to the next block, through the return to the caller, or
/// there to the call of the function.
fn onward(code: &impl Code, mut steps: Vec<Step>, rest: Walk, place: Place, returned: bool) -> Option<Edge> {
    let returns_to = place.returns_to.filter(|_| !returned && rest.next.is_none() && ends_in_return(&rest.steps));
    let Some(caller) = returns_to else {
        return called(steps, rest, place, returned);
    };
    steps.extend(rest.steps);
    called(steps, walk(code, caller), place, true).map(|edge| Edge { returns: true, ..edge })
}

pub fn ends_in_return(steps: &[Step]) -> bool {
    matches!(steps.last(), Some(Step::Run(i, _)) if i.flow_control() == FlowControl::Return)
}

/// The path through `rest` to the next block; in the caller, to the function's first block where it is called.
fn called(mut steps: Vec<Step>, rest: Walk, place: Place, returned: bool) -> Option<Edge> {
    let entered = |(at, step): (usize, &Step)| match step {
        Step::Call(call, prologue) => match prologue.last()? {
            Step::Hook(Hook::Block, ip) => {
                let entered = place.returns_to == Some(call.next_ip()) || ip + 1 == place.head;
                entered.then(|| (at, *call, prologue.clone(), ip + 1))
            }
            _ => None,
        },
        _ => None,
    };
    let call = rest.steps.iter().enumerate().find_map(entered).filter(|_| returned);
    let Some((at, call, prologue, next)) = call else {
        steps.extend(rest.steps);
        return rest.next.map(|next| Edge { steps, next, returns: false });
    };
    steps.extend_from_slice(&rest.steps[..at]);
    steps.push(Step::Run(call, true));
    steps.extend(prologue);
    Some(Edge { steps, next, returns: false })
}
