// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program printed, shown once: that of the smallest count, and the end of what the first
//! failing count printed.
use super::child::Launched;
use crate::exit;
use corefold_recording::Run;
use std::io::Write;

/// Bytes of a failing run's output worth showing.
const TAIL: usize = 4096;

pub fn show(launched: &Launched, runs: &[Run]) {
    if launched.alone {
        return;
    }
    if let Some(first) = runs.first() {
        print(launched, first.cpus, usize::MAX);
    }
    if let Some(failed) = runs.iter().skip(1).find(|r| exit::of_status(&r.status) != exit::FINE)
        && exit::of_status(&runs[0].status) == exit::FINE
    {
        print(launched, failed.cpus, TAIL);
    }
}

fn print(launched: &Launched, cpus: u32, most: usize) {
    let text = std::fs::read(launched.printed(cpus)).unwrap_or_default();
    if !text.is_empty() {
        // Nobody is left to be told that stderr is closed.
        let _ = std::io::stderr().write_all(&framed(&text, cpus, most));
    }
}

fn framed(text: &[u8], cpus: u32, most: usize) -> Vec<u8> {
    let plural = if cpus == 1 { "" } else { "s" };
    let cut = tail(text, most);
    let what = if cut.len() < text.len() { "end of the output" } else { "output" };
    let mut out = format!("--- {what} at {cpus} CPU{plural} ---\n").into_bytes();
    out.extend_from_slice(cut);
    if !text.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(b"---\n");
    out
}

/// The last `most` bytes, from the beginning of a line.
pub fn tail(text: &[u8], most: usize) -> &[u8] {
    let from = text.len().saturating_sub(most);
    if from == 0 {
        return text;
    }
    let line = text[from..].iter().position(|&b| b == b'\n').map_or(0, |n| n + 1);
    &text[from + line..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_framed() {
        assert_eq!(framed(b"hello", 1, 100), b"--- output at 1 CPU ---\nhello\n---\n");
        assert_eq!(framed(b"one\ntwo\nthree\n", 8, 8), b"--- end of the output at 8 CPUs ---\nthree\n---\n");
    }

    #[test]
    fn a_tail_begins_with_a_line() {
        assert_eq!(tail(b"one\ntwo\n", 8), b"one\ntwo\n");
        assert_eq!(tail(b"one\ntwo\n", 5), b"two\n");
        assert_eq!(tail(b"abcdef", 3), b"def");
    }
}
