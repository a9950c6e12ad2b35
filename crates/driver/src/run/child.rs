// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting one child: the same bytes in its memory at the same addresses, every time.
use super::options::Options;
use super::preload;
use super::signals::{end_with_us, restore_in_child};
use anyhow::{Context, Result};
use corefold_launch::{CONFIG_VARIABLE, Launch, STACK_LIMIT};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Has OpenMP's runtimes wait in the kernel at once: they have no hooks, so nobody else would run while they spin.
/// And not look at the host's own processors.
const OPENMP: [(&str, &str); 3] = [("GOMP_SPINCOUNT", "0"), ("KMP_BLOCKTIME", "0"), ("KMP_AFFINITY", "disabled")];

/// What is common to all children of a run.
pub struct Launched<'a> {
    pub program: &'a Path,
    pub runtime: &'a Path,
    /// What the loader gets in place of TSan's runtime.
    pub placeholders: &'a [PathBuf],
    /// Private to this run, and gone with it.
    pub directory: &'a Path,
    pub memory_limit: u64,
    /// The only child: it gets our standard input, and what it prints shows at once.
    pub alone: bool,
}

/// A child that runs.
pub struct Started {
    pub child: Child,
    /// It leads a process group of its own.
    pub leads: bool,
}

impl Launched<'_> {
    pub fn launch(&self, options: &Options, cpus: u32) -> Launch {
        let argv = [&options.program].into_iter().chain(&options.args);
        let machine = options.machine.running(cpus);
        Launch {
            cpus,
            seed: options.seed,
            sample_period: options.sample_period,
            slack: options.slack,
            argv: argv.map(|a| with_cpus(a, cpus).to_string_lossy().into_owned()).collect(),
            output: self.file(cpus, "run").to_string_lossy().into_owned(),
            memory_limit: self.memory_limit,
            longest: options.longest.map_or(0, |t| cycles(t, machine.clock_hz)),
            machine,
            quiet: false,
            measure_host: options.measure_host,
            explores: false,
            relayouts: Vec::new(),
            parking: options.parking.clone(),
            step_by_step: std::env::var_os("COREFOLD_STEP_BY_STEP").is_some(),
        }
    }

    /// Where the child of that many CPUs prints to.
    pub fn printed(&self, cpus: u32) -> PathBuf {
        self.file(cpus, "out")
    }

    fn file(&self, cpus: u32, what: &str) -> PathBuf {
        self.directory.join(format!("{cpus}.{what}"))
    }

    pub fn start(&self, options: &Options, launch: &Launch) -> Result<Started> {
        let config = self.file(launch.cpus, "launch");
        fs::write(&config, corefold_launch::encode(launch))
            .with_context(|| format!("cannot write {}", config.display()))?;
        let mut command = Command::new(self.program);
        command.arg0(&options.program).args(options.args.iter().map(|a| with_cpus(a, launch.cpus)));
        command.env(OsStr::from_bytes(CONFIG_VARIABLE.to_bytes()), &config).env("LD_BIND_NOW", "1");
        let libraries: Vec<&Path> = [self.runtime].into_iter().chain(self.placeholders.iter().map(|p| &**p)).collect();
        command.envs(OPENMP);
        command.envs(preload::variables(&libraries)?);
        self.connect(&mut command, launch.cpus).context("cannot prepare what the program prints to")?;
        // A process group in the background may not read from the terminal.
        let leads = !(self.alone && io::stdin().is_terminal());
        if leads {
            command.process_group(0);
        }
        prepare(&mut command);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        Ok(Started { child, leads })
    }

    /// What the program prints goes to stderr: stdout is for the report.
    fn connect(&self, command: &mut Command, cpus: u32) -> io::Result<()> {
        if self.alone {
            let stderr = io::stderr().as_fd().try_clone_to_owned()?;
            command.stdin(Stdio::inherit()).stdout(stderr).stderr(Stdio::inherit());
        } else {
            let file = File::options().append(true).create(true).open(self.printed(cpus))?;
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        }
        Ok(())
    }
}

/// Never 0, which stands for no limit.
fn cycles(time: Duration, clock_hz: u64) -> u64 {
    ((time.as_secs_f64() * clock_hz as f64) as u64).max(1)
}

/// `{cpus}` replaced, wherever it stands.
fn with_cpus(arg: &OsStr, cpus: u32) -> OsString {
    let (mut left, mark) = (arg.as_bytes(), b"{cpus}");
    let mut out = Vec::with_capacity(left.len());
    while let Some(at) = left.windows(mark.len()).position(|w| w == mark) {
        out.extend_from_slice(&left[..at]);
        out.extend_from_slice(cpus.to_string().as_bytes());
        left = &left[at + mark.len()..];
    }
    out.extend_from_slice(left);
    OsString::from_vec(out)
}

fn prepare(command: &mut Command) {
    end_with_us(command, libc::SIGKILL);
    // SAFETY: the closure only makes system calls, which is what may be done between fork and exec.
    unsafe {
        command.pre_exec(|| {
            restore_in_child();
            done(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong))?;
            let stack = libc::rlimit { rlim_cur: STACK_LIMIT, rlim_max: STACK_LIMIT };
            // Where the limit may not be raised so far, it stays: the program runs on a stack of the runtime's.
            let set = done(libc::setrlimit(libc::RLIMIT_STACK, &stack));
            set.or_else(|error| if error.raw_os_error() == Some(libc::EPERM) { Ok(()) } else { Err(error) })
        });
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_replaced_wherever_they_stand() {
        for (arg, expected) in [("{cpus}", "8"), ("-t{cpus}:{cpus}x", "-t8:8x"), ("{cpu}", "{cpu}"), ("", "")] {
            assert_eq!(with_cpus(OsStr::new(arg), 8), expected);
        }
        let odd = OsStr::from_bytes(b"\xff{cpus}\xfe");
        assert_eq!(with_cpus(odd, 8).as_bytes(), b"\xff8\xfe");
    }
}
