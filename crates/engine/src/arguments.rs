// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's arguments and environment, at addresses that do not depend on what else is in the
//! environment: each variable on pages of its own, by its name.
use crate::bytes;
use crate::layout::{ARGUMENTS, ARGUMENTS_BYTES};
use crate::sys;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char};

const PAGE: u64 = 4096;
/// The largest line size of any machine.
const LINE: u64 = 128;
/// The list comes first, then the arguments, then the variables.
const STRINGS: u64 = ARGUMENTS + (1 << 30);
const VARIABLES: u64 = ARGUMENTS + ARGUMENTS_BYTES / 2;
const VARIABLES_PAGES: u64 = ARGUMENTS_BYTES / 2 / PAGE;

/// Moves all there, and returns the new list: the arguments, a null, the environment, a null.
pub fn place(argc: usize, argv: *mut *mut c_char) -> *mut *mut c_char {
    if !sys::map_at(ARGUMENTS, ARGUMENTS_BYTES) {
        sys::engine_fault("cannot reserve address space for the arguments (is `ulimit -v` set?)");
    }
    let arguments = strings(argv);
    let variables = strings(argv.wrapping_add(argc + 1));
    let mut next = STRINGS;
    let mut words: Vec<u64> = Vec::new();
    for bytes in &arguments {
        words.push(copy(next, bytes));
        next = (next + bytes.len() as u64).next_multiple_of(LINE);
    }
    words.push(0);
    let mut taken = BTreeMap::new();
    words.extend(variables.iter().map(|bytes| copy(variable_place(bytes, &mut taken), bytes)));
    words.push(0);
    bytes::copy(ARGUMENTS, words.as_ptr() as u64, size_of_val(words.as_slice()) as u64);
    let list = ARGUMENTS as *mut *mut c_char;
    set_environment(list.wrapping_add(argc + 1));
    list
}

/// The strings of a list that ends in a null, each with its final zero byte.
fn strings<'a>(list: *mut *mut c_char) -> Vec<&'a [u8]> {
    // SAFETY: the kernel's lists of terminated strings.
    let words = (0..).map(|at| unsafe { *list.add(at) }).take_while(|word| !word.is_null());
    // SAFETY: as above.
    words.map(|word| unsafe { CStr::from_ptr(word) }.to_bytes_with_nul()).collect()
}

fn copy(to: u64, bytes: &[u8]) -> u64 {
    bytes::copy(to, bytes.as_ptr() as u64, bytes.len() as u64);
    to
}

/// Pages for a variable, at an address hashed from its name; further on if another variable is there.
fn variable_place(bytes: &[u8], taken: &mut BTreeMap<u64, u64>) -> u64 {
    let name = bytes.split(|byte| *byte == b'=').next().unwrap_or(bytes);
    let pages = (bytes.len() as u64).div_ceil(PAGE);
    let mut page = hash(name) % (VARIABLES_PAGES / 2);
    while let Some((begin, count)) = taken.range(..page + pages).next_back().filter(|(b, c)| *b + *c > page) {
        page = begin + count;
    }
    taken.insert(page, pages);
    VARIABLES + page * PAGE
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// libc took the environment from where the kernel put it, before the runtime started.
fn set_environment(to: *mut *mut c_char) {
    // SAFETY: libc's variable, or the program's copy of it, has that type.
    unsafe {
        let variable = libc::dlsym(libc::RTLD_DEFAULT, c"environ".as_ptr()).cast::<*mut *mut c_char>();
        if !variable.is_null() {
            *variable = to;
        }
    }
}
