// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs and libraries that are linked with TSan's shared runtime name it, and the loader must not load
//! it beside ours. It takes a library that is loaded already for the one asked for if that has the name: so
//! an empty one goes by each of these names, and the runtime, which is preloaded, supplies what it lacks.
use anyhow::{Context, Result};
use object::elf;
use object::endian::{Endianness, U16, U32, U64};
use object::pod::bytes_of;
use std::path::{Path, PathBuf};

/// What gcc's and clang's releases call it. A library that is opened later may ask for any.
const NAMES: [&str; 5] =
    ["libtsan.so.0", "libtsan.so.1", "libtsan.so.2", "libclang_rt.tsan-x86_64.so", "libclang_rt.tsan.so"];

/// Writes the empty libraries: those of the usual names, and of what the program itself asks for.
pub fn placeholders(asked_for: &[String], directory: &Path) -> Result<Vec<PathBuf>> {
    let others = asked_for.iter().map(String::as_str).filter(|name| !NAMES.contains(name));
    let write = |(number, name)| {
        // Not by its own name: the loader would look for that in the program's directories first.
        let path = directory.join(format!("{number}.so"));
        std::fs::write(&path, empty_library(name)).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    };
    NAMES.into_iter().chain(others).enumerate().map(write).collect()
}

const ENDIAN: Endianness = Endianness::Little;
const PAGE: u64 = 4096;
const HEADER: u64 = size_of::<elf::FileHeader64<Endianness>>() as u64;
const SEGMENT: u64 = size_of::<elf::ProgramHeader64<Endianness>>() as u64;
const SYMBOL: u64 = size_of::<elf::Sym64<Endianness>>() as u64;
const SEGMENTS: u64 = 3;
const SYMBOLS_AT: u64 = HEADER + SEGMENTS * SEGMENT;
const DYNAMIC_AT: u64 = SYMBOLS_AT + SYMBOL;
const DYNAMIC_BYTES: u64 = 6 * size_of::<elf::Dyn64<Endianness>>() as u64;
const STRINGS_AT: u64 = DYNAMIC_AT + DYNAMIC_BYTES;

/// A shared library that has a name and nothing else.
fn empty_library(name: &str) -> Vec<u8> {
    let strings = [b"\0", name.as_bytes(), b"\0"].concat();
    let bytes = STRINGS_AT + strings.len() as u64;
    let dynamic = [
        (elf::DT_SONAME, 1),
        (elf::DT_STRTAB, STRINGS_AT),
        (elf::DT_STRSZ, strings.len() as u64),
        (elf::DT_SYMTAB, SYMBOLS_AT),
        (elf::DT_SYMENT, SYMBOL),
        (elf::DT_NULL, 0),
    ];
    let mut file = bytes_of(&header()).to_vec();
    // Writable: the loader writes addresses into the dynamic section. Without the last, stacks would be executable.
    file.extend(bytes_of(&segment(elf::PT_LOAD, 0, bytes, PAGE)));
    file.extend(bytes_of(&segment(elf::PT_DYNAMIC, DYNAMIC_AT, DYNAMIC_BYTES, 8)));
    file.extend(bytes_of(&segment(elf::PT_GNU_STACK, 0, 0, 16)));
    file.resize(DYNAMIC_AT as usize, 0); // the one symbol that every table begins with
    for (tag, value) in dynamic {
        let entry = elf::Dyn64 { d_tag: U64::new(ENDIAN, tag.into()), d_val: U64::new(ENDIAN, value) };
        file.extend(bytes_of(&entry));
    }
    file.extend(strings);
    file
}

fn header() -> elf::FileHeader64<Endianness> {
    elf::FileHeader64 {
        e_ident: elf::Ident {
            magic: elf::ELFMAG,
            class: elf::ELFCLASS64,
            data: elf::ELFDATA2LSB,
            version: elf::EV_CURRENT,
            os_abi: elf::ELFOSABI_SYSV,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(ENDIAN, elf::ET_DYN),
        e_machine: U16::new(ENDIAN, elf::EM_X86_64),
        e_version: U32::new(ENDIAN, elf::EV_CURRENT.into()),
        e_entry: U64::new(ENDIAN, 0),
        e_phoff: U64::new(ENDIAN, HEADER),
        e_shoff: U64::new(ENDIAN, 0),
        e_flags: U32::new(ENDIAN, 0),
        e_ehsize: U16::new(ENDIAN, HEADER as u16),
        e_phentsize: U16::new(ENDIAN, SEGMENT as u16),
        e_phnum: U16::new(ENDIAN, SEGMENTS as u16),
        e_shentsize: U16::new(ENDIAN, 0),
        e_shnum: U16::new(ENDIAN, 0),
        e_shstrndx: U16::new(ENDIAN, 0),
    }
}

fn segment(kind: u32, at: u64, bytes: u64, align: u64) -> elf::ProgramHeader64<Endianness> {
    elf::ProgramHeader64 {
        p_type: U32::new(ENDIAN, kind),
        p_flags: U32::new(ENDIAN, elf::PF_R | elf::PF_W),
        p_offset: U64::new(ENDIAN, at),
        p_vaddr: U64::new(ENDIAN, at),
        p_paddr: U64::new(ENDIAN, at),
        p_filesz: U64::new(ENDIAN, bytes),
        p_memsz: U64::new(ENDIAN, bytes),
        p_align: U64::new(ENDIAN, align),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    /// The loader takes one for a library of its name.
    #[test]
    fn the_loader_finds_it_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let files = placeholders(&["libtsan.so.77".into(), "libtsan.so.2".into()], directory.path()).unwrap();
        assert_eq!(files.len(), NAMES.len() + 1);
        let open = |name: &str, flags| {
            let name = CString::new(name).unwrap();
            // SAFETY: it has no code that could run.
            unsafe { libc::dlopen(name.as_ptr(), flags) }
        };
        assert!(open("libtsan.so.77", libc::RTLD_NOW).is_null());
        assert!(files.iter().all(|file| !open(file.to_str().unwrap(), libc::RTLD_NOW).is_null()));
        assert!(!open("libtsan.so.77", libc::RTLD_NOW | libc::RTLD_NOLOAD).is_null());
    }
}
