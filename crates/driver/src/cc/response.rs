// SPDX-License-Identifier: MIT OR Apache-2.0
//! Response files: `@file` stands for the arguments in the file. gcc reads them; we only look.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// As deep as files may name files.
const DEEPEST: u32 = 32;
/// No response file is so large. A pipe is left to gcc: who reads it first has it alone.
const MOST_BYTES: u64 = 64 << 20;

/// The arguments of a response file and of those that it names; none if `arg` names no file, since
/// gcc then takes it for an argument.
pub fn expand(arg: &OsStr) -> Vec<OsString> {
    let mut all = Vec::new();
    read(arg, 0, &mut all);
    all
}

fn read(arg: &OsStr, depth: u32, all: &mut Vec<OsString>) {
    let Some(path) = arg.as_bytes().strip_prefix(b"@") else {
        return all.push(arg.to_owned());
    };
    if let (true, Ok(text)) = (depth < DEEPEST, corefold_files::read_regular(OsStr::from_bytes(path), MOST_BYTES)) {
        words(&text).iter().for_each(|word| read(word, depth + 1, all));
    }
}

/// Splits as libiberty's `buildargv` does: blanks part words, quotes and backslashes keep them together.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut found = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let (mut quote, mut escaped) = (None, false);
    for &byte in text {
        if escaped {
            word.get_or_insert_default().push(byte);
            escaped = false;
        } else if byte == b'\\' {
            word.get_or_insert_default();
            escaped = true;
        } else if quote == Some(byte) {
            quote = None;
        } else if quote.is_none() && matches!(byte, b'\'' | b'"') {
            word.get_or_insert_default();
            quote = Some(byte);
        } else if quote.is_none() && byte.is_ascii_whitespace() {
            found.extend(word.take());
        } else {
            word.get_or_insert_default().push(byte);
        }
    }
    found.extend(word);
    found.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_gcc_does() {
        let text = b" -c  a.c\n'two words' \"it's\" back\\ slash '' mid'dle x'\n";
        assert_eq!(words(text), ["-c", "a.c", "two words", "it's", "back slash", "", "middle x"]);
    }

    #[test]
    fn files_name_files_and_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let (outer, inner) = (dir.path().join("outer"), dir.path().join("inner"));
        std::fs::write(&inner, "-static").unwrap();
        std::fs::write(&outer, format!("-c @{} @{}", inner.display(), outer.display())).unwrap();
        let found = expand(OsStr::new(&format!("@{}", outer.display())));
        assert_eq!(&found[..3], ["-c", "-static", "-c"]);
        assert_eq!(expand(OsStr::new("@/no/such/file")), Vec::<OsString>::new());
    }
}
