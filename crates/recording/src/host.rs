// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run took of the host: measured, so different each time. It stands beside the recording and is never part of
//! it: the recording stays the same to the byte.
use crate::Error;
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// One run's use of the host, in its region of interest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostUse {
    /// Why code was not sampled; empty where it was.
    pub refused: String,
    /// User and kernel CPU time of the kernel thread that runs all simulated ones, in nanoseconds.
    pub user: u64,
    pub kernel: u64,
    /// Of `kernel`, what the runtime spent on making kernel threads.
    pub kernel_own: u64,
    /// The runtime made the kernel work in ways that cannot be told from the program's (traps).
    pub kernel_mixed: bool,
    /// Samples of user time, wherever they fell.
    pub samples: u64,
    pub unhooked: Vec<Unhooked>,
    /// Samples in files that have hooks, though perhaps not in each function.
    pub hooked: Vec<Hooked>,
    /// Page faults of the program's memory, and of the runtime's own.
    pub faults: u64,
    pub faults_own: u64,
    /// System calls of the program that the kernel carried out, by name.
    pub calls: Vec<(String, u64)>,
    /// Files that the program opened for writing, not all if they were many; not those that it made anew.
    pub written: Vec<String>,
}

/// Samples in code without hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unhooked {
    /// The file's path; empty for code that the program has written to memory.
    pub path: String,
    /// Only some functions of the file have none: those of a static library, say.
    pub part: bool,
    pub samples: u64,
}

/// Samples at one instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooked {
    pub path: String,
    /// As the file's symbols have it.
    pub address: u64,
    pub samples: u64,
}

pub fn encode_host(host: &HostUse) -> Vec<u8> {
    postcard::to_allocvec(host).expect("a HostUse has only lengths that postcard knows")
}

pub fn decode_host(bytes: &[u8]) -> Result<HostUse, Error> {
    postcard::from_bytes(bytes).map_err(crate::file::damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back() {
        let part = Unhooked { path: "/lib/libz.so.1".into(), part: false, samples: 7 };
        let host = HostUse { user: 5, unhooked: alloc::vec![part], ..HostUse::default() };
        assert_eq!(decode_host(&encode_host(&host)), Ok(host));
        assert!(decode_host(&[0xff]).is_err());
    }
}
