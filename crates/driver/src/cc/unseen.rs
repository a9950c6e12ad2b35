// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assembly outside of functions that the compiler made: nothing tells what it does to memory, and the
//! object says so in a section that reports read.
use std::path::Path;

/// The section: names of source files, each ending in a zero byte. It is not loaded, refers to nothing, and
/// linkers keep it and merge what is the same, as they do with `.comment`.
pub const SECTION: &str = ".corefold.asm";

/// The directives that leave the name.
pub fn note(source: &str) -> String {
    let name = source.replace(['\\', '"', '\n', '\0'], "?");
    format!("\t.pushsection {SECTION},\"MS\",@progbits,1\n\t.asciz \"{name}\"\n\t.popsection\n")
}

/// The name of the source, as the text of an assembly file has it.
pub fn source(assembly: &str) -> &str {
    from_marker(assembly).or_else(|| from_directive(assembly)).unwrap_or("an assembly file")
}

/// The preprocessor's `# 1 "x.S"`.
fn from_marker(assembly: &str) -> Option<&str> {
    let marker = assembly.lines().next()?.strip_prefix("# ")?;
    marker.split('"').nth(1).filter(|name| !name.is_empty())
}

/// The compiler's `.file "x.c"`.
fn from_directive(assembly: &str) -> Option<&str> {
    let directive = assembly.lines().find_map(|line| line.trim().strip_prefix(".file"))?;
    directive.split('"').nth(1)
}

/// The name to show of a file that is assembled as it is.
pub fn source_of_file<'a>(path: &'a Path, assembly: &'a str) -> &'a str {
    from_marker(assembly).or_else(|| path.to_str()).unwrap_or("an assembly file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_named() {
        assert_eq!(source("# 0 \"x.S\"\n.file \"y\""), "x.S");
        assert_eq!(source("\t.file\t\"x.c\"\n\t.text\n"), "x.c");
        assert_eq!(source_of_file(Path::new("y.s"), "\t.file \"z\"\n"), "y.s");
        assert!(note("a\"b").contains("\"a?b\""));
    }
}
