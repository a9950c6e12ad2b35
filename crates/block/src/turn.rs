// SPDX-License-Identifier: MIT OR Apache-2.0
//! One turn of a spin: the code from where a look at memory returns to the next look from the same place. Executed in
//! registers alone, it tells whether the loop goes on with the value that was found, and which registers it counts in.
use crate::instruction::step;
use crate::target::target;
use crate::walk::{Unit, unit};
use crate::{Code, Hook};
use alloc::vec::Vec;
use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Instructions of a turn, at most.
const MOST: usize = 48;

/// What a call leaves as it was: rbx, rbp, r12 to r15, rsp.
pub type Saved = [u64; 7];
/// Their numbers.
const SAVED: [usize; 7] = [3, 5, 12, 13, 14, 15, 4];
const RAX: usize = 0;
const RDI: usize = 7;

/// A look at memory: the hook of a load, which returned to `pc`, found `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub pc: u64,
    pub address: u64,
    pub size: u8,
    pub value: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Run(Instruction),
    /// A conditional branch, and whether it was taken.
    Branch(Instruction, bool),
    /// The hook of a block, which a call's registers do not outlive.
    Block,
}

/// The path that a turn takes.
#[derive(Clone, Debug)]
pub struct Turn {
    steps: Vec<Step>,
    /// The blocks on it, by the return addresses that name them.
    blocks: Vec<u64>,
    /// Of [`Saved`], those that it counts in, and how many bytes of them.
    counters: [Option<u8>; 7],
}

/// What each turn of a loop does in the registers of [`Saved`] for as long as it finds the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// What it adds to each, and how many bytes of that it counts in; or what it sets it to.
    changes: [(u64, Option<u8>); 7],
    /// It has read memory that has no hook, beside.
    reads: bool,
}

impl Spin {
    /// The registers after so many turns, at least one, from these on.
    pub fn after(&self, from: &Saved, turns: u64) -> Saved {
        let change = |i: usize| match self.changes[i] {
            (by, Some(bytes)) => mask(from[i].wrapping_add(by.wrapping_mul(turns)), bytes),
            (value, None) => value,
        };
        core::array::from_fn(change)
    }

    /// Is it known to go on so from these registers, too?
    pub fn holds_from(&self, from: &Saved) -> bool {
        !self.reads && self.changes.iter().zip(from).all(|((value, counts), from)| counts.is_some() || value == from)
    }
}

impl Turn {
    /// The path that the loop takes after this look; `None` if it does not come back to it, or by what is not followed: stores,
    /// calls, other looks. `read` gets memory that has no hook: what is kept on the stack, or constant.
    pub fn find(code: &impl Code, look: &Look, from: &Saved, read: impl Fn(u64, u8) -> u64) -> Option<Turn> {
        let mut turn = Turn { steps: Vec::new(), blocks: Vec::new(), counters: [None; 7] };
        let mut state = State::new(look, from);
        let mut at = look.pc;
        while turn.steps.len() < MOST {
            at = match unit(code, at)? {
                Unit::Inline(Hook::Access, next) if next == look.pc => return turn.closed(look, from, &read),
                Unit::Inline(Hook::Block, next) => turn.enters(next, &mut state),
                Unit::Inline(..) => return None,
                Unit::Instruction(i) => match i.flow_control() {
                    FlowControl::Call | FlowControl::IndirectCall => match code.hook(target(code, &i)?)? {
                        Hook::AtomicLoad | Hook::Access if i.next_ip() == look.pc => {
                            return turn.closed(look, from, &read);
                        }
                        Hook::Block => turn.enters(i.next_ip(), &mut state),
                        _ => return None,
                    },
                    FlowControl::ConditionalBranch => {
                        let taken = state.holds(i.condition_code())?;
                        turn.steps.push(Step::Branch(i, taken));
                        if taken { i.near_branch_target() } else { i.next_ip() }
                    }
                    FlowControl::UnconditionalBranch if i.op0_kind() == OpKind::NearBranch64 => i.near_branch_target(),
                    FlowControl::Next => {
                        state.run(&i, look, &read)?;
                        turn.steps.push(Step::Run(i));
                        i.next_ip()
                    }
                    _ => return None,
                },
            };
        }
        None
    }

    /// The hook of a block, which returns to `pc`.
    fn enters(&mut self, pc: u64, state: &mut State) -> u64 {
        self.steps.push(Step::Block);
        self.blocks.push(pc);
        state.call();
        pc
    }

    /// The path has come back to its look: which registers does it count in?
    fn closed(mut self, look: &Look, from: &Saved, read: &impl Fn(u64, u8) -> u64) -> Option<Turn> {
        let first = self.run(look, from, read)?;
        let second = self.run(look, &first, read)?;
        for i in (0..SAVED.len()).filter(|i| first[*i] != second[*i]) {
            self.counters[i] = Some(self.counts_in(SAVED[i])?);
        }
        Some(self)
    }

    /// How many bytes of a register the path counts in, if it does nothing else with it, nor with the flags that tell of it.
    fn counts_in(&self, register: usize) -> Option<u8> {
        let (mut width, mut in_flags) = (None, false);
        for step in &self.steps {
            let Step::Run(i) = step else {
                if in_flags && matches!(step, Step::Branch(..)) {
                    return None;
                }
                continue;
            };
            if in_flags && i.rflags_read() != 0 {
                return None;
            }
            in_flags &= i.rflags_modified() == 0;
            if !names(i, register) {
                continue;
            }
            let counts = counts(i)? as u8;
            if *width.get_or_insert(counts) != counts {
                return None;
            }
            in_flags |= i.rflags_modified() != 0;
        }
        width
    }

    /// The blocks that a turn enters, by the return addresses that name them.
    pub fn blocks(&self) -> &[u64] {
        &self.blocks
    }

    /// Does the loop go on for as long as it finds this value?
    pub fn spins(&self, look: &Look, from: &Saved, read: impl Fn(u64, u8) -> u64) -> Option<Spin> {
        let first = self.run(look, from, &read)?;
        let second = self.run(look, &first, &read)?;
        let change = |i: usize| match self.counters[i] {
            Some(bytes) => (first[i].wrapping_sub(from[i]), Some(bytes)),
            None => (first[i], None),
        };
        let reads = self.steps.iter().any(|step| matches!(step, Step::Run(i) if reads_memory(i)));
        let spin = Spin { changes: core::array::from_fn(change), reads };
        (spin.after(from, 2) == second).then_some(spin)
    }

    /// The registers at the next look, if the path is taken.
    fn run(&self, look: &Look, from: &Saved, read: &impl Fn(u64, u8) -> u64) -> Option<Saved> {
        let mut state = State::new(look, from);
        for step in &self.steps {
            match step {
                Step::Run(i) => state.run(i, look, read)?,
                Step::Branch(i, taken) if state.holds(i.condition_code())? != *taken => return None,
                Step::Branch(..) => {}
                Step::Block => state.call(),
            }
        }
        let saved = state.saved()?;
        (state.registers[RDI] == Some(look.address) && saved[6] == from[6]).then_some(saved)
    }
}

/// Does an instruction name a register, in whatever width?
fn names(i: &Instruction, register: usize) -> bool {
    let is = |r: Register| r.is_gpr() && r.full_register().number() == register;
    let operand = |at: u32| i.op_kind(at) == OpKind::Register && is(i.op_register(at));
    (0..i.op_count()).any(operand) || is(i.memory_base()) || is(i.memory_index())
}

/// How many bytes of its register an instruction adds a constant to, and does nothing else.
fn counts(i: &Instruction) -> Option<usize> {
    let to = i.op0_register();
    let adds_address = i.mnemonic() == Mnemonic::Lea
        && i.memory_base().full_register() == to.full_register()
        && i.memory_index() == Register::None;
    (step(i).is_some() || adds_address).then(|| to.size()).filter(|size| *size >= 4)
}

fn reads_memory(i: &Instruction) -> bool {
    i.mnemonic() != Mnemonic::Lea && i.op_kinds().any(|kind| kind == OpKind::Memory)
}

fn mask(value: u64, bytes: u8) -> u64 {
    value & (u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8))))
}

fn sign(value: u64, bytes: u8) -> bool {
    value >> (8 * u32::from(bytes) - 1) & 1 != 0
}

#[derive(Clone, Copy)]
struct Flags {
    zero: bool,
    sign: bool,
    carry: Option<bool>,
    overflow: Option<bool>,
}

/// What is known of the registers, by their numbers, and of the flags.
struct State {
    registers: [Option<u64>; 16],
    flags: Option<Flags>,
}

impl State {
    /// After the look.
    fn new(look: &Look, from: &Saved) -> State {
        let mut state = State { registers: [None; 16], flags: None };
        SAVED.iter().zip(from).for_each(|(number, value)| state.registers[*number] = Some(*value));
        state.registers[RAX] = Some(mask(look.value, look.size));
        state
    }

    fn saved(&self) -> Option<Saved> {
        let mut saved = [0; 7];
        for (to, number) in saved.iter_mut().zip(SAVED) {
            *to = self.registers[number]?;
        }
        Some(saved)
    }

    /// A call has returned, of which nothing is known.
    fn call(&mut self) {
        (0..16).filter(|number| !SAVED.contains(number)).for_each(|number| self.registers[number] = None);
        self.flags = None;
    }

    fn holds(&self, condition: ConditionCode) -> Option<bool> {
        let Flags { zero, sign, carry, overflow } = self.flags?;
        Some(match condition {
            ConditionCode::e => zero,
            ConditionCode::ne => !zero,
            ConditionCode::s => sign,
            ConditionCode::ns => !sign,
            ConditionCode::b => carry?,
            ConditionCode::ae => !carry?,
            ConditionCode::be => carry? || zero,
            ConditionCode::a => !carry? && !zero,
            ConditionCode::l => sign != overflow?,
            ConditionCode::ge => sign == overflow?,
            ConditionCode::le => zero || sign != overflow?,
            ConditionCode::g => !zero && sign == overflow?,
            _ => return None,
        })
    }

    /// Executes what has no effect but in registers; `None` for all else.
    fn run(&mut self, i: &Instruction, look: &Look, read: &impl Fn(u64, u8) -> u64) -> Option<()> {
        use Mnemonic::*;
        if matches!(i.mnemonic(), Nop | Pause | Endbr64) {
            return Some(());
        }
        let bytes = operand_size(i, 0)?;
        let get = |at: u32| self.operand(i, at, look, read);
        let flags = |value: u64, carry, overflow| {
            Some(Flags { zero: mask(value, bytes) == 0, sign: sign(value, bytes), carry, overflow })
        };
        let (value, told) = match i.mnemonic() {
            Mov | Movzx => (get(1)?, self.flags),
            Movsx | Movsxd => {
                let from = 64 - 8 * u32::from(operand_size(i, 1)?);
                (((get(1)? << from) as i64 >> from) as u64, self.flags)
            }
            Lea => (self.address(i, 1)?, self.flags),
            Not => (!get(0)?, self.flags),
            And | Test => logic(get(0)? & get(1)?, flags),
            Or => logic(get(0)? | get(1)?, flags),
            // To zero, whatever it was.
            Xor if i.op1_kind() == OpKind::Register && i.op0_register() == i.op1_register() => logic(0, flags),
            Xor => logic(get(0)? ^ get(1)?, flags),
            Add | Inc => {
                let (a, b) = (get(0)?, if i.mnemonic() == Inc { 1 } else { mask(get(1)?, bytes) });
                let sum = mask(a.wrapping_add(b), bytes);
                let carry = if i.mnemonic() == Inc { None } else { Some(sum < a) };
                (sum, flags(sum, carry, Some(sign(!(a ^ b) & (a ^ sum), bytes))))
            }
            Sub | Cmp | Dec => {
                let (a, b) = (get(0)?, if i.mnemonic() == Dec { 1 } else { mask(get(1)?, bytes) });
                let rest = mask(a.wrapping_sub(b), bytes);
                let carry = if i.mnemonic() == Dec { None } else { Some(a < b) };
                (rest, flags(rest, carry, Some(sign((a ^ b) & (a ^ rest), bytes))))
            }
            Shl | Shr if i.op1_kind() == OpKind::Immediate8 && i.immediate8() > 0 => {
                let by = u32::from(i.immediate8()) % if bytes == 8 { 64 } else { 32 };
                let shifted = if i.mnemonic() == Shl { get(0)? << by } else { get(0)? >> by };
                (shifted, flags(shifted, None, None))
            }
            _ => return None,
        };
        if !matches!(i.mnemonic(), Cmp | Test) {
            if i.op0_kind() != OpKind::Register {
                return None;
            }
            self.set(i.op0_register(), mask(value, bytes))?;
        }
        self.flags = told;
        Some(())
    }

    fn operand(&self, i: &Instruction, at: u32, look: &Look, read: &impl Fn(u64, u8) -> u64) -> Option<u64> {
        match i.op_kind(at) {
            OpKind::Register => self.get(i.op_register(at)),
            OpKind::Memory => {
                let (address, size) = (self.address(i, at)?, operand_size(i, at)?);
                if (address, size) == (look.address, look.size) {
                    return Some(mask(look.value, size));
                }
                let apart = address + u64::from(size) <= look.address || look.address + u64::from(look.size) <= address;
                apart.then(|| mask(read(address, size), size))
            }
            _ => i.try_immediate(at).ok(),
        }
    }

    fn address(&self, i: &Instruction, at: u32) -> Option<u64> {
        i.virtual_address(at, 0, |register, _, _| match register {
            Register::DS | Register::SS | Register::ES | Register::CS => Some(0),
            register => self.get(register),
        })
    }

    fn get(&self, register: Register) -> Option<u64> {
        known(register)
            .then(|| self.registers[register.full_register().number()])?
            .map(|all| mask(all, register.size() as u8))
    }

    /// Parts of a register are merged with the rest, but for those of 4 bytes.
    fn set(&mut self, register: Register, value: u64) -> Option<()> {
        let slot = known(register).then(|| &mut self.registers[register.full_register().number()])?;
        let kept = match register.size() {
            4 | 8 => 0,
            size => slot.unwrap_or(0) & !mask(u64::MAX, size as u8),
        };
        *slot = Some(kept | value);
        Some(())
    }
}

fn logic(value: u64, flags: impl Fn(u64, Option<bool>, Option<bool>) -> Option<Flags>) -> (u64, Option<Flags>) {
    (value, flags(value, Some(false), Some(false)))
}

/// A general register, and not the second byte of one.
fn known(register: Register) -> bool {
    register.is_gpr() && !matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

fn operand_size(i: &Instruction, at: u32) -> Option<u8> {
    let size = match i.op_kind(at) {
        OpKind::Register => i.op_register(at).size(),
        OpKind::Memory => i.memory_size().size(),
        _ => return None,
    };
    (1..=8).contains(&size).then_some(size as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x1000;
    const HOOK: u64 = BASE + 0x80;
    /// rbx, rbp, r12 to r15, rsp; the loops look at r12.
    const FROM: Saved = [100, u32::MAX as u64, 0x5000, 7, 0, 0, 0x9000];

    /// A loop that calls the hook of a load first, and goes back there at its end; it is left for its last byte.
    struct Loop([u8; 256]);

    impl Code for Loop {
        fn bytes(&self, address: u64, len: usize) -> &[u8] {
            let at = (address.wrapping_sub(BASE) as usize).min(self.0.len());
            &self.0[at..(at + len).min(self.0.len())]
        }

        fn hook(&self, target: u64) -> Option<Hook> {
            (target == HOOK).then_some(Hook::AtomicLoad)
        }
    }

    /// `body` comes after the look; two bytes 0x74 or 0x75 and 0 stand for a branch that leaves the loop.
    fn around(body: &[u8]) -> Loop {
        let mut code = [0x90; 256];
        let call = (HOOK - BASE - 5) as u8;
        code[..5].copy_from_slice(&[0xe8, call, 0, 0, 0]);
        code[5..5 + body.len()].copy_from_slice(body);
        let mut end = 5 + body.len();
        for at in 5..end {
            if matches!(code[at], 0x74 | 0x75) && code[at + 1] == 0 {
                code[at + 1] = (0x40 - at - 2) as u8;
            }
        }
        // movq %r12, %rdi; jmp to the call.
        code[end..end + 3].copy_from_slice(&[0x4c, 0x89, 0xe7]);
        end += 5;
        code[end - 2..end].copy_from_slice(&[0xeb, (end as u8).wrapping_neg()]);
        code[0x40] = 0xc3;
        Loop(code)
    }

    fn look(value: u64) -> Look {
        Look { pc: BASE + 5, address: FROM[2], size: 4, value }
    }

    fn find(body: &[u8], value: u64) -> Option<Turn> {
        Turn::find(&around(body), &look(value), &FROM, |_, _| 0)
    }

    const TEST: [u8; 4] = [0x85, 0xc0, 0x74, 0]; // testl %eax, %eax; je out
    const COUNT: [u8; 4] = [0x48, 0x83, 0xc3, 0x03]; // addq $3, %rbx

    #[test]
    fn a_loop_goes_on_for_the_values_that_it_does_and_counts_its_turns() {
        let turn = find(&[TEST, COUNT].concat(), 1).expect("a spin");
        let spin = turn.spins(&look(9), &FROM, |_, _| 0).expect("it goes on for any value but 0");
        assert_eq!(spin.after(&FROM, 1000), [3100, FROM[1], FROM[2], FROM[3], 0, 0, FROM[6]]);
        assert!(turn.spins(&look(0), &FROM, |_, _| 0).is_none());
        assert!(spin.holds_from(&spin.after(&FROM, 5)), "whatever it has counted");
        assert!(find(&TEST, 0).is_none(), "left at once");
    }

    #[test]
    fn a_narrow_count_wraps_round() {
        let turn = find(&[&TEST[..], &[0xff, 0xc5]].concat(), 1).expect("incl %ebp"); // a count in 4 bytes
        let spin = turn.spins(&look(1), &FROM, |_, _| 0).expect("a spin");
        assert_eq!(spin.after(&FROM, 3)[1], 2);
    }

    /// What a thread waits for: cmpl %r13d, %eax.
    #[test]
    fn a_register_may_be_waited_for() {
        let turn = find(&[0x44, 0x39, 0xe8, 0x74, 0], 6).expect("a spin until 7");
        let spins = |value, from: &Saved| turn.spins(&look(value), from, |_, _| 0).is_some();
        assert!(spins(8, &FROM) && !spins(7, &FROM));
        let other = [FROM[0], FROM[1], FROM[2], 8, 0, 0, FROM[6]];
        assert!(spins(7, &other) && !spins(8, &other));
        assert!(!turn.spins(&look(6), &FROM, |_, _| 0).expect("a spin").holds_from(&other));
    }

    #[test]
    fn a_count_that_ends_the_loop_is_not_followed() {
        // addq $3, %rbx; je out: by its flags.
        assert!(find(&[&TEST[..], &COUNT, &[0x74, 0]].concat(), 1).is_none());
        // addq $3, %rbx; cmpq $50, %rbx; je out.
        assert!(find(&[&TEST[..], &COUNT, &[0x48, 0x83, 0xfb, 0x50, 0x74, 0]].concat(), 1).is_none());
        // The same of another register that is set to what was counted: movq %rbx, %rbp.
        assert!(find(&[&TEST[..], &COUNT, &[0x48, 0x89, 0xdd]].concat(), 1).is_none());
    }

    #[test]
    fn a_register_that_is_set_to_what_is_found_stays_that() {
        let turn = find(&[&TEST[..], &[0x89, 0xc5]].concat(), 3).expect("movl %eax, %ebp");
        let spin = turn.spins(&look(4), &FROM, |_, _| 0).expect("a spin");
        assert_eq!(spin.after(&FROM, 2)[1], 4);
    }

    #[test]
    fn what_is_kept_on_the_stack_is_read_each_time() {
        // cmpl 8(%rsp), %eax; je out.
        let turn = find(&[0x3b, 0x44, 0x24, 0x08, 0x74, 0], 1).expect("a spin");
        let spins = |kept| {
            turn.spins(&look(5), &FROM, move |address, size| {
                assert_eq!((address, size), (FROM[6] + 8, 4));
                kept
            })
        };
        assert!(spins(5).is_none());
        assert!(!spins(6).expect("a spin").holds_from(&FROM));
    }

    #[test]
    fn stores_calls_and_other_looks_are_not_followed() {
        assert!(find(&[&TEST[..], &[0x89, 0x44, 0x24, 0x08]].concat(), 1).is_none(), "movl %eax, 8(%rsp)");
        assert!(find(&[&TEST[..], &[0x0f, 0x31]].concat(), 1).is_none(), "rdtsc");
        assert!(find(&[&TEST[..], &[0x53]].concat(), 1).is_none(), "pushq %rbx");
        let elsewhere = [&TEST[..], &[0x49, 0x83, 0xc4, 0x08]].concat(); // addq $8, %r12
        assert!(find(&elsewhere, 1).is_none(), "it looks at the next word");
    }
}
