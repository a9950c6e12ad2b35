// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spins whose turns are known from their code: which blocks a turn enters, what it does in registers, and for which values it
//! comes round. Such a loop need not repeat itself before it is skipped, and may count its turns.
use crate::carrier::Carrier;
use crate::code::mapped::Mapped;
use crate::hooks::branches;
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::scheduling::program_memory::ProgramMemory;
use alloc::rc::Rc;
use corefold_block::turn::{Look, Saved, Spin, Turn};
use corefold_model::Ticks;
use corefold_sim::Memory;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Looks from one place that are followed in vain until it is given up: the loop may have been left by each of them.
const MOST_TRIED: u8 = 16;

enum Known {
    Turn(Rc<Turn>),
    Tried(u8),
}

type Turns = HashMap<u64, Known, FxBuildHasher>;

static TURNS: Carrier<Turns> = Carrier::new(Turns::with_hasher(FxBuildHasher));

/// Code has been unmapped.
pub fn forget(gone: impl Fn(u64) -> bool) {
    TURNS.with(|turns| turns.retain(|pc, _| !gone(*pc)));
}

/// What each turn does, if the loop goes on after this look, which the thread has made with these registers.
pub fn spin(look: &Look, from: &Saved) -> Option<Spin> {
    turn(look, from)?.spins(look, from, read)
}

/// How long a turn takes from this place, if that is known: all its blocks have their costs.
pub fn period(pc: u64) -> Option<Ticks> {
    let half = hot().cost_half.get() * 8;
    TURNS.with(|turns| match turns.get(&pc)? {
        Known::Turn(turn) => {
            let costs = turn.blocks().iter().map(|block| branches::settled(*block));
            costs.map(|cost| Some(u64::from(cost? >> half & 0xffff))).sum()
        }
        Known::Tried(_) => None,
    })
}

fn read(address: u64, size: u8) -> u64 {
    ProgramMemory.read(address, size)
}

fn turn(look: &Look, from: &Saved) -> Option<Rc<Turn>> {
    let tried = TURNS.with(|turns| match turns.get(&look.pc) {
        Some(Known::Turn(turn)) => Err(turn.clone()),
        Some(Known::Tried(times)) => Ok(*times),
        None => Ok(0),
    });
    match tried {
        Err(turn) => Some(turn),
        Ok(MOST_TRIED) => None,
        Ok(times) => find(look, from, times),
    }
}

#[cold]
fn find(look: &Look, from: &Saved, times: u8) -> Option<Rc<Turn>> {
    let found = deep(|| Turn::find(&Mapped, look, from, read)).map(Rc::new);
    let known = found.clone().map_or(Known::Tried(times + 1), Known::Turn);
    TURNS.with(|turns| turns.insert(look.pc, known));
    found
}
