// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose code a place is.
use corefold_explain::{Place, SiteUse};

/// Where standard libraries keep what is inlined into the program: an atomic add of C++ or Rust is in one
/// of these files, and its caller is what the reader looks for.
const LIBRARY_PATHS: [&str; 6] =
    ["/include/c++/", "/usr/include/", "/usr/lib/gcc", "/rustc/", "/library/core/src/", "/library/std/src/"];

fn is_library(file: Option<&str>) -> bool {
    file.is_some_and(|file| LIBRARY_PATHS.iter().any(|path| file.contains(path)))
}

/// The innermost of the functions inlined at `site` that is not a standard library's; the innermost of
/// all where there is no other.
pub fn in_program(site: &SiteUse) -> Place {
    let innermost = Place { function: site.function.clone(), file: site.file.clone(), line: site.line };
    let own = |place: &&Place| place.file.is_some() && !is_library(place.file.as_deref());
    if !is_library(site.file.as_deref()) {
        return innermost;
    }
    site.inlined_into.iter().find(own).cloned().unwrap_or(innermost)
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
    fn a_function_of_the_program_stands_for_itself() {
        let mut touched = site(&place("add", "counter.c", 31), AccessKind::Rmw, "n", 1, 0);
        touched.inlined_into = vec![place("worker", "counter.c", 50)];
        assert_eq!(in_program(&touched).function, "add");
    }
}
