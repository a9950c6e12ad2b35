// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost from one hook to the next in code whose blocks have no hooks: an estimate, as the path
//! taken is not known, only its ends.
use crate::op::TICKS;
use crate::path::Path;
use crate::paths::{End, likely_paths};
use crate::target::decode;
use crate::walk::Step;
use crate::{Code, Core, Cost, Hook, pipeline};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use iced_x86::{FlowControl, Instruction};

/// In place of an address: the end of the function.
pub const LEAVES: u64 = 0;

/// Hooks in a loop whose chain of dependent instructions is looked at.
const MOST_HOOKS: usize = 12;
/// Hooks visited in the search for the loop.
const MOST_LOOKED_AT: usize = 32;
/// Iterations of a loop over which its cost is averaged: the first and the last overlap less with others.
const ROUNDS: usize = 4;

/// The cost of the code from `from`, which a hook or call returns to, to the hook or call that returns to
/// `to` in the same function, or to its end ([`LEAVES`]). Of several paths the shortest is taken; where
/// none is found, as through a jump table, the code directly before `to`.
///
/// Pure in its arguments: callers cache the answer.
pub fn between(code: &impl Code, from: u64, to: u64, core: &Core) -> Cost {
    let Some(path) = likely_path(code, from, to) else { return guessed(code, from, to, core) };
    match back(code, from, to) {
        Some(rest) => in_loop(&path, &rest, core),
        None => cost(&Path::hooked(&path, core), core),
    }
}

fn cost(path: &Path, core: &Core) -> Cost {
    Cost { sixteenths: pipeline::sixteenths(path.flat_ticks(core)), instructions: path.instructions() }
}

fn likely_path(code: &impl Code, from: u64, to: u64) -> Option<Vec<Step>> {
    let wanted = if to == LEAVES { End::Leaves } else { End::At(to) };
    likely_paths(code, from, to).into_iter().find(|path| path.end == wanted).map(|path| path.steps)
}

/// The rest of the innermost loop that goes from `from` to `to`: the path back by the fewest hooks. Loops
/// through an inner loop of one hook are left out: its iterations, not the path past it, set their time.
fn back(code: &impl Code, from: u64, to: u64) -> Option<Vec<Step>> {
    if to == LEAVES {
        return None;
    }
    let mut routes = VecDeque::from([(to, Vec::new(), 0)]);
    let mut seen = Vec::from([to]);
    for _ in 0..MOST_LOOKED_AT {
        let (at, steps, hooks): (u64, Vec<Step>, usize) = routes.pop_front()?;
        if at == from {
            return Some(steps);
        }
        let next = likely_paths(code, at, from);
        if hooks == MOST_HOOKS || next.iter().any(|path| path.end == End::At(at)) {
            continue;
        }
        for path in next {
            if let End::At(next) = path.end
                && !seen.contains(&next)
            {
                seen.push(next);
                routes.push_back((next, [&steps[..], &path.steps].concat(), hooks + 1));
            }
        }
    }
    None
}

/// The part that `own` has in a loop whose other steps are `rest`: its issue slots, and its part of what
/// taken branches and the chain of dependent instructions add.
fn in_loop(own: &[Step], rest: &[Step], core: &Core) -> Cost {
    let round = rotated([own, rest].concat());
    let path = Path::hooked(core::iter::repeat_n(&round, ROUNDS).flatten(), core);
    let ips: Vec<u64> = own.iter().map(Step::ip).collect();
    let is_own = |ip: u64| ips.contains(&ip);
    let rounds = ROUNDS as u64;
    let all = path.flat_ticks(core) / rounds;
    let atomic = u64::from(matches!(own.last(), Some(Step::Hook(hook, _)) if hook.is_instruction()));
    let flat =
        path.flat_ticks_of(core, |op| is_own(op.instruction.ip())) / rounds + atomic * TICKS / u64::from(core.width);
    let settled = pipeline::steady(&round, is_own, core);
    let branches = Path::hooked(&round, core).taken_branches();
    let least = if settled.modelled { all } else { all.max(pipeline::taking(branches, core)) };
    let owned = own.iter().filter(|step| step.is_taken()).count() as u64;
    let branching = (least - all) * owned.min(branches) / branches.max(1);
    let added = branching + settled.ticks.saturating_sub(least) * settled.own / settled.chain.max(1);
    let instructions = path.ops.iter().filter(|op| is_own(op.instruction.ip())).map(|op| op.instructions).sum::<u32>();
    Cost { sixteenths: pipeline::sixteenths(flat + added), instructions: instructions / ROUNDS as u32 + atomic as u32 }
}

/// The loop from its lowest address: so all parts of it see the same one of several chains that take equally long.
fn rotated(mut round: Vec<Step>) -> Vec<Step> {
    let lowest = (0..round.len()).min_by_key(|&at| round[at].ip());
    round.rotate_left(lowest.unwrap_or(0));
    round
}

/// No path was found: the code up to the jump through a table, and what stands before `to`.
fn guessed(code: &impl Code, from: u64, to: u64, core: &Core) -> Cost {
    if to == LEAVES || to == from {
        return Cost::default();
    }
    let lost = likely_paths(code, from, to).into_iter().find(|path| path.end == End::Lost);
    let begin = cost(&Path::hooked(&lost.map_or_else(Vec::new, |path| path.steps), core), core);
    let end = cost(&Path::hooked(&straight(code, to), core), core);
    Cost { sixteenths: begin.sixteenths + end.sixteenths, instructions: begin.instructions + end.instructions }
}

/// The instructions that stand before the hook or call that returns to `to`, back to the last call, jump or
/// return. Instructions cannot be decoded backwards, but decoded from anywhere they soon fall into step.
fn straight(code: &impl Code, to: u64) -> Vec<Step> {
    const FAR: u64 = 96;
    let aligned = (to.saturating_sub(FAR)..to).find_map(|start| exactly(code, start, to));
    let Some(instructions) = aligned else { return Vec::new() };
    let Some((_, before)) = instructions.split_last() else { return Vec::new() };
    let ends = |i: &Instruction| i.flow_control() != FlowControl::Next;
    let first = before.iter().rposition(ends).map_or(0, |at| at + 1);
    let own = before[first..].iter().map(|i| Step::Run(*i, false));
    // The hook: what was put into registers for it is none of the program's.
    own.chain([Step::Hook(Hook::Access, to - 1)]).collect()
}

/// The instructions from `start` if the last of them is a call that returns to `end`.
fn exactly(code: &impl Code, start: u64, end: u64) -> Option<Vec<Instruction>> {
    let mut found = Vec::new();
    let mut at = start;
    while at < end {
        let instruction = decode(code, at)?;
        at = instruction.next_ip();
        found.push(instruction);
    }
    let is_call = |i: &Instruction| matches!(i.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    (at == end && found.last().is_some_and(is_call)).then_some(found)
}
