// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the compiler wrapper keeps its few files.
use anyhow::{Context, Result, bail};
use std::fs::{DirBuilder, metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

/// A directory that only this user can write: in the XDG cache, or, where there is no home
/// (distributions build packages without one), under the temporary directory.
pub fn directory() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    if let Some(ours) = cache.map(|c| c.join("corefold"))
        && std::fs::create_dir_all(&ours).is_ok()
    {
        return Ok(ours);
    }
    temporary()
}

fn temporary() -> Result<PathBuf> {
    // SAFETY: geteuid has no preconditions and cannot fail.
    let user = unsafe { libc::geteuid() };
    let ours = std::env::temp_dir().join(format!("corefold-{user}"));
    match DirBuilder::new().mode(0o700).create(&ours) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(e).with_context(|| {
                format!("cannot create {} (set XDG_CACHE_HOME to use another directory)", ours.display())
            });
        }
        _ => {}
    }
    let meta = metadata(&ours).with_context(|| format!("cannot examine {}", ours.display()))?;
    // Somebody else's directory there could feed us their compiler options.
    if !meta.is_dir() || meta.uid() != user || meta.mode() & 0o022 != 0 {
        bail!("{} can be written by others; set XDG_CACHE_HOME to a directory of your own", ours.display());
    }
    Ok(ours)
}
