// SPDX-License-Identifier: MIT OR Apache-2.0
//! Following the code from the head of a block to the head of the next.
use crate::target::{decode, leaves_module, target};
use crate::{Code, Hook, inline};
use alloc::vec::Vec;
use iced_x86::{FlowControl, Instruction, Mnemonic};

/// A block without hooks inside it cannot be trusted to end: bounds what is followed.
const MOST_STEPS: usize = 512;
/// Instructions of a called function looked at for the head of its first block.
const MOST_PROLOGUE: usize = 64;

/// A thing that happens on a path.
#[derive(Clone, Debug)]
pub enum Step {
    /// An instruction, and whether it is a branch that was taken.
    Run(Instruction, bool),
    /// An instruction of inline assembly that the model accounts for.
    Announced(Instruction),
    /// A hook, and the address of the last byte of its call or of the code in its place.
    Hook(Hook, u64),
    /// An ordinary call; the steps are those of the callee before its first block.
    Call(Instruction, Vec<Step>),
    /// An instruction ahead of the loop: of it counts only what its register holds.
    Before(Instruction),
}

impl Step {
    /// Whether the code goes on elsewhere.
    pub fn is_taken(&self) -> bool {
        match self {
            Step::Run(i, taken) => *taken && !i.is_jmp_short_or_near(),
            Step::Call(..) => true,
            Step::Announced(_) | Step::Hook(..) | Step::Before(_) => false,
        }
    }

    pub fn pauses(&self) -> u32 {
        match self {
            Step::Run(instruction, _) => u32::from(instruction.mnemonic() == Mnemonic::Pause),
            Step::Call(_, steps) => steps.iter().map(Step::pauses).sum(),
            Step::Announced(_) | Step::Hook(..) | Step::Before(_) => 0,
        }
    }

    pub fn ip(&self) -> u64 {
        match self {
            Step::Run(i, _) | Step::Announced(i) | Step::Call(i, _) | Step::Before(i) => i.ip(),
            Step::Hook(_, ip) => *ip,
        }
    }
}

/// A conditional branch whose other side was followed.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Steps up to and including the branch.
    pub steps: usize,
    pub address: u64,
    /// Whether going to `address` takes the branch.
    pub taken: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Walk {
    pub steps: Vec<Step>,
    pub exits: Vec<Exit>,
    /// The return address that names the next block, when the walk ends at one.
    pub next: Option<u64>,
    /// The instruction that comes is announced.
    announced: bool,
    /// The locked instruction that comes is.
    locked_announced: bool,
}

/// Walks from `start` to the next block, return or indirect jump. Of a conditional branch it takes the
/// side that loops make likely: backward branches are taken, forward ones are not.
pub fn walk(code: &impl Code, start: u64) -> Walk {
    let mut walk = Walk::default();
    let mut at = Some(start);
    while let Some(address) = at
        && walk.steps.len() < MOST_STEPS
        && let Some(unit) = unit(code, address)
    {
        at = walk.step(code, unit);
    }
    walk
}

/// What is decoded as one.
pub enum Unit {
    Instruction(Instruction),
    /// A hook in the code itself, and the address behind it.
    Inline(Hook, u64),
}

pub fn unit(code: &impl Code, address: u64) -> Option<Unit> {
    match inline::recognise(code.bytes(address, inline::LONGEST)) {
        Some((hook, length)) => Some(Unit::Inline(hook, address + length as u64)),
        None => decode(code, address).map(Unit::Instruction),
    }
}

impl Walk {
    /// Appends one unit and says where to go on.
    fn step(&mut self, code: &impl Code, unit: Unit) -> Option<u64> {
        match unit {
            Unit::Inline(Hook::Beside, next) => Some(next),
            Unit::Inline(Hook::Ahead, next) => {
                self.announced = true;
                Some(next)
            }
            // Registers keep what the block has computed, unlike those at the head of a basic block.
            Unit::Inline(Hook::Head, next) => {
                self.next = Some(next);
                None
            }
            Unit::Inline(hook, next) => self.hook(hook, next),
            Unit::Instruction(instruction) => self.instruction(code, instruction),
        }
    }

    fn instruction(&mut self, code: &impl Code, instruction: Instruction) -> Option<u64> {
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => self.call(code, instruction),
            FlowControl::ConditionalBranch => Some(self.branch(instruction)),
            FlowControl::UnconditionalBranch => self.jump(code, instruction),
            FlowControl::Return | FlowControl::IndirectBranch => self.run(instruction, true, None),
            FlowControl::Exception | FlowControl::Interrupt => None,
            _ => self.run(instruction, false, Some(instruction.next_ip())),
        }
    }

    fn run(&mut self, instruction: Instruction, taken: bool, next: Option<u64>) -> Option<u64> {
        let locked = instruction.has_lock_prefix() && core::mem::take(&mut self.locked_announced);
        self.steps.push(match core::mem::take(&mut self.announced) || locked {
            true => Step::Announced(instruction),
            false => Step::Run(instruction, taken),
        });
        next
    }

    fn call(&mut self, code: &impl Code, instruction: Instruction) -> Option<u64> {
        let next = instruction.next_ip();
        if instruction.mnemonic() == Mnemonic::Syscall {
            return self.run(instruction, false, Some(next));
        }
        let target = target(code, &instruction);
        if let Some(hook) = target.and_then(|target| code.hook(target)) {
            return self.hook(hook, next);
        }
        let prologue = prologue(code, target).unwrap_or_default();
        self.steps.push(Step::Call(instruction, prologue));
        Some(next)
    }

    /// A hook that returns to `next`: that of a block ends the walk.
    fn hook(&mut self, mut hook: Hook, next: u64) -> Option<u64> {
        if hook == Hook::AheadOfLocked {
            (self.locked_announced, hook) = (true, Hook::Access);
        }
        self.steps.push(Step::Hook(hook, next - 1));
        if hook == Hook::Block {
            self.next = Some(next);
            return None;
        }
        Some(next)
    }

    /// A branch back into this very walk is an unhooked loop inside the block: left after one round.
    fn branch(&mut self, instruction: Instruction) -> u64 {
        let (target, next) = (instruction.near_branch_target(), instruction.next_ip());
        let taken = target < instruction.ip() && !self.visited(target);
        self.steps.push(Step::Run(instruction, taken));
        let address = if taken { next } else { target };
        self.exits.push(Exit { steps: self.steps.len(), address, taken: !taken });
        if taken { target } else { next }
    }

    /// A jump to a hook is a hooked tail call, `func_exit` and return in one. One to another module is a call.
    fn jump(&mut self, code: &impl Code, instruction: Instruction) -> Option<u64> {
        let target = target(code, &instruction)?;
        if let Some(hook) = code.hook(target) {
            self.steps.push(Step::Hook(hook, instruction.next_ip() - 1));
            return None;
        }
        self.run(instruction, true, None);
        (!leaves_module(code, &instruction) && !self.visited(target)).then_some(target)
    }

    fn visited(&self, address: u64) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Run(i, _) if i.ip() == address))
    }
}

/// What a called function does before its first block, which no hook of its own stands for. None when
/// it has no blocks: not instrumented, or not to be found from here.
fn prologue(code: &impl Code, target: Option<u64>) -> Option<Vec<Step>> {
    let mut walk = Walk::default();
    let mut at = target?;
    while walk.next.is_none() && walk.steps.len() < MOST_PROLOGUE {
        let unit = unit(code, at)?;
        if let Unit::Instruction(instruction) = &unit {
            match instruction.flow_control() {
                FlowControl::Next => {}
                FlowControl::Call | FlowControl::IndirectCall => {
                    code.hook(crate::target::target(code, instruction)?)?;
                }
                _ => return None,
            }
        }
        at = walk.step(code, unit).unwrap_or_default();
    }
    walk.next.map(|_| walk.steps)
}

/// The steps of instructions executed one after another.
pub fn follow(code: &impl Code, addresses: &[u64]) -> Vec<Step> {
    let next = addresses.iter().skip(1).copied().map(Some).chain([None]);
    addresses
        .iter()
        .zip(next)
        .filter_map(|(&address, next)| {
            let instruction = decode(code, address)?;
            let branches = instruction.flow_control() != FlowControl::Next;
            let taken = branches && next.is_some_and(|next| next != instruction.next_ip());
            Some(Step::Run(instruction, taken))
        })
        .collect()
}
