// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file around the runs.
use crate::Run;
use alloc::{string::String, vec::Vec};

pub const MAGIC: [u8; 8] = *b"corefold";
/// Raised whenever a type in this crate changes.
pub const VERSION: u8 = 14;

#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// The file does not start with [`MAGIC`].
    NotARecording,
    /// Written by another version of corefold.
    Version(u8),
    /// Cut short or damaged; the text says what the decoder met.
    Damaged(String),
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Error::NotARecording => f.write_str("this is not a corefold recording"),
            Error::Version(v) => {
                write!(f, "this recording has format {v}, this corefold reads format {VERSION}: record it again")
            }
            Error::Damaged(what) => write!(f, "this recording is cut short or damaged ({what})"),
        }
    }
}

impl core::error::Error for Error {}

pub fn encode_run(run: &Run) -> Vec<u8> {
    postcard::to_allocvec(run).expect("a Run has only lengths that postcard knows")
}

pub fn decode_run(bytes: &[u8]) -> Result<Run, Error> {
    postcard::from_bytes(bytes).map_err(damaged)
}

pub fn encode(runs: &[Run]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(VERSION);
    out.extend(postcard::to_allocvec(runs).expect("a Run has only lengths that postcard knows"));
    out
}

pub fn decode(bytes: &[u8]) -> Result<Vec<Run>, Error> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(Error::NotARecording)?;
    match rest.split_first() {
        Some((&VERSION, runs)) => postcard::from_bytes(runs).map_err(damaged),
        Some((&other, _)) => Err(Error::Version(other)),
        None => Err(Error::Damaged("no version".into())),
    }
}

pub fn damaged(e: postcard::Error) -> Error {
    let what = match e {
        postcard::Error::DeserializeUnexpectedEnd => "unexpected end of file",
        _ => "invalid contents",
    };
    Error::Damaged(what.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::*;

    fn run() -> Run {
        Run { cpus: 80, status: Status::Exited(3), argv: alloc::vec!["a".into()], ..Run::default() }
    }

    #[test]
    fn what_is_encoded_comes_back() {
        let runs = alloc::vec![run(), Run::default()];
        assert_eq!(decode(&encode(&runs)), Ok(runs));
        assert_eq!(decode_run(&encode_run(&run())), Ok(run()));
    }

    #[test]
    fn bad_files_are_told_apart() {
        assert_eq!(decode(b"hello"), Err(Error::NotARecording));
        let newer = [&MAGIC[..], &[VERSION + 1]].concat();
        assert_eq!(decode(&newer), Err(Error::Version(VERSION + 1)));
        let whole = encode(&[run()]);
        for cut in 9..whole.len() {
            assert!(matches!(decode(&whole[..cut]), Err(Error::Damaged(_))), "cut at {cut}");
        }
    }
}
