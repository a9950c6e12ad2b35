// SPDX-License-Identifier: MIT OR Apache-2.0
//! When the results of a block's instructions are there: later than they have issued, which a fence may have to wait for.
use crate::cycles::ends_in_return;
use crate::path::Path;
use crate::walk::{Step, walk};
use crate::{Code, Core, pipeline};
use alloc::vec::Vec;
use iced_x86::Mnemonic;

/// Of the instructions from the head of a block to its first call or `mfence`, in sixteenths of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// From the begin of the block until all are there, without what the model adds.
    pub after: u32,
    /// So much of that is left when the instructions have issued.
    pub left: u32,
    /// There is an `mfence`, up to which this is.
    pub to_fence: bool,
    /// Its function returns there: what follows is another caller's next time.
    pub returns: bool,
}

/// Where the block at `head` returns, the instructions behind the call, at `returns_to`, follow.
pub fn results(code: &impl Code, head: u64, returns_to: Option<u64>, core: &Core) -> Results {
    let mut steps = straight(walk(code, head).steps);
    let returns = ends_in_return(&steps);
    if returns {
        steps.extend(returns_to.map(|at| straight(walk(code, at).steps)).unwrap_or_default());
    }
    let to_fence = steps.pop_if(|step| is_fence(step)).is_some();
    let mut path = Path::hooked(&steps, core);
    path.ops.iter_mut().for_each(|op| op.modelled = 0);
    let after = pipeline::sixteenths(pipeline::run(path.ops.iter(), core));
    let left = after.saturating_sub(pipeline::sixteenths(path.flat_ticks(core)));
    Results { after, left, to_fence, returns }
}

/// What is executed one after the other before another block is, or up to the fence.
fn straight(mut steps: Vec<Step>) -> Vec<Step> {
    let ends = steps.iter().position(|step| matches!(step, Step::Call(..)) || is_fence(step));
    if let Some(at) = ends {
        steps.truncate(at + usize::from(is_fence(&steps[at])));
    }
    steps
}

fn is_fence(step: &Step) -> bool {
    matches!(step, Step::Run(i, _) | Step::Announced(i) if i.mnemonic() == Mnemonic::Mfence)
}
