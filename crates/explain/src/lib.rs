// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symbolisation: what a recorded run means, in the names of the program.
//!
//! [`explain`] reads the debug information of the program's own ELF files through [`Images`] and names
//! functions, source lines, objects, fields and locks. Missing information makes names coarser, and is
//! never an error.
//!
//! In order: `images` loads files (`symbols`, `dwarf`), `space` lays them out as the run had them,
//! `code` names code addresses, `call_stack` the functions of call stacks, `rust` shortens types' names, `memory`, `heap` and `stack` name data addresses; `functions`, `lines` (with
//! `verdict`), `locks` and `ending` each make one part of the [`Explained`] from these.
mod beside;
mod call_stack;
mod callers;
mod code;
mod declared;
mod dwarf;
mod ending;
mod fields;
mod functions;
mod heap;
mod images;
mod lines;
mod locks;
mod memory;
mod parking;
mod passed;
mod places;
mod rust;
mod share;
mod space;
mod stack;
mod stage;
mod symbols;
mod types;
mod verdict;
mod wrapper;

pub use beside::{Uses, users};
pub use declared::{Declared, DeclaredMember, Language, Parting, Undeclared, declared};
pub use fields::{listed, merged, one_name, pattern};
pub use images::{Images, build_id};
pub use parking::parking;
pub use passed::{LEAST_PASSED, MOSTLY_PASSED};
pub use places::places;
pub use types::*;
pub use verdict::judge;
pub use wrapper::{called_by, is_wrapper};

use corefold_recording::Run;
use space::Space;

/// Symbolises what `run` recorded.
pub fn explain(run: &Run, images: &mut Images) -> anyhow::Result<Explained> {
    images.load(&run.modules);
    let space = Space::new(&run.modules, images);
    let memory = memory::Memory::new(run, &space);
    let (functions, stage) = functions::functions(run, &space);
    let mut explained = Explained {
        run: facts(run, &space),
        ending: ending::ending(run, &space, &memory),
        functions,
        stage,
        lines: lines::lines(run, &space, &memory),
        passed: passed::passed(run, &space, &memory, images.for_text),
        locks: locks::locks(run, &space, &memory),
    };
    explained.run.notes = notes(run, &space);
    explained.run.notes.extend(space.notes());
    explained.run.notes.extend(memory.notes());
    Ok(explained)
}

/// The run's own notes; several code addresses of one source line are one.
fn notes(run: &Run, space: &Space<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for note in &run.notes {
        let at = space.call_place(note.pc);
        match notes.iter_mut().find(|known| known.text == note.text && known.at == at) {
            Some(known) => known.count += note.count,
            None => notes.push(Note { text: note.text.clone(), at, count: note.count }),
        }
    }
    notes
}

fn facts(run: &Run, space: &Space<'_>) -> RunFacts {
    RunFacts {
        argv: run.argv.clone(),
        machine: run.machine.clone(),
        cpus: run.cpus,
        threads: run.threads,
        clock_hz: run.clock_hz,
        seed: run.seed,
        cycles: run.cycles,
        seconds: if run.clock_hz == 0 { 0.0 } else { run.cycles as f64 / run.clock_hz as f64 },
        time: run.time,
        progress: run.progress.clone(),
        transfers_by_class: run.transfers,
        transfers: run.transfers.iter().sum(),
        pace: run.pace,
        slept_at: space.call_place(run.pace.slept_at).filter(|_| run.pace.slept_at != 0),
        sleeps_at: space.call_place(run.pace.sleeps_at),
        notes: Vec::new(),
    }
}
