// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug information of one ELF file: its types and variables, and its code and lines.
mod code;
pub mod cpp_lock;
pub mod frame;
mod library;
pub mod part;
mod path;
mod registers;
mod rust_lock;
pub mod scope;

pub use corefold_dwarf::{Die, Reader};

use code::Code;
use corefold_dwarf::Info;
use part::{Part, Structure};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

/// The debug information of one file.
pub struct Debug {
    info: Info,
    lines: addr2line::Context<Reader>,
    code: Code,
    /// What [`Debug::part_at`] has found: thousands of objects of one type are used alike.
    parts: RefCell<HashMap<(Die, u64, u64), Part>>,
    structures: RefCell<HashMap<Die, Option<Rc<Structure>>>>,
    /// Functions are to be named by their whole paths.
    pub full_names: bool,
}

impl Deref for Debug {
    type Target = Info;

    fn deref(&self) -> &Info {
        &self.info
    }
}

impl Debug {
    /// `None` where the file has no debug information.
    pub fn load(file: &object::File<'_>) -> anyhow::Result<Option<Debug>> {
        let Some(info) = Info::load(file)? else {
            return Ok(None);
        };
        let lines = addr2line::Context::from_arc_dwarf(info.dwarf().clone())?;
        Ok(Some(Debug {
            info,
            lines,
            code: Code::read(file),
            parts: RefCell::default(),
            structures: RefCell::default(),
            full_names: false,
        }))
    }

    pub fn lines(&self) -> &addr2line::Context<Reader> {
        &self.lines
    }

    /// The file's machine code; empty where debug information is in a file of its own.
    pub fn code(&self) -> &Code {
        &self.code
    }
}
