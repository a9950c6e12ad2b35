// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a compiler reads or runs on our behalf, in the cache.
use super::assembler::ASSEMBLE;
use super::cache;
use anyhow::{Context, Result};
use std::fs::Permissions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(Hash)]
pub struct File<'a> {
    pub name: &'a str,
    pub content: Vec<u8>,
    /// A script, which is started.
    pub runs: bool,
}

/// The program's side of what the runtime offers, for every compiler.
pub fn header() -> File<'static> {
    File { name: "include/corefold.h", content: include_bytes!("../../include/corefold.h").to_vec(), runs: false }
}

/// A script that stands for another program: it starts this one, with these words first.
pub fn script(own: &Path, words: &str) -> Vec<u8> {
    let mut text = b"#!/bin/sh\nexec '".to_vec();
    let path = own.as_os_str().as_bytes();
    path.iter().for_each(|&byte| if byte == b'\'' { text.extend(br"'\''") } else { text.push(byte) });
    text.extend(format!("' {words} \"$@\"\n").bytes());
    text
}

/// The script that stands for `as` and says first whose assembly it is.
pub fn assembler(own: &Path, whose: &str) -> Vec<u8> {
    script(own, &format!("{ASSEMBLE} {whose}"))
}

/// Puts the files into a directory whose name their content decides, so that compilers of several
/// versions may run at once and ccache sees the same path again. Returns that directory.
pub fn install(files: &[File]) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    let directory = cache::directory()?.join(format!("{:016x}", hasher.finish()));
    for file in files {
        put(&directory.join(file.name), file)?;
    }
    Ok(directory)
}

/// Writes the file unless it is there. Its name holds its hash: if it is there, it is this one.
fn put(path: &Path, file: &File) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|m| m.len() == file.content.len() as u64) {
        return Ok(());
    }
    let write = || -> std::io::Result<()> {
        let directory = path.parent().expect("it lies in the cache");
        std::fs::create_dir_all(directory)?;
        let temporary = tempfile::NamedTempFile::new_in(directory)?.into_temp_path();
        std::fs::write(&temporary, &file.content)?;
        std::fs::set_permissions(&temporary, Permissions::from_mode(if file.runs { 0o755 } else { 0o644 }))?;
        temporary.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {} (set XDG_CACHE_HOME to use another directory)", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        let text = String::from_utf8(script(Path::new("/a b/it's/corefold"), "assemble --of-clang")).unwrap();
        assert_eq!(text, "#!/bin/sh\nexec '/a b/it'\\''s/corefold' assemble --of-clang \"$@\"\n");
    }
}
