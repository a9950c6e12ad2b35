// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiling a program with the kit's sources: for the lab, and for this host.
use crate::Home;
use crate::liburcu::{Liburcu, run};
use crate::spec::Library;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What all builds of a program have in common.
pub struct Sources {
    program: Vec<PathBuf>,
    include: Vec<PathBuf>,
    kit: Vec<PathBuf>,
    objects: Vec<PathBuf>,
    compiler: Vec<String>,
    name: &'static str,
}

impl Sources {
    /// For the lab, by the command itself.
    pub fn instrumented(
        home: &Home,
        corefold: &Path,
        program: &Path,
        library: Library,
        place: &Path,
    ) -> Result<Sources> {
        let corefold = corefold.to_str().context("the command's own path is not UTF-8")?;
        Sources::new(home, &[corefold, "cc"], program, library, place, "simulated")
    }

    pub fn native(home: &Home, program: &Path, library: Library, place: &Path) -> Result<Sources> {
        let named = std::env::var("CC").ok().filter(|cc| !cc.is_empty() && !cc.contains("corefold"));
        Sources::new(home, &[named.as_deref().unwrap_or("gcc")], program, library, place, "native")
    }

    fn new(
        home: &Home,
        compiler: &[&str],
        program: &Path,
        library: Library,
        place: &Path,
        name: &'static str,
    ) -> Result<Sources> {
        let kit = home.kit();
        let folder = program.is_dir();
        let mut sources = Sources {
            program: if folder { c_files(program)? } else { vec![program.to_owned()] },
            include: vec![kit.join("include")],
            kit: c_files(&kit.join("src"))?,
            objects: Vec::new(),
            compiler: compiler.iter().map(|&word| word.to_owned()).collect(),
            name,
        };
        if folder {
            sources.include.push(program.to_owned());
        }
        if library == Library::Vfs {
            let liburcu = Liburcu::compile(home, compiler, place)?;
            sources.kit.extend(c_files(&kit.join("src/vfs"))?);
            sources.include.extend(liburcu.include);
            sources.objects = liburcu.objects;
        }
        Ok(sources)
    }

    /// One build, in a file of its own in `place`.
    pub fn compile(&self, build: &str, flags: &[String], place: &Path) -> Result<PathBuf> {
        let output =
            place.join(format!("{}{}", self.name, if build.is_empty() { String::new() } else { format!("-{build}") }));
        let mut command = Command::new(&self.compiler[0]);
        command.args(&self.compiler[1..]).args(["-O2", "-g", "-pthread", "-D_GNU_SOURCE"]).args(flags);
        command.args(self.include.iter().map(|path| format!("-I{}", path.display())));
        command.args(&self.program).args(&self.kit).args(&self.objects).arg("-o").arg(&output).arg("-lm");
        run(&mut command, &format!("{} cannot be compiled", self.program[0].display()))?;
        Ok(output)
    }
}

fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "c"));
    files.sort();
    Ok(files)
}
