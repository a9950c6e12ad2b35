// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks of Rust's standard library and of well-known crates, and what C++20 has beside mutexes, by their types' paths.
use super::cpp_lock::{CPP_TYPES, cpp_type};
use super::{Debug, Die};
use gimli::constants as c;

/// What waits, by crate.
const TYPES: [(&str, &[&str]); 7] = [
    ("std", &["Barrier", "Condvar", "LazyLock", "Mutex", "Once", "OnceLock", "Parker", "ReentrantLock", "RwLock"]),
    ("lock_api", &["Mutex", "ReentrantMutex", "RwLock"]),
    ("parking_lot", &["Condvar", "Once"]),
    ("parking_lot_core", &["ThreadParker", "WordLock"]),
    ("spin", &["Barrier", "Lazy", "Mutex", "Once", "RwLock", "SpinMutex", "TicketMutex"]),
    ("crossbeam_utils", &["Parker", "ShardedLock", "WaitGroup"]),
    ("tokio", &["Barrier", "Notify", "OnceCell", "RwLock", "Semaphore", "Mutex"]),
];

/// What their authors call what a lock guards.
const GUARDED: [&str; 4] = ["data", "value", "cell", "c"];

impl Debug {
    /// What the lock is called that a type is: `Mutex` of std, `parking_lot Mutex`; `None` for all else.
    pub(super) fn rust_lock(&self, kind: Die) -> Option<String> {
        let kind = self.strip(kind);
        let own = self.text(kind, c::DW_AT_name)?;
        let own = own.split('<').next()?;
        // The whole name takes longer to find.
        let known = TYPES.iter().map(|(_, types)| *types).chain([CPP_TYPES]).any(|types| types.contains(&own));
        known.then(|| lock_name(&self.type_name(kind)))?
    }

    /// Is the access to what the lock guards, and not to the lock itself?
    pub(super) fn is_guarded(&self, kind: Die, from: u64, bytes: u64) -> bool {
        let Some(record) = self.record(self.strip(kind)) else {
            return false;
        };
        let guarded = |name: &Option<String>| name.as_deref().is_some_and(|name| GUARDED.contains(&name));
        record.members.iter().any(|member| guarded(&member.name) && member.holds(from, bytes.max(1)))
    }
}

fn lock_name(name: &str) -> Option<String> {
    if let Some(name) = cpp_type(name) {
        return Some(name);
    }
    let (path, arguments) = name.split_at(name.find('<').unwrap_or(name.len()));
    let (own, last) = (path.split("::").next()?, path.rsplit("::").next()?);
    let of = |wanted: &str| TYPES.iter().find(|(krate, _)| *krate == wanted).map(|(_, types)| *types);
    if !of(own)?.contains(&last) {
        return None;
    }
    match own {
        // Elsewhere it has std's by names of its own, which are found within.
        "tokio" if path.split("::").nth(1) != Some("sync") => None,
        "std" => Some(last.to_owned()),
        // Whose lock it is says the raw lock that it is made of.
        "lock_api" => Some(format!("{} {last}", arguments.get(1..)?.split("::").next()?)),
        _ => Some(format!("{} {last}", own.trim_end_matches("_core"))),
    }
}

#[cfg(test)]
mod tests {
    use super::lock_name;

    #[test]
    fn locks_are_known_by_their_crate_and_name() {
        let names = [
            ("std::sync::poison::mutex::Mutex<alloc::vec::Vec<u64>>", Some("Mutex")),
            ("std::sync::barrier::Barrier", Some("Barrier")),
            ("lock_api::mutex::Mutex<parking_lot::raw_mutex::RawMutex, u64>", Some("parking_lot Mutex")),
            ("lock_api::rwlock::RwLock<mine::Raw, u64>", Some("mine RwLock")),
            ("parking_lot_core::thread_parker::imp::ThreadParker", Some("parking_lot ThreadParker")),
            ("spin::mutex::spin::SpinMutex<u8, spin::relax::Spin>", Some("spin SpinMutex")),
            ("tokio::sync::batch_semaphore::Semaphore", Some("tokio Semaphore")),
            ("tokio::loom::std::mutex::Mutex<tokio::runtime::scheduler::inject::synced::Synced>", None),
            ("std::counting_semaphore<1>", Some("std::counting_semaphore")),
            ("std::barrier<std::__empty_completion>", Some("std::barrier")),
            ("mine::Mutex<std::sync::poison::mutex::Mutex<u64>>", None),
            ("std::sync::poison::mutex::MutexGuard<u64>", None),
        ];
        names.iter().for_each(|(name, lock)| assert_eq!(lock_name(name).as_deref(), *lock, "{name}"));
    }
}
