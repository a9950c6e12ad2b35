// SPDX-License-Identifier: MIT OR Apache-2.0
//! The likeliest paths from a place in the code to the hooks, calls and ends that come next: those that jump
//! forward least, as compilers let likely code stand straight, and of these the shortest.
use crate::Code;
use crate::target::{leaves_module, target};
use crate::walk::{Step, Unit, unit};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use iced_x86::{FlowControl, Instruction, Mnemonic};

/// Instructions looked at in a search.
const MOST_STEPS: usize = 2048;
/// Calls that a search follows into functions without hooks, within each other.
const MOST_CALLS: u32 = 2;

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a hook, or the call that was asked for, that returns there.
    At(u64),
    /// With the function: a return, or a jump to a hook.
    Leaves,
    /// At a jump through a table.
    Lost,
}

pub struct LikelyPath {
    pub end: End,
    pub steps: Vec<Step>,
}

/// The likeliest path from `from` to each end; hooks end paths, and so does the call that returns to `call`.
pub fn likely_paths(code: &impl Code, from: u64, call: u64) -> Vec<LikelyPath> {
    search(code, from, call, MOST_CALLS)
}

fn search(code: &impl Code, from: u64, call: u64, calls: u32) -> Vec<LikelyPath> {
    let mut search =
        Search { code, call, calls, nodes: Vec::new(), open: BTreeMap::new(), seen: BTreeSet::new(), ends: Vec::new() };
    search.go(from, None);
    while let Some((_, (at, before))) = search.open.pop_first()
        && search.nodes.len() < MOST_STEPS
    {
        if search.seen.insert(at) {
            search.visit(at, before);
        }
    }
    search.ends.iter().map(|&(end, last)| LikelyPath { end, steps: search.steps(last) }).collect()
}

/// A step, and the one before it on the path.
struct Node {
    step: Step,
    before: Option<usize>,
    /// Jumps forward on the path so far, and steps.
    length: (u32, u32),
}

struct Search<'a, C> {
    code: &'a C,
    call: u64,
    calls: u32,
    nodes: Vec<Node>,
    /// Where to go on, by the length of the path and the order found.
    open: BTreeMap<(u32, u32, usize), (u64, Option<usize>)>,
    seen: BTreeSet<u64>,
    ends: Vec<(End, usize)>,
}

impl<C: Code> Search<'_, C> {
    fn go(&mut self, to: u64, last: Option<usize>) {
        let (forward, steps) = last.map_or((0, 0), |last| self.nodes[last].length);
        self.open.insert((forward, steps, self.nodes.len()), (to, last));
    }

    fn add(&mut self, step: Step, before: Option<usize>) -> usize {
        let (forward, steps) = before.map_or((0, 0), |before| self.nodes[before].length);
        let jumps = matches!(&step, Step::Run(i, true)
            if i.flow_control() == FlowControl::ConditionalBranch && i.near_branch_target() > i.ip());
        self.nodes.push(Node { step, before, length: (forward + u32::from(jumps), steps + 1) });
        self.nodes.len() - 1
    }

    fn end(&mut self, end: End, last: usize) {
        if self.ends.iter().all(|(known, _)| *known != end) {
            self.ends.push((end, last));
        }
    }

    fn visit(&mut self, at: u64, before: Option<usize>) {
        match unit(self.code, at) {
            Some(Unit::Inline(hook, next)) => {
                let last = self.add(Step::Hook(hook, next - 1), before);
                self.end(End::At(next), last);
            }
            Some(Unit::Instruction(instruction)) => self.instruction(instruction, before),
            None => {}
        }
    }

    fn instruction(&mut self, i: Instruction, before: Option<usize>) {
        match i.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall if i.mnemonic() != Mnemonic::Syscall => self.call(i, before),
            FlowControl::ConditionalBranch => {
                for (taken, to) in [(false, i.next_ip()), (true, i.near_branch_target())] {
                    let last = self.add(Step::Run(i, taken), before);
                    self.go(to, Some(last));
                }
            }
            FlowControl::UnconditionalBranch => self.jump(i, before),
            FlowControl::IndirectBranch if !i.is_ip_rel_memory_operand() => {
                let last = self.add(Step::Run(i, true), before);
                self.end(End::Lost, last);
            }
            FlowControl::IndirectBranch => self.jump(i, before),
            FlowControl::Return => {
                let last = self.add(Step::Run(i, true), before);
                self.end(End::Leaves, last);
            }
            FlowControl::Exception | FlowControl::Interrupt => {}
            _ => {
                let last = self.add(Step::Run(i, false), before);
                self.go(i.next_ip(), Some(last));
            }
        }
    }

    fn call(&mut self, i: Instruction, before: Option<usize>) {
        let next = i.next_ip();
        let target = target(self.code, &i);
        if let Some(hook) = target.and_then(|target| self.code.hook(target)) {
            let last = self.add(Step::Hook(hook, next - 1), before);
            return self.end(End::At(next), last);
        }
        let callee = target.filter(|_| !leaves_module(self.code, &i)).map_or_else(Vec::new, |at| self.unhooked(at));
        let last = self.add(Step::Call(i, callee), before);
        if next == self.call {
            self.end(End::At(next), last);
        }
        self.go(next, Some(last));
    }

    /// What a function without hooks of its own does: nobody else accounts for it.
    fn unhooked(&self, function: u64) -> Vec<Step> {
        if self.calls == 0 {
            return Vec::new();
        }
        let paths = search(self.code, function, 0, self.calls - 1);
        let hooked = paths.iter().any(|path| matches!(path.end, End::At(_)));
        let whole = paths.into_iter().find(|path| path.end == End::Leaves && !hooked);
        whole.map_or_else(Vec::new, |path| path.steps)
    }

    /// A jump to a hook is `func_exit` and return in one; one to another module a call and return in one.
    fn jump(&mut self, i: Instruction, before: Option<usize>) {
        let Some(target) = target(self.code, &i) else { return };
        if let Some(hook) = self.code.hook(target) {
            let last = self.add(Step::Hook(hook, i.next_ip() - 1), before);
            return self.end(End::Leaves, last);
        }
        let last = self.add(Step::Run(i, true), before);
        if leaves_module(self.code, &i) {
            return self.end(End::Leaves, last);
        }
        self.go(target, Some(last));
    }

    fn steps(&self, last: usize) -> Vec<Step> {
        let nodes = core::iter::successors(Some(last), |&at| self.nodes[at].before);
        let mut steps: Vec<Step> = nodes.map(|at| self.nodes[at].step.clone()).collect();
        steps.reverse();
        steps
    }
}
