// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes clang compile the hooks in and link the runtime, and the header.
//!
//! clang reads no specs files. Options of the compiler proper pass its driver behind `-Xclang`, so that it
//! does not link TSan's runtime; the runtime is named where it is going to link; and `-B` has it find
//! our `as` before the system's.
use super::arguments::joined;
use super::assembler::OF_CLANG;
use super::features;
use super::installed::{self, File};
use crate::runtime;
use anyhow::Result;
use corefold_block::clang;
use std::ffi::OsString;
use std::path::Path;

/// What goes after the user's options, and so holds whatever they say:
/// - `-fno-lto`, since link-time optimisation would drop the hooks;
/// - `-fno-integrated-as`, so that the assembly comes by our `as`;
/// - no vectors of more than 16 bytes, unless the program writes them itself: TSan's pass has no hook for these;
/// - no `__SANITIZE_THREAD__`, which later versions define: a program should take the paths that it takes
///   in production.
const INSIST: &[&str] = &["-fno-lto", "-fno-integrated-as", "-mprefer-vector-width=128", "-U__SANITIZE_THREAD__"];

/// Options that ask for at least the debug information that reports need.
const MUCH_DEBUG: &[&str] = &["-g3", "-ggdb3", "-glldb3"];

/// Is this how clang is called? `clang-19`, `/opt/llvm/bin/clang++`, `ccache clang`.
pub fn is_clang(words: &[&str]) -> bool {
    let name = |word: &&str| word.rsplit('/').next().unwrap_or(word).contains("clang");
    words.iter().take_while(|word| !word.starts_with('-')).any(name)
}

/// The C++ side of a clang for C: `clang++-19` of `clang-19`. `None` if it is no clang.
pub fn cxx_of(named: &str) -> Option<String> {
    let words: Vec<&str> = named.split_whitespace().collect();
    if !is_clang(&words) || named.contains("clang++") {
        return is_clang(&words).then(|| named.to_owned());
    }
    let at = named.rfind("clang")? + "clang".len();
    Some(format!("{}++{}", &named[..at], &named[at..]))
}

/// The user's arguments among ours. `runtime` is named if there is to be a link.
pub fn arguments(own: &Path, runtime: Option<&Path>, user: Vec<OsString>) -> Result<Vec<OsString>> {
    let assembler = File { name: "bin/as", content: installed::assembler(own, OF_CLANG), runs: true };
    let features = File { name: "features.h", content: features::header().into_bytes(), runs: false };
    let files = installed::install(&[assembler, features, installed::header()])?;
    let debug = user.iter().any(|arg| MUCH_DEBUG.iter().any(|option| arg == option));

    let mut all = Vec::with_capacity(user.len() + 64);
    // Only where there is something to compile are the options used, and clang would warn.
    all.push("--start-no-unused-arguments".into());
    all.push(joined("-B", &files.join("bin")));
    all.extend(clang::HOOKS.iter().map(OsString::from));
    all.extend(["-D__COREFOLD__=1".into(), "-imacros".into(), files.join("features.h").into()]);
    all.extend(["-isystem".into(), files.join("include").into()]);
    all.push("--end-no-unused-arguments".into());
    all.extend(user);
    all.push("--start-no-unused-arguments".into());
    all.extend(INSIST.iter().map(OsString::from));
    all.extend((!debug).then(|| "-g".into()));
    all.push("--end-no-unused-arguments".into());
    all.extend(runtime.map(link).unwrap_or_default());
    Ok(all)
}

/// After `-x c`, a file of its own would be taken for C.
fn link(runtime: &Path) -> Vec<OsString> {
    runtime::linked(runtime).into_iter().flat_map(|word| ["-Xlinker".into(), word.into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cxx_side_of_a_clang() {
        assert_eq!(cxx_of("ccache clang-19").as_deref(), Some("ccache clang++-19"));
        assert_eq!(cxx_of("/opt/llvm/bin/clang").as_deref(), Some("/opt/llvm/bin/clang++"));
        assert_eq!(cxx_of("clang++-14").as_deref(), Some("clang++-14"));
        assert_eq!(cxx_of("gcc-12"), None);
    }

    #[test]
    fn clang_is_known_by_its_name() {
        for line in ["clang", "clang-14", "/opt/clang/bin/clang++-19", "ccache clang -m64", "x86_64-linux-gnu-clang"] {
            assert!(is_clang(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        for line in ["gcc", "/opt/clang/bin/gcc", "gcc -B/opt/clang", "env LC_ALL=C g++"] {
            assert!(!is_clang(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
    }

    #[test]
    fn the_runtime_is_an_option_of_the_linker() {
        let words = link(Path::new("/r/librt.so"));
        assert!(words.chunks(2).all(|pair| pair[0] == "-Xlinker"), "{words:?}");
        assert!(words.ends_with(&["-rpath".into(), "-Xlinker".into(), "/r".into()]), "{words:?}");
    }
}
