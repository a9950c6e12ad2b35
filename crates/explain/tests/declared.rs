// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the source declares what a layout cuts.
use crate::common::*;
use corefold_explain::{Declared, Images, Language, Parting, Undeclared, declared};

const C: &str = r#"
struct lock { long count; _Atomic long owner; };
struct inode {
    int mode;
    struct lock lock;
    long size;
    union { long whole; int half[2]; } of;
} inode;
struct slot { int value; } slots[8];
struct table { long used; struct slot slots[4]; } table;
long plain[8];
int main(void) { return inode.mode + slots[3].value + (int)plain[1] + (int)table.used; }
"#;

fn cut(program: &Program, symbol: &str, bytes: u64, cuts: &[u64]) -> Result<Vec<Declared>, Undeclared> {
    asked(program, Parting { address: program.symbol(symbol), bytes, element: None, cuts: cuts.into() })
}

fn asked(program: &Program, parting: Parting) -> Result<Vec<Declared>, Undeclared> {
    declared(&program.run(), &mut Images::new(), &[parting]).remove(0)
}

/// The structure, the members that begin something apart with their lines, and whether its end is cut.
fn told(declared: &Declared) -> (&str, Vec<(&str, u32)>, bool) {
    let one = |number: &usize| {
        let member = &declared.members[*number];
        (member.name.as_deref().unwrap_or("?"), member.place.as_ref().map_or(0, |place| place.1))
    };
    (&declared.name, declared.begins.iter().map(one).collect(), declared.ends)
}

#[test]
fn a_cut_is_before_a_member_of_the_outermost_structure_that_has_one_there() {
    let program = Program::new("declared.c", C, &[]);
    let all = cut(&program, "inode", 40, &[8, 24]).expect("members");
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), [("struct inode", vec![("lock", 5), ("size", 6)], false)]);
    assert_eq!(all[0].language, Language::C);
    assert!(all[0].members[1].place.as_ref().is_some_and(|place| place.0.ends_with("/declared.c")), "{all:?}");
    // The owner is within the lock, and what follows it is in the inode.
    let all = cut(&program, "inode", 40, &[16, 24]).expect("members");
    let expected = [("struct lock", vec![("owner", 2)], false), ("struct inode", vec![("size", 6)], false)];
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), expected);
    // Padding goes with what comes before it, and the end is no member's begin.
    let all = cut(&program, "inode", 40, &[0, 4, 40]).expect("members");
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), [("struct inode", vec![("lock", 5)], true)]);
}

#[test]
fn the_structure_of_elements_is_cut_as_a_whole() {
    let program = Program::new("declared.c", C, &[]);
    let slot = [("struct slot", vec![], true)];
    let of_variable = cut(&program, "slots", 4, &[0, 4]).expect("a structure");
    assert_eq!(of_variable.iter().map(told).collect::<Vec<_>>(), slot);
    let address = program.symbol("table");
    let within = asked(&program, Parting { address, bytes: 24, element: Some((8, 4)), cuts: vec![] });
    assert_eq!(within.expect("a structure").iter().map(told).collect::<Vec<_>>(), slot);
}

#[test]
fn what_is_no_member_is_not_declared() {
    let program = Program::new("declared.c", C, &[]);
    assert_eq!(cut(&program, "plain", 8, &[0, 8]), Err(Undeclared::NoStructure));
    let bytes =
        Program::new("bytes.c", "char pool[256]; char flags[64]; int main(void) { return pool[1] + flags[2]; }", &[]);
    assert_eq!(cut(&bytes, "pool", 256, &[0, 40]), Err(Undeclared::Bytes));
    assert_eq!(cut(&bytes, "flags", 1, &[0, 1]), Err(Undeclared::NoStructure), "its elements are what is used");
    assert_eq!(cut(&program, "inode", 40, &[36]), Err(Undeclared::Between), "in a union");
    let source = "use std::sync::atomic::*;\n#[unsafe(no_mangle)]\npub static WORDS: (AtomicU64, AtomicU64) = \
                  (AtomicU64::new(1), AtomicU64::new(2));\nfn main() { WORDS.0.store(3, Ordering::Relaxed) }\n";
    let rust = Program::rust("declared.rs", source);
    let address = rust.symbol("WORDS");
    let asked = asked(&rust, Parting { address, bytes: 16, element: None, cuts: vec![8] });
    assert_eq!(asked, Err(Undeclared::Rust));
}

#[test]
fn alignments_of_members_are_told() {
    let source = r#"
typedef long aligned_long __attribute__((aligned(32)));
struct line { _Alignas(64) long first; char rest; };
struct all {
    char byte; short half; int *pointer; double array[2]; _Complex double complex; long double wide;
    aligned_long by_type; _Alignas(128) char by_member; struct line lines[2]; _Atomic long atomic; enum { ONE } which;
    int vector __attribute__((vector_size(16)));
} all;
int main(void) { return all.which; }
"#;
    let program = Program::new("aligned.c", source, &[]);
    let told = cut(&program, "all", 640, &[8]).expect("members");
    let aligned: Vec<u64> = told[0].members.iter().map(|member| member.align.unwrap_or(0)).collect();
    assert_eq!(aligned, [1, 2, 8, 8, 8, 16, 32, 128, 64, 8, 4, 16]);
}

/// The members of base classes are declared in these.
#[test]
fn a_cut_where_a_base_class_begins_is_before_its_first_member() {
    const CPP: &str = r#"
struct Empty {};
struct Named : Empty { long name; long length; };
struct Gauge { long value; long limit; };
struct Worker : Named, Gauge { long id; };
struct Both : Named, Gauge {};
Worker variable; Both both;
Worker *worker = new Worker;
int main() { return (int)(variable.value + worker->value + both.value); }
"#;
    const TOKEN: &str = "struct token {};\nstruct noncopyable : token { virtual ~noncopyable() {} };\n\
                         struct Stats : noncopyable { long reads, writes; } stats;\nint main() { return (int)stats.reads; }\n";
    let program = Program::new("bases.cpp", CPP, &[]);
    let all = cut(&program, "variable", 40, &[16]).expect("a member of the second base class");
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), [("Gauge", vec![("value", 4)], false)]);
    let all = cut(&program, "both", 32, &[16]).expect("the same without members of its own");
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), [("Gauge", vec![("value", 4)], false)]);
    let all = cut(&program, "variable", 40, &[16, 24, 32]).expect("members");
    let expected = [("Gauge", vec![("value", 4), ("limit", 4)], false), ("Worker", vec![("id", 5)], false)];
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), expected);
    let token = Program::new("token.cpp", TOKEN, &[]);
    let all = cut(&token, "stats", 24, &[8, 24]).expect("a base class without members is none");
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), [("Stats", vec![("reads", 3)], true)]);
    // A variable is aligned as a whole by its first member, wherever that is declared.
    let all = cut(&program, "variable", 40, &[0, 40]).expect("a structure");
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), [("Named", vec![], false)]);
    assert_eq!(all[0].members[0].name.as_deref(), Some("name"));
}
