// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a code address to the functions it belongs to, inlined ones first.
use crate::dwarf::{Debug, Die};
use crate::rust;
use crate::symbols::demangle;
use crate::types::Place;

/// A function that a code address lies in.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Demangled.
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The function's entry in the debug information: an instance of it if it is inlined.
    pub die: Option<Die>,
}

impl Frame {
    pub fn named(function: String) -> Frame {
        Frame { function, file: None, line: None, column: None, die: None }
    }

    pub fn place(&self) -> Place {
        Place { function: self.function.clone(), file: self.file.clone(), line: self.line }
    }

    /// Belongs to the C++ or Rust standard library: seldom of interest to the program's author.
    pub fn is_standard_library(&self) -> bool {
        let by_name = ["std::", "__gnu_cxx::"].iter().any(|prefix| self.function.starts_with(prefix));
        let by_file = |file: &str| {
            let rust = ["alloc", "core", "std"].iter().any(|name| file.contains(&format!("/library/{name}/src/")));
            rust || (file.contains("/include/") && file.contains("/c++/"))
        };
        by_name || self.file.as_deref().is_some_and(by_file)
    }
}

/// The functions at `address` (as the file has it), innermost first; empty where the debug information
/// does not cover it. A function without a name of its own gets the one of `symbol`.
pub fn frames(debug: &Debug, address: u64, symbol: Option<String>) -> Vec<Frame> {
    let unit = debug.lines().find_dwarf_and_unit(address).skip_all_loads().map(|unit| unit.header.offset());
    let Ok(mut found) = debug.lines().find_frames(address).skip_all_loads() else {
        return Vec::new();
    };
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = found.next() {
        let die = unit.zip(frame.dw_die_offset).and_then(|(unit, offset)| debug.die(unit, offset));
        let raw = frame.function.as_ref().and_then(|name| Some(name.raw_name().ok()?.into_owned()));
        let raw_is_plain = raw.as_ref().is_some_and(|raw| demangle(raw) == *raw);
        let Some(function) = raw.map(|raw| demangle(&raw)).or_else(|| symbol.clone()) else {
            continue;
        };
        // Code that the compiler found equal to another function's has a symbol and lines, but no entry.
        let die = die.or_else(|| debug.function_named(unit?, &function));
        let whole = die.filter(|_| raw_is_plain).map(|die| debug.function_name(die));
        let function = whole.filter(|name| !name.is_empty()).unwrap_or(function);
        let function = match (debug.full_names, die.is_some_and(|die| debug.is_rust(die))) {
            (true, _) => function,
            (false, true) => {
                let own = die.and_then(|die| debug.name(die)).unwrap_or_default();
                rust::of_future(rust::short_function(&function), &own)
            }
            (false, false) => shorten(function),
        };
        let location = frame.location.as_ref();
        frames.push(Frame {
            function,
            file: location.and_then(|at| at.file).map(str::to_owned),
            line: location.and_then(|at| at.line),
            column: location.and_then(|at| at.column),
            die,
        });
    }
    frames
}

/// Template arguments of the C++ library longer than this are left out.
const LONGEST_ARGUMENTS: usize = 24;

/// `std::map<…>::operator[]`: the library's names without their long template arguments.
fn shorten(name: String) -> String {
    if !name.starts_with("std::") && !name.starts_with("__gnu_cxx::") {
        return name;
    }
    let mut short = String::new();
    let mut rest = name.as_str();
    while let Some(open) = rest.find('<') {
        let close = closing(&rest[open..]).map(|close| open + close);
        match close.filter(|_| !rest[..open].ends_with("operator") && !rest[..open].ends_with("operator<")) {
            Some(close) if close - open > LONGEST_ARGUMENTS => {
                short += &rest[..open];
                short += "<…>";
                rest = &rest[close + 1..];
            }
            Some(close) => {
                short += &rest[..=close];
                rest = &rest[close + 1..];
            }
            None => {
                short += &rest[..=open];
                rest = &rest[open + 1..];
            }
        }
    }
    short + rest
}

/// Where the bracket that `text` begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            // The arrow of a return type is no bracket.
            b'>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn the_librarys_template_arguments_are_left_out_if_they_are_long() {
        let short = |name: &str| shorten(name.to_owned());
        assert_eq!(short("std::__atomic_base<long>::operator+="), "std::__atomic_base<long>::operator+=");
        let map = "std::map<std::basic_string<char, std::allocator<char> >, int>";
        assert_eq!(short(&format!("{map}::operator[]")), "std::map<…>::operator[]");
        assert_eq!(short(&format!("std::operator< <{map}, {map} >")), "std::operator< <…>");
        assert_eq!(short("std::operator<< <char>"), "std::operator<< <char>");
        let own = "mine::table<std::basic_string<char, std::allocator<char> >, int>::find";
        assert_eq!(short(own), own);
    }
}
