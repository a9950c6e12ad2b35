// SPDX-License-Identifier: MIT OR Apache-2.0
//! Standard output, and what it can show.
use anyhow::{Context, Result};
use corefold_report::visible;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Prints; a reader that has gone away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Prints text that is no report, and may hold what somebody else wrote.
pub fn print_plain(text: &str) -> Result<()> {
    print(&visible(text))
}

/// Says a line on standard error. Where that is closed too, nobody is left to be told.
pub fn note(line: &str) {
    let _ = io::stderr().write_all(format!("{}\n", visible(line)).as_bytes());
}

/// How the report is to look there.
pub fn options(work: corefold_recording::Work) -> corefold_report::Options {
    let terminal = io::stdout().is_terminal();
    let usual = corefold_report::Options::default();
    let columns = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    corefold_report::Options {
        work,
        color: terminal && variable("NO_COLOR").is_empty() && variable("TERM") != "dumb",
        width: columns.unwrap_or(usual.width),
        accuracy: accuracy(),
        host: Vec::new(),
        ascii: terminal && ["linux", "dumb", "vt100", "vt220"].contains(&variable("TERM").as_str()),
    }
}

/// What `make accuracy` measured.
fn accuracy() -> Vec<corefold_report::Expected> {
    #[derive(serde::Deserialize)]
    struct Saved {
        #[serde(default)]
        expected: Vec<corefold_report::Expected>,
    }
    let saved = serde_json::from_str(include_str!("../../../docs/accuracy.json"));
    saved.map(|saved: Saved| saved.expected).expect("a file that corefold-accuracy wrote, which a test reads")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_was_measured_can_be_read() {
        assert!(super::accuracy().iter().any(|known| known.machine.is_none() && known.kind.is_none()));
    }
}
