// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the test programs, runs them, and reads their code as the engine would in the process.
mod rewriting;
mod sequences;
mod skylake;

use corefold_block::{Code, Hook, clang, rustc};
use object::{Object, ObjectSegment, ObjectSymbol, RelocationTarget};
pub use skylake::CORE;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, OnceLock};

/// What a loop did: the addresses recorded in order, and its atomic operations.
#[derive(Default)]
pub struct Recorded {
    pub addresses: Vec<u64>,
    pub atomics: u32,
}

pub struct Program {
    pub image: Image,
    pub loops: BTreeMap<String, Recorded>,
}

const SPECS: &str = "*cc1_options:\n+ -fsanitize=thread -fsanitize-coverage=trace-pc\n\n";

/// The loops as the program has them, each instruction stepped: by a signal each, so once for all tests that ask.
pub fn plain(compiler: Compiler, flags: &[&str]) -> &'static Program {
    type Stepped = HashMap<(Compiler, String), &'static OnceLock<Program>>;
    static ALL: LazyLock<Mutex<Stepped>> = LazyLock::new(Mutex::default);
    let key = (compiler, flags.join(" "));
    let this = *ALL.lock().unwrap().entry(key).or_insert_with(|| Box::leak(Box::default()));
    this.get_or_init(|| step(compiler, flags))
}

fn step(compiler: Compiler, flags: &[&str]) -> Program {
    let directory = tempfile::tempdir().unwrap();
    let object = compile_loops(compiler, flags, directory.path());
    let driver = compile(Compiler::Gcc, "driver.c", &["-O2", "-DPLAIN", "-mno-red-zone"], directory.path());
    finish(link(directory.path(), &[driver, object]))
}

/// What compiles the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compiler {
    Gcc,
    /// By its name.
    Clang(&'static str),
    Rustc,
}

impl Compiler {
    fn name(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang(name) => name,
            Compiler::Rustc => "rustc",
        }
    }

    pub fn is_installed(self) -> bool {
        Command::new(self.name()).arg("--version").output().is_ok()
    }
}

/// How hooks stand in the code.
#[allow(dead_code, reason = "not every test program builds every form")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All are calls.
    Called,
    /// The hottest are code of their own.
    Inline,
    /// All are calls, and blocks have none.
    Accesses,
}

/// The loops with hooks. Those that are called live in a shared library, as the runtime does.
pub fn instrumented(compiler: Compiler, form: Form, flags: &[&str]) -> Program {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let specs = if form == Form::Accesses { "*cc1_options:\n+ -fsanitize=thread\n\n" } else { SPECS };
    std::fs::write(directory.join("specs"), specs).unwrap();
    let specs = format!("-specs={}", directory.join("specs").display());
    // For rustc, a codegen unit for each module, as in a program of more code, unless other flags say otherwise.
    let units = format!("incremental={}", directory.join("units").display());
    let hooked = match compiler {
        Compiler::Gcc => &[specs.as_str()][..],
        Compiler::Clang(_) if form == Form::Accesses => &["-fsanitize=thread"],
        Compiler::Clang(_) => &[&["-fno-integrated-as"], clang::HOOKS].concat(),
        Compiler::Rustc => &[&["-C", units.as_str()], rustc::HOOKS].concat(),
    };
    let flags = [hooked, flags].concat();
    let object = match form {
        Form::Called | Form::Accesses => compile_loops(compiler, &flags, directory),
        Form::Inline => compile_inline(compiler, "loops.c", &flags, directory),
    };
    let driver = compile(Compiler::Gcc, "driver.c", &["-O2"], directory);
    let library = directory.join("libhooks.so");
    let sources = [source("hooks.c"), source("inline.c")];
    let sources = if form == Form::Inline { &sources[..] } else { &sources[..1] };
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let each = if form == Form::Accesses { "-DEACH" } else { "-UEACH" };
    gcc(&[&["-O2", "-fPIC", "-shared", each, "-o", text(&library)], sources.as_slice()].concat());
    finish(link(directory, &[driver, object, library]))
}

/// By way of assembly, in which calls of hooks become their code.
fn compile_inline(compiler: Compiler, name: &str, flags: &[&str], directory: &Path) -> PathBuf {
    let assembly = directory.join(name).with_extension("s");
    run(compiler, &[flags, &["-fno-pie", "-S", &source(name), "-o", text(&assembly)]].concat());
    let called = std::fs::read_to_string(&assembly).unwrap();
    let inline = rewriting::inline(&called);
    for hook in ["__sanitizer_cov_trace_pc", "__tsan_read", "__tsan_write", "__tsan_func_"] {
        assert!(called.contains(hook) && !inline.contains(hook), "{hook}");
    }
    std::fs::write(&assembly, inline).unwrap();
    let output = assembly.with_extension("o");
    gcc(&["-c", text(&assembly), "-o", text(&output)]);
    output
}

fn source(name: &str) -> String {
    format!("{}/tests/programs/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn gcc(arguments: &[&str]) {
    run(Compiler::Gcc, arguments);
}

fn run(compiler: Compiler, arguments: &[&str]) {
    let mut command = Command::new(compiler.name());
    if let Compiler::Clang(_) = compiler {
        command.arg("-Wno-unknown-attributes");
    }
    let status = command.args(arguments).status().expect("the compiler runs");
    assert!(status.success(), "{} {arguments:?}", compiler.name());
}

fn compile_loops(compiler: Compiler, flags: &[&str], directory: &Path) -> PathBuf {
    if compiler != Compiler::Rustc {
        return compile(compiler, "loops.c", flags, directory);
    }
    let output = directory.join("loops.a");
    let library = ["--edition", "2024", "--crate-type", "staticlib", "-o", text(&output), &source("loops.rs")];
    run(compiler, &[&library, flags].concat());
    output
}

fn compile(compiler: Compiler, name: &str, flags: &[&str], directory: &Path) -> PathBuf {
    let output = directory.join(name).with_extension("o");
    run(compiler, &[flags, &["-fno-pie", "-c", &source(name), "-o", text(&output)]].concat());
    output
}

fn link(directory: &Path, inputs: &[PathBuf]) -> PathBuf {
    let program = directory.join("program");
    let rpath = format!("-Wl,-rpath,{}", directory.display());
    let inputs: Vec<&str> = inputs.iter().map(|input| text(input)).collect();
    gcc(&[inputs.as_slice(), &["-no-pie", "-rdynamic", "-o", text(&program), &rpath]].concat());
    program
}

fn finish(program: PathBuf) -> Program {
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    let image = Image::load(&std::fs::read(&program).unwrap());
    Program { image, loops: parse(&String::from_utf8(output.stdout).unwrap()) }
}

fn parse(output: &str) -> BTreeMap<String, Recorded> {
    let mut loops: BTreeMap<String, Recorded> = BTreeMap::new();
    let mut name = "";
    for line in output.lines() {
        if let Some(next) = line.strip_prefix("loop ") {
            name = next;
            loops.insert(name.into(), Recorded::default());
            continue;
        }
        let recorded = loops.get_mut(name).expect("a loop line first");
        match line {
            "atomic" => recorded.atomics += 1,
            address => recorded.addresses.push(u64::from_str_radix(address, 16).unwrap()),
        }
    }
    loops
}

/// The memory of an executable, its offset table filled as the dynamic linker would.
pub struct Image {
    segments: Vec<(u64, Vec<u8>)>,
    hooks: HashMap<u64, Hook>,
}

impl Image {
    fn load(file: &[u8]) -> Image {
        let file = object::File::parse(file).unwrap();
        let segments = file.segments().map(|s| (s.address(), s.data().unwrap().to_vec())).collect();
        let mut image = Image { segments, hooks: HashMap::new() };
        for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                continue;
            };
            let name = file.dynamic_symbol_table().unwrap();
            let name = object::ObjectSymbolTable::symbol_by_index(&name, symbol).unwrap();
            image.bind(slot, name.name().unwrap());
        }
        image
    }

    /// Gives an imported function an address that nothing else has, and puts it in its slot.
    fn bind(&mut self, slot: u64, name: &str) {
        let address = 0x7f00_0000_0000 + slot;
        let place = self.segments.iter_mut().find(|(start, data)| (*start..start + data.len() as u64).contains(&slot));
        let Some((start, data)) = place else { return };
        let offset = (slot - *start) as usize;
        data[offset..offset + 8].copy_from_slice(&address.to_le_bytes());
        if let Some(hook) = hook(name) {
            self.hooks.insert(address, hook);
        }
    }
}

fn hook(name: &str) -> Option<Hook> {
    Hook::named(name)
}

impl Code for Image {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let inside = |(start, data): &&(u64, Vec<u8>)| (*start..start + data.len() as u64).contains(&address);
        let Some((start, data)) = self.segments.iter().find(inside) else {
            return &[];
        };
        let rest = &data[(address - start) as usize..];
        &rest[..len.min(rest.len())]
    }
    fn bytes_before(&self, address: u64, len: usize) -> &[u8] {
        let inside = |(start, data): &&(u64, Vec<u8>)| (*start..start + data.len() as u64).contains(&address);
        let ahead = self.segments.iter().find(inside).map(|(start, data)| &data[..(address - start) as usize]);
        ahead.map_or(&[], |ahead| &ahead[ahead.len().saturating_sub(len)..])
    }
    fn hook(&self, target: u64) -> Option<Hook> {
        self.hooks.get(&target).copied()
    }
}
