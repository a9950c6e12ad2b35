// SPDX-License-Identifier: MIT OR Apache-2.0
//! Having the loader load the runtime before all else, so that its functions win.
use crate::exit::bad_input;
use anyhow::Result;
use std::env::var_os;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the loader takes for the end of a name in `LD_PRELOAD`; it knows no quotes.
const SEPARATORS: &[u8] = b" \t\n:";

/// The environment variables that preload the runtime, beside what the user preloads.
pub fn variables(runtime: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let whole = runtime.as_os_str();
    if !has(whole, SEPARATORS) {
        return Ok(vec![("LD_PRELOAD", before(whole, var_os("LD_PRELOAD")))]);
    }
    // By name and search path, where blanks may stand.
    let (Some(directory), Some(name)) = (runtime.parent(), runtime.file_name()) else {
        return Err(bad_input!("{} is no file", runtime.display()));
    };
    if has(directory.as_os_str(), b":;") || has(name, SEPARATORS) {
        return Err(bad_input!(
            "the loader cannot load the runtime from a path with a colon in it: {}",
            runtime.display()
        ));
    }
    Ok(vec![
        ("LD_PRELOAD", before(name, var_os("LD_PRELOAD"))),
        ("LD_LIBRARY_PATH", before(directory.as_os_str(), var_os("LD_LIBRARY_PATH"))),
    ])
}

fn has(text: &OsStr, any_of: &[u8]) -> bool {
    text.as_bytes().iter().any(|byte| any_of.contains(byte))
}

fn before(first: &OsStr, others: Option<OsString>) -> OsString {
    let mut list = first.to_owned();
    if let Some(others) = others.filter(|o| !o.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_goes_first() {
        assert_eq!(before(OsStr::new("/a"), Some("/b:/c".into())), "/a:/b:/c");
        assert_eq!(before(OsStr::new("/a"), Some("".into())), "/a");
        assert_eq!(before(OsStr::new("/a"), None), "/a");
    }

    #[test]
    fn blanks_go_around_and_colons_are_refused() {
        let names = |path| variables(Path::new(path)).map(|v| v.into_iter().map(|(n, _)| n).collect::<Vec<_>>());
        assert_eq!(names("/a/b.so").unwrap(), ["LD_PRELOAD"]);
        assert_eq!(names("/a b/c.so").unwrap(), ["LD_PRELOAD", "LD_LIBRARY_PATH"]);
        assert!(names("/a:b/c.so").is_err());
        assert!(names("/a/b c.so").is_err());
    }
}
