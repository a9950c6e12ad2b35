// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences that wait for the results of all earlier instructions and hold up all later ones, as `mfence` does on some cores.
//! What came before is followed back as far as the block that was executed before.
use crate::cycles::ends_in_return;
use crate::latency::serializes;
use crate::op::Op;
use crate::path::Path;
use crate::walk::{Step, Walk, walk};
use crate::{Code, Core, Place, pipeline};
use alloc::vec::Vec;

/// Time of a block with such a fence, without what the model adds; of any other none.
pub fn ticks(code: &impl Code, place: Place, block: &Walk, core: &Core) -> u64 {
    let fence = |step: &Step| matches!(step, Step::Run(i, _) | Step::Announced(i) if serializes(i, core));
    if !block.steps.iter().any(fence) {
        return 0;
    }
    let before = before(code, place).unwrap_or_default();
    let path = Path::hooked(before.iter().chain(&block.steps), core);
    let own = |op: &&Op| block.steps.iter().any(|step| step.ip() == op.instruction.ip());
    let first = path.ops.len() - path.ops.iter().rev().take_while(own).count();
    pipeline::issuing(&path.ops, first, core)
}

/// The steps of the block that was executed before, up to where it goes on to the one at `place`, through its return if it has
/// come to that; none if it does not lead there.
fn before(code: &impl Code, place: Place) -> Option<Vec<Step>> {
    let (head, returns_to) = place.before.filter(|(head, _)| *head != place.head)?;
    let block = walk(code, head);
    leading(code, place, &block).map(<[Step]>::to_vec).or_else(|| {
        let rest = walk(code, returns_to.filter(|_| ends_in_return(&block.steps))?);
        leading(code, place, &rest).map(|steps| [&block.steps, steps].concat())
    })
}

/// The steps of `block` up to where it goes on to the one at `place`, by a call or a jump.
fn leading<'a>(code: &impl Code, place: Place, block: &'a Walk) -> Option<&'a [Step]> {
    let calls = |step: &Step| matches!(step, Step::Call(call, _) if Some(call.next_ip()) == place.returns_to);
    if let Some(call) = block.steps.iter().position(calls) {
        return Some(&block.steps[..=call]);
    }
    if block.next == Some(place.head) {
        return Some(&block.steps);
    }
    let exit = block.exits.iter().find(|exit| walk(code, exit.address).next == Some(place.head))?;
    Some(&block.steps[..exit.steps])
}
