// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same program on this host's own cores.
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// Runs each, of which the fastest counts: others on the host can only slow it down.
const ROUNDS: usize = 7;

pub struct Native {
    program: PathBuf,
    known: Mutex<HashMap<Vec<String>, f64>>,
}

impl Native {
    pub fn new(program: PathBuf) -> Native {
        Native { program, known: Mutex::default() }
    }

    /// Whether the host has as many cores.
    pub fn has(cpus: u32) -> bool {
        std::thread::available_parallelism().is_ok_and(|cores| cores >= NonZero::new(cpus as usize).unwrap_or(cores))
    }

    /// What the program says that it does in a second.
    pub fn throughput(&self, args: &[String]) -> Result<f64> {
        let mut known = self.known.lock().expect("nobody panics");
        if let Some(&best) = known.get(args) {
            return Ok(best);
        }
        let rounds = (0..ROUNDS).map(|_| self.once(args)).collect::<Result<Vec<_>>>()?;
        let best = rounds.into_iter().fold(0.0, f64::max);
        known.insert(args.to_vec(), best);
        Ok(best)
    }

    fn once(&self, args: &[String]) -> Result<f64> {
        let done = Command::new(&self.program).args(args).output().context("cannot start the native program")?;
        let printed = String::from_utf8_lossy(&done.stdout);
        let rate = printed.lines().find_map(|line| line.strip_prefix("throughput ")?.trim().parse().ok());
        match rate.filter(|_| done.status.success()) {
            Some(rate) => Ok(rate),
            None => bail!("natively, {args:?} failed: {}{}", printed, String::from_utf8_lossy(&done.stderr)),
        }
    }
}
