// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that only carry the name of a lock or of an atomic operation: `Mutex::Lock` of a portability header, a
//! scoped guard's constructor, `mythread_cond_wait`, `ck_pr_faa_64`, `uatomic_inc`. All lock users and
//! atomic operations go through them, so reports name their callers instead.

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

/// Whether an inlined function is one: it is named for it, and lies in a header, as what is shared does.
pub fn is_wrapper(function: &str, file: Option<&str>) -> bool {
    let header = |file: &str| [".h", ".hh", ".hpp", ".hxx", ".inl"].iter().any(|end| file.ends_with(end));
    if !file.is_some_and(header) {
        return false;
    }
    let words: Vec<String> = words(last_two(function)).collect();
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let sized = words.last().is_some_and(|last| WIDTHS.contains(&last.as_str()));
    has(&WORDS) || has(&ATOMICS) || (sized && has(&OPERATIONS))
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
