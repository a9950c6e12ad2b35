// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that only carry the name of a lock or of an atomic operation: `Mutex::Lock` of a portability header, a
//! scoped guard's constructor, `mythread_cond_wait`, `ck_pr_faa_64`, `uatomic_inc`. All lock users and
//! atomic operations go through them, so reports name their callers instead.

use crate::types::Place;

/// Words that the name of such a function, or of its class, has.
const WORDS: [&str; 18] = [
    "cond",
    "condvar",
    "futex",
    "guard",
    "latch",
    "lock",
    "locked",
    "locker",
    "mutex",
    "rwlock",
    "semaphore",
    "spinlock",
    "timedwait",
    "trylock",
    "unlock",
    "unlocker",
    "wait",
    "waituntil",
];

/// Words that the name of an atomic operation has.
const ATOMICS: [&str; 7] = ["atomic", "cas", "cmpxchg", "faa", "fas", "uatomic", "xchg"];
/// Words that it may have, and what follows them then: how wide the word is.
const OPERATIONS: [&str; 12] = ["add", "and", "btc", "btr", "bts", "dec", "inc", "load", "or", "store", "sub", "xor"];
const WIDTHS: [&str; 12] = ["16", "32", "64", "8", "char", "double", "int", "long", "ptr", "short", "uint", "zero"];

/// Crates of Rust that are locks or channels.
const CRATES: [&str; 7] =
    ["crossbeam-channel", "crossbeam-utils", "lock_api", "once_cell", "parking_lot", "parking_lot_core", "spin"];

/// Of Rust's core: its functions are told by the kind of the access.
const ATOMIC: &str = "/library/core/src/sync/atomic.rs";

/// Is it source of Rust?
pub(crate) fn is_rust(file: Option<&str>) -> bool {
    file.is_some_and(|file| file.ends_with(".rs"))
}

/// Is the file that of Rust's atomic types?
pub(crate) fn is_rust_atomic(file: &str) -> bool {
    file.ends_with(ATOMIC)
}

/// Whether an inlined function is one: it is named for it, and lies in a header, as what is shared does; or it is of a
/// crate of locks.
pub fn is_wrapper(function: &str, file: Option<&str>) -> bool {
    if is_rust(file) {
        return file.is_some_and(is_of_lock_crate);
    }
    let header = |file: &str| [".h", ".hh", ".hpp", ".hxx", ".inl"].iter().any(|end| file.ends_with(end));
    if !file.is_some_and(header) {
        return false;
    }
    let words: Vec<String> = words(last_two(function)).collect();
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let sized = words.last().is_some_and(|last| WIDTHS.contains(&last.as_str()));
    has(&WORDS) || has(&ATOMICS) || (sized && has(&OPERATIONS))
}

/// `…/lock_api-0.4.14/src/mutex.rs`, or without the version where crates are kept with the program.
fn is_of_lock_crate(file: &str) -> bool {
    let folders: Vec<&str> = file.split('/').collect();
    let is = |folder: &str, name: &&str| match folder.strip_prefix(*name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())),
        None => false,
    };
    folders.windows(2).any(|pair| pair[1] == "src" && CRATES.iter().any(|name| is(pair[0], name)))
}

/// A place of the program with the library's function of Rust that it calls there: `Pool::push [Mutex::lock]`.
pub fn called_by(place: Place, called: Option<&Place>) -> Place {
    let named =
        called.filter(|called| is_rust(called.file.as_deref()) && !called.file.as_deref().is_some_and(is_rust_atomic));
    match named {
        Some(called) => Place { function: format!("{} [{}]", place.function, called.function), ..place },
        None => place,
    }
}

/// A method with its class, without arguments of either: `Guard::Guard` of `port::Guard<Mutex>::Guard(int)`.
fn last_two(function: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for c in function.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let parts: Vec<&str> = plain.split("::").collect();
    parts[parts.len().saturating_sub(2)..].join("::")
}

/// The words of `MutexLock::unlock_it`, in lower case.
fn words(name: String) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut small_before = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small_before) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        small_before = c.is_lowercase();
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_header_and_is_named_for_a_lock_is_a_wrapper() {
        for name in [
            "leveldb::port::Mutex::Lock",
            "leveldb::MutexLock::~MutexLock",
            "mythread_cond_timedwait",
            "ScopedGuard<std::vector<int> >::ScopedGuard",
            "spin_lock",
            "SpinUnlock",
        ] {
            assert!(is_wrapper(name, Some("/src/port/mutex.h")), "{name}");
            assert!(!is_wrapper(name, Some("/src/port/mutex.c")), "{name}");
            assert!(!is_wrapper(name, None), "{name}");
        }
    }

    #[test]
    fn what_stands_in_a_crate_of_locks_is_one() {
        for (file, expected) in [
            ("/r/lock_api-0.4.14/src/mutex.rs", true),
            ("/mine/vendor/parking_lot/src/raw_mutex.rs", true),
            ("/r/spinning-1.0.0/src/lib.rs", false),
            ("/mine/spin/benches/lock.rs", false),
            ("/mine/src/lock.rs", false),
        ] {
            assert_eq!(is_wrapper("Mutex::lock", Some(file)), expected, "{file}");
        }
    }

    #[test]
    fn a_caller_names_the_library_function_that_it_calls() {
        let place =
            |function: &str, file: &str| Place { function: function.into(), file: Some(file.into()), line: Some(1) };
        let push = || place("Pool::push", "pool.rs");
        let after = |called: Place| called_by(push(), Some(&called)).function;
        assert_eq!(after(place("Mutex::lock", "/rustc/1/library/std/src/sync/mutex.rs")), "Pool::push [Mutex::lock]");
        assert_eq!(after(place("AtomicU64::load", "/rustc/1/library/core/src/sync/atomic.rs")), "Pool::push");
        assert_eq!(after(place("lock", "lock.h")), "Pool::push");
        assert_eq!(called_by(push(), None), push());
    }

    #[test]
    fn so_is_one_that_is_named_for_an_atomic_operation() {
        for name in
            ["ck_pr_faa_64", "ck_pr_md_store_ptr", "ck_pr_load_uint", "uatomic_inc", "arch_atomic_add", "my_cas2"]
        {
            let expected = name != "my_cas2";
            assert_eq!(is_wrapper(name, Some("include/ck_pr.h")), expected, "{name}");
            assert!(!is_wrapper(name, Some("queue.c")), "{name}");
        }
    }

    #[test]
    fn a_word_within_a_word_or_an_argument_makes_none() {
        for name in [
            "lzma_block_encode",
            "clock_now",
            "Table<Mutex>::get",
            "mutexes::Table::get",
            "awaits",
            "KeyStore::load",
            "add_node",
        ] {
            assert!(!is_wrapper(name, Some("a.h")), "{name}");
        }
    }
}
