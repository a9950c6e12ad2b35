// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a profile, and where.
use std::fmt;

/// Prints as `m.toml:14: latency.smt: "value" must be a number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: String,
    what: String,
}

impl Error {
    /// About no file.
    pub(crate) fn plain(what: String) -> Error {
        Error { place: String::new(), what }
    }

    /// About a file as a whole.
    pub(crate) fn file(file: &str, what: String) -> Error {
        Error { place: format!("{file}: "), what }
    }

    pub(crate) fn line(file: &str, line: usize, what: String) -> Error {
        Error { place: format!("{file}:{line}: "), what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.what)
    }
}

impl std::error::Error for Error {}
