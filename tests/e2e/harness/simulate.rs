// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold run` of a compiled program.
use super::{Place, Program, Report, Said, corefold, said, stress};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What is to be simulated.
pub struct Simulation {
    command: Command,
    place: Place,
    json: Option<PathBuf>,
    program: Program,
    args: Vec<String>,
    timeout: Duration,
}

/// What came of it.
pub struct Simulated {
    place: Place,
    pub said: Said,
}

impl Simulation {
    pub fn of(program: &Program) -> Simulation {
        let place = Place::new();
        let mut command = place.command(corefold());
        command.arg("run").arg("-o").arg(place.path("recording"));
        let json = Some(place.path("report.json"));
        Simulation {
            command,
            place,
            json,
            program: program.clone(),
            args: Vec::new(),
            timeout: Duration::from_secs(if stress() { 900 } else { 120 }),
        }
    }

    pub fn cpus(self, list: &str) -> Simulation {
        self.option("--cpus", list)
    }

    pub fn option(mut self, name: &str, value: &str) -> Simulation {
        self.command.args([name, value]);
        self
    }

    /// Seconds of the host after which a run is stopped; no test hangs.
    pub fn timeout(mut self, timeout: Duration) -> Simulation {
        self.timeout = timeout;
        self
    }

    /// The JSON document in place of the report.
    pub fn json_to_stdout(mut self) -> Simulation {
        self.json = Some("-".into());
        self
    }

    /// No JSON document, which takes longer than the report: for tests of what the program itself prints.
    pub fn without_json(mut self) -> Simulation {
        self.json = None;
        self
    }

    /// Arguments of the program, in one line.
    pub fn args(mut self, line: &str) -> Simulation {
        self.args.extend(line.split_whitespace().map(String::from));
        self
    }

    /// Changes how the command itself is started.
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Simulation {
        change(&mut self.command);
        self
    }

    /// Runs it, however it ends.
    pub fn run(mut self) -> Simulated {
        if let Some(json) = self.json {
            self.command.arg("--json").arg(json);
        }
        self.command.args(["--timeout", &self.timeout.as_secs_f64().to_string()]);
        self.command.arg("--").arg(self.program).args(self.args);
        let said = said(&mut self.command);
        Simulated { place: self.place, said }
    }

    /// Runs it; every count must end well. Without the report as text, which would take as long again.
    pub fn report(self) -> Report {
        let said = self.json_to_stdout().run().said;
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        Report::parse(&said.out)
    }
}

impl Simulated {
    pub fn report(&self) -> Report {
        Report::read(&self.place.path("report.json"))
    }

    pub fn recording(&self) -> PathBuf {
        self.place.path("recording")
    }

    /// `corefold report` of what was saved.
    pub fn again(&self) -> Said {
        self.place.corefold("report recording")
    }

    /// What the program itself printed, when it ran at one count only.
    pub fn printed(&self) -> &str {
        let own = self.said.err.rfind("recording: ").unwrap_or(self.said.err.len());
        &self.said.err[..own]
    }

    /// The same at several counts, if it printed the same at each.
    pub fn printed_at_each(&self) -> Option<&str> {
        let printed = self.printed();
        if printed.is_empty() {
            return Some(printed);
        }
        let (head, rest) = printed.split_once('\n')?;
        let same = head.starts_with("--- output at ") && head.ends_with(", the same at each count ---");
        rest.strip_suffix("---\n").filter(|_| same)
    }
}
