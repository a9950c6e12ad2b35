// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small programs, compiled at test time, and runs of them built by hand.
#![allow(dead_code)]
use corefold_explain::{Explained, HotLine, Images, explain};
use corefold_recording::*;
use object::{Object as _, ObjectSymbol};
use std::path::PathBuf;
use std::process::Command;

/// Where runs pretend that programs are loaded.
pub const BASE: u64 = 0x5555_5555_4000;
/// Where they pretend that the heap is.
pub const HEAP: u64 = 0x7f00_0000_0000;

/// A compiled program, in a directory of its own.
pub struct Program {
    directory: tempfile::TempDir,
    pub path: PathBuf,
    listing: String,
}

impl Program {
    /// From C, or from C++ if `name` ends so.
    pub fn new(name: &str, source: &str, options: &[&str]) -> Program {
        let directory = tempfile::tempdir().unwrap();
        let (file, path) = (directory.path().join(name), directory.path().join("program"));
        std::fs::write(&file, source).unwrap();
        let compiler = if name.ends_with("cpp") { "g++" } else { "gcc" };
        run(Command::new(compiler)
            .args(["-g", "-O2", "-pthread", "-fno-ipa-icf"])
            .args(options)
            .arg(&file)
            .arg("-o")
            .arg(&path));
        let listing = run(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&path));
        Program { directory, path, listing }
    }

    /// From Rust; the crate is called as the file.
    pub fn rust(name: &str, source: &str) -> Program {
        let directory = tempfile::tempdir().unwrap();
        let (file, path) = (directory.path().join(name), directory.path().join("program"));
        std::fs::write(&file, source).unwrap();
        run(Command::new("rustc").args(["-g", "-O", "--edition=2024"]).arg(&file).arg("-o").arg(&path));
        let listing = run(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&path));
        Program { directory, path, listing }
    }

    /// Takes the source away, as on a machine that only has the binary.
    pub fn without_source(self, name: &str) -> Program {
        std::fs::remove_file(self.directory.path().join(name)).unwrap();
        self
    }

    /// Changes the source, as far as its date tells.
    pub fn touch(&self, name: &str) {
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
        std::fs::File::options()
            .append(true)
            .open(self.directory.path().join(name))
            .unwrap()
            .set_modified(later)
            .unwrap();
    }

    pub fn stripped(self) -> Program {
        run(Command::new("strip").arg("--strip-debug").arg(&self.path));
        self
    }

    pub fn module(&self) -> Module {
        let bytes = std::fs::read(&self.path).unwrap();
        let build_id = object::File::parse(&*bytes).unwrap().build_id().unwrap().unwrap_or_default().to_vec();
        let path = self.path.to_str().unwrap().to_owned();
        Module { path, build_id, base: BASE, start: BASE, end: BASE + 0x100_0000 }
    }

    /// Address in the run of a symbol.
    pub fn symbol(&self, name: &str) -> u64 {
        let bytes = std::fs::read(&self.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let found = file.symbols().find(|symbol| symbol.name() == Ok(name));
        BASE + found.unwrap_or_else(|| panic!("no symbol {name}")).address()
    }

    /// The mangled name that contains `part`.
    pub fn name_with(&self, part: &str) -> String {
        let bytes = std::fs::read(&self.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let mut names = file.symbols().filter_map(|symbol| symbol.name().ok());
        names.find(|name| name.contains(part)).unwrap_or_else(|| panic!("no symbol with {part}")).to_owned()
    }

    /// Address in the run of the one symbol whose mangled name contains `part`.
    pub fn symbol_with(&self, part: &str) -> u64 {
        let bytes = std::fs::read(&self.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let mut found = file.symbols().filter(|symbol| symbol.name().is_ok_and(|name| name.contains(part)));
        BASE + found.next().unwrap_or_else(|| panic!("no symbol with {part}")).address()
    }

    /// Return addresses of the calls to `callee` in `function`, in the order of the code.
    pub fn calls(&self, function: &str, callee: &str) -> Vec<u64> {
        let (own, imported) = (format!("<{callee}>"), format!("<{callee}@plt>"));
        let is_call = |line: &str| line.contains("call") && (line.contains(&own) || line.contains(&imported));
        self.calls_where(function, is_call)
    }

    fn calls_where(&self, function: &str, is_call: impl Fn(&str) -> bool) -> Vec<u64> {
        let start = format!("<{function}>:");
        let body = self.listing.lines().skip_while(|line| !line.ends_with(&start)).skip(1);
        let lines: Vec<&str> = body.take_while(|line| !line.is_empty()).collect();
        let after = lines.windows(2).filter(|pair| is_call(pair[0])).map(|pair| pair[1]);
        let address = |line: &str| u64::from_str_radix(line.trim().split(':').next().unwrap(), 16).unwrap();
        after.map(|line| BASE + address(line)).collect()
    }

    /// Return addresses of the calls through a pointer in `function`.
    pub fn indirect_calls(&self, function: &str) -> Vec<u64> {
        self.calls_where(function, |line| line.contains("call   *"))
    }

    /// The one call to `callee` in `function`.
    pub fn call(&self, function: &str, callee: &str) -> u64 {
        let calls = self.calls(function, callee);
        assert_eq!(calls.len(), 1, "calls of {callee} in {function}");
        calls[0]
    }

    pub fn run(&self) -> Run {
        let time = Time { compute: 1000, stall: 600, spin: 400, block: 5000 };
        let modules = vec![self.module()];
        Run {
            cpus: 4,
            clock_hz: 1_000_000_000,
            cycles: 2000,
            time,
            modules,
            status: Status::Exited(0),
            ..Run::default()
        }
    }
}

pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn told(run: &Run) -> Explained {
    explain(run, &mut Images::new()).unwrap()
}

/// An access to the line, by `cpus` CPUs.
pub fn site(pc: u64, kind: AccessKind, offset: u8, size: u8, cpus: u32) -> Site {
    let cpus = (0..cpus).collect();
    Site { pc, kind, offset, size, transfers: 100, stall: 1000, spin: 0, cpus, conflicts: vec![] }
}

pub fn line(address: u64, sites: Vec<Site>) -> Line {
    let stall = sites.iter().map(|site| site.stall).sum();
    Line { address, bytes: 64, objects: vec![], transfers: [1; CLASSES], stall, spin: 0, sites }
}

/// Names of what reads of `bytes` at each address touch, objects before fields.
pub fn global_fields(program: &Program, accesses: &[(u64, u8)]) -> Vec<(String, String)> {
    let mut run = program.run();
    for (address, bytes) in accesses {
        run.lines.push(line(
            address & !63,
            vec![site(program.symbol("main"), AccessKind::Read, (address & 63) as u8, *bytes, 2)],
        ));
    }
    let explained = told(&run);
    let field = |line: &HotLine| (line.object.clone(), line.fields[0].name.clone());
    accesses
        .iter()
        .map(|(address, bytes)| {
            let matches = |line: &&HotLine| {
                let at = line.fields[0].offset_in_line + line.address as i64;
                line.address == address & !63
                    && at <= *address as i64
                    && *address < (at as u64) + line.fields[0].size.max(1)
            };
            explained
                .lines
                .iter()
                .find(matches)
                .map(field)
                .unwrap_or_else(|| panic!("{address:#x}+{bytes}: {explained:#?}"))
        })
        .collect()
}

/// What a read of 8 bytes at `offset` of a heap object of `bytes` that was allocated at `stack` touches.
pub fn heap_field(program: &Program, stack: &[u64], bytes: u64, offset: u64, size: u8) -> (String, String) {
    let mut run = program.run();
    run.allocations.push(AllocSite { stack: stack.to_vec(), count: 1, bytes, ..AllocSite::default() });
    let address = (HEAP + offset) & !63;
    let mut line = line(address, vec![site(program.symbol("main"), AccessKind::Read, (offset & 63) as u8, size, 2)]);
    line.objects.push(Object { address: HEAP, bytes, site: 0 });
    run.lines.push(line);
    let line = told(&run).lines.remove(0);
    (line.object, line.fields[0].name.clone())
}
