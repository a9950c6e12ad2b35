// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows from an event: it is accounted for.
use crate::account::sample;
use crate::counts::samples::What;
use crate::counts::sites::{SITES, line_shared};
use crate::engine::sim;
use crate::hooks::frames;
use crate::hot::hot;
use crate::scheduling::charges::{charge_retries, charge_waits};
use crate::scheduling::fiber::current;
use crate::scheduling::lease;
use corefold_model::{Access, Kind, Ticks};
use corefold_sim::{Effects, parts};

/// Accounts for what has followed from an event, or from a part of it.
#[inline(always)]
pub fn settle(effects: &Effects, access: &Access) {
    const RARE: u8 = Effects::LIMIT | Effects::SHARED | Effects::WAITED | Effects::RETRIED;
    if effects.has(RARE) {
        settle_before(effects, access);
    }
    if effects.has(Effects::ACCESSED) {
        account(effects, access);
    }
    if effects.has(Effects::RETRIED) {
        charge_retries(usize::MAX);
    }
}

/// What comes before the access itself.
fn settle_before(effects: &Effects, access: &Access) {
    if effects.has(Effects::LIMIT) {
        lease::set_limit();
    }
    if effects.has(Effects::SHARED) {
        frames::note(access.address, parts(access.origin).0);
        line_shared(access.address);
    }
    if effects.has(Effects::WAITED) {
        charge_waits();
        if !effects.has(Effects::ACCESSED) {
            sample_wait(parts(access.origin).0);
        }
    }
    if effects.has(Effects::RETRIED) {
        charge_retries(effects.retries_before.into());
    }
}

/// The wait is an event's own, and nothing else has passed since: for a line that was postponed, or a store.
fn sample_wait(pc: u64) {
    let due = sim(|sim| sim.cpus[sim.cpu].next_sample);
    if hot().clock.get() >= due {
        sample::take_due(pc, What::Stall);
        lease::sampled();
    }
}

#[inline]
fn account(effects: &Effects, access: &Access) {
    let outcome = &effects.outcome;
    if outcome.stall > 0 {
        current().stalled(outcome.stall);
    }
    let (pc, kind, _) = parts(access.origin);
    if outcome.transfer.is_some() || outcome.stall > 0 || outcome.dirtied {
        SITES.with(|sites| match effects.tag.record_index() {
            Some(index) => sites.touched(index, pc, kind, access, outcome),
            None => sites.passed(pc, kind, access, outcome),
        });
    } else if let Some(index) = effects.tag.record_index() {
        SITES.with(|sites| sites.used(index, pc, kind, access));
    }
    if outcome.done >= sim(|sim| sim.cpus[access.cpu as usize].next_sample) {
        // A read-modify-write takes time of its own once its line is there.
        let there = if access.kind == Kind::Rmw { outcome.effect } else { outcome.done };
        take_samples(pc, [(effects.asked, What::Compute), (there, What::Stall), (outcome.done, What::Compute)]);
    }
}

/// What the CPU did until when.
#[cold]
fn take_samples(pc: u64, parts: [(Ticks, What); 3]) {
    let clock = hot().clock.get();
    for (until, what) in parts {
        hot().clock.set(until);
        sample::take_due(pc, what);
    }
    hot().clock.set(clock);
    lease::sampled();
}
