// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks in loops: a chain of dependent instructions from one round to the next can make the loop
//! slower than its issue slots. What it adds is spread over the blocks of the loop.
use crate::path::Path;
use crate::tries::tries;
use crate::values::Address;
use crate::walk::{Step, Walk, walk};
use crate::{Code, Core, pipeline};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Loops of more blocks are rarely bound by one chain.
const MOST_BLOCKS: usize = 8;
const MOST_LOOPS: usize = 6;
/// Paths looked at in the search.
const MOST_PATHS: usize = 64;

/// A way through a block to the head of the next.
struct Edge {
    steps: Vec<Step>,
    next: u64,
}

/// A way through some blocks, from the one in question.
struct Route {
    blocks: Vec<u64>,
    steps: Vec<Step>,
    /// How many of the steps are those of the first block.
    first: usize,
    at: u64,
}

/// Time of the block `head`, whose issue slots alone take `flat`, in the loops around it. Where several
/// paths lead round, as through the arms of an `if`, the mean of what they add holds. A block that
/// jumps to itself takes a cycle at least, for no core takes more than one branch in a cycle.
pub fn in_loops(code: &impl Code, head: u64, block: Walk, flat: u64, core: &Core) -> u64 {
    let alone = block.next == Some(head);
    let loops = if alone && !tries(&block.steps, core) { Vec::new() } else { loops(code, head, &block, core) };
    if alone && loops.is_empty() {
        let settled = pipeline::steady(&block.steps, |_| true, core);
        // In the time of an atomic operation, a core does other things.
        return if settled.modelled { settled.ticks } else { flat.max(settled.ticks).max(pipeline::TICKS) };
    }
    let core = &without_renaming_of_two(&loops, core);
    let taken: u64 = loops.iter().map(|route| taken(route, flat, core)).sum();
    if loops.is_empty() { flat } else { taken / loops.len() as u64 }
}

/// A core that recognises the word of a store early does so where one instruction stores to it. Where two of a loop
/// do, on whatever way round, it mostly does not (measured on Golden Cove: a counter that one more store sets to zero
/// each 32 rounds takes four times as long).
fn without_renaming_of_two(loops: &[Route], core: &Core) -> Core {
    let mut stores: Vec<(Address, u64)> = Vec::new();
    for route in loops {
        let ops = Path::hooked(&route.steps, core).ops;
        stores.extend(ops.iter().filter_map(|op| Some((op.store?, op.instruction.ip()))));
    }
    let twice = |(at, ip): &(Address, u64)| stores.iter().any(|(other, by)| other == at && by != ip);
    if stores.iter().any(twice) { Core { renamed: core.forward, ..*core } } else { *core }
}

/// What the first block takes of the time of a round: its issue slots, and what the loop takes beyond them as
/// far as the chain it waits for is in it. Less than its slots, where they fit into the time of atomic operations.
fn taken(route: &Route, own_flat: u64, core: &Core) -> u64 {
    let own: Vec<u64> = route.steps[..route.first].iter().map(Step::ip).collect();
    let flat = Path::hooked(&route.steps, core).flat_ticks(core);
    let settled = pipeline::steady(&route.steps, |ip| own.contains(&ip), core);
    if settled.modelled && settled.ticks < flat {
        return own_flat * settled.ticks / flat;
    }
    own_flat + settled.ticks.saturating_sub(flat) * settled.own / settled.chain.max(1)
}

/// The innermost loops through `head`: the shortest ways back to it. Loops through an inner loop of one
/// block are left out: its rounds, not the way past it, set their time. Not one that tries again what another
/// thread can make fail: most often that succeeds at once.
fn loops(code: &impl Code, head: u64, block: &Walk, core: &Core) -> Vec<Route> {
    let mut found: Vec<Route> = Vec::new();
    let mut longest = MOST_BLOCKS;
    let start = Route { blocks: Vec::new(), steps: Vec::new(), first: 0, at: head };
    let mut routes = extend(start, edges(code, block.clone()));
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
            if !tries(&route.steps, core) {
                found.push(route);
            }
        } else if !route.blocks.contains(&route.at) {
            let block = walk(code, route.at);
            if block.next != Some(route.at) || tries(&block.steps, core) {
                let own = route.at;
                routes.extend(extend(route, edges(code, block)).into_iter().filter(|longer| longer.at != own));
            }
        }
    }
    found
}

fn extend(route: Route, edges: Vec<Edge>) -> VecDeque<Route> {
    let longer = |edge: Edge| Route {
        blocks: route.blocks.iter().copied().chain([route.at]).collect(),
        first: if route.blocks.is_empty() { edge.steps.len() } else { route.first },
        steps: route.steps.iter().cloned().chain(edge.steps).collect(),
        at: edge.next,
    };
    edges.into_iter().map(longer).collect()
}

fn edges(code: &impl Code, block: Walk) -> Vec<Edge> {
    let mut edges = Vec::new();
    for exit in &block.exits {
        let rest = walk(code, exit.address);
        let Some(next) = rest.next else { continue };
        let mut steps = block.steps[..exit.steps].to_vec();
        if let Some(Step::Run(_, taken)) = steps.last_mut() {
            *taken = exit.taken;
        }
        steps.extend(rest.steps);
        edges.push(Edge { steps, next });
    }
    edges.extend(block.next.map(|next| Edge { steps: block.steps, next }));
    edges
}
