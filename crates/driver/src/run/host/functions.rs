// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions without hooks in files that have some: code of a static library, or of an object file that another compiler
//! made. In each basic block of the others the simulation's clock is advanced, and its address is compiled in.
use corefold_block::inline::CLOCK;
use corefold_recording::{Hooked, Unhooked};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::path::Path;

/// The samples that are in functions without hooks, by file. Of code that no symbol names, nothing is known.
pub fn unhooked(samples: &[Hooked]) -> Vec<Unhooked> {
    let mut files: BTreeMap<&str, Vec<&Hooked>> = BTreeMap::new();
    samples.iter().for_each(|sample| files.entry(&sample.path).or_default().push(sample));
    let found = files.into_iter().map(|(path, samples)| Unhooked {
        path: path.into(),
        part: true,
        samples: without_hooks(Path::new(path), &samples).unwrap_or(0),
    });
    found.filter(|file| file.samples > 0).collect()
}

fn without_hooks(path: &Path, samples: &[&Hooked]) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let functions = functions(&file);
    // Where no block has its hook inline, they are calls, and all functions would look alike.
    functions.iter().any(|function| function.has_clock).then(|| {
        let lacks = |sample: &&&Hooked| function_at(&functions, sample.address).is_some_and(|f| !f.has_clock);
        samples.iter().filter(lacks).map(|sample| sample.samples).sum()
    })
}

struct Function {
    begin: u64,
    end: u64,
    has_clock: bool,
}

fn function_at(functions: &[Function], address: u64) -> Option<&Function> {
    let behind = functions.partition_point(|function| function.begin <= address);
    functions[..behind].last().filter(|function| address < function.end)
}

fn functions(file: &object::File) -> Vec<Function> {
    let code = |begin: u64, bytes: u64| {
        let section = file.sections().find(|s| (s.address()..s.address() + s.size()).contains(&begin))?;
        section.data_range(begin, bytes).ok().flatten()
    };
    let defined = file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.is_definition() && s.size() > 0);
    let function = |symbol: object::Symbol| {
        let (begin, bytes) = (symbol.address(), symbol.size());
        let clock = CLOCK.to_le_bytes();
        let has_clock = code(begin, bytes)?.windows(clock.len()).any(|part| part == clock);
        Some(Function { begin, end: begin + bytes, has_clock })
    };
    let mut all: Vec<Function> = defined.filter_map(function).collect();
    all.sort_by_key(|function| function.begin);
    all
}
