// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which words of a command line are whose: corefold's options are taken out, and all others are left to cargo.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// An option of corefold's.
pub struct Flag {
    pub long: String,
    pub short: Option<char>,
    pub takes_value: bool,
}

/// One that was given.
#[derive(Debug, PartialEq)]
pub struct Own {
    /// Its long name.
    pub name: String,
    pub value: Option<OsString>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Words {
    pub own: Vec<Own>,
    pub cargo: Vec<OsString>,
    /// What follows `--`.
    pub program: Vec<OsString>,
}

/// A value that is missing is left to who checks the options, and so are options that are given twice.
pub fn split(words: impl IntoIterator<Item = OsString>, flags: &[Flag]) -> Words {
    let mut words = words.into_iter();
    let mut found = Words::default();
    while let Some(word) = words.next() {
        if word == "--" {
            found.program.extend(words);
            break;
        }
        match flags.iter().find_map(|flag| Some((flag, given(&word, flag)?))) {
            Some((flag, attached)) => {
                let value = if flag.takes_value { attached.or_else(|| words.next()) } else { attached };
                found.own.push(Own { name: flag.long.clone(), value });
            }
            None => found.cargo.push(word),
        }
    }
    found
}

/// Is the word this option? Then with the value that is attached to it, if there is one.
fn given(word: &OsStr, flag: &Flag) -> Option<Option<OsString>> {
    let value = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    if let Some(rest) = word.as_bytes().strip_prefix(format!("--{}", flag.long).as_bytes()) {
        return match rest.split_first() {
            None => Some(None),
            Some((b'=', rest)) => Some(Some(value(rest))),
            Some(_) => None,
        };
    }
    let rest = word.as_bytes().strip_prefix(format!("-{}", flag.short?).as_bytes())?;
    Some((!rest.is_empty()).then(|| value(rest)))
}

/// The values of an option in cargo's words, `--name VALUE` or `--name=VALUE`.
pub fn values(words: &[OsString], name: &str) -> impl Iterator<Item = OsString> {
    words.iter().enumerate().filter_map(move |(at, word)| match word.as_bytes().strip_prefix(name.as_bytes())? {
        [] => words.get(at + 1).cloned(),
        [b'=', rest @ ..] => Some(OsString::from_vec(rest.to_vec())),
        _ => None,
    })
}

/// The first of them.
pub fn value(words: &[OsString], name: &str) -> Option<OsString> {
    values(words, name).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> Vec<Flag> {
        let flag = |long: &str, short, takes_value| Flag { long: long.into(), short, takes_value };
        vec![flag("cpus", None, true), flag("output", Some('o'), true), flag("no-host-time", None, false)]
    }

    fn of(line: &str) -> Words {
        split(line.split(' ').map(OsString::from), &flags())
    }

    fn own(name: &str, value: &str) -> Own {
        Own { name: name.into(), value: (!value.is_empty()).then(|| value.into()) }
    }

    #[test]
    fn corefolds_options_are_told_from_cargos() {
        let words =
            of("-p pool --cpus 1,8 --release --cpus=2 -o a.rec --no-host-time --features cpus -ob -- -o --cpus");
        let expected =
            [own("cpus", "1,8"), own("cpus", "2"), own("output", "a.rec"), own("no-host-time", ""), own("output", "b")];
        assert_eq!(words.own, expected);
        assert_eq!(words.cargo, ["-p", "pool", "--release", "--features", "cpus"]);
        assert_eq!(words.program, ["-o", "--cpus"]);
    }

    #[test]
    fn longer_names_are_others() {
        assert_eq!(of("--cpusx 1 --outputs").cargo, ["--cpusx", "1", "--outputs"]);
        assert_eq!(of("--cpus").own, [own("cpus", "")]);
    }

    #[test]
    fn values_of_cargos_options() {
        let words = ["--target-dir", "x", "--target=y"].map(OsString::from);
        assert_eq!(value(&words, "--target"), Some("y".into()));
        assert_eq!(value(&words, "--target-dir"), Some("x".into()));
        assert_eq!(value(&words, "--profile"), None);
    }
}
