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

/// The environment variables that preload the libraries in order, before what the user preloads.
pub fn variables(libraries: &[&Path]) -> Result<Vec<(&'static str, OsString)>> {
    let mut names = Vec::new();
    let mut directories: Vec<&OsStr> = Vec::new();
    for library in libraries {
        if !has(library.as_os_str(), SEPARATORS) {
            names.push(library.as_os_str());
            continue;
        }
        // By name and search path, where blanks may stand.
        let (Some(directory), Some(name)) = (library.parent(), library.file_name()) else {
            return Err(bad_input!("{} is not a file", library.display()));
        };
        if has(directory.as_os_str(), b":;") || has(name, SEPARATORS) {
            return Err(bad_input!("the loader cannot load from a path with a colon in it: {}", library.display()));
        }
        names.push(name);
        if !directories.contains(&directory.as_os_str()) {
            directories.push(directory.as_os_str());
        }
    }
    let mut variables = vec![("LD_PRELOAD", before(&names, var_os("LD_PRELOAD")))];
    if !directories.is_empty() {
        variables.push(("LD_LIBRARY_PATH", before(&directories, var_os("LD_LIBRARY_PATH"))));
    }
    Ok(variables)
}

fn has(text: &OsStr, any_of: &[u8]) -> bool {
    text.as_bytes().iter().any(|byte| any_of.contains(byte))
}

fn before(first: &[&OsStr], others: Option<OsString>) -> OsString {
    let mut list = first.join(OsStr::new(":"));
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
        let all = [OsStr::new("/a"), OsStr::new("/d")];
        assert_eq!(before(&all, Some("/b:/c".into())), "/a:/d:/b:/c");
        assert_eq!(before(&all[..1], Some("".into())), "/a");
        assert_eq!(before(&all[..1], None), "/a");
    }

    #[test]
    fn blanks_go_around_and_colons_are_refused() {
        let names = |paths: &[&str]| {
            let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
            variables(&paths).map(|v| v.into_iter().map(|(n, _)| n).collect::<Vec<_>>())
        };
        assert_eq!(names(&["/a/b.so", "/a/c.so"]).unwrap(), ["LD_PRELOAD"]);
        assert_eq!(names(&["/a b/c.so", "/a/d.so"]).unwrap(), ["LD_PRELOAD", "LD_LIBRARY_PATH"]);
        assert!(names(&["/a:b/c.so"]).is_err());
        assert!(names(&["/a/b c.so"]).is_err());
    }
}
