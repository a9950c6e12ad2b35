// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ELF files that a program consists of.
use crate::dwarf::Debug;
use crate::symbols::Symbols;
use corefold_recording::Module;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Object, ObjectSection};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const SPLIT: &str = "its debug information is in other files (-gsplit-dwarf), which are not read";

/// No module is so large.
pub(crate) const MOST_BYTES: u64 = 16 << 30;

/// The ELF files of runs, loaded once and kept.
#[derive(Default)]
pub struct Images {
    by_path: HashMap<String, Image>,
    /// Stands for files that are not those of the run.
    nothing: Image,
    full_names: bool,
    /// What only the JSON document says may be coarser.
    pub(crate) for_text: bool,
}

impl Images {
    pub fn new() -> Images {
        Images::default()
    }

    /// Names functions by their whole paths, with all that they are generic over.
    pub fn with_full_names(full_names: bool) -> Images {
        Images { full_names, ..Images::default() }
    }

    /// For a report as text, which leaves out what costs little: that may be named by less.
    pub fn for_text(self) -> Images {
        Images { for_text: true, ..self }
    }

    /// Loads what is not loaded yet; a file that cannot be read becomes an empty image.
    pub(crate) fn load(&mut self, modules: &[Module]) {
        for module in modules {
            let full_names = self.full_names;
            self.by_path.entry(module.path.clone()).or_insert_with(|| {
                let mut image = Image::open(&module.path);
                image.full_names = full_names;
                image.own.iter_mut().for_each(|debug| debug.full_names = full_names);
                image
            });
        }
    }

    /// `None` for a module that [`Images::load`] was not given. Of a file that was built anew since the run nothing
    /// is used: its names would be wrong.
    pub(crate) fn get(&self, module: &Module) -> Option<&Image> {
        let image = self.by_path.get(&module.path)?;
        Some(if image.differs(module) { &self.nothing } else { image })
    }

    /// Whether the file has changed since the run.
    pub fn has_changed(&self, module: &Module) -> bool {
        self.by_path.get(&module.path).is_some_and(|image| image.differs(module))
    }
}

/// The build ID of an ELF file; empty if it has none, or cannot be read.
pub fn build_id(path: &Path) -> Vec<u8> {
    let read = || -> anyhow::Result<Vec<u8>> {
        let cache = object::ReadCache::new(std::fs::File::open(path)?);
        Ok(object::File::parse(&cache)?.build_id()?.unwrap_or_default().to_vec())
    };
    read().unwrap_or_default()
}

/// One ELF file: as much of it as could be read.
#[derive(Default)]
pub(crate) struct Image {
    pub symbols: Symbols,
    /// The file's own debug information.
    own: Option<Debug>,
    /// The file in which the distribution keeps it, and what is there once it is needed: the C library's is large, and most
    /// reports name nothing within it.
    apart: Option<PathBuf>,
    loaded: OnceCell<Option<Debug>>,
    /// That file's symbol table, which costs a tenth of it.
    symbols_apart: OnceCell<Symbols>,
    full_names: bool,
    /// Bytes of a thread's block of this file's thread-local variables, which ends at its thread pointer if the file is the
    /// program's own.
    pub thread_local_bytes: u64,
    pub build_id: Vec<u8>,
    /// When the file was last written to.
    pub modified: Option<SystemTime>,
    /// Source files whose assembly is not seen.
    pub unseen_assembly: BTreeSet<String>,
    /// Why there is nothing here.
    problem: Option<String>,
}

impl Image {
    fn differs(&self, module: &Module) -> bool {
        !module.build_id.is_empty() && !self.build_id.is_empty() && module.build_id != self.build_id
    }

    fn open(path: &str) -> Image {
        Image::try_open(path)
            .unwrap_or_else(|error| Image { problem: Some(format!("cannot read it ({error:#})")), ..Image::default() })
    }

    fn try_open(path: &str) -> anyhow::Result<Image> {
        let bytes = corefold_files::read_regular(path, MOST_BYTES)?;
        let file = object::File::parse(&*bytes)?;
        let build_id = file.build_id()?.unwrap_or_default().to_vec();
        let unseen_assembly = unseen_assembly(&file);
        let modified = std::fs::metadata(path)?.modified().ok();
        let mut image =
            Image { symbols: Symbols::read(&file), build_id, modified, unseen_assembly, ..Image::default() };
        image.thread_local_bytes = thread_local_bytes(&bytes).unwrap_or(0);
        match Debug::load(&file) {
            Ok(Some(debug)) => image.own = Some(debug),
            Ok(None) => {
                image.apart = kept_apart(&image.build_id);
                image.problem = image.apart.is_none().then(|| "it has no debug information".to_owned());
            }
            Err(error) => image.problem = Some(format!("its debug information is damaged ({error:#})")),
        }
        Ok(image)
    }

    /// Why something here is not known by name.
    pub fn problem(&self) -> Option<&str> {
        let unread = match (&self.apart, self.debug()) {
            (None, None) => None,
            (Some(_), None) => Some("the file below /usr/lib/debug that has its debug information cannot be read"),
            (_, Some(debug)) => debug.is_split().then_some(SPLIT),
        };
        self.problem.as_deref().or(unread)
    }

    /// The file's own, or what the distribution keeps apart from it.
    pub fn debug(&self) -> Option<&Debug> {
        let apart = || {
            let bytes = corefold_files::read_regular(self.apart.as_ref()?, MOST_BYTES).ok()?;
            let mut debug = Debug::load(&object::File::parse(&*bytes).ok()?).ok()??;
            debug.full_names = self.full_names;
            Some(debug)
        };
        self.own.as_ref().or_else(|| self.loaded.get_or_init(apart).as_ref())
    }

    /// The symbols of a file whose debug information is kept apart.
    pub fn symbols_apart(&self) -> Option<&Symbols> {
        let apart = self.apart.as_ref()?;
        let read = || {
            let bytes = corefold_files::read_without_debug(apart, MOST_BYTES).ok()?;
            Some(Symbols::read(&object::File::parse(&*bytes).ok()?))
        };
        Some(self.symbols_apart.get_or_init(|| read().unwrap_or_default()))
    }
}

/// Where a distribution keeps the debug information of the file of this build, if it is there.
fn kept_apart(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug"));
    path.exists().then_some(path)
}

/// The size of the file's block of thread-local variables, as it is laid out before the thread pointer.
pub(crate) fn thread_local_bytes(bytes: &[u8]) -> Option<u64> {
    let header = object::elf::FileHeader64::<object::LittleEndian>::parse(bytes).ok()?;
    let segments = header.program_headers(object::LittleEndian, bytes).ok()?;
    let block = segments.iter().find(|segment| segment.p_type(object::LittleEndian) == object::elf::PT_TLS)?;
    let align = block.p_align(object::LittleEndian).max(1);
    block.p_memsz(object::LittleEndian).checked_next_multiple_of(align)
}

/// What `corefold cc` left in the file: names of sources, each ending in a zero byte.
fn unseen_assembly(file: &object::File<'_>) -> BTreeSet<String> {
    let section = file.section_by_name(".corefold.asm").and_then(|section| section.data().ok()).unwrap_or_default();
    let names = section.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSymbol};

    #[test]
    fn a_library_names_functions_without_its_debug_information() {
        let program = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let main = file.symbols().find(|symbol| symbol.name() == Ok("main")).unwrap().address();
        let library = Image { apart: Some(program), ..Image::default() };
        assert_eq!(library.symbols_apart().unwrap().code_at(main).unwrap().raw_name, "main");
        assert!(library.loaded.get().is_none());
        assert!(library.debug().is_some() && Image::default().symbols_apart().is_none());
    }
}
