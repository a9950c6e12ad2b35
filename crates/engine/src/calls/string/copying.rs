// SPDX-License-Identifier: MIT OR Apache-2.0
//! memcpy, strcpy and their like.
mod inline;

use super::entry::{accounted, stand_in};
use crate::bytes::{copy, fill, length, length_within};
use crate::calls::allocation::heap;
use crate::calls::allocation::libraries;
use crate::code::cost::work;
use crate::hooks::access::{range_read, range_write};

pub fn copied(to: u64, from: u64, bytes: u64, pc: u64) {
    work(bytes);
    range_read(from, pc, bytes);
    range_write(to, pc, bytes);
}

fn filled(to: u64, _byte: u64, bytes: u64, pc: u64) {
    work(bytes);
    range_write(to, pc, bytes);
}

fn zeroed(to: u64, bytes: u64, pc: u64) {
    filled(to, 0, bytes, pc);
}

fn copied_backwards(from: u64, to: u64, bytes: u64, pc: u64) {
    copied(to, from, bytes, pc);
}

fn string_copied(to: u64, from: u64, pc: u64) {
    copied(to, from, length(from) + 1, pc);
}

/// strncpy reads up to the string's end, and fills the rest.
fn string_copied_within(to: u64, from: u64, bytes: u64, pc: u64) {
    work(bytes);
    range_read(from, pc, (length_within(from, bytes) + 1).min(bytes));
    range_write(to, pc, bytes);
}

fn appended(to: u64, from: u64, pc: u64) {
    let end = to + length(to);
    range_read(to, pc, end - to + 1);
    string_copied(end, from, pc);
}

fn appended_within(to: u64, from: u64, bytes: u64, pc: u64) {
    let end = to + length(to);
    range_read(to, pc, end - to + 1);
    copied(end, from, length_within(from, bytes) + 1, pc);
}

accounted! {
    memcpy(to, from, bytes) "rcx" copied;
    memmove(to, from, bytes) "rcx" copied;
    mempcpy(to, from, bytes) "rcx" copied;
    __mempcpy(to, from, bytes) "rcx" copied;
    bcopy(from, to, bytes) "rcx" copied_backwards;
    memset(to, byte, bytes) "rcx" filled;
    explicit_bzero(to, bytes) "rdx" zeroed;
    bzero(to, bytes) "rdx" zeroed;
    strcpy(to, from) "rdx" string_copied;
    stpcpy(to, from) "rdx" string_copied;
    __stpcpy(to, from) "rdx" string_copied;
    strncpy(to, from, bytes) "rcx" string_copied_within;
    stpncpy(to, from, bytes) "rcx" string_copied_within;
    strcat(to, from) "rdx" appended;
    strncat(to, from, bytes) "rcx" appended_within;
}

/// What `_FORTIFY_SOURCE` calls: the same with the target's size at the end. libc's own ends the program
/// where it does not fit; then nothing is accounted for.
mod checked {
    use super::*;

    fn copied(to: u64, from: u64, bytes: u64, room: u64, pc: u64) {
        if bytes <= room {
            super::copied(to, from, bytes, pc);
        }
    }

    fn filled(to: u64, byte: u64, bytes: u64, room: u64, pc: u64) {
        if bytes <= room {
            super::filled(to, byte, bytes, pc);
        }
    }

    fn string_copied(to: u64, from: u64, room: u64, pc: u64) {
        if length(from) < room {
            super::string_copied(to, from, pc);
        }
    }

    fn string_copied_within(to: u64, from: u64, bytes: u64, room: u64, pc: u64) {
        if bytes <= room {
            super::string_copied_within(to, from, bytes, pc);
        }
    }

    fn appended(to: u64, from: u64, room: u64, pc: u64) {
        if length(to) + length(from) < room {
            super::appended(to, from, pc);
        }
    }

    fn appended_within(to: u64, from: u64, bytes: u64, room: u64, pc: u64) {
        if length(to) + length_within(from, bytes) < room {
            super::appended_within(to, from, bytes, pc);
        }
    }

    accounted! {
        __memcpy_chk(to, from, bytes, room) "r8" copied;
        __memmove_chk(to, from, bytes, room) "r8" copied;
        __mempcpy_chk(to, from, bytes, room) "r8" copied;
        __memset_chk(to, byte, bytes, room) "r8" filled;
        __strcpy_chk(to, from, room) "rcx" string_copied;
        __stpcpy_chk(to, from, room) "rcx" string_copied;
        __strncpy_chk(to, from, bytes, room) "r8" string_copied_within;
        __stpncpy_chk(to, from, bytes, room) "r8" string_copied_within;
        __strcat_chk(to, from, room) "rcx" appended;
        __strncat_chk(to, from, bytes, room) "r8" appended_within;
    }
}

fn duplicate(from: u64, bytes: u64, pc: u64) -> u64 {
    let heap = || heap::allocate(heap::Request::of(bytes + 1), pc).0;
    let to = libraries::allocate(bytes + 1).unwrap_or_else(heap);
    if to == 0 {
        return 0;
    }
    range_read(from, pc, bytes + 1);
    range_write(to, pc, bytes + 1);
    work(bytes);
    copy(to, from, bytes);
    fill(to + bytes, 0, 1);
    to
}

stand_in! { strdup(from) "rsi"
    extern "C" fn body(from: u64, pc: u64) -> u64 {
        duplicate(from, length(from), pc)
    }
}

stand_in! { __strdup(from) "rsi"
    extern "C" fn body(from: u64, pc: u64) -> u64 {
        duplicate(from, length(from), pc)
    }
}

stand_in! { strndup(from, most) "rdx"
    extern "C" fn body(from: u64, most: u64, pc: u64) -> u64 {
        duplicate(from, length_within(from, most), pc)
    }
}

/// What clang's instrumentation calls for copies.
macro_rules! like {
    ($($name:ident $libc:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            core::arch::naked_asm!("jmp {entry}", entry = sym $libc::entry)
        }
    )*};
}
like! { __tsan_memcpy memcpy; __tsan_memmove memmove; __tsan_memset memset; }
