// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine code of a file.
use object::{Object, ObjectSection, SectionKind};
use std::sync::Arc;

/// Sections that hold code, with the addresses they begin at.
#[derive(Default)]
pub struct Code {
    sections: Vec<(u64, Arc<[u8]>)>,
}

impl Code {
    pub fn new(sections: Vec<(u64, Arc<[u8]>)>) -> Code {
        Code { sections }
    }

    /// Sections that are not in the file are left out: debug information kept apart comes without code.
    pub fn read(file: &object::File<'_>) -> Code {
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        Code::new(code.filter_map(|section| Some((section.address(), section.data().ok()?.into()))).collect())
    }

    /// What is at `address` and after it; nothing if no code is there.
    pub fn from(&self, address: u64) -> &[u8] {
        let inside = |(start, bytes): &&(u64, Arc<[u8]>)| address.wrapping_sub(*start) < bytes.len() as u64;
        let found = self.sections.iter().find(inside);
        found.map_or(&[], |(start, bytes)| &bytes[(address - start) as usize..])
    }
}
