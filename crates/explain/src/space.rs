// SPDX-License-Identifier: MIT OR Apache-2.0
//! The address space of one run: which file an address belongs to, and what stands there.
use crate::code::{self, Frame};
use crate::dwarf::{Debug, Die};
use crate::images::{Image, Images};
use crate::symbols::{Symbols, demangle};
use crate::types::{Note, Place, base_name};
use corefold_recording::Module;
use gimli::constants as c;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The modules of one run with their files.
pub(crate) struct Space<'a> {
    modules: Vec<(&'a Module, &'a Image)>,
    /// A note for each whose file is not that of the run.
    changed: Vec<Note>,
    frames: RefCell<HashMap<u64, Rc<[Frame]>>>,
    /// Numbers of modules that were asked for something they did not know.
    wanting: RefCell<BTreeSet<usize>>,
}

/// An address in a module, as the module's file has it.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    number: usize,
    pub module: &'a Module,
    pub image: &'a Image,
    pub address: u64,
}

impl<'a> Space<'a> {
    pub fn new(modules: &'a [Module], images: &'a Images) -> Space<'a> {
        let changed = modules.iter().filter(|module| images.has_changed(module)).map(changed).collect();
        let modules = modules.iter().filter_map(|module| Some((module, images.get(module)?))).collect();
        Space { modules, changed, frames: RefCell::default(), wanting: RefCell::default() }
    }

    pub fn spot(&self, address: u64) -> Option<Spot<'a>> {
        let number = self.modules.iter().position(|(module, _)| (module.start..module.end).contains(&address))?;
        let (module, image) = self.modules[number];
        Some(Spot { number, module, image, address: address.wrapping_sub(module.base) })
    }

    /// The functions at `pc`, innermost first; at least one, if only `0x1234`.
    pub fn frames_at(&self, pc: u64) -> Rc<[Frame]> {
        if let Some(frames) = self.frames.borrow().get(&pc) {
            return frames.clone();
        }
        let frames: Rc<[Frame]> = self.find_frames(pc).into();
        self.frames.borrow_mut().insert(pc, frames.clone());
        frames
    }

    /// The function at `pc` in a library whose debug information is kept apart.
    pub fn library_function(&self, pc: u64) -> Option<String> {
        let spot = self.spot(pc)?;
        let symbol = spot.library()?.code_at(spot.address)?;
        // gcc marks parts and clones of a function by a suffix.
        let whole = symbol.raw_name.split_once('.').map_or(symbol.raw_name.as_str(), |(name, _)| name);
        Some(demangle(whole))
    }

    /// The functions at the call that returns to `pc`: the call may be the last thing its line does.
    pub fn callers_at(&self, pc: u64) -> Rc<[Frame]> {
        self.frames_at(pc.saturating_sub(1))
    }

    /// Where the call that returns to `pc` stands; `None` for address 0.
    pub fn call_place(&self, pc: u64) -> Option<Place> {
        (pc != 0).then(|| self.callers_at(pc)[0].place())
    }

    fn find_frames(&self, pc: u64) -> Vec<Frame> {
        let Some(spot) = self.spot(pc) else {
            return vec![Frame::named(format!("{pc:#x}"))];
        };
        let symbol = spot.image.symbols.code_at(spot.address).map(|symbol| demangle(&symbol.raw_name));
        let made = |function: &str| initialisers(function, base_name(&spot.module.path));
        if let Some(debug) = spot.image.debug() {
            let mut frames = code::frames(debug, spot.address, symbol.clone());
            for frame in &mut frames {
                if let Some(name) = made(&frame.function) {
                    frame.function = name;
                }
            }
            if !frames.is_empty() {
                return frames;
            }
        }
        if let Some(name) = symbol.as_deref().and_then(made) {
            return vec![Frame::named(name)];
        }
        self.miss(spot);
        vec![Frame::named(symbol.unwrap_or_else(|| spot.as_offset()))]
    }

    /// The structure of that name in one of the modules, and its size.
    pub fn type_named(&self, name: &str) -> Option<(&'a Debug, Die, u64)> {
        let all = self.modules.iter().filter_map(|(_, image)| image.debug());
        all.filter_map(|debug| {
            let kind = debug.index().type_named(name, Some(c::DW_TAG_structure_type), None)?;
            Some((debug, kind, debug.size_of(kind)?))
        })
        .next()
    }

    /// The debug information that names what is at `pc`.
    pub fn debug_at(&self, pc: u64) -> Option<&'a Debug> {
        self.spot(pc)?.image.debug()
    }

    /// The debug information of the program's own file, which is the first, and the bytes of its thread-local variables.
    pub fn program(&self) -> Option<(&'a Debug, u64)> {
        let (_, image) = self.modules.first()?;
        Some((image.debug()?, image.thread_local_bytes))
    }

    /// Remembers that this module's file had to be done without.
    pub fn miss(&self, spot: Spot<'_>) {
        self.wanting.borrow_mut().insert(spot.number);
    }

    /// What is unknown, and why. A system library without debug information is not noted.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = self.changed.clone();
        notes.extend(self.modules.iter().flat_map(|(module, image)| unseen_assembly(module, image)));
        for number in self.wanting.borrow().iter() {
            let (module, image) = self.modules[*number];
            if !is_systems(module)
                && let Some(problem) = image.problem()
            {
                let text = format!("{}: {problem}, so what lies in it is named by symbol or offset only", module.path);
                notes.push(Note { text, at: None, count: 1 });
            }
        }
        notes
    }
}

/// Is it a library of the distribution's?
fn is_systems(module: &Module) -> bool {
    ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"].iter().any(|folder| module.path.starts_with(folder))
}

impl<'a> Spot<'a> {
    /// The symbols of a distribution's library, if it keeps the debug information apart: names for what needs no more, as every
    /// thread begins there and most programs print.
    pub fn library(&self) -> Option<&'a Symbols> {
        self.is_library().then(|| self.image.symbols_apart())?
    }

    /// Of a distribution's library?
    pub fn is_library(&self) -> bool {
        self.number > 0 && is_systems(self.module)
    }

    /// `libfoo.so+0x1234`.
    pub fn as_offset(&self) -> String {
        format!("{}+{:#x}", base_name(&self.module.path), self.address)
    }
}

/// gcc calls what it makes to run before and after `main` `_sub_I_00099_0` and `_sub_D_00099_1`.
fn initialisers(symbol: &str, file: &str) -> Option<String> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let made = |prefix: &str| symbol.strip_prefix(prefix).is_some_and(digits);
    if made("_sub_I_") {
        return Some(format!("constructors (static initialisers) of {file}"));
    }
    made("_sub_D_").then(|| format!("destructors (static finalisers) of {file}"))
}

/// One note for each source.
fn unseen_assembly(module: &Module, image: &Image) -> impl Iterator<Item = Note> {
    let file = base_name(&module.path).to_owned();
    image.unseen_assembly.iter().map(move |source| {
        let text = format!(
            "{file}: {source} holds assembly outside of C functions, which is not seen: its accesses to memory cost nothing"
        );
        Note { text, at: None, count: 1 }
    })
}

fn changed(module: &Module) -> Note {
    let text = format!(
        "{}: the file has changed since the run (its build ID differs), so what lies in it is named by offset only",
        module.path
    );
    Note { text, at: None, count: 1 }
}

#[cfg(test)]
mod tests {
    use super::initialisers;

    #[test]
    fn what_the_compiler_makes_to_run_before_main_has_a_name_of_its_own() {
        let named = |symbol| initialisers(symbol, "table");
        assert_eq!(named("_sub_I_00099_0").as_deref(), Some("constructors (static initialisers) of table"));
        assert_eq!(named("_sub_D_00099_1").as_deref(), Some("destructors (static finalisers) of table"));
        assert_eq!(named("_sub_I_and_more"), None);
        assert_eq!(named("main"), None);
    }
}
