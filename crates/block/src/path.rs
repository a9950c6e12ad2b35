// SPDX-License-Identifier: MIT OR Apache-2.0
//! A path through the code as operations of the program alone.
use crate::op::{Builder, Op, TICKS};
use crate::walk::Step;
use crate::{Core, counters, folding, liveness};
use alloc::vec::Vec;

pub struct Path {
    pub ops: Vec<Op>,
}

impl Path {
    /// Code with hooks, as if it had none.
    pub fn hooked<'a>(steps: impl IntoIterator<Item = &'a Step>, core: &Core) -> Path {
        let mut path = Path { ops: build_all(steps, core) };
        liveness::leave_out(&mut path.ops);
        folding::fold(&mut path.ops);
        folding::unfold(&mut path.ops);
        counters::merge(&mut path.ops);
        folding::fuse(&mut path.ops);
        path
    }

    /// Code that has none.
    pub fn plain<'a>(steps: impl IntoIterator<Item = &'a Step>, core: &Core) -> Path {
        let mut path = Path { ops: build_all(steps, core) };
        folding::fuse(&mut path.ops);
        path
    }

    /// Time without any waiting for operands.
    pub fn flat_ticks(&self, core: &Core) -> u64 {
        self.flat_ticks_of(core, |_| true)
    }

    /// The part of those operations that are asked for.
    pub fn flat_ticks_of(&self, core: &Core, wanted: impl Fn(&Op) -> bool) -> u64 {
        let sum = |of: fn(&Op) -> u64| self.ops.iter().filter(|op| wanted(op)).map(of).sum::<u64>();
        let issue = sum(|op| op.timing.slots.into()) * TICKS / u64::from(core.width);
        let divider = sum(|op| op.timing.divider.into()) * TICKS;
        let ordered = sum(|op| if op.orders { op.timing.serial.into() } else { 0 }) * TICKS;
        let serial = sum(|op| if op.orders { 0 } else { op.timing.serial.into() }) * TICKS;
        issue.max(divider).max(ordered) + serial
    }

    /// How many branches, calls and returns are taken.
    pub fn taken_branches(&self) -> u64 {
        self.ops.iter().filter(|op| op.is_taken()).count() as u64
    }

    pub fn instructions(&self) -> u32 {
        self.ops.iter().map(|op| op.instructions).sum()
    }

    fn slots(&self) -> u16 {
        self.ops.iter().map(|op| op.timing.slots).sum()
    }
}

pub fn build_all<'a>(steps: impl IntoIterator<Item = &'a Step>, core: &Core) -> Vec<Op> {
    let mut builder = Builder::new(core);
    steps.into_iter().map(|step| build(&mut builder, step, core)).collect()
}

/// The operation of a step, after those that `builder` has seen.
pub fn build(builder: &mut Builder, step: &Step, core: &Core) -> Op {
    match step {
        Step::Run(instruction, taken) => builder.run(*instruction, *taken),
        Step::Announced(instruction) => builder.announced(*instruction),
        Step::Hook(hook, ip) => builder.hook(*hook, *ip),
        Step::Before(instruction) => builder.before(*instruction),
        Step::Call(call, prologue) => {
            let prologue = Path::hooked(prologue, core);
            builder.call(*call, prologue.slots(), prologue.instructions())
        }
    }
}
