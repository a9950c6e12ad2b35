// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a file to its structures.
use crate::btf::{self, Source};
use crate::scan::checked;
use crate::{Info, Types, sections};
use anyhow::{Context, Result, bail};
use object::{Object, ReadCache};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No kernel's types are so large.
const MOST_BTF: u64 = 1 << 30;

/// What to read, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub path: PathBuf,
    /// BTF also where there is DWARF.
    pub prefer_btf: bool,
    /// The kernel's BTF, which that of a module goes on from.
    pub base: Option<PathBuf>,
    /// 0: as many as there are CPUs.
    pub threads: usize,
}

impl Types {
    /// From BTF or an ELF file with DWARF or a `.BTF` section.
    pub fn open(request: &Request) -> Result<Types> {
        let path = &request.path;
        let shown = path.display();
        let file = corefold_files::open_regular(path).with_context(|| format!("cannot read {shown}"))?;
        let types = match first_bytes(&file) {
            magic if magic == btf::MAGIC.to_le_bytes() || magic == btf::MAGIC.to_be_bytes() => {
                btf_of(request, &corefold_files::read_regular(path, MOST_BTF)?, 8)
            }
            _ => elf(request, &file),
        };
        types.with_context(|| format!("cannot read the types of {shown}"))
    }
}

fn first_bytes(file: &File) -> [u8; 2] {
    let mut magic = [0; 2];
    let _ = file.read_exact_at(&mut magic, 0);
    magic
}

fn btf_of(request: &Request, bytes: &[u8], pointer_bytes: u64) -> Result<Types> {
    let base = match &request.base {
        Some(base) => Some(raw_btf(base)?),
        None => kernel_of_module(&request.path).map(|kernel| raw_btf(&kernel)).transpose()?,
    };
    let base = base.as_deref().map(|bytes| Source { bytes, pointer_bytes });
    Types::from_btf(Source { bytes, pointer_bytes }, base)
}

/// `/sys/kernel/btf/NAME` of a module goes on from `vmlinux` there.
fn kernel_of_module(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| folder.ends_with("sys/kernel/btf"))?;
    (path.file_name()? != "vmlinux").then(|| folder.join("vmlinux"))
}

/// The whole of a file of BTF, or the section of an ELF file.
fn raw_btf(path: &Path) -> Result<Arc<[u8]>> {
    let open = || -> Result<Arc<[u8]>> {
        let file = corefold_files::open_regular(path)?;
        if first_bytes(&file) == btf::MAGIC.to_le_bytes() || first_bytes(&file) == btf::MAGIC.to_be_bytes() {
            return Ok(corefold_files::read_regular(path, MOST_BTF)?.into());
        }
        let cache = ReadCache::new(file.try_clone()?);
        let parsed = object::File::parse(&cache)?;
        sections::named(&parsed, &file, ".BTF")?.context("it has no .BTF section")
    };
    open().with_context(|| format!("cannot read the BTF of {}", path.display()))
}

fn elf(request: &Request, file: &File) -> Result<Types> {
    let cache = ReadCache::new(file.try_clone()?);
    let parsed = object::File::parse(&cache).context("it is neither an ELF file nor BTF")?;
    let btf = || -> Result<Option<Types>> {
        let Some(bytes) = sections::named(&parsed, file, ".BTF")? else {
            return Ok(None);
        };
        let pointer_bytes = if parsed.is_64() { 8 } else { 4 };
        btf_of(request, &bytes, pointer_bytes).map(Some)
    };
    if request.prefer_btf {
        return btf()?.context("it has no .BTF section");
    }
    if sections::has(&parsed, ".debug_info") {
        return dwarf(request, &parsed, file);
    }
    if let Some(types) = btf()? {
        return Ok(types);
    }
    let build_id = parsed.build_id().ok().flatten().unwrap_or_default();
    match apart(build_id) {
        Some((path, file)) => {
            let cache = ReadCache::new(file.try_clone()?);
            let parsed = object::File::parse(&cache).with_context(|| format!("{}", path.display()))?;
            dwarf(request, &parsed, &file).with_context(|| format!("{}", path.display()))
        }
        None => bail!(
            "it has no debug information: compile it with -g, or install its debug symbols{}",
            if build_id.is_empty() { "" } else { " (they are looked for by build ID in /usr/lib/debug)" }
        ),
    }
}

fn dwarf<'data, R: object::ReadRef<'data>>(
    request: &Request,
    parsed: &object::File<'data, R>,
    file: &File,
) -> Result<Types> {
    let info = Info::load_types(parsed, file)?;
    let threads = match request.threads {
        0 => std::thread::available_parallelism().map_or(1, |cpus| cpus.get()),
        threads => threads,
    };
    let types = checked(Types::from_dwarf(&info, threads))?;
    if types.structures().is_empty() && info.is_split() {
        bail!("its debug information is in other files (-gsplit-dwarf), which are not read");
    }
    Ok(types)
}

/// What the distribution keeps apart from the file.
fn apart(build_id: &[u8]) -> Option<(PathBuf, File)> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug"));
    let file = corefold_files::open_regular(&path).ok()?;
    Some((path, file))
}
