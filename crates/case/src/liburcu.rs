// SPDX-License-Identifier: MIT OR Apache-2.0
//! liburcu's source, which the file-system half of the kit is built on: the lab compiles it, so that its grace periods take
//! time and its accesses are seen.
use crate::Home;
use anyhow::{Context, Result, bail};
use corefold_driver::BadInput;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names a folder with liburcu's unpacked source, instead of downloading Debian's package of it.
pub const VARIABLE: &str = "COREFOLD_LIBURCU";

#[derive(Deserialize)]
struct Package {
    package: String,
    version: String,
    sha256: BTreeMap<String, String>,
    together: Together,
}

/// How it is compiled with a program.
#[derive(Deserialize)]
struct Together {
    sources: Vec<String>,
    flags: Vec<String>,
    configuration: String,
}

impl Package {
    fn read(home: &Home) -> Result<Package> {
        let file = home.suites().join("liburcu.toml");
        let text =
            corefold_files::read_text(&file, 1 << 20).with_context(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }
}

pub struct Liburcu {
    pub include: Vec<PathBuf>,
    pub objects: Vec<PathBuf>,
}

impl Liburcu {
    /// Compiles it by `compiler`, in a folder of its own in `place`.
    pub fn compile(home: &Home, compiler: &[&str], place: &Path) -> Result<Liburcu> {
        let (package, suites) = (Package::read(home)?, home.suites());
        let source = source(&package, &suites, place)?;
        let built = place.join(format!("liburcu-{}", compiler.len()));
        std::fs::create_dir_all(built.join("urcu"))?;
        std::fs::write(built.join("urcu/config.h"), package.together.configuration)?;
        std::fs::write(built.join("config.h"), "")?;
        let include = vec![built.clone(), source.join("include")];
        let mut command = Command::new(compiler[0]);
        command.args(&compiler[1..]).args(["-O2", "-g", "-c"]).args(package.together.flags);
        command.args(include.iter().map(|path| format!("-I{}", path.display()))).arg("-I").arg(source.join("src"));
        let sources = package.together.sources;
        command.args(sources.iter().map(|name| source.join("src").join(name))).current_dir(&built);
        run(&mut command, "liburcu cannot be compiled")?;
        let objects = sources.iter().map(|name| built.join(name).with_extension("o")).collect();
        Ok(Liburcu { include, objects })
    }
}

pub fn run(command: &mut Command, what: &str) -> Result<()> {
    let done = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !done.status.success() {
        bail!("{what}:\n{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}

fn source(package: &Package, suites: &Path, place: &Path) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()) {
        let named = PathBuf::from(named);
        if named.join("src/urcu.c").is_file() {
            return named.canonicalize().context("finding liburcu's source");
        }
        let message = format!("{VARIABLE} names {}, which does not contain src/urcu.c", named.display());
        return Err(anyhow::Error::new(BadInput(message)));
    }
    let unpacked = place.join("liburcu-source");
    match unpacked.exists() {
        true => Ok(unpacked),
        false => download(package, suites, place, &unpacked).map(|()| unpacked).with_context(|| {
            format!(
                "this case compiles liburcu, whose source it downloads from Debian; {VARIABLE} may name a copy instead"
            )
        }),
    }
}

fn download(package: &Package, suites: &Path, place: &Path, unpacked: &Path) -> Result<()> {
    let packed = place.join("liburcu-package");
    std::fs::create_dir_all(&packed)?;
    let mut fetch = Command::new("sh");
    fetch.arg(suites.join("fetch")).args([&package.package, &package.version]).arg(&packed);
    run(&mut fetch, "liburcu cannot be downloaded")?;
    let sums: String = package.sha256.iter().map(|(file, sum)| format!("{sum}  {file}\n")).collect();
    std::fs::write(packed.join("sums"), sums)?;
    run(Command::new("sha256sum").args(["--check", "--quiet", "sums"]).current_dir(&packed), "not the right files")?;
    let archive = package.sha256.keys().find(|file| file.contains(".orig.tar") && !file.ends_with(".asc"));
    std::fs::create_dir(unpacked)?;
    let mut unpack = Command::new("tar");
    unpack.args(["--extract", "--strip-components=1", "--file"]).arg(packed.join(archive.context("no .orig.tar")?));
    run(unpack.arg("--directory").arg(unpacked), "liburcu cannot be unpacked")
}
