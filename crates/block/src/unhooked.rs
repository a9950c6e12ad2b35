// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the program reaches code without hooks, or a fence that has none.
use crate::Code;
use crate::target::{leaves_module, target};
use crate::walk::{Step, Walk, walk};
use alloc::vec::Vec;
use iced_x86::{FlowControl, Mnemonic};

/// Sides of branches that are followed, at most.
const MOST_PATHS: usize = 16;

/// How a block may call code without hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unhooked {
    Never,
    /// By one call whose target is not known before; it returns here.
    ByPointer(u64),
    Surely,
}

/// Whether the block whose hook returns to `head` calls code without hooks, which may store anywhere. `is_known`: of
/// functions that are no such code.
pub fn calls_unhooked(code: &impl Code, head: u64, is_known: impl Fn(u64) -> bool) -> bool {
    walk(code, head).steps.iter().any(|step| of_step(code, step, &is_known, true) != Unhooked::Never)
}

/// The same of every path from there to the next blocks, and how; calls by pointers count if `pointers`. `before` gets the
/// return addresses of the hooks that come before such a call.
pub fn unhooked_calls(
    code: &impl Code,
    head: u64,
    is_known: impl Fn(u64) -> bool,
    pointers: bool,
    before: &mut Vec<u64>,
) -> Unhooked {
    let mut found = Unhooked::Never;
    each_path(code, head, |path| {
        let calls: Vec<Unhooked> = path.steps.iter().map(|step| of_step(code, step, &is_known, pointers)).collect();
        if let Some(last) = calls.iter().rposition(|call| *call != Unhooked::Never) {
            let hook = |step: &Step| if let Step::Hook(_, last_byte) = step { Some(last_byte + 1) } else { None };
            before.extend(path.steps[..last].iter().filter_map(hook));
            found = calls.into_iter().fold(found, Unhooked::or);
        }
        false
    });
    found
}

/// Whether a function that goes on at `pc` comes by a hook.
pub fn comes_by_a_hook(code: &impl Code, pc: u64) -> bool {
    let mut found = false;
    each_path(code, pc, |path| {
        found |= path.next.is_some() || path.steps.iter().any(|step| matches!(step, Step::Hook(..)));
        found
    });
    found
}

/// Follows the code from `start`, and from the other sides of its branches, until `visit` has seen enough. What comes
/// before a branch is part of either path.
fn each_path(code: &impl Code, start: u64, mut visit: impl FnMut(&Walk) -> bool) {
    let mut paths = alloc::vec![(start, Vec::new())];
    let mut at = 0;
    while at < paths.len() && at < MOST_PATHS {
        let mut path = walk(code, paths[at].0);
        let before = core::mem::take(&mut paths[at].1);
        for exit in &path.exits {
            if !paths.iter().any(|(begin, _)| *begin == exit.address) {
                paths.push((exit.address, [&before[..], &path.steps[..exit.steps]].concat()));
            }
        }
        path.steps.splice(0..0, before);
        if visit(&path) {
            return;
        }
        at += 1;
    }
}

fn of_step(code: &impl Code, step: &Step, is_known: &impl Fn(u64) -> bool, pointers: bool) -> Unhooked {
    match step {
        Step::Call(call, prologue) if prologue.is_empty() => match target(code, call) {
            Some(target) if is_known(target) => Unhooked::Never,
            Some(_) => Unhooked::Surely,
            None if pointers => Unhooked::ByPointer(call.next_ip()),
            None => Unhooked::Never,
        },
        Step::Run(jump, true)
            if jump.flow_control() == FlowControl::UnconditionalBranch
                && leaves_module(code, jump)
                && !target(code, jump).is_some_and(is_known) =>
        {
            Unhooked::Surely
        }
        // An intrinsic of a compiler whose assembly nobody has read, as rustc's.
        Step::Run(fence, _) if fence.mnemonic() == Mnemonic::Mfence => Unhooked::Surely,
        _ => Unhooked::Never,
    }
}

impl Unhooked {
    /// Of two calls by pointers, nothing tells which has left.
    fn or(self, other: Unhooked) -> Unhooked {
        match (self, other) {
            (Unhooked::Never, other) => other,
            (this, Unhooked::Never) => this,
            (this, other) if this == other => this,
            _ => Unhooked::Surely,
        }
    }
}
