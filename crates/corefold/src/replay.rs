// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command that runs one schedule of `corefold explore` again.
use crate::cli::ExploreArgs;
use crate::limits::{HostArgs, LimitArgs, SLACK, TIMEOUT};
use corefold_recording::Status;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// With all that a run depends on; `longest` is the limit of virtual time that the seeds had.
pub fn command(args: &ExploreArgs, seed: u64, longest: Duration, ended: &Status) -> String {
    let mut words = vec!["corefold run".to_string(), format!("--seed {seed} --cpus {}", args.cpus)];
    words.extend(options(&args.limits));
    if seed != 0 {
        words.push(format!("--longest {}", longest.as_secs_f64()));
    }
    // A run that the host's time ended would not end without.
    let stopped = matches!(ended, Status::TimedOut { .. } | Status::Unsupported { .. });
    if let Some(limit) = args.limits.timeout.or(stopped.then_some(TIMEOUT)) {
        words.push(format!("--timeout {}", limit.as_secs_f64()));
    }
    words.push("--".into());
    words.extend(args.program.iter().map(|word| quoted(word)));
    words.join(" ")
}

/// The options that a run depends on, where they are not the usual ones. All fields are named, so that a new one
/// has to be thought of here; `jobs` is of the host only.
fn options(limits: &LimitArgs) -> Vec<String> {
    let LimitArgs { machine, placement, without, timeout: _, longest: _, host: HostArgs { memory, jobs: _, slack } } =
        limits;
    let mut words = Vec::new();
    if machine != corefold_machine::DEFAULT {
        words.push(format!("--machine {}", quoted(machine.as_ref())));
    }
    if placement != corefold_machine::COMPACT {
        words.push(format!("--placement {}", quoted(placement.as_ref())));
    }
    if !without.is_empty() {
        words.push(format!("--without {}", without.join(",")));
    }
    if *slack != SLACK {
        words.push(format!("--slack {slack}"));
    }
    words.extend(memory.map(|bytes| format!("--memory {bytes}")));
    words
}

/// A word as bash takes it. Bytes that are not printable text go as escapes.
fn quoted(word: &OsStr) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%{}".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.into(),
        Some(text) if corefold_report::is_visible(text) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let byte = |&byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            // A digit behind an escape would belong to it, were there not two already.
            format!("$'{}'", word.as_bytes().iter().map(byte).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::{CommandFactory, Parser};

    #[test]
    fn words_are_quoted_for_a_shell() {
        let cases: [(&[u8], &str); 8] = [
            (b"./a", "./a"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"it's", r"'it'\''s'"),
            (b"$x", "'$x'"),
            ("größe".as_bytes(), "'größe'"),
            (b"\x1b[31mit's\\", r"$'\x1b[31mit\'s\\'"),
            (b"\xff0\n", r"$'\xff0\x0a'"),
        ];
        for (word, expected) in cases {
            assert_eq!(quoted(OsStr::from_bytes(word)), expected);
            let mut echo = std::process::Command::new("bash");
            let said = echo.args(["-c", &format!("printf %s {expected}")]).output().unwrap();
            assert_eq!(said.stdout, word, "{expected}");
        }
    }

    /// What each option is given as; a new option has no value here, and fails.
    fn value(option: &str) -> &'static str {
        match option {
            "seeds" => "7",
            "cpus" => "8",
            "stop-after" => "2",
            "machine" => "xeon-4s-80",
            "placement" => "spread",
            "without" => "store-buffer,smt",
            "timeout" => "2.5",
            "longest" => "0.25",
            "memory" => "64M",
            "jobs" => "1",
            "slack" => "0",
            "json" => "/dev/null",
            new => panic!("does --{new} of explore change what a run does? Then it belongs into its replay"),
        }
    }

    /// `run` with the line sets what `explore` was told, whatever that was.
    #[test]
    fn every_option_is_replayed() {
        let command = Cli::command();
        let explore = command.find_subcommand("explore").unwrap();
        let named =
            explore.get_arguments().filter_map(|a| a.get_long()).filter(|a| !["help", "keep-going"].contains(a));
        let mut words: Vec<String> = vec!["corefold".into(), "explore".into()];
        named.for_each(|option| words.extend([format!("--{option}"), value(option).into()]));
        words.extend(["--", "./a", "{cpus}"].map(String::from));
        let Command::Explore(args) = Cli::parse_from(words).command else { panic!("not explore") };
        let line = super::command(&args, 7, args.limits.longest.unwrap(), &Status::Exited(1));
        let Command::Run(run) = Cli::parse_from(line.split(' ')).command else { panic!("not run: {line}") };
        let told = |l: &LimitArgs| {
            (
                l.machine.clone(),
                l.placement.clone(),
                l.without.clone(),
                l.timeout,
                l.longest,
                l.host.memory,
                l.host.slack,
            )
        };
        assert_eq!(told(&run.limits), told(&args.limits), "{line}");
        assert_eq!((run.seed, run.cpus.as_deref(), run.program), (7, Some("8"), args.program));
    }

    #[test]
    fn a_run_that_was_stopped_is_stopped_again() {
        let Command::Explore(args) = Cli::parse_from(["corefold", "explore", "./a"]).command else { panic!() };
        let ended = Status::TimedOut { running: Vec::new(), waiters: Vec::new(), advances: false, unseen: None };
        assert_eq!(super::command(&args, 0, TIMEOUT, &ended), "corefold run --seed 0 --cpus 4 --timeout 60 -- ./a");
        assert_eq!(super::command(&args, 0, TIMEOUT, &Status::Exited(1)), "corefold run --seed 0 --cpus 4 -- ./a");
    }
}
