// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single blocks, as bytes.
#[path = "support/bytes.rs"]
mod bytes;

use bytes::{ACCESS, ATOMIC, BLOCK, Bytes, CORE, FENCE, START};
use corefold_block::{Awaiting, Bias, Code, Core, Hook, Place, cost, cost_at, cost_called, results};

trait Costs {
    /// Of the block that ends here: cycles and instructions.
    fn cost(self) -> (f64, u32);
}

impl Costs for Bytes {
    fn cost(self) -> (f64, u32) {
        let cost = cost(&self.call(BLOCK), START, &CORE);
        (cost.cycles(), cost.instructions)
    }
}

const ADD_RBX_1: &[u8] = &[0x48, 0x83, 0xc3, 0x01];
const MOV_RDI_RBX: &[u8] = &[0x48, 0x89, 0xdf];
const LEA_RDI_8_RBX: &[u8] = &[0x48, 0x8d, 0x7b, 0x08];
const LOAD_RAX_8_RBX: &[u8] = &[0x48, 0x8b, 0x43, 0x08];
const ADD_R12_RAX: &[u8] = &[0x49, 0x01, 0xc4];

#[test]
fn unreadable_code_costs_nothing() {
    assert_eq!(cost(&Bytes::new(), 0xdead_0000, &CORE).sixteenths, 0);
}

#[test]
fn a_block_ends_at_the_next() {
    let code = Bytes::new().then(ADD_RBX_1).call(BLOCK).then(ADD_RBX_1);
    assert_eq!(code.cost(), (0.25, 1));
}

#[test]
fn arguments_of_hooks_are_left_out() {
    let hooked = Bytes::new().then(LEA_RDI_8_RBX).call(ACCESS).then(LOAD_RAX_8_RBX).then(ADD_R12_RAX).cost();
    let plain = Bytes::new().then(LOAD_RAX_8_RBX).then(ADD_R12_RAX).cost();
    assert_eq!(hooked, plain);
    assert_eq!(plain, (0.5, 2));
}

#[test]
fn arguments_of_ordinary_calls_are_the_programs() {
    let code = || Bytes::new().then(LEA_RDI_8_RBX);
    assert_eq!(code().call(ACCESS).cost(), (0.0, 0));
    assert_eq!(code().call(0x9900).cost(), (0.5, 2));
}

#[test]
fn spills_are_free() {
    // mov [rsp+8], rax; call hook; add rbx, [rsp+8]
    let code = Bytes::new().then(&[0x48, 0x89, 0x44, 0x24, 0x08]).call(ACCESS).then(&[0x48, 0x03, 0x5c, 0x24, 0x08]);
    assert_eq!(code.cost(), (0.25, 1));
}

#[test]
fn locals_of_the_program_are_not_spills() {
    // lea rdi, [rsp+8]; call hook; mov rax, [rsp+8]; add r12, rax
    let code = Bytes::new().then(&[0x48, 0x8d, 0x7c, 0x24, 0x08]).call(ACCESS);
    assert_eq!(code.then(&[0x48, 0x8b, 0x44, 0x24, 0x08]).then(ADD_R12_RAX).cost(), (0.5, 2));
}

#[test]
fn an_atomic_hook_is_one_instruction_and_its_computed_operand_another() {
    // mov esi, 1; mov edx, 5
    let constant = Bytes::new().then(MOV_RDI_RBX).then(&[0xbe, 1, 0, 0, 0, 0xba, 5, 0, 0, 0]).call(ATOMIC);
    assert_eq!(constant.cost(), (0.25, 1));
    // lea rsi, [r12+1]
    let computed = Bytes::new().then(MOV_RDI_RBX).then(&[0x49, 0x8d, 0x74, 0x24, 0x01]).call(ATOMIC);
    assert_eq!(computed.cost(), (0.5, 2));
}

/// gcc's copies and fills of large structures.
#[test]
fn string_operations_take_as_long_as_what_they_move() {
    const REP_MOVSQ: &[u8] = &[0xf3, 0x48, 0xa5];
    const REP_STOSB: &[u8] = &[0xf3, 0xaa];
    // mov ecx, 1024
    let counted = |operation: &[u8]| Bytes::new().then(&[0xb9, 0, 4, 0, 0]).then(operation).cost();
    assert_eq!(counted(REP_MOVSQ), (30.0 + 256.0 + 0.5, 2));
    assert_eq!(counted(REP_STOSB), (30.0 + 32.0 + 0.5, 2));
    assert_eq!(Bytes::new().then(REP_MOVSQ).cost(), (30.25, 1), "not known");
}

#[test]
fn pause_and_bare_locked_instructions_take_what_the_machine_says() {
    assert_eq!(Bytes::new().then(&[0xf3, 0x90]).cost(), (140.25, 1));
    // lock add qword [rbx], 1
    let (cycles, instructions) = Bytes::new().then(&[0xf0, 0x48, 0x83, 0x03, 0x01]).cost();
    assert!((18.0..19.0).contains(&cycles), "{cycles}");
    assert_eq!(instructions, 1);
}

#[test]
fn a_block_that_jumps_to_itself_waits_for_its_chain() {
    // The block's own call, then imul rbx, rbx; jmp back to the call.
    let code = Bytes::new().then(&[0x48, 0x0f, 0xaf, 0xdb]).then(&[0xeb, 0xf5]).0;
    let looped = Bytes([&call_before(), code.as_slice()].concat());
    assert_eq!(cost(&looped, START + 5, &CORE).cycles(), 3.0);
}

/// A block that repeats `round` up to its jump back, on a core that is CORE but for what `f` changes.
fn round(round: &[u8], f: impl Fn(&mut Core)) -> f64 {
    let back = [0xeb, (-(7 + round.len() as i8)) as u8];
    let looped = Bytes([&call_before(), round, &back].concat());
    let mut core = CORE;
    f(&mut core);
    cost(&looped, START + 5, &core).cycles()
}

#[test]
fn what_was_just_stored_is_there_as_soon_as_the_machine_says() {
    // add qword [rbx], 1; and the same of [rbx + r12 * 8]
    let (direct, indexed) = (&[0x48, 0x83, 0x03, 0x01][..], &[0x4a, 0x83, 0x04, 0xe3, 0x01][..]);
    assert_eq!(round(direct, |_| {}), 6.0);
    assert_eq!(round(direct, |core| (core.forward, core.renamed) = (8, 0)), 1.0);
    assert_eq!(round(indexed, |core| (core.forward, core.renamed, core.renamed_indexed) = (8, 0, 8)), 9.0);
    assert_eq!(round(indexed, |core| (core.forward, core.renamed, core.renamed_indexed) = (8, 8, 0)), 1.0);
}

#[test]
fn where_two_stores_are_to_a_word_a_core_may_not_recognise_it_early() {
    // A loop of `add` of one to a word; behind it a block of a store of zero and back.
    let of = |add: &[u8], store: &[u8], renamed_twice| {
        let core = Core { forward: 8, renamed: 0, renamed_indexed: 0, renamed_twice, ..CORE };
        let head = Bytes::new().call(BLOCK);
        let place = Place { head: START + head.0.len() as u64, returns_to: None, trip_count: Some(32) };
        let again = (head.0.len() as u8 + add.len() as u8 + 2).wrapping_neg();
        let outer = head.then(add).then(&[0x75, again]).call(BLOCK).then(store);
        let back = (outer.0.len() as u8 + 2).wrapping_neg();
        cost_at(&outer.then(&[0xeb, back]), place, &core).cost.cycles()
    };
    // [rbx] and [rbp]; [rbx + r12 * 8]
    let (add, same, other) =
        (&[0x48, 0x83, 0x03, 1][..], &[0x48, 0xc7, 0x03, 0, 0, 0, 0][..], &[0x48, 0xc7, 0x45, 0, 0, 0, 0, 0][..]);
    let (add_indexed, indexed) = (&[0x4a, 0x83, 0x04, 0xe3, 1][..], &[0x4a, 0xc7, 0x04, 0xe3, 0, 0, 0, 0][..]);
    assert_eq!([of(add, same, 0), of(add, other, 8), of(add_indexed, indexed, 0)], [1.0; 3]);
    assert!(of(add, same, 8) > 2.0 && of(add_indexed, indexed, 8) > 2.0);
}

#[test]
fn a_load_takes_what_the_machine_says() {
    // mov rbx, [rbx]
    let chase = &[0x48, 0x8b, 0x1b][..];
    assert_eq!([4, 5].map(|cycles| round(chase, |core| core.load = cycles)), [4.0, 5.0]);
}

/// What a round of `add qword ptr [register], 1` takes behind `ahead`, on a core that recognises such words early.
fn behind(ahead: &[u8], add: &[u8]) -> f64 {
    let hook = Bytes(ahead.to_vec()).call(BLOCK);
    let head = START + hook.0.len() as u64;
    let looped = hook.then(add).then(&[0xeb, (-(7 + add.len() as i8)) as u8]);
    cost(&looped, head, &Core { forward: 8, renamed: 0, ..CORE }).cycles()
}

#[test]
fn a_variable_is_named_relative_to_the_program_counter_though_hooks_keep_its_address_in_a_register() {
    // add qword [rbx], 1; and of [r12]
    let (rbx, r12) = (&[0x48, 0x83, 0x03, 0x01][..], &[0x49, 0x83, 0x04, 0x24, 0x01][..]);
    // lea rbx, [rip + 256]; lea r12, [rip + 256]
    let (lea, lea_r12) = (&[0x48, 0x8d, 0x1d, 0, 1, 0, 0][..], &[0x4c, 0x8d, 0x25, 0, 1, 0, 0][..]);
    let (early, late) = (1.0, 9.0);
    assert_eq!([behind(lea, rbx), behind(lea_r12, r12)], [late, late]);
    assert_eq!([behind(lea, r12), behind(lea_r12, rbx), behind(&[], rbx)], [early, early, early], "not that register");
    // add rbx, 8; mov rbx, [rax]; push rbx, at the head of another function; xor eax, eax; pop rbx and ret; call rax
    let [step, load, push] = [&[0x48, 0x83, 0xc3, 8][..], &[0x48, 0x8b, 0x18], &[0x53]];
    let [other, leave, call] = [&[0x31, 0xc0][..], &[0x5b, 0xc3], &[0xff, 0xd0]];
    assert_eq!([step, load, push].map(|between| behind(&[lea, between].concat(), rbx)), [early; 3]);
    assert_eq!([other, leave, call].map(|between| behind(&[lea, between].concat(), rbx)), [late; 3]);
}

#[test]
fn a_load_of_a_locked_operations_word_waits_for_it_and_others_do_not() {
    // lock add qword [rbx], 1; add r12, [rbx] or [rbx + 8]
    let (same, other) = (
        &[0xf0, 0x48, 0x83, 0x03, 0x01, 0x4c, 0x03, 0x23][..],
        &[0xf0, 0x48, 0x83, 0x03, 0x01, 0x4c, 0x03, 0x63, 0x08][..],
    );
    let longer = |code| round(code, |core| core.reload = 14) - round(code, |_| {});
    assert_eq!([longer(same), longer(other)], [9.0, 0.0]);
}

#[test]
fn a_fence_takes_an_instruction_only_if_it_is_sequentially_consistent() {
    let fence = |order: u8| Bytes::new().then(&[0xbf, order, 0, 0, 0]).call(FENCE).cost();
    assert_eq!([fence(2), fence(3), fence(5)], [(0.0, 0), (0.0, 0), (0.25, 1)]);
}

#[test]
fn what_computes_with_a_result_waits_for_it() {
    let after =
        |code: &[u8]| Awaiting::default().and_result().after(&Bytes::new().then(code).call(BLOCK), START, &CORE);
    // mov rbx, rax; mov rbx, rax and imul rbx, rbx twice
    let (copy, chain) = (&[0x48, 0x89, 0xc3][..], &[0x48, 0x89, 0xc3, 0x48, 0x0f, 0xaf, 0xdb, 0x48, 0x0f, 0xaf, 0xdb]);
    let (waits, longest) = after(copy);
    assert!(!waits.is_empty() && longest == 0, "a copy takes no time");
    assert_eq!(after(chain), (waits, 6));
    // The next block goes on with it: imul r12, rbx; add r13, 1.
    let next = Bytes::new().then(&[0x4c, 0x0f, 0xaf, 0xe3, 0x49, 0x83, 0xc5, 0x01]).call(BLOCK);
    let (more, longest) = waits.after(&next, START, &CORE);
    assert!(more != waits && longest == 3);
    // mov rbx, [rax]: the address waits. mov rbx, rax; mov rbx, [rsi]: it no longer does.
    assert_eq!(after(&[0x48, 0x8b, 0x18]), (waits, 5));
    let (none, longest) = after(&[copy, &[0x48, 0x8b, 0x1e]].concat());
    assert!(none.is_empty() && longest == 0);
    // test eax, eax; jne +0: predicted. imul rbx, rbx: of something else. An update's call changes other results of calls.
    assert_eq!(after(&[0x85, 0xc0, 0x75, 0x00]), (none, 0));
    assert_eq!(after(&[0x48, 0x0f, 0xaf, 0xdb]), (none, 0));
    assert_eq!(waits.and_result().after(&Bytes::new().call(BLOCK), START, &CORE), (waits, 0));
}

const MFENCE: &[u8] = &[0x0f, 0xae, 0xf0];

#[test]
fn results_come_later_than_their_instructions_issue() {
    // imul rcx, rcx ten times
    let chain = [0x48, 0x0f, 0xaf, 0xc9].repeat(10);
    let of = |code: Bytes, head, returns_to| {
        let found = results(&code.then(&[0xc3]), head, returns_to, &CORE);
        (found.after / 16, found.left / 16, found.to_fence)
    };
    // call rax, and what comes behind it later; mfence and the same; lock add qword [rbx], 1, whose time the model adds
    let (call, fence, add) = (&[0xff, 0xd0][..], MFENCE, &[0xf0, 0x48, 0x83, 0x03, 0x01][..]);
    assert_eq!(of(Bytes::new().then(&chain).then(call).then(&chain), START, None), (30, 27, false));
    assert_eq!(of(Bytes::new().then(&chain).then(fence).then(&chain), START, None), (30, 27, true));
    assert!(of(Bytes::new().then(add).then(call), START, None).1 <= 1);
    assert!(results(&Bytes::new().then(&[0xc3]), START, None, &CORE).returns);
    // A function returns to a place behind it: to the chain, and there to a fence.
    let function = Bytes::new().then(&[0xc3]).then(&chain);
    assert_eq!(of(function.then(fence), START, Some(START + 1)), (30, 27, true));
    assert!(of(Bytes::new().then(&[0xc3]).then(&chain), START, None).1 <= 1);
}

#[test]
fn what_a_word_holds_that_nothing_changed_is_the_same() {
    // mov r12, [rbx]; add qword [r12], 1
    let counted = &[0x4c, 0x8b, 0x23, 0x49, 0x83, 0x04, 0x24, 0x01];
    assert_eq!(round(counted, |core| core.forward = 8) - round(counted, |_| {}), 0.0, "renamed");
    assert_eq!(round(counted, |core| core.renamed = 8) - round(counted, |_| {}), 3.0);
}

#[test]
fn a_chain_leads_through_a_call() {
    // The caller: its block's own call, call the function, jmp back. The function: add qword [rbx], 1; ret.
    let caller = Bytes::new().call(BLOCK).call(START + 12).then(&[0xeb, 0xf4]);
    let both = caller.call(BLOCK).then(&[0x48, 0x83, 0x03, 0x01, 0xc3]);
    let of = |returns_to| cost_called(&both, START + 17, returns_to, &CORE).cycles();
    assert!(of(None) <= 1.0 && (4.5..6.5).contains(&of(Some(START + 10))), "{} {}", of(None), of(Some(START + 10)));
}

#[test]
fn a_round_takes_its_taken_branches() {
    // The caller: call the function; dec r15; jne back; ret. The function: ret.
    let caller = Bytes::new().call(BLOCK).call(START + 16).then(&[0x49, 0xff, 0xcf, 0x75, 0xf1, 0xc3]);
    let both = caller.call(BLOCK).then(&[0xc3]);
    let round = |cycles| {
        let core = Core { taken_branch: cycles, ..CORE };
        let of = |head, returns_to| cost_called(&both, head, returns_to, &core).cycles();
        of(START + 5, None) + of(START + 21, Some(START + 10))
    };
    assert_eq!([round(1), round(2)], [3.0, 6.0], "a call, a return and the branch back");
    // dec r15; jne back, which a loop buffer serves
    let back = [0x49, 0xff, 0xcf, 0x75, 0xf6, 0xc3];
    let alone = Bytes([&call_before(), &back[..]].concat());
    assert_eq!(cost(&alone, START + 5, &Core { taken_branch: 2, ..CORE }).cycles(), 1.0);
}

#[test]
fn rounds_overlap_as_far_as_the_scheduler_holds_them() {
    // mov r12, rbx; imul r12, r12 six times; mov [rbx + 8], r12: 18 cycles, and nothing that a round hands to the next
    let chain = [&[0x49, 0x89, 0xdc][..], &[0x4d, 0x0f, 0xaf, 0xe4].repeat(6), &[0x4c, 0x89, 0x63, 0x08]].concat();
    let (small, large) = (round(&chain, |core| core.scheduler = 6), round(&chain, |_| {}));
    assert!(small > 6.0 && large < 2.5, "{small} {large}");
}

#[test]
fn a_chain_leads_through_a_call_of_several_blocks() {
    // As above; the function: dec r15; je past the next block; its block: add qword [rbx], 1; ret.
    let caller = Bytes::new().call(BLOCK).call(START + 12).then(&[0xeb, 0xf4]);
    let head = caller.call(BLOCK).then(&[0x49, 0xff, 0xcf, 0x74, 10]);
    let both = head.call(BLOCK).then(&[0x48, 0x83, 0x03, 0x01, 0xc3]).then(&[0xc3]);
    let of = |returns_to| cost_called(&both, START + 27, returns_to, &CORE).cycles();
    assert!(of(None) <= 1.0 && (4.0..6.5).contains(&of(Some(START + 10))), "{} {}", of(None), of(Some(START + 10)));
}

fn call_before() -> Vec<u8> {
    Bytes::new().call(BLOCK).0
}

#[test]
fn stubs_and_slots_lead_to_hooks() {
    let slot = ACCESS.to_le_bytes();
    // call *[rip+5]: past the block's closing call.
    let direct = Bytes::new().then(&[0xff, 0x15, 5, 0, 0, 0]).call(BLOCK).then(&slot);
    assert_eq!(cost(&direct, START, &CORE).instructions, 0);
    // call to the stub: endbr64; bnd jmp *[rip+0]
    let stub = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0];
    let linked = Bytes::new().call(START + 10).call(BLOCK).then(&stub).then(&slot);
    assert_eq!(cost(&linked, START, &CORE).instructions, 0);
    let unbound = Bytes::new().call(START + 10).call(BLOCK).then(&stub).then(&[0; 8]);
    assert_eq!(cost(&unbound, START, &CORE).instructions, 1);
}

#[test]
fn a_loop_without_hooks_ends_the_walk() {
    // jmp to itself; and jne to itself, then ret
    assert_eq!(cost(&Bytes(vec![0xeb, 0xfe]), START, &CORE).instructions, 1);
    assert_eq!(cost(&Bytes(vec![0x75, 0xfe, 0xc3]), START, &CORE).instructions, 2);
}

/// Code of which is known how often the branch of a block leads to which other.
struct Observed(Bytes, Vec<(u64, Bias)>);

impl Code for Observed {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        self.0.bytes(address, len)
    }
    fn hook(&self, target: u64) -> Option<Hook> {
        self.0.hook(target)
    }
    fn bias(&self, block: u64) -> Option<Bias> {
        self.1.iter().find(|(of, _)| *of == block).map(|(_, bias)| *bias)
    }
}

/// What the block at the head of a loop costs.
fn head_of(code: Bytes, biases: &[(u64, Bias)]) -> f64 {
    let place = Place { head: START + 5, returns_to: None, trip_count: None };
    cost_at(&Observed(code, biases.to_vec()), place, &CORE).cost.cycles()
}

/// add qword [rbx], 1; test al, al; je on; eight times imul rcx, rcx; mov [rbx+64], rcx; jmp back; on: jmp back. The branch may have a
/// block of its own.
fn two_arms(apart: bool) -> Bytes {
    let head = Bytes::new().call(BLOCK).then(&[0x48, 0x83, 0x03, 0x01]);
    let head = if apart { head.call(BLOCK) } else { head }.then(&[0x84, 0xc0, 0x74, 0x2b]);
    let long = head.call(BLOCK).then(&[0x48, 0x0f, 0xaf, 0xc9].repeat(8)).then(&[0x48, 0x89, 0x4b, 0x40, 0xeb, 0x05]);
    let both = long.call(BLOCK);
    let back = (both.0.len() as u8 + 2).wrapping_neg();
    both.then(&[0xeb, back])
}

#[test]
fn paths_round_count_as_often_as_they_are_taken() {
    for (apart, branch, on) in [(false, START + 5, START + 61), (true, START + 14, START + 66)] {
        let biased = |visits| head_of(two_arms(apart), &[(branch, Bias { to: on, visits })]);
        let (short, long) = (biased(Bias::ALL), biased(0));
        assert!(short >= 4.0, "all the time waits for the word: {short}");
        assert!(long <= short - 2.0, "that of the long path for the other arm: {long}, not {short}");
        let quarter = (3.0 * long + short) / 4.0;
        assert!((biased(Bias::ALL / 4) - quarter).abs() < 0.2, "{} {quarter}", biased(Bias::ALL / 4));
        let even = head_of(two_arms(apart), &[]);
        assert!((even - (short + long) / 2.0).abs() < 0.2, "nothing is known: {even}");
        assert_eq!(biased(Bias::ALL / 65), long, "one in 65 visits does not count");
    }
}
