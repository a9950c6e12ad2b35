// SPDX-License-Identifier: MIT OR Apache-2.0
//! The region of interest: from its first beginning to its last end, the run counts.
use crate::account::host;
use crate::account::sample;
use crate::carrier::Carrier;
use crate::counts::lock_table::LOCKS;
use crate::counts::pace::{PACE, Pace};
use crate::counts::samples::{SAMPLES, What};
use crate::counts::sites::SITES;
use crate::engine::{active, now, sim};
use crate::recorder::progress;
use crate::recorder::record;
use crate::scheduling::fiber::{FIBERS, State};
use crate::scheduling::spin_skip;
use alloc::boxed::Box;
use corefold_model::Ticks;
use corefold_recording::{Run, Status};

struct Region {
    begin: Option<Ticks>,
    /// The run's totals when the region last ended.
    ended: Option<Box<Run>>,
}

static REGION: Carrier<Region> = Carrier::new(Region { begin: None, ended: None });

/// From here on the run counts: all counts are reset. The region lasts from the first beginning
/// to the last end.
#[unsafe(no_mangle)]
pub extern "C" fn corefold_region_begin() {
    if !active() {
        return;
    }
    let begins = REGION.with(|region| {
        region.ended = None;
        let begins = region.begin.is_none();
        region.begin.get_or_insert_with(now);
        begins
    });
    if begins {
        forget_so_far();
        host::region_begins();
    }
}

fn forget_so_far() {
    // Samples that are due belong to the time before.
    sample::take_due(1, What::Compute);
    spin_skip::end_all(now());
    // A spin is charged when it is over: its part until now belongs to the time before.
    FIBERS.iter().for_each(|fiber| {
        fiber.leaves_spin();
        fiber.ends_wait();
    });
    SAMPLES.with(|samples| samples.clear());
    SITES.with(|sites| sites.clear());
    LOCKS.with(|locks| locks.clear());
    PACE.with(|pace| *pace = Pace::NOTHING);
    progress::clear();
    for fiber in FIBERS.iter() {
        let clock =
            if fiber.state.get() == State::Running { sim(|sim| sim.clock_of(fiber.cpu.get(), now())) } else { now() };
        fiber.restart_accounts(clock);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn corefold_region_end() {
    if !active() {
        return;
    }
    if REGION.with(|region| region.begin.is_some()) {
        host::region_ends(crate::hooks::estimate::holds);
        let run = record::run(Status::Unfinished, begin());
        REGION.with(|region| region.ended = Some(Box::new(run)));
    }
}

/// The run's totals when the region of interest last ended, if it has.
fn take_ended() -> Option<Box<Run>> {
    REGION.with(|region| region.ended.take())
}

/// When it began, or the run.
fn begin() -> Ticks {
    REGION.with(|region| region.begin).unwrap_or(0)
}

/// The run is over: writes the recording. Nothing is simulated afterwards.
pub fn finish(status: Status) {
    if active() {
        record::finish(status, take_ended(), begin());
    }
}
