// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files made to use up memory or time: circles, types that contain each other many times, names that share bytes,
//! entries of one byte.
use super::built::Built;
use super::fuzz::{cpu_time, peak_memory, use_all};
use corefold_dwarf::{Request, Source, Types};
use std::time::Duration;

/// Encodes BTF, a type at a time.
#[derive(Default)]
struct Btf {
    words: Vec<u32>,
    types: u32,
    strings: Vec<u8>,
}

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNCTION: u32 = 13;

impl Btf {
    fn new() -> Btf {
        Btf { strings: vec![0], ..Btf::default() }
    }

    fn name(&mut self, text: &str) -> u32 {
        self.strings.extend(text.bytes().chain([0]));
        (self.strings.len() - text.len() - 1) as u32
    }

    /// Returns the type's number.
    fn add(&mut self, name: u32, kind: u32, entries: u32, rest: u32, more: &[u32]) -> u32 {
        self.words.extend([name, kind << 24 | entries, rest]);
        self.words.extend(more);
        self.types += 1;
        self.types
    }

    fn bytes(&self) -> Vec<u8> {
        let types = self.words.len() as u32 * 4;
        let header: [u32; 6] = [0x0001_eb9f, 24, 0, types, types, self.strings.len() as u32];
        let words = header.iter().chain(&self.words);
        words.flat_map(|word| word.to_le_bytes()).chain(self.strings.iter().copied()).collect()
    }
}

/// The thread whose CPU time counts reads all.
fn one_thread(built: &Built) -> Request {
    Request { path: built.path.clone(), threads: 1, ..Request::default() }
}

const LONGEST: Duration = Duration::from_secs(30);

#[track_caller]
fn survives(what: &str, read: impl FnOnce() -> anyhow::Result<Types>) {
    let begun = cpu_time();
    let printed = read().map(|types| use_all(&types));
    let took = cpu_time() - begun;
    eprintln!("{what}: {took:?}, {} MB", peak_memory() >> 20);
    assert!(took < LONGEST, "{what}: {took:?} for {printed:?}");
    assert!(peak_memory() < 2 << 30, "{what}: {} bytes", peak_memory());
}

fn btf(what: &str, make: impl FnOnce(&mut Btf)) {
    let mut file = Btf::new();
    make(&mut file);
    let bytes = file.bytes();
    survives(what, || Types::from_btf(Source { bytes: &bytes, pointer_bytes: 8 }, None));
}

#[test]
fn circles_of_types() {
    for kind in [STRUCT, UNION] {
        btf("a structure of many of itself", |file| {
            let name = file.name("self");
            let members: Vec<u32> = (0..300).flat_map(|_| [name, 1, 0]).collect();
            file.add(name, kind, 300, 8, &members);
        });
        btf("two structures of many of each other, without names", |file| {
            let name = file.name("outer");
            for (own, other) in [(name, 2), (0, 1)] {
                let members: Vec<u32> = (0..100).flat_map(|at| [0, other, at * 8]).collect();
                file.add(own, kind, 100, 8, &members);
            }
        });
    }
    btf("a typedef, qualifier, pointer and array of itself", |file| {
        let name = file.name("t");
        for kind in [TYPEDEF, CONST, POINTER] {
            let own = file.types + 1;
            file.add(name, kind, 0, own, &[]);
        }
        let own = file.types + 1;
        file.add(0, ARRAY, 0, 0, &[own, own, u32::MAX]);
        let members: Vec<u32> = (1..=own).flat_map(|kind| [name, kind, 0]).collect();
        file.add(name, STRUCT, own, 8, &members);
    });
    btf("functions that take functions", |file| {
        let many: Vec<u32> = (0..60_000).flat_map(|_| [0, 1]).collect();
        file.add(0, FUNCTION, 60_000, 1, &many);
        let (pointer, name) = (file.add(0, POINTER, 0, 1, &[]), file.name("calls"));
        file.add(name, STRUCT, 1, 8, &[name, pointer, 0]);
    });
}

#[test]
fn names_that_share_their_bytes() {
    btf("one long name for all members", |file| {
        let (int, name) = (file.name("int"), file.name(&"x".repeat(1 << 20)));
        file.add(int, INT, 0, 4, &[32]);
        for _ in 0..5 {
            let members: Vec<u32> = (0..60_000).flat_map(|at| [name + at % 1000, 1, at * 32]).collect();
            file.add(name, STRUCT, 60_000, 240_000, &members);
        }
    });
    btf("one long type name for all members", |file| {
        let (long, name) = (file.name(&"x".repeat(1 << 20)), file.name("s"));
        file.add(long, INT, 0, 4, &[32]);
        let members: Vec<u32> = (0..5_000).flat_map(|at| [name, 1, at * 32]).collect();
        file.add(name, STRUCT, 5_000, 20_000, &members);
    });
}

/// Head of a unit of DWARF 4, and the abbreviations that `entries` use.
fn dwarf(what: &str, entries: &str, options: &[&str]) {
    let source = format!(
        "    .section .debug_info,\"\",@progbits
    .long 9f - 1f
1:  .short 4
    .long 0
    .byte 8
0:  .uleb128 1
{entries}
    .byte 0
9:  .section .debug_abbrev,\"\",@progbits
    .uleb128 1, 0x11
    .byte 1, 0, 0
    .uleb128 2, 0x13 /* structure: byte size, name */
    .byte 1
    .uleb128 0x0b, 0x0b, 0x03, 0x08
    .byte 0, 0
    .uleb128 3, 0x0d /* member: type */
    .byte 0
    .uleb128 0x49, 0x13
    .byte 0, 0
    .uleb128 4, 0x0d /* member, without anything */
    .byte 0
    .byte 0, 0
    .uleb128 5, 0x16 /* typedef: name, type */
    .byte 0
    .uleb128 0x03, 0x08, 0x49, 0x13
    .byte 0, 0
    .uleb128 6, 0x17 /* union: byte size, name */
    .byte 1
    .uleb128 0x0b, 0x0b, 0x03, 0x08
    .byte 0, 0
    .uleb128 7, 0x13 /* structure, without anything */
    .byte 1
    .byte 0, 0
    .uleb128 8, 0x13 /* structure: byte size, specification */
    .byte 1
    .uleb128 0x0b, 0x0b, 0x47, 0x13
    .byte 0, 0
    .uleb128 9, 0x13 /* declaration of a structure: name */
    .byte 0
    .uleb128 0x03, 0x08, 0x3c, 0x19
    .byte 0, 0
    .byte 0
"
    );
    let built = Built::new("gcc", "hostile.s", &source, &[&["-c"], options].concat());
    survives(what, || Types::open(&one_thread(&built)));
}

#[test]
fn entries_that_no_compiler_writes() {
    dwarf("members of one byte", ".uleb128 2\n .byte 8\n .asciz \"s\"\n .fill 8000000, 1, 4\n .byte 0", &[]);
    dwarf("the same, compressed", ".uleb128 2\n .byte 8\n .asciz \"s\"\n .fill 8000000, 1, 4\n .byte 0", &["-gz=zlib"]);
    dwarf("nested without end", ".fill 100000, 1, 7\n .fill 100000, 1, 0", &[]);
    dwarf("nested without an end", ".fill 300, 1, 7", &[]);
    let own = "2: .uleb128 CODE\n .byte 8\n .asciz \"s\"\n .uleb128 3\n .long 2b - 1b + 4\n .uleb128 3\n .long 2b - 1b + 4\n .byte 0";
    dwarf("a structure of two of itself", &own.replace("CODE", "2"), &[]);
    dwarf("a union of two of itself", &own.replace("CODE", "6"), &[]);
    dwarf(
        "a typedef of itself",
        "2: .uleb128 5\n .asciz \"t\"\n .long 2b - 1b + 4\n .uleb128 2\n .byte 8\n .asciz \"s\"\n .uleb128 3\n .long 2b - 1b + 4\n .byte 0",
        &[],
    );
    dwarf(
        "a definition whose declaration is inside it",
        "2: .uleb128 8\n .byte 8\n .long 3f - 1b + 4\n3: .uleb128 9\n .asciz \"inner\"\n .byte 0",
        &[],
    );
    dwarf(
        "members of no type",
        ".uleb128 2\n .byte 8\n .asciz \"s\"\n .uleb128 3\n .long 0x7fffffff\n .uleb128 3\n .long 1\n .byte 0",
        &[],
    );
}

/// Each has a member of the next one's type, which is in a unit of its own.
#[test]
fn a_long_chain_of_type_units() {
    let unit = |number: usize| {
        format!(
            "
0:  .long 9f - 1f
1:  .short 4
    .long 0
    .byte 8
    .quad {number}
    .long 2f - 0b
    .uleb128 1
2:  .uleb128 2
    .byte 8
    .asciz \"s{number}\"
    .uleb128 3
    .long 3f - 0b
    .byte 0
3:  .uleb128 4
    .quad {number} + 1
    .byte 0
9:"
        )
    };
    let source = format!(
        "    .section .debug_abbrev,\"\",@progbits
    .uleb128 1, 0x41
    .byte 1, 0, 0
    .uleb128 2, 0x13 /* structure: byte size, name */
    .byte 1
    .uleb128 0x0b, 0x0b, 0x03, 0x08
    .byte 0, 0
    .uleb128 3, 0x0d /* member: type */
    .byte 0
    .uleb128 0x49, 0x13
    .byte 0, 0
    .uleb128 4, 0x13 /* structure in a unit of its own: signature, declaration */
    .byte 0
    .uleb128 0x69, 0x20, 0x3c, 0x19
    .byte 0, 0
    .byte 0
    .section .debug_types,\"\",@progbits{}
    .section .debug_info,\"\",@progbits
",
        (1..=5000).map(unit).collect::<String>()
    );
    let built = Built::new("gcc", "chain.s", &source, &["-c"]);
    survives("a chain of type units", || Types::open(&one_thread(&built)));
}

/// Each of its members has a type that is declared here, and defined by that name many times elsewhere.
#[test]
fn many_declarations_of_one_name() {
    declarations_and_definitions(STRUCTURE);
}

/// The same, but what has that name elsewhere is a union, and so no definition.
#[test]
fn many_declarations_that_nothing_defines() {
    declarations_and_definitions(UNION_ENTRY);
}

/// Their abbreviations.
const STRUCTURE: u32 = 2;
const UNION_ENTRY: u32 = 5;

#[track_caller]
fn declarations_and_definitions(defined: u32) {
    const MANY: usize = 40_000;
    let all = |line: &dyn Fn(usize) -> String| (0..MANY).map(line).collect::<String>();
    let head = |number: usize, body: String| {
        format!(
            "\n8{number}: .long 7{number}f - 6{number}f\n6{number}: .short 4\n .long 0\n .byte 8\n .uleb128 1\n{body} .byte 0\n7{number}:"
        )
    };
    let scope = |i| {
        format!(" .uleb128 2\n .byte 8\n .asciz \"s{i}\"\n .uleb128 {defined}\n .byte 8\n .asciz \"x\"\n .byte 0, 0\n")
    };
    let definitions = head(0, all(&scope));
    let declared = all(&|_| " .uleb128 4\n .asciz \"x\"\n".to_owned());
    let members = all(&|i| format!(" .uleb128 3\n .long 12 + {i} * 3\n"));
    let declarations = head(1, format!("{declared} .uleb128 2\n .byte 8\n .asciz \"big\"\n{members} .byte 0\n"));
    let source = format!(
        "    .section .debug_abbrev,\"\",@progbits
    .uleb128 1, 0x11
    .byte 1, 0, 0
    .uleb128 2, 0x13 /* structure: byte size, name */
    .byte 1
    .uleb128 0x0b, 0x0b, 0x03, 0x08
    .byte 0, 0
    .uleb128 3, 0x0d /* member: type */
    .byte 0
    .uleb128 0x49, 0x13
    .byte 0, 0
    .uleb128 4, 0x13 /* declaration: name */
    .byte 0
    .uleb128 0x03, 0x08, 0x3c, 0x19
    .byte 0, 0
    .uleb128 5, 0x17 /* union: byte size, name */
    .byte 1
    .uleb128 0x0b, 0x0b, 0x03, 0x08
    .byte 0, 0
    .byte 0
    .section .debug_info,\"\",@progbits{definitions}{declarations}
"
    );
    let built = Built::new("gcc", "declared.s", &source, &["-c"]);
    let begun = cpu_time();
    let types = Types::open(&one_thread(&built)).unwrap();
    assert!(types.structures().iter().any(|found| found.name == "big"));
    // 3 s of CPU time in a debug build; 21 s where each declaration looks at each definition.
    let took = cpu_time() - begun;
    assert!(took < LONGEST / 3, "{took:?}");
}
