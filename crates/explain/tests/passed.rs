// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncontended transfers: what text has of them.
use crate::common::*;
use crate::skipped::skipped;
use corefold_explain::{Images, Place, build_id, explain};
use corefold_recording::{AccessKind, Module, Passed};
use object::{Object, ObjectSymbol};
use std::path::Path;

const LIBRARY: &str = "/lib/x86_64-linux-gnu/libc.so.6";
const LIBRARY_BASE: u64 = 0x7fff_0000_0000;

#[test]
fn text_has_the_symbol_of_what_costs_little_in_a_library() {
    let program = Program::new("one.c", "int main(void) { return 0; }\n", &[]);
    let bytes = std::fs::read(LIBRARY).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let calloc = file.dynamic_symbols().find(|symbol| symbol.name() == Ok("calloc")).unwrap().address();
    let place = |stall: u64, for_text: bool| {
        let mut run = program.run();
        let end = LIBRARY_BASE + (16 << 20);
        let (path, build_id) = (LIBRARY.to_owned(), build_id(Path::new(LIBRARY)));
        run.modules.push(Module { path, build_id, base: LIBRARY_BASE, start: LIBRARY_BASE, end });
        let (kind, pc) = (AccessKind::Read, LIBRARY_BASE + calloc + 9);
        run.passed.push(Passed {
            address: HEAP,
            size: 8,
            kind,
            pc,
            stall,
            object: None,
            transfers: Default::default(),
        });
        let mut images = if for_text { Images::new().for_text() } else { Images::new() };
        explain(&run, &mut images).unwrap().passed.remove(0).at.unwrap()
    };
    let Place { file, .. } = place(5, false);
    if file.is_none() {
        return skipped(&format!("debug information of {LIBRARY} is not installed"));
    }
    let minor = place(5, true);
    assert!(minor.function.ends_with("calloc") && minor.file.is_none(), "{minor:?}");
    assert_eq!(place(500, true), place(500, false));
}
