// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same structures as pahole prints, in the same run: names, sizes, offsets and bit-fields.
use super::built::{Built, LOOK, has, open, shown, tell};
use crate::skipped::skipped;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// What a structure's text says: its size (pahole gives none for unions), and for each member, those of structures
/// inside too, name, offset, bit and size.
type Shape = (Option<u64>, Vec<(String, String)>);

/// All structures of the text, by name; a name may have several.
fn shapes(text: &str) -> HashMap<String, Vec<Shape>> {
    let mut all: HashMap<String, Vec<Shape>> = HashMap::new();
    let mut now: Option<(String, Shape)> = None;
    // Rows before each structure inside that is open.
    let mut open: Vec<usize> = Vec::new();
    for line in text.lines() {
        if let Some((_, shape)) = now.as_mut().filter(|_| line.starts_with('\t')) {
            if line.ends_with('{') {
                open.push(shape.1.len());
            } else if line.trim_start().starts_with('}') {
                // pahole shows members of what a pointer points to, which are not in the structure.
                let begun = open.pop().expect("what ends has begun");
                let keep = if line.trim_start().starts_with("} *") { begun } else { shape.1.len() };
                shape.1.truncate(keep);
            }
        }
        if let Some(name) = line.strip_suffix(" {").filter(|_| !line.starts_with('\t')) {
            now = Some((name.to_owned(), Shape::default()));
        } else if line.starts_with('}') {
            let (name, shape) = now.take().expect("a structure that ends has begun");
            all.entry(name).or_default().push(shape);
        } else if let (Some((_, shape)), Some((member, comment))) = (&mut now, line.split_once("/*")) {
            let comment = comment.trim_end_matches("*/").trim();
            match comment.strip_prefix("size: ") {
                Some(rest) if line.starts_with("\t/*") => shape.0 = rest.split(',').next().unwrap().parse().ok(),
                _ if comment.starts_with(|c: char| c.is_ascii_digit()) && !member.contains("/*") => {
                    let numbers = comment.replace(':', " : ").split_whitespace().collect::<Vec<_>>().join(" ");
                    shape.1.push((name(member), numbers));
                }
                _ => {}
            }
        }
    }
    all
}

/// `x` of `int x[3] __attribute__((…));`, nothing of `}`. pahole writes attributes before and after the name.
fn name(member: &str) -> String {
    let mut member = member.to_owned();
    while let Some(at) = member.find("__attribute__((") {
        let mut depth = 0;
        let end = member[at..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            *c == ')' && depth == 0
        });
        member.replace_range(at..end.map_or(member.len(), |(end, _)| at + end + 1), "");
    }
    let member = member.replace(';', " ");
    let member = member.trim();
    if let Some(at) = member.find("(*") {
        return member[at + 2..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    }
    let word = member.rsplit([' ', '\t']).next().unwrap();
    word.split(['[', ':']).next().unwrap().trim_start_matches(['*', '}']).to_owned()
}

fn pahole(path: &Path, options: &[&str]) -> String {
    let output = Command::new("pahole").args(options).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// That each structure of pahole's is among ours; how many there were.
fn compare(path: &Path, options: &[&str]) -> usize {
    let (theirs, ours) = (shapes(&pahole(path, options)), shapes(&shown(&open(path), &[], &LOOK)));
    let mut compared = 0;
    for (name, shapes) in &theirs {
        let own = ours.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        for shape in shapes {
            let same = |ours: &&Shape| (shape.0.is_none() || ours.0 == shape.0) && ours.1 == shape.1;
            assert!(own.iter().any(|ours| same(&ours)), "{name}: {}", difference(shape, own));
            compared += 1;
        }
    }
    compared
}

fn difference(theirs: &Shape, ours: &[Shape]) -> String {
    let at = |ours: &Shape| theirs.1.iter().zip(&ours.1).take_while(|(a, b)| a == b).count();
    let nearest = ours.iter().max_by_key(|ours| at(ours)).expect("there is one of the name");
    let (row, sizes) = (at(nearest), (theirs.0, nearest.0));
    format!("size of pahole and ours {sizes:?}; row {row}: {:?} and {:?}", theirs.1.get(row), nearest.1.get(row))
}

#[test]
fn the_running_kernels_btf_is_as_pahole_prints_it() {
    let path = Path::new("/sys/kernel/btf/vmlinux");
    if !path.exists() {
        skipped("there is no /sys/kernel/btf/vmlinux");
    } else if has("pahole") {
        let compared = compare(path, &[]);
        tell(&format!("{compared} structures of the kernel's BTF are as pahole prints them"));
        assert!(compared > 1000, "{compared}");
    }
}

/// Without atomics, which Debian's pahole does not know.
const PLAIN: &str = r#"
struct bits { unsigned a : 3, b : 7; unsigned : 0; unsigned c : 30; long d : 33; char e; short f : 5; unsigned char g : 1; };
struct __attribute__((packed)) packed { char a; int b; long c : 40; int d : 10; short e; };
struct inside { char a; double b; char c; };
struct outer { struct inside i; struct { int x : 2, y : 30; union { char z; long w; } u; } anonymous[2]; struct { short s; };
    int (*call)(struct outer *, int); const char *names[4][2]; _Alignas(64) int aligned; struct inside last; };
struct flexible { int n; struct inside rest[]; };
union mixed { struct outer *o; struct packed p; int i[9]; unsigned f : 3; };
struct bits b; struct packed p; struct outer o; struct flexible *f; union mixed m;
int main(void) { return 0; }
"#;

#[test]
fn dwarf_of_c_is_as_pahole_prints_it() {
    if !has("pahole") {
        return;
    }
    for options in
        [&["-g", "-gdwarf-4"][..], &["-g", "-gdwarf-5"], &["-g", "-gdwarf-3", "-gstrict-dwarf"], &["-g", "-c"]]
    {
        let built = Built::new("gcc", "plain.c", PLAIN, options);
        assert_eq!(compare(&built.path, &[]), 6, "{options:?}");
    }
}

/// The same file's DWARF, and the BTF that pahole makes of it.
#[test]
fn btf_and_dwarf_say_the_same() {
    if !has("pahole") {
        return;
    }
    let built = Built::new("gcc", "plain.c", PLAIN, &["-g", "-c"]);
    let from_dwarf = shapes(&built.shown(&[], &LOOK));
    pahole(&built.path, &["-J"]);
    let output = Command::new("objcopy").args(["--strip-debug", "--keep-section=.BTF"]).arg(&built.path).output();
    assert!(output.unwrap().status.success());
    let from_btf = shapes(&built.shown(&[], &LOOK));
    assert_eq!(from_dwarf, from_btf);
    assert_eq!(from_btf.len(), 6);
}

/// BTF of a small program, to damage.
pub fn btf_victim() -> Option<Vec<u8>> {
    has("pahole").then(|| {
        let built = Built::new("gcc", "plain.c", PLAIN, &["-g", "-c"]);
        pahole(&built.path, &["-J"]);
        let raw = built.path.with_extension("btf");
        let dump = format!("--dump-section=.BTF={}", raw.display());
        let output = Command::new("objcopy").arg(dump).arg(&built.path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(raw).unwrap()
    })
}
