// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the files of /proc about the program's threads say: the host knows only the thread that runs them all.
use crate::calls::topology::{Task, Topology, stat_of};
use crate::engine::{launch, nanoseconds_of};
use crate::scheduling::fiber::{FIBERS, State};
use crate::sys;
use crate::threads::{affinity, clock, names};
use alloc::format;
use alloc::string::String;
use core::ffi::CStr;
use corefold_model::Ticks;

/// Nanoseconds of the unit that these files count in.
pub const HUNDREDTH: u64 = 10_000_000;

/// Files of a thread's own in its folder; the others there are the process's.
pub const OF_THREAD: [&str; 3] = ["comm", "stat", "status"];

/// Is it a thread whose folder is there? The first one's is until the process ends.
pub fn is_there(fiber: usize) -> bool {
    fiber == 0 || FIBERS[fiber].state.get() != State::Finished
}

/// The thread of that number, as a path has it.
pub fn named(number: &str) -> Option<usize> {
    number.parse().ok().filter(|number| *number > 0).and_then(affinity::numbered).filter(|fiber| is_there(*fiber))
}

/// A file in a thread's folder, or, with what all threads `ran`, the first one's as a file of the process.
pub fn text(fiber: usize, file: &str, ran: Ticks) -> Option<String> {
    let host = || {
        let path = format!("/proc/self/{file}\0");
        String::from_utf8_lossy(&sys::read_file(path.as_bytes()).unwrap_or_default()).into_owned()
    };
    let text = match file {
        "comm" => format!("{}\n", name(fiber)),
        "stat" => stat_of(&host(), &task(fiber, ran)),
        "status" => topology().status(&host(), &task(fiber, ran)),
        _ => return None,
    };
    Some(text)
}

pub fn topology() -> Topology<'static> {
    let launch = launch();
    Topology { machine: &launch.machine, cpus: launch.cpus }
}

fn name(fiber: usize) -> String {
    let name = names::name(fiber);
    CStr::from_bytes_until_nul(&name).map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
}

fn task(fiber: usize, ran: Ticks) -> Task {
    let state = match FIBERS[fiber].state.get() {
        State::Ready | State::Running => "R (running)",
        State::Blocked => "S (sleeping)",
        State::Finished => "Z (zombie)",
    };
    Task {
        id: affinity::number(fiber),
        name: name(fiber),
        state,
        nice: FIBERS[fiber].thread.priority.get().nice,
        threads: clock::threads(),
        cpus: (0..launch().cpus).filter(|cpu| FIBERS[fiber].may_run_on(*cpu as usize)).collect(),
        ran: nanoseconds_of(ran) / HUNDREDTH,
    }
}
