// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program printed at several counts, shown when all have ended: that of the smallest count, and of
//! each other count that printed something else, from the first line that differs on.
use super::child::Launched;
use corefold_recording::Run;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Bytes worth showing of what the smallest count printed, and of each other.
const MOST: u64 = 64 << 10;
const MOST_OF_OTHERS: u64 = 4 << 10;

/// Counts that printed the same, the smallest first.
struct Alike {
    cpus: Vec<u32>,
    printed: PathBuf,
    /// Where the lines begin that the smallest count of all has not, in bytes and in lines.
    from: Begin,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Begin {
    byte: u64,
    line: u64,
}

pub fn show(launched: &Launched, runs: &[Run]) {
    if launched.alone {
        return;
    }
    let printed = runs.iter().map(|run| (run.cpus, launched.printed(run.cpus)));
    // What cannot be read, or nobody is left to be told of, is not shown.
    let _ = groups(printed).and_then(|groups| write_all(&groups, runs.len(), &mut io::stderr().lock()));
}

fn groups(printed: impl Iterator<Item = (u32, PathBuf)>) -> io::Result<Vec<Alike>> {
    let mut groups: Vec<Alike> = Vec::new();
    'counts: for (cpus, printed) in printed {
        let mut from = None;
        for group in &mut groups {
            let Some(differs) = first_difference(&group.printed, &printed)? else {
                group.cpus.push(cpus);
                continue 'counts;
            };
            from.get_or_insert(differs);
        }
        groups.push(Alike { cpus: vec![cpus], printed, from: from.unwrap_or_default() });
    }
    Ok(groups)
}

/// Where the first line begins that the second file has and the first has not, or the other way round.
fn first_difference(one: &PathBuf, other: &PathBuf) -> io::Result<Option<Begin>> {
    let open = |path| Ok::<_, io::Error>(BufReader::new(File::open(path)?));
    let (mut one, mut other) = (open(one)?, open(other)?);
    let (mut at, mut line_at) = (0, Begin::default());
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let both = left.len().min(right.len());
        let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        for (n, _) in left[..same].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            line_at = Begin { byte: at + n as u64 + 1, line: line_at.line + 1 };
        }
        if same < both || both == 0 {
            return Ok((left.len() != right.len() || same < both).then_some(line_at));
        }
        at += both as u64;
        one.consume(both);
        other.consume(both);
    }
}

fn write_all(groups: &[Alike], counts: usize, to: &mut impl Write) -> io::Result<()> {
    for (place, group) in groups.iter().enumerate() {
        let (first, most) = (place == 0, if place == 0 { MOST } else { MOST_OF_OTHERS });
        let text = excerpt(&mut File::open(&group.printed)?, group.from.byte, most)?;
        if text.is_empty() && first && groups.len() == 1 {
            return Ok(()); // no count printed anything
        }
        let all = group.cpus.len() == counts;
        to.write_all(&framed(&text, &title(&group.cpus, all, group.from.line)))?;
    }
    Ok(())
}

/// `output at 2 and 4 CPUs, from line 3 on`.
fn title(cpus: &[u32], all: bool, line: u64) -> String {
    let counts = match cpus {
        [1] => "1 CPU".into(),
        [one] => format!("{one} CPUs"),
        [first, .., last] if all => format!("{first} to {last} CPUs, the same at each count"),
        [before @ .., last] => {
            let before: Vec<String> = before.iter().map(u32::to_string).collect();
            format!("{} and {last} CPUs", before.join(", "))
        }
        [] => String::new(),
    };
    let from = if line > 0 { format!(", from line {} on", line + 1) } else { String::new() };
    format!("output at {counts}{from}")
}

/// What the file holds from a byte on; of more than `most` bytes, the beginning and the end.
fn excerpt(file: &mut File, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().saturating_sub(from);
    let mut piece = |at: u64, bytes: u64| {
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(from + at))?;
        Read::by_ref(file).take(bytes).read_to_end(&mut text).map(|_| text)
    };
    if length <= most {
        return piece(0, length);
    }
    let (mut head, end) = (piece(0, most / 2)?, piece(length - most / 2, most / 2)?);
    if let Some(line) = head.iter().rposition(|&byte| byte == b'\n') {
        head.truncate(line + 1);
    }
    let end = tail(&end, end.len().saturating_sub(1));
    let left_out = length - head.len() as u64 - end.len() as u64;
    let newline: &[u8] = if head.ends_with(b"\n") { b"" } else { b"\n" };
    Ok([&head, newline, format!("[{left_out} bytes left out]\n").as_bytes(), end].concat())
}

fn framed(text: &[u8], title: &str) -> Vec<u8> {
    let newline: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"" } else { b"\n" };
    let text = if text.is_empty() { b"(nothing)\n" } else { text };
    [format!("--- {title} ---\n").as_bytes(), text, newline, b"---\n"].concat()
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

    /// What is shown of what counts printed.
    fn shown(printed: &[(u32, &str)]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let write = |(cpus, text): &(u32, &str)| {
            let path = directory.path().join(cpus.to_string());
            std::fs::write(&path, text).unwrap();
            (*cpus, path)
        };
        let (groups, mut out) = (groups(printed.iter().map(write)).unwrap(), Vec::new());
        write_all(&groups, printed.len(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_the_same_everywhere_is_shown_once() {
        assert_eq!(
            shown(&[(1, "hello"), (2, "hello")]),
            "--- output at 1 to 2 CPUs, the same at each count ---\nhello\n---\n"
        );
        assert_eq!(shown(&[(1, ""), (2, "")]), "");
    }

    #[test]
    fn each_count_that_differs_is_shown_from_there_on() {
        let right = "begins\nis right\nends\n";
        let all =
            [(1, right), (2, right), (8, "begins\nis wrong\nends\n"), (40, right), (80, "begins\nis wrong\nends\n")];
        assert_eq!(
            shown(&all),
            "--- output at 1, 2 and 40 CPUs ---\nbegins\nis right\nends\n---\n\
             --- output at 8 and 80 CPUs, from line 2 on ---\nis wrong\nends\n---\n"
        );
    }

    #[test]
    fn one_that_prints_less_or_nothing_is_shown_too() {
        assert_eq!(
            shown(&[(1, "a\nb\n"), (2, "a\n"), (4, ""), (8, "a\nb\nc")]),
            "--- output at 1 CPU ---\na\nb\n---\n--- output at 2 CPUs, from line 2 on ---\n(nothing)\n---\n\
             --- output at 4 CPUs ---\n(nothing)\n---\n--- output at 8 CPUs, from line 3 on ---\nc\n---\n"
        );
        assert_eq!(
            shown(&[(1, ""), (2, "x\n")]),
            "--- output at 1 CPU ---\n(nothing)\n---\n--- output at 2 CPUs ---\nx\n---\n"
        );
    }

    #[test]
    fn much_output_is_cut_in_the_middle() {
        let long: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let other = long.replace("line 70000\n", "wrong\n");
        let shown = shown(&[(1, &long), (2, &other)]);
        assert!(shown.len() < (MOST + MOST_OF_OTHERS) as usize + 300, "{}", shown.len());
        let of_two = &shown[shown.find("--- output at 2 CPUs, from line 70001 on ---\nwrong\nline 70001\n").unwrap()..];
        assert!(of_two.contains("bytes left out]\nline 9") && of_two.ends_with("\nline 99999\n---\n"), "{of_two}");
    }

    #[test]
    fn a_tail_begins_with_a_line() {
        assert_eq!(tail(b"one\ntwo\n", 8), b"one\ntwo\n");
        assert_eq!(tail(b"one\ntwo\n", 5), b"two\n");
        assert_eq!(tail(b"abcdef", 3), b"def");
    }
}
