// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies that a plain build has as instructions of its own code. clang's instrumentation makes calls of them,
//! and `corefold cc` lets them come here.
use super::{memcpy, memmove, memset};
use crate::engine::launch;
use crate::hooks::access::{range_read, range_write};
use crate::hot::hot;
use corefold_model::ticks;

/// Bytes that an instruction moves.
const MOVED: u64 = 16;

/// Time for so many moves to issue.
fn moves(count: u64) {
    let width = u64::from(launch().machine.core.width.max(1));
    hot().spend(count * ticks(1) / width);
}

fn copied(to: u64, from: u64, bytes: u64, pc: u64) {
    moves(2 * bytes.div_ceil(MOVED));
    range_read(from, pc, bytes);
    range_write(to, pc, bytes);
}

fn filled(to: u64, _byte: u64, bytes: u64, pc: u64) {
    moves(bytes.div_ceil(MOVED));
    range_write(to, pc, bytes);
}

/// `$account` and then `$libc`, for the program's calls; `$libc` alone while nothing is simulated.
macro_rules! inline {
    ($($name:ident $libc:ident $account:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            extern "C" fn body(to: u64, from: u64, bytes: u64, pc: u64) -> u64 {
                $account(to, from, bytes, pc);
                $libc::real(to, from, bytes)
            }
            core::arch::naked_asm!(
                "cmp byte ptr [rip + {active}], 0",
                "je {entry}",
                "mov rcx, [rsp]",
                "jmp {body}",
                active = sym crate::engine::ACTIVE,
                entry = sym $libc::entry,
                body = sym body,
            )
        }
    )*};
}

inline! {
    corefold_inline_memcpy memcpy copied;
    corefold_inline_memmove memmove copied;
    corefold_inline_memset memset filled;
}
