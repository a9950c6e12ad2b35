// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine of a run, and its limits: arguments that several commands have.
use crate::size;
use clap::Args;
use clap::builder::TypedValueParser;
use std::num::NonZero;
use std::time::Duration;

/// Default of `--slack`.
pub const SLACK: u64 = 500;

/// The machine of a run, and its limits.
#[derive(Args)]
pub struct LimitArgs {
    /// A machine's name (see `corefold machine list`) or a profile file.
    #[arg(long, value_name = "NAME|FILE", default_value = corefold_machine::DEFAULT)]
    pub machine: String,
    /// Which of the machine's CPUs a run of fewer has: `compact` fills one socket after the other, `spread` is as Linux
    /// starts threads that are not pinned: on their creator's socket until that is a quarter fuller than the emptiest, then on the
    /// emptiest, a core each first; or a file with the CPUs' numbers, such as 0-3,28.
    #[arg(long, value_name = "compact|spread|FILE", default_value = corefold_machine::COMPACT)]
    pub placement: String,
    /// Disable parts of the model, to see what each contributes: in-flight, store-buffer, overlap, smt, home-node,
    /// queueing, arbitration, migration, spread, adjacent-line, first-level, caches, bandwidth,
    /// chains, forwarding, scheduler, mispredict.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mechanisms(), hide_possible_values = true)]
    pub without: Vec<String>,
    /// End a run after this many seconds of host time; its recording up to then is kept.
    #[arg(long, value_name = "SECONDS", value_parser = seconds())]
    pub timeout: Option<Duration>,
    /// End a run after this many seconds of virtual time.
    #[arg(long, value_name = "SECONDS", value_parser = seconds())]
    pub longest: Option<Duration>,
    #[command(flatten)]
    pub host: HostArgs,
}

/// What a run takes of the host, and how exact it is.
#[derive(Args)]
pub struct HostArgs {
    /// Memory limit for the program in one run, such as 512M [default: what the host can spare].
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub memory: Option<u64>,
    /// Number of runs to simulate in parallel [default: one per host core].
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZero<usize>>,
    /// Cycles by which a CPU may run ahead of the others; 0 simulates them in the order of their clocks (but see docs/model.md, Time), and is slower.
    #[arg(long, value_name = "CYCLES", default_value_t = SLACK)]
    pub slack: u64,
}

/// `corefold explore` ends a run after this time unless `--timeout` says otherwise: for programs that wait outside of virtual
/// time; those that only spin are found before.
pub const TIMEOUT: Duration = Duration::from_secs(60);

fn mechanisms() -> clap::builder::PossibleValuesParser {
    corefold_machine::MECHANISMS.iter().map(|m| m.name).collect::<Vec<_>>().into()
}

/// A duration in seconds, more than none.
pub fn seconds() -> impl TypedValueParser<Value = Duration> {
    clap::builder::NonEmptyStringValueParser::new().try_map(|text| {
        let seconds = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
        seconds.filter(|s| !s.is_zero()).ok_or("must be a number of seconds, more than 0")
    })
}
