// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a program can be simulated, said before it is started.
use crate::cargo::work;
use crate::exit::bad_input;
use crate::rust;
use anyhow::Result;
use object::elf::{ET_DYN, ET_EXEC, PT_INTERP};
use object::read::elf::{ElfFile64, ElfSection64, FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSection, ObjectSymbol, SectionKind};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const COMPILE: &str = "compile and link it with `corefold cc` or `corefold c++`";

/// No program is so large.
const MOST_BYTES: u64 = 16 << 30;

/// A program that can be simulated.
pub struct Program {
    pub path: PathBuf,
    /// The names by which it asks for TSan's shared runtime.
    pub needs_tsan: Vec<String>,
}

/// The program if it can be simulated.
pub fn check(name: &OsStr) -> Result<Program> {
    examine(name, work::is_at_work())
}

/// The same, for a program that `cargo corefold` has built: hooks in its C alone do not do.
pub fn check_built(path: &Path) -> Result<Program> {
    examine(path.as_os_str(), true)
}

fn examine(name: &OsStr, by_cargo: bool) -> Result<Program> {
    let path = resolve(name)?;
    executable(&path)?;
    let bytes = corefold_files::read_without_debug(&path, MOST_BYTES)
        .map_err(|e| bad_input!("cannot read {}: {e}", path.display()))?;
    let needs_tsan = contents(&path.display().to_string(), &bytes, by_cargo)?;
    Ok(Program { path, needs_tsan })
}

/// The program's path. A name without a slash is looked up in `PATH`, as a shell does.
pub fn resolve(name: &OsStr) -> Result<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|d| d.join(name)).find(|p| executable(p).is_ok());
    let here = Path::new(name).exists();
    found.ok_or_else(|| match here {
        true => bad_input!("{0} is not in PATH; for the one in this directory write ./{0}", name.display()),
        false => bad_input!("there is no program {} in PATH", name.display()),
    })
}

fn executable(path: &Path) -> Result<()> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => bad_input!("{shown} does not exist"),
        _ => bad_input!("cannot examine {shown}: {e}"),
    })?;
    let mode = meta.permissions().mode();
    if !meta.is_file() {
        return Err(bad_input!("{shown} is not a file"));
    }
    if mode & 0o111 == 0 {
        return Err(bad_input!("{shown} is not executable"));
    }
    if mode & 0o6000 != 0 {
        return Err(bad_input!(
            "{shown} is set-user-ID or set-group-ID: the loader ignores preloaded libraries for it"
        ));
    }
    Ok(())
}

fn contents(shown: &str, bytes: &[u8], by_cargo: bool) -> Result<Vec<String>> {
    if bytes.starts_with(b"#!") {
        return Err(bad_input!("{shown} is a script: name the program that it starts"));
    }
    let elf = match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => ElfFile64::<Endianness>::parse(bytes),
        Ok(FileKind::Elf32) => return Err(wrong_architecture(shown, "a 32-bit processor")),
        _ => return Err(bad_input!("{shown} is not an ELF program")),
    };
    let elf = elf.map_err(|e| bad_input!("{shown} is a damaged ELF file: {e}"))?;
    header(shown, &elf)?;
    instrumented(shown, &elf, by_cargo)?;
    let needed = needed(&elf).unwrap_or_default();
    let names = needed.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(names.filter(|name| ["libtsan.so", "libclang_rt.tsan"].iter().any(|tsan| name.starts_with(tsan))).collect())
}

fn header(shown: &str, elf: &ElfFile64) -> Result<()> {
    if elf.architecture() != object::Architecture::X86_64 {
        return Err(wrong_architecture(shown, &format!("{:?}", elf.architecture())));
    }
    let endian = elf.endian();
    if ![ET_EXEC, ET_DYN].contains(&elf.elf_header().e_type(endian)) {
        return Err(bad_input!("{shown} is an ELF file but not a program"));
    }
    if !elf.elf_program_headers().iter().any(|p| p.p_type(endian) == PT_INTERP) {
        return Err(bad_input!(
            "{shown} is linked statically (or is a library): the calls it makes inside its own copy of libc cannot be \
             taken over. Link it without -static"
        ));
    }
    Ok(())
}

fn wrong_architecture(shown: &str, what: &str) -> anyhow::Error {
    bad_input!("{shown} is built for {what}: corefold simulates x86-64 programs")
}

/// How names that inlined hooks called once begin.
const OLDER: [&str; 2] = ["corefold_slow_", "corefold_line_"];

fn instrumented(shown: &str, elf: &ElfFile64, by_cargo: bool) -> Result<()> {
    let hook = |name: &str| name.starts_with("__tsan_") || [rust::HOOK, "corefold_block_unknown"].contains(&name);
    let imports = |wanted: &dyn Fn(&str) -> bool| {
        elf.dynamic_symbols().any(|symbol| symbol.is_undefined() && wanted(symbol.name().unwrap_or("")))
    };
    if imports(&|name| OLDER.iter().any(|older| name.starts_with(older))) {
        return Err(bad_input!(
            "{shown} was compiled by an older `corefold cc` with incompatible instrumentation: compile it again"
        ));
    }
    let hooks = imports(&hook);
    if has_tsan(elf, hooks) {
        return Err(bad_input!(
            "{shown} has TSan's own runtime linked into it, which cannot be replaced: link it with the shared one (gcc \
             without -static-libtsan, clang with -shared-libsan), or {COMPILE}"
        ));
    }
    let comment = rust::comment(elf);
    if let Some(rustc) = rust::version(&comment)
        && !(imports(&|name| name == rust::HOOK) || comment.contains(rust::INLINE) || hooks && !by_cargo)
    {
        return Err(rust::without_hooks(shown, rustc, by_cargo));
    }
    if !hooks {
        return Err(bad_input!("{shown} is not instrumented, so its memory accesses cannot be seen: {COMPILE}"));
    }
    Ok(())
}

/// Is TSan's runtime a part of the program? Where its symbols are stripped, the variable that it reads its
/// options from tells.
fn has_tsan(elf: &ElfFile64, calls_hooks: bool) -> bool {
    const OPTIONS: &[u8] = b"TSAN_OPTIONS\0";
    let mut symbols = elf.symbols().chain(elf.dynamic_symbols());
    let defined = symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok("__tsan_init"));
    let constant = |section: &ElfSection64| {
        section.kind() == SectionKind::ReadOnlyData || section.kind() == SectionKind::ReadOnlyString
    };
    let has_text = |data: &[u8]| data.windows(OPTIONS.len()).any(|text| text == OPTIONS);
    let reads_options = || elf.sections().filter(constant).any(|section| section.data().is_ok_and(has_text));
    defined || !calls_hooks && reads_options()
}

/// The libraries that the program names (`DT_NEEDED`).
fn needed<'d>(elf: &ElfFile64<'d>) -> Option<Vec<&'d [u8]>> {
    use object::read::elf::Dyn;
    let (endian, data) = (elf.endian(), elf.data());
    let (entries, link) = elf.elf_section_table().dynamic(endian, data).ok()??;
    let strings = elf.elf_section_table().strings(endian, data, link).ok()?;
    let libraries = entries.iter().filter(|d| d.tag32(endian) == Some(object::elf::DT_NEEDED));
    libraries.map(|d| d.string(endian, strings).ok()).collect()
}
