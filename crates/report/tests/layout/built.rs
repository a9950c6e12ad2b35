// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs compiled at test time, and how their structures are shown.
use crate::skipped::skipped;
use corefold_dwarf::{Request, Types};
use corefold_report::layout::{Look, select, structure_text};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const LOOK: Look = Look { line: 64, expand: false, width: 100 };

/// Atomics, bit-fields packed and not, functions, flexible arrays, aligned fields, structures without a name.
pub const C: &str = r#"
#include <stdatomic.h>
typedef struct { short s; enum { RED, BLUE } colour; __int128 big; _Bool flag; } plain;
struct inner { char tag; int *pointer; short last; };
struct node {
    _Atomic int count;
    _Atomic(long) *shared;
    int low : 3, high : 5;
    _Atomic unsigned char mark;
    int (*call)(int, struct node *, ...);
    const volatile char *const *names[3][4];
    struct { int hidden; union { float f; unsigned bits : 9; }; };
    struct inner inner;
    _Alignas(64) _Atomic(struct inner *) hot;
    char tail[];
};
struct __attribute__((packed)) wire { char kind; int length; long offset : 40; int flags : 10; };
union either { struct node *node; plain plain; double real[2]; };
struct node *node; plain one; struct wire wire; union either either;
int main(void) { return 0; }
"#;

/// Bases, virtual functions, templates, namespaces, references, an empty base, a class in a class.
pub const CPP: &str = r#"
#include <atomic>
namespace deep { namespace er {
template <typename T, int N> struct table { T rows[N]; std::atomic<T *> next; struct cursor { int at; } here; };
} }
struct nothing {};
class base { public: virtual ~base() {} int b; static int shared; };
class derived : public base, public nothing { public: derived(char c, deep::er::table<double, 3> &r) : c(c), ref(r) {} char c; deep::er::table<double, 3> &ref; int base::*member; enum class mode : short { on } m; };
struct virt : virtual base { int v; };
deep::er::table<double, 3> t; deep::er::table<char, 70> u;
int base::shared;
int main() { derived d('c', t); virt v; return d.b + v.v; }
"#;

/// Fields that the compiler reorders, variants with and without a tag of their own, niches, generics.
pub const RUST: &str = r#"
#![allow(dead_code)]
pub struct Reordered { a: u8, b: u64, c: u16, d: u32 }
pub enum State { Idle, Busy { since: u64, worker: u32 }, Done(u64, [u8; 24]) }
pub enum Signed { Low = -5, High = 7 }
pub struct Job { state: State, next: Option<Box<Job>>, small: Option<u8>, how: Signed, text: &'static str, all: Vec<Reordered> }
#[unsafe(no_mangle)] pub static mut JOB: Option<Job> = None;
"#;

pub struct Built {
    _directory: tempfile::TempDir,
    pub path: PathBuf,
}

impl Built {
    pub fn new(command: &str, name: &str, source: &str, options: &[&str]) -> Built {
        let directory = tempfile::tempdir().unwrap();
        let (file, path) = (directory.path().join(name), directory.path().join("built"));
        std::fs::write(&file, source).unwrap();
        let output = Command::new(command).args(options).arg(&file).arg("-o").arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Built { _directory: directory, path }
    }

    pub fn c(options: &[&str]) -> Built {
        Built::new("gcc", "nodes.c", C, &[&["-g"], options].concat())
    }

    pub fn cpp(options: &[&str]) -> Built {
        Built::new("g++", "tables.cpp", CPP, &[&["-g"], options].concat())
    }

    pub fn rust(options: &[&str]) -> Built {
        Built::new("rustc", "jobs.rs", RUST, &[&["-g", "--edition=2024"], options].concat())
    }

    pub fn types(&self) -> Types {
        open(&self.path)
    }

    /// The structures that the patterns name, as they are printed.
    pub fn shown(&self, patterns: &[&str], look: &Look) -> String {
        shown(&self.types(), patterns, look)
    }
}

pub fn open(path: &Path) -> Types {
    Types::open(&Request { path: path.to_owned(), ..Request::default() }).unwrap()
}

pub fn shown(types: &Types, patterns: &[&str], look: &Look) -> String {
    let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.to_string()).collect();
    select(types, &patterns).unwrap().into_iter().map(|structure| structure_text(types, structure, look)).collect()
}

/// Whether a tool is installed; otherwise the test is skipped.
pub fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        skipped(&format!("{tool} is not installed"));
    }
    found
}

/// On standard error, past the harness that keeps back what tests print.
pub fn tell(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
