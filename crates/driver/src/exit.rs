// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command's exit codes, as [`HELP`] explains them; docs/running.md has the same, which a test compares.
use corefold_recording::{Run, Status};
use std::fmt;

pub const FINE: u8 = 0;
pub const PROGRAM_FAILED: u8 = 1;
pub const BAD_INPUT: u8 = 2;
pub const CRASHED: u8 = 3;
pub const DEADLOCK: u8 = 4;
pub const TIMED_OUT: u8 = 5;
pub const UNSUPPORTED: u8 = 6;
pub const OUT_OF_MEMORY: u8 = 7;
pub const INTERNAL: u8 = 8;
pub const LIVELOCK: u8 = 9;
pub const FOUND: u8 = 10;
pub const BELOW: u8 = 11;

pub const HELP: &str = "\
Exit codes:
  0  every run ended well
  1  the program exited with a status other than 0
  2  usage or bad input: not instrumented, unknown machine, malformed profile, too many CPUs
  3  the program crashed, or used memory that it had freed (seen with --seed)
  4  deadlock: every thread waits for another
  5  a run took longer than --timeout
  6  the program did something that cannot be simulated, such as fork
  7  the program ran out of memory (--memory)
  8  corefold itself failed: a file could not be written, a run left no recording
  9  livelock: threads poll memory without progress, or a run took longer than --longest
  10  explore: a schedule fails
  11  run: all runs ended well, but the speed-up is below --at-least
If runs end differently, the exit code is that of the smallest number of CPUs whose run failed.
128 + signal number: interrupted; the runs that had completed are saved.";

/// Something the user can put right: it ends the command with [`BAD_INPUT`].
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// `return Err(bad_input!("…"))`, as an `anyhow::Error`.
macro_rules! bad_input {
    ($($message:tt)*) => { anyhow::Error::new($crate::BadInput(format!($($message)*))) };
}
pub(crate) use bad_input;

/// The exit code for an error.
pub fn of_error(error: &anyhow::Error) -> u8 {
    let users = error.downcast_ref::<BadInput>().is_some() || error.downcast_ref::<corefold_machine::Error>().is_some();
    if users { BAD_INPUT } else { INTERNAL }
}

/// The exit code for a recording: that of its first run that did not end well.
pub fn of_runs(runs: &[Run]) -> u8 {
    runs.iter().map(|run| of_status(&run.status)).find(|&code| code != FINE).unwrap_or(FINE)
}

pub fn of_status(status: &Status) -> u8 {
    match status {
        Status::Exited(0) => FINE,
        Status::Exited(_) => PROGRAM_FAILED,
        Status::Crashed { .. } | Status::UseAfterFree(_) => CRASHED,
        Status::Deadlock { .. } => DEADLOCK,
        Status::Livelock { .. } => LIVELOCK,
        // The command ends with the signal's code; its recording, reported later, has no code to give.
        Status::TimedOut { .. } | Status::Interrupted { .. } => TIMED_OUT,
        Status::Unsupported { .. } => UNSUPPORTED,
        Status::OutOfMemory { .. } => OUT_OF_MEMORY,
        Status::Unfinished => INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: Status) -> Run {
        Run { status, ..Run::default() }
    }

    #[test]
    fn the_first_run_that_failed_decides() {
        let timed_out = Status::TimedOut { running: Vec::new(), waiters: Vec::new(), advances: false, unseen: None };
        let crashed = Status::Crashed { signal: 11, address: Some(0), thread: 0, stack: Vec::new(), overflow: false };
        assert_eq!(of_runs(&[ended(Status::Exited(0))]), FINE);
        assert_eq!(of_runs(&[ended(Status::Exited(0)), ended(Status::Exited(9))]), PROGRAM_FAILED);
        assert_eq!(of_runs(&[ended(Status::Exited(0)), ended(timed_out), ended(crashed)]), TIMED_OUT);
        assert_eq!(of_runs(&[ended(Status::Unfinished)]), INTERNAL);
    }

    #[test]
    fn errors_of_the_user_are_told_from_ours() {
        assert_eq!(of_error(&bad_input!("no such machine").context("in run")), BAD_INPUT);
        assert_eq!(of_error(&anyhow::Error::new(corefold_machine::load("pdp11").unwrap_err())), BAD_INPUT);
        assert_eq!(of_error(&anyhow::anyhow!("disk full")), INTERNAL);
    }

    /// Every code that a run can end with is explained.
    #[test]
    fn the_help_lists_every_code() {
        for code in FINE..=BELOW {
            assert!(HELP.contains(&format!("\n  {code}  ")), "{code}");
        }
    }
}
