// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is printed, against the files in `snapshots`.
use super::built::{Built, LOOK, shown};
use corefold_report::layout::*;
use insta::assert_snapshot;

/// pahole 1.24 of Debian prints `<ERROR` in place of the atomic members, and leaves out the structure without a name.
#[test]
fn atomics_in_c() {
    assert_snapshot!(Built::c(&[]).shown(&["node", "plain", "wire", "either"], &LOOK));
}

#[test]
fn structures_inside_are_expanded() {
    assert_snapshot!(Built::c(&[]).shown(&["node"], &Look { expand: true, ..LOOK }));
}

/// The same in type units, in an object file, compressed, and with DWARF 4, which has no atomic types.
#[test]
fn however_it_is_packed() {
    let words = |built: Built| {
        // Type units come in an order of their own.
        let one = |name: &&str| built.shown(&[name], &LOOK).replace("_Atomic", "").replace(' ', "");
        ["node", "wire", "either", "plain"].iter().map(one).collect::<Vec<_>>()
    };
    let plain = words(Built::c(&[]));
    for options in [
        &["-gdwarf-4"][..],
        &["-gdwarf-4", "-fdebug-types-section"],
        &["-gdwarf-5", "-fdebug-types-section"],
        &["-c"],
        &["-gz=zlib"],
        &["-flto", "-O1"],
    ] {
        assert_eq!(words(Built::c(options)), plain, "{options:?}");
    }
}

#[test]
fn classes_in_cpp() {
    assert_snapshot!(Built::cpp(&[]).shown(&["derived", "table*", "virt", "base", "cursor"], &LOOK));
}

/// The reordered fields, the tag and the niche are as `std::mem::offset_of!` says: see `rust_says_the_same`.
#[test]
fn enumerations_in_rust() {
    let built = Built::rust(&["--crate-type=lib", "--emit=obj"]);
    assert_snapshot!(built.shown(&["jobs::*", "core::option::Option<u8>", "*Option<*Box<jobs::Job*"], &LOOK));
}

#[test]
fn lines_of_other_sizes() {
    let text = Built::c(&[]).shown(&["node"], &Look { line: 32, ..LOOK });
    assert!(text.contains("cacheline 1 boundary (32 bytes)") && text.contains("cachelines: 8"), "{text}");
}

/// Two builds of the structures of a published regression: 584 bytes instead of 592, count and owner of the semaphore
/// in other slots.
fn inodes() -> (Built, Built) {
    let source = r#"
struct list_head { struct list_head *next, *prev; };
struct rw_semaphore { long count; struct list_head wait_list; int wait_lock; int osq; void *owner; };
struct address_space { void *host; char tree[16]; GFP int i_mmap_writable; void *i_mmap; struct rw_semaphore i_mmap_rwsem;
    unsigned long nrpages, nrexceptional, writeback_index; void *a_ops; unsigned long flags; int private_lock; LATER
    struct list_head private_list; void *private_data; LAST };
struct inode { char head[344]; struct address_space i_data; char tail[HOW]; };
struct inode inode; int main(void) { return 0; }
"#;
    let old = ["-DGFP=", "-DLATER=unsigned gfp_mask;", "-DLAST=int wb_err;", "-DHOW=88"];
    let new = ["-DGFP=unsigned gfp_mask;", "-DLATER=int wb_err;", "-DLAST=", "-DHOW=88"];
    let build = |defines: &[&str]| Built::new("gcc", "inode.c", source, &[&["-g"], defines].concat());
    (build(&old), build(&new))
}

fn semaphore() -> Vec<String> {
    vec!["count".to_owned(), "owner".to_owned()]
}

#[test]
fn an_array_slot_by_slot() {
    let (old, new) = inodes();
    let mut text = String::new();
    for built in [old, new] {
        let types = built.types();
        let found = select(&types, &["inode".to_owned()]).unwrap();
        for (stride, fields) in [(Stride::Slab { cpus: 80 }, semaphore()), (Stride::Bytes(640), Vec::new())] {
            let slots = Slots::new(&types, found[0], &LOOK, &InArray { stride, fields: &fields }).unwrap();
            text += &slots_text(&types, found[0], &slots, &LOOK, !fields.is_empty());
            text.push('\n');
        }
    }
    assert_snapshot!(text);
}

/// That of Linux 4.20: about half of the slots before and after, but others.
#[test]
fn a_regression_by_size() {
    let (old, new) = inodes();
    let (old, new) = (old.types(), new.types());
    let all = |types| select(types, &[]).unwrap();
    let stride = Some(Stride::Slab { cpus: 80 });
    let fields = semaphore();
    let builds = Builds { old: &old, new: &new, line: 64, stride, fields: &fields, heat: None };
    let found = differences(&builds, &all(&old), &all(&new));
    let inode = found.changes.iter().find(|change| change.name == "inode").expect("it differs");
    assert_eq!(inode.size, (592, 584));
    let pair = &inode.pairs[0];
    assert_eq!((pair.old.len(), pair.new.len()), (4, 4), "of 8 slots");
    assert!(!pair.together().is_empty() && !pair.apart().is_empty());
    assert_snapshot!(differences_text(&found, &LOOK, false));
}

/// The same structures, each at the begin of a line: nothing differs but the size, which hides what happened.
#[test]
fn a_size_that_moves_packed_objects_is_noted() {
    let (old, new) = inodes();
    let (old, new) = (old.types(), new.types());
    let named = |types| select(types, &["inode".to_owned()]).unwrap();
    let fields = semaphore();
    let text = |stride| {
        let builds = Builds { old: &old, new: &new, line: 64, stride, fields: &fields, heat: None };
        differences_text(&differences(&builds, &named(&old), &named(&new)), &LOOK, false)
    };
    let [aligned, packed] = [text(None), text(Some(Stride::Slab { cpus: 80 }))];
    assert!(
        aligned.contains("no two fields share a line in other slots") && aligned.contains("note: 10 lines"),
        "{aligned}"
    );
    assert!(!packed.contains("note:"), "{packed}");
}

#[test]
fn aligned_objects_compared() {
    let (old, new) = inodes();
    let (old, new) = (old.types(), new.types());
    let named = |types| select(types, &["address_space".to_owned()]).unwrap();
    let builds = Builds { old: &old, new: &new, line: 64, stride: None, fields: &[], heat: None };
    let found = differences(&builds, &named(&old), &named(&new));
    assert_snapshot!(differences_text(&found, &LOOK, false));
    assert_snapshot!(differences_json(&found, &LOOK));
    let same = differences(&Builds { new: &old, ..builds }, &named(&old), &named(&old));
    assert_eq!((same.changes.len(), same.compared), (0, 1));
}

#[test]
fn documents() {
    let types = Built::c(&[]).types();
    let node = select(&types, &["node".to_owned()]).unwrap();
    let document = structures_json(&types, &node, &LOOK);
    // The source's folder.
    let lines: Vec<&str> = document.lines().filter(|line| !line.contains("\"unit\"")).collect();
    assert_snapshot!(lines.join("\n"));
    let rust = Built::rust(&["--crate-type=lib", "--emit=obj"]).types();
    let state = select(&rust, &["jobs::State".to_owned()]).unwrap();
    let document = structures_json(&rust, &state, &LOOK);
    let lines: Vec<&str> = document.lines().filter(|line| !line.contains("\"unit\"")).collect();
    assert_snapshot!(lines.join("\n"));
    let slots = Slots::new(
        &types,
        node[0],
        &LOOK,
        &InArray { stride: Stride::Bytes(264), fields: &["count".to_owned(), "mark".to_owned()] },
    );
    assert_snapshot!(slots_json(&[(node[0], slots.unwrap())], &[], &LOOK));
}

/// Names with what terminals obey: shown, and not obeyed.
#[test]
fn names_are_harmless() {
    let built = Built::new("gcc", "evil.s", EVIL, &["-c"]);
    let text = shown(&built.types(), &[], &LOOK);
    assert!(
        text.contains("struct x␛]0;t␇") && text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'),
        "{text:?}"
    );
}

/// A structure of no members, its name an escape sequence.
const EVIL: &str = r#"
    .section .debug_info,"",@progbits
    .long 2f - 1f
1:  .short 4
    .long 0
    .byte 8
    .uleb128 1
    .uleb128 2
    .byte 4
    .asciz "x\033]0;t\007\nstruct y {"
    .byte 0
2:  .section .debug_abbrev,"",@progbits
    .uleb128 1, 0x11
    .byte 1, 0, 0
    .uleb128 2, 0x13
    .byte 0
    .uleb128 0x0b, 0x0b, 0x03, 0x08
    .byte 0, 0, 0
"#;

/// Structures of a header are in every unit that includes it; those of one name that differ are others.
#[test]
fn each_structure_once() {
    let header = "struct inner { char a; long b; }; struct outer { struct inner i; struct inner *p; };";
    let directory = tempfile::tempdir().unwrap();
    let second = directory.path().join("second.c");
    let text = "struct extra { struct outer o; char c; } y; struct local { long a; } l2;";
    std::fs::write(&second, format!("{header} {text}")).unwrap();
    let first = format!(
        "{header} struct outer x; struct also {{ struct outer o; }} z; struct local {{ int a; }} l1; int main(void) {{ return 0; }}"
    );
    let built = Built::new("gcc", "first.c", &first, &["-g", second.to_str().unwrap()]);
    let expand = Look { expand: true, ..LOOK };
    let mut all: Vec<String> = Vec::new();
    for threads in [1, 2, 7] {
        let request = corefold_dwarf::Request { path: built.path.clone(), threads, ..Default::default() };
        let types = corefold_dwarf::Types::open(&request).unwrap();
        let mut names: Vec<&str> = types.structures().iter().map(|structure| structure.name.as_str()).collect();
        names.sort();
        assert_eq!(names, ["also", "extra", "inner", "local", "local", "outer"]);
        all.push(shown(&types, &["extra", "also"], &expand));
    }
    // One of them is in a unit that is not the first to define what is inside.
    assert_eq!(all[0].matches("long int   b;                    /*     8     8 */").count(), 2, "{}", all[0]);
    assert!(all.iter().all(|text| *text == all[0]));
}
