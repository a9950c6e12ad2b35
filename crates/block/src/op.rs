// SPDX-License-Identifier: MIT OR Apache-2.0
//! One instruction as the pipeline sees it: what it waits for, what it gives, what it takes.
use crate::instruction::{
    access, address_registers, is_plain_move, is_transfer, is_zeroing, moves_stack, op_reads, partial, step, unissued,
};
use crate::latency::{Timing, timing, unlocked};
use crate::set::{FLAGS, Place, Set, place};
use crate::values::{Address, Value, Values};
use crate::{Core, Hook};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register, RflagsBits};

/// Time is kept in fractions of a cycle that the usual widths divide.
pub const TICKS: u64 = 240;

#[derive(Clone, Debug)]
pub struct Op {
    pub instruction: Instruction,
    pub kind: Kind,
    pub reads: Set,
    /// Registers that make the address of a load or store: a load needs them before the other operands.
    pub address: Set,
    pub writes: Set,
    pub load: Option<Address>,
    pub store: Option<Address>,
    pub timing: Timing,
    /// Registers that hand a value to a hook: the operation it stands for waits for them.
    pub handed: Set,
    /// A locked operation or a full fence: waits for all before it. Loads after it do not wait, as cores carry them
    /// out early and look again only if another CPU wrote meanwhile.
    pub orders: bool,
    /// The word of a locked operation.
    pub locked: Option<Address>,
    /// Cycles of its latency that the model adds.
    pub modelled: u32,
    pub instructions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Left out when nothing reads its result.
    Pure,
    /// A copy between registers and spill slots: free, and left out when nothing reads it.
    Copy,
    /// Stores, and whatever else matters though no register shows it.
    Effect,
    Branch {
        taken: bool,
    },
    Call,
    Hook(Hook),
}

pub struct Builder<'a> {
    pub values: Values,
    info: InstructionInfoFactory,
    core: &'a Core,
}

impl<'a> Builder<'a> {
    pub fn new(core: &'a Core) -> Builder<'a> {
        Builder { values: Values::new(), info: InstructionInfoFactory::new(), core }
    }

    /// The hook of the step at `ip`.
    pub fn hook(&mut self, hook: Hook, ip: u64) -> Op {
        if hook == Hook::Access {
            self.values.hook_access();
        }
        let atomic = hook.is_instruction() && !(hook == Hook::Fence && self.is_weak());
        let place = self.values.pointed(Register::RDI);
        let moves = matches!(hook, Hook::AtomicLoad | Hook::AtomicStore);
        let timing = Timing { latency: u16::from(!moves), slots: u16::from(atomic), ..Timing::FREE };
        let mut call = Instruction::default();
        call.set_ip(ip);
        let mut op = self.called(call, Kind::Hook(hook), Set::EMPTY, timing, u32::from(atomic));
        match hook {
            _ if hook.is_update() => {
                op.locked = place;
                place.into_iter().for_each(|written| self.values.store(written));
                self.order(&mut op, self.core.rmw);
            }
            Hook::Fence if atomic => self.order(&mut op, self.core.rmw),
            Hook::AtomicLoad => (op.load, op.address) = (place, Set::ADDRESS),
            Hook::AtomicStore => {
                (op.store, op.handed) = (place, Set::VALUE);
                place.into_iter().for_each(|written| self.values.store(written));
            }
            _ => {}
        }
        op
    }

    /// Whether the fence that is asked for takes no instruction.
    fn is_weak(&self) -> bool {
        const SEQ_CST: u64 = 5;
        self.values.number(Register::RDI).is_some_and(|order| order != SEQ_CST)
    }

    /// What the model adds so many cycles of latency of.
    fn order(&self, op: &mut Op, modelled: u32) {
        op.orders = true;
        op.modelled = modelled;
        op.timing.latency = 0;
    }

    /// An ordinary call, and what its callee does before its first block.
    pub fn call(&mut self, call: Instruction, prologue_slots: u16, prologue_instructions: u32) -> Op {
        let timing = Timing { latency: 1, slots: 1 + prologue_slots, ..Timing::FREE };
        self.values.forget_loads();
        self.called(call, Kind::Call, Set::ARGUMENTS, timing, 1 + prologue_instructions)
    }

    fn called(&mut self, instruction: Instruction, kind: Kind, reads: Set, timing: Timing, instructions: u32) -> Op {
        self.values.forget(Set::CALLER_SAVED);
        let writes = Set::CALLER_SAVED;
        Op {
            instruction,
            kind,
            reads,
            address: Set::EMPTY,
            writes,
            load: None,
            store: None,
            timing,
            handed: Set::EMPTY,
            orders: false,
            locked: None,
            modelled: 0,
            instructions,
        }
    }

    pub fn run(&mut self, instruction: Instruction, taken: bool) -> Op {
        let mut op = self.operands(&instruction);
        self.stack(&mut op);
        op.kind = kind(&op, taken);
        if op.orders {
            // Its figure is that of all it does.
            op.locked = op.store.take();
            op.load = None;
        }
        self.values_after(&op);
        if op.kind == Kind::Copy || unissued(&instruction) {
            op.timing = Timing::FREE;
            op.instructions = 0;
        }
        op
    }

    /// An instruction ahead of all these, which takes no part of their time.
    pub fn before(&mut self, instruction: Instruction) -> Op {
        let op = self.run(instruction, false);
        Op { reads: Set::EMPTY, writes: Set::EMPTY, timing: Timing::FREE, instructions: 0, ..op }
    }

    /// An instruction whose wait for memory the model adds: a locked one counts as the call of a hook does. So does the hook with
    /// what a string operation moves.
    pub fn announced(&mut self, instruction: Instruction) -> Op {
        let mut op = self.run(instruction, false);
        if op.timing.serial > 0 {
            op.timing = timing(&instruction, self.core, None);
        }
        if let Some(timing) = unlocked(&instruction) {
            op.timing = timing;
            let fence = instruction.mnemonic() == Mnemonic::Mfence;
            self.order(&mut op, if fence { self.core.fence } else { self.core.rmw });
        }
        op
    }

    fn operands(&mut self, instruction: &Instruction) -> Op {
        let timing = timing(instruction, self.core, self.values.number(Register::RCX));
        let mut op = Op {
            instruction: *instruction,
            kind: Kind::Pure,
            reads: Set::EMPTY,
            address: Set::EMPTY,
            writes: Set::EMPTY,
            load: None,
            store: None,
            timing,
            handed: Set::EMPTY,
            orders: unlocked(instruction).is_some(),
            locked: None,
            modelled: 0,
            instructions: 1,
        };
        self.registers(&mut op);
        self.memory(&mut op);
        flags(&mut op);
        op
    }

    fn registers(&mut self, op: &mut Op) {
        let addresses = address_registers(&op.instruction);
        let info = self.info.info(&op.instruction);
        for used in info.used_registers() {
            let Some(place) = place(used.register()) else {
                continue;
            };
            let (mut reads, writes) = access(used.access());
            reads |= writes && partial(used.register());
            if reads && (!addresses.contains(place) || op_reads(info, &op.instruction, place)) {
                op.reads.insert(place);
            }
            if writes {
                op.writes.insert(place);
            }
        }
        if is_zeroing(&op.instruction) {
            op.reads = Set::EMPTY;
        }
    }

    /// The memory operand, as an address or, when it is a spill slot, as one more register.
    fn memory(&mut self, op: &mut Op) {
        let Some(operand) = op.instruction.op_kinds().position(|kind| kind == OpKind::Memory) else {
            return;
        };
        let (reads, writes) = access(self.info.info(&op.instruction).op_access(operand as u32));
        let addresses = address_registers(&op.instruction);
        if !reads && !writes {
            op.reads = op.reads.union(addresses); // lea and prefetches compute with them
            return;
        }
        let address = self.values.address(&op.instruction);
        let frame = op.instruction.memory_base() == Register::RSP; // a frame pointer is only known in some blocks
        if let Some(slot) = self.values.slot(address).filter(|_| frame) {
            let touched = |does: bool| if does { Set::one(slot) } else { Set::EMPTY };
            op.reads = op.reads.union(touched(reads));
            op.writes = op.writes.union(touched(writes));
            return;
        }
        op.load = reads.then_some(address);
        op.store = writes.then_some(address);
        op.address = addresses;
        op.timing.slots += u16::from(reads && writes);
        if is_transfer(&op.instruction) {
            op.timing.latency = 0;
        }
    }

    /// push and pop are copies between a register and the slot at the top of the stack.
    fn stack(&mut self, op: &mut Op) {
        let rsp = Set::one(4);
        match op.instruction.mnemonic() {
            Mnemonic::Push => {
                self.values.move_stack(-8);
                op.writes = self.values.top().map_or(Set::EMPTY, Set::one).union(rsp);
            }
            Mnemonic::Pop => {
                op.reads = self.values.top().map_or(Set::EMPTY, Set::one);
                self.values.move_stack(8);
            }
            Mnemonic::Call => self.values.move_stack(-8),
            Mnemonic::Ret => self.values.move_stack(8),
            _ => return,
        }
        op.reads = op.reads.without(rsp);
        op.writes = op.writes.without(rsp);
    }

    fn values_after(&mut self, op: &Op) {
        let known = self.known_result(op).or_else(|| self.loaded(op)).or_else(|| self.computed(op));
        op.store.or(op.locked).into_iter().for_each(|written| self.values.store(written));
        self.values.forget(if moves_stack(&op.instruction) { op.writes.without(Set::one(4)) } else { op.writes });
        if let Some((place, value)) = known {
            self.values.set(place, value);
        }
    }

    /// The place that a load of a word fills, and what with. (Other extensions of narrower words are not told apart.)
    fn loaded(&mut self, op: &Op) -> Option<(Place, Value)> {
        let address = op
            .load
            .filter(|_| op.instruction.mnemonic() == Mnemonic::Mov && !partial(op.instruction.op0_register()))?;
        Some((place(op.instruction.op0_register())?, self.values.load(address)))
    }

    /// The place that an operation on registers and a constant fills, and what with.
    fn computed(&mut self, op: &Op) -> Option<(Place, Value)> {
        let i = &op.instruction;
        let pure = op.kind == Kind::Pure && op.load.is_none() && !op.reads.contains(FLAGS);
        if !pure || i.op0_kind() != OpKind::Register || partial(i.op0_register()) || i.op_count() > 2 {
            return None;
        }
        let held = |register| self.values.of(register).unwrap_or(Value::absolute(0));
        let (of, constant) = match i.op1_kind() {
            _ if i.mnemonic() == Mnemonic::Lea => {
                let scaled = i.memory_displacement64() << 4 | u64::from(i.memory_index_scale());
                ([held(i.memory_base()), held(i.memory_index())], scaled)
            }
            OpKind::Register => ([held(i.op0_register()), held(i.op1_register())], 0),
            _ => ([held(i.op0_register()), Value::absolute(0)], i.try_immediate(1).ok()?),
        };
        Some((place(i.op0_register())?, self.values.compute(i.mnemonic(), constant, of)))
    }

    /// The place an instruction gives a value that can be told: a copy, or a sum with a constant.
    fn known_result(&self, op: &Op) -> Option<(Place, Value)> {
        let only = |set: Set| set.iter().next();
        let i = &op.instruction;
        match i.mnemonic() {
            _ if op.kind == Kind::Copy => Some((only(op.writes)?, self.values.at(only(op.reads)?))),
            Mnemonic::Mov if i.op0_kind() == OpKind::Register && !partial(i.op0_register()) => {
                Some((place(i.op0_register())?, Value::absolute(i.try_immediate(1).ok()?)))
            }
            _ if is_zeroing(i) && !partial(i.op0_register()) => Some((place(i.op0_register())?, Value::absolute(0))),
            Mnemonic::Lea if i.is_ip_rel_memory_operand() => {
                Some((place(i.op0_register())?, Value::absolute(i.ip_rel_memory_address())))
            }
            Mnemonic::Lea if i.memory_index() == Register::None => Some((
                place(i.op0_register())?,
                self.values.of(i.memory_base())?.plus(i.memory_displacement64() as i64),
            )),
            _ => {
                let register = place(i.op0_register())?;
                Some((register, self.values.at(register).plus(step(i)?)))
            }
        }
    }
}

fn kind(op: &Op, taken: bool) -> Kind {
    let i = &op.instruction;
    match i.flow_control() {
        FlowControl::Next if is_copy(op) => Kind::Copy,
        FlowControl::Next if op.store.is_some() || op.timing.serial > 0 || op.writes.is_empty() => Kind::Effect,
        FlowControl::Next => Kind::Pure,
        FlowControl::Call | FlowControl::IndirectCall => Kind::Effect,
        _ => Kind::Branch { taken },
    }
}

/// Copies are done by renaming registers; a spill slot stands for the register that it saves.
fn is_copy(op: &Op) -> bool {
    let stack = matches!(op.instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop);
    let constant = op.reads.is_empty();
    stack || (is_plain_move(&op.instruction) && op.load.is_none() && op.store.is_none() && !constant)
}

fn flags(op: &mut Op) {
    let i = &op.instruction;
    let arithmetic =
        RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;
    if i.rflags_read() & arithmetic != 0 {
        op.reads.insert(FLAGS);
    }
    if i.rflags_modified() & arithmetic != 0 {
        op.writes.insert(FLAGS);
    }
}

impl Op {
    /// Whether the code goes on elsewhere. Not that it jumps there always: mostly such a jump only leads to the end of
    /// a loop, and compilers repeat that in its place where no hooks make it long.
    pub fn is_taken(&self) -> bool {
        let calls = matches!(self.instruction.mnemonic(), Mnemonic::Call);
        let jumps = self.instruction.is_jmp_short_or_near();
        calls || matches!(self.kind, Kind::Call | Kind::Branch { taken: true } if !jumps)
    }

    /// Takes no time to issue, and is no instruction of the program.
    pub fn leave_out(&mut self) {
        self.timing.slots = 0;
        self.instructions = 0;
    }
}
