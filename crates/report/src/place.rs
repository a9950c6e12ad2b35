// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose code a place is.
use corefold_explain::{Place, SiteUse, called_by, is_wrapper};

/// Where standard libraries keep what is inlined into the program: an atomic add of C++ or Rust is in one
/// of these files, and its caller is what the reader looks for.
const LIBRARY_PATHS: [&str; 7] = [
    "/include/c++/",
    "/usr/include/",
    "/usr/lib/gcc",
    "/rustc/",
    "/library/alloc/src/",
    "/library/core/src/",
    "/library/std/src/",
];

fn is_library(file: Option<&str>) -> bool {
    file.is_some_and(|file| LIBRARY_PATHS.iter().any(|path| file.contains(path)))
}

/// The innermost of the functions inlined at `site` that is neither a standard library's nor a lock's
/// wrapper; the function that all are inlined into, if that is the program's; where all are the library's, the one that
/// is called. Of Rust, with the library's function that it calls in brackets.
pub fn in_program(site: &SiteUse) -> Place {
    let innermost = Place { function: site.function.clone(), file: site.file.clone(), line: site.line };
    let Some(outermost) = site.inlined_into.last() else { return innermost };
    let own = |place: &&Place| place.file.is_some() && !is_library(place.file.as_deref());
    let wraps = |place: &Place| is_wrapper(&place.function, place.file.as_deref());
    let frames: Vec<&Place> = std::iter::once(&innermost).chain(&site.inlined_into).collect();
    let all = || frames.iter().enumerate().filter(|(_, place)| own(place));
    let found = all().find(|(_, place)| !wraps(place) || std::ptr::eq(**place, outermost)).or(all().next());
    match found {
        Some((at, place)) => called_by((*place).clone(), at.checked_sub(1).map(|inner| frames[inner])),
        None => outermost.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{place, site};
    use corefold_recording::AccessKind;

    #[test]
    fn a_library_function_stands_for_its_caller() {
        let atomic = Place {
            function: "std::__atomic_base<long>::fetch_add".into(),
            file: Some("/usr/include/c++/12/bits/atomic_base.h".into()),
            line: Some(618),
        };
        let mut touched = site(&atomic, AccessKind::Rmw, "n", 1, 0);
        assert_eq!(in_program(&touched), atomic);
        let operator = Place { line: Some(390), ..atomic.clone() };
        touched.inlined_into = vec![operator, place("add", "counter.cc", 9), place("main", "main.cc", 1)];
        assert_eq!(in_program(&touched), place("add", "counter.cc", 9));
    }

    #[test]
    fn of_the_librarys_functions_alone_the_one_that_is_called_is_told() {
        let of = |function: &str, file: &str, line| Place {
            function: function.into(),
            line: Some(line),
            ..place("", file, 0)
        };
        let mut touched = site(
            &of("atomic::atomic_add", "/rustc/1/library/core/src/sync/atomic.rs", 3923),
            AccessKind::Rmw,
            "n",
            1,
            0,
        );
        let lock = of("Mutex::lock", "/rustc/1/library/std/src/sync/poison/mutex.rs", 492);
        touched.inlined_into =
            vec![of("Mutex::lock", "/rustc/1/library/std/src/sys/sync/mutex/futex.rs", 32), lock.clone()];
        assert_eq!(in_program(&touched), lock);
    }

    #[test]
    fn of_rust_the_library_function_is_named_too() {
        let lock = |function: &str, file: &str| Place { function: function.into(), ..place("", file, 490) };
        let exchange = lock("AtomicU32::compare_exchange", "/rustc/1/library/core/src/sync/atomic.rs");
        let mut touched = site(&exchange, AccessKind::Rmw, "queue", 1, 0);
        touched.inlined_into = vec![
            lock("Mutex::lock", "/rustc/1/library/std/src/sys/sync/mutex/futex.rs"),
            lock("Mutex::lock", "/rustc/1/library/std/src/sync/poison/mutex.rs"),
            place("Pool::push", "pool.rs", 9),
        ];
        assert_eq!(in_program(&touched), place("Pool::push [Mutex::lock]", "pool.rs", 9));
    }

    #[test]
    fn a_function_of_the_program_stands_for_itself() {
        let mut touched = site(&place("add", "counter.c", 31), AccessKind::Rmw, "n", 1, 0);
        touched.inlined_into = vec![place("worker", "counter.c", 50)];
        assert_eq!(in_program(&touched).function, "add");
    }

    #[test]
    fn a_wrapper_of_a_lock_stands_for_its_caller() {
        let mut touched = site(&place("Mutex::Lock", "port.h", 57), AccessKind::Rmw, "n", 1, 0);
        assert_eq!(in_program(&touched).function, "Mutex::Lock");
        touched.inlined_into = vec![place("MutexLock::MutexLock", "mutexlock.h", 26), place("get", "db.cc", 9)];
        assert_eq!(in_program(&touched), place("get", "db.cc", 9));
        // A function of its own is what it is.
        touched.inlined_into.pop();
        assert_eq!(in_program(&touched).function, "MutexLock::MutexLock");
    }
}
