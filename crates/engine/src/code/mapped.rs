// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code of this process, for decoding.
use crate::code::{instrumented, modules};
use corefold_block::{Code, Hook};

unsafe extern "C" {
    /// The hook at each basic block (`hooks/inline.rs`).
    safe fn __sanitizer_cov_trace_pc();
}

/// The process's own code.
pub struct Mapped;

impl Code for Mapped {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let Some(module) = modules::range_of(address) else { return &[] };
        let len = len.min((module.end - address) as usize);
        // SAFETY: within a mapped module; its code and its GOT are readable.
        unsafe { core::slice::from_raw_parts(address as *const u8, len) }
    }

    fn bytes_before(&self, address: u64, len: usize) -> &[u8] {
        let Some(code) = instrumented::code_around(address) else { return &[] };
        let len = len.min((address - code.start) as usize);
        // SAFETY: within a segment of code, which is readable.
        unsafe { core::slice::from_raw_parts((address - len as u64) as *const u8, len) }
    }

    fn hook(&self, target: u64) -> Option<Hook> {
        if target == __sanitizer_cov_trace_pc as *const () as u64 {
            return Some(Hook::Block);
        }
        modules::hook_at(target)
    }
}
