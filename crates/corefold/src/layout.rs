// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold layout`: structures on cache lines, in arrays, and of two builds.
use crate::json::Json;
use crate::screen;
use anyhow::{Context, Result};
use clap::Args;
use corefold_driver::exit::{self, BadInput};
use corefold_driver::save;
use corefold_dwarf::{Request, Structure, Types};
use corefold_explain::{Explained, Images, build_id, explain};
use corefold_recording::{Module, Run};
use corefold_report::layout::{self, Builds, Heat, InArray, Look, Slots, Stride};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct LayoutArgs {
    /// An ELF file with DWARF (-g) or BTF, or a file of BTF such as /sys/kernel/btf/vmlinux; none with --diff.
    #[arg(value_name = "FILE", required_unless_present = "diff")]
    pub file: Option<PathBuf>,
    /// Names of structures, or globs such as 'sock*' [default: all].
    #[arg(value_name = "STRUCT")]
    pub structures: Vec<String>,
    /// Bytes of a cache line.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = line_size)]
    pub line_size: u64,
    /// Show the members of nested structures.
    #[arg(long)]
    pub expand: bool,
    /// Show at which offsets on a line the objects of an array begin, and which fields then share a line.
    ///
    /// BYTES is the distance from one object to the next; `slab` packs objects without alignment, as Linux's SLUB and the
    /// kit's slab caches do.
    #[arg(long, value_name = "BYTES|slab", value_parser = stride)]
    pub stride: Option<StrideArg>,
    /// Number of CPUs of the machine, which decides the size of a slab.
    #[arg(long, value_name = "N", default_value_t = 80)]
    pub slab_cpus: u32,
    /// Fields to show with --stride and --diff: names, paths or globs, such as count,owner or 'i_data.*'.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Compare two builds: structures whose size, members or line boundaries differ.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub diff: Vec<PathBuf>,
    /// With --diff: rank by the stall and spin on the fields that moved, in this recording of one of the builds.
    #[arg(long, value_name = "FILE", requires = "diff")]
    pub hot: Option<PathBuf>,
    /// Also write it as JSON; - means standard output, instead of the text.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Read BTF even if there is DWARF.
    #[arg(long)]
    pub btf: bool,
    /// The kernel's BTF, for that of a module [default: the vmlinux beside it in /sys/kernel/btf].
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StrideArg {
    Bytes(u64),
    Slab,
}

/// A power of two, so that a line begins at a multiple of its size.
fn line_size(text: &str) -> Result<u64, String> {
    let bytes: u64 = text.parse().map_err(|_| "must be a number of bytes, such as 64".to_owned())?;
    match bytes.is_power_of_two() && (8..=4096).contains(&bytes) {
        true => Ok(bytes),
        false => Err("must be a power of two from 8 to 4096".to_owned()),
    }
}

fn stride(text: &str) -> Result<StrideArg, String> {
    match (text, text.parse()) {
        ("slab", _) => Ok(StrideArg::Slab),
        (_, Ok(bytes)) if bytes > 0 => Ok(StrideArg::Bytes(bytes)),
        _ => Err("must be a number of bytes, such as 592, or slab".to_owned()),
    }
}

impl LayoutArgs {
    fn look(&self) -> Look {
        let width = screen::options(Default::default()).width;
        Look { line: self.line_size, expand: self.expand, width: width.clamp(80, 140) }
    }

    fn stride(&self) -> Option<Stride> {
        self.stride.map(|stride| match stride {
            StrideArg::Bytes(bytes) => Stride::Bytes(bytes),
            StrideArg::Slab => Stride::Slab { cpus: self.slab_cpus },
        })
    }
}

pub fn layout(args: &LayoutArgs) -> Result<u8> {
    let json = Json::create(args.json.as_deref())?;
    match (args.diff.as_slice(), &args.file) {
        ([old, new], _) => diff(args, old, new, json),
        (_, Some(file)) => show(args, file, json),
        _ => Err(bad("name a file with debug information".to_owned())),
    }
}

fn bad(words: String) -> anyhow::Error {
    BadInput(words).into()
}

fn show(args: &LayoutArgs, file: &Path, json: Json) -> Result<u8> {
    let (types, look) = (open(args, file)?, args.look());
    let found = layout::select(&types, &args.structures).map_err(|name| missing(file, &types, &name))?;
    match args.stride() {
        Some(stride) => in_array(args, &types, &found, &look, stride, json)?,
        None => {
            // The text of one structure at a time: of all of them, it may be larger than the file.
            let mut printed = Ok(());
            json.print(
                || layout::structures_json(&types, &found, &look),
                || {
                    printed =
                        found.iter().try_for_each(|one| screen::print(&layout::structure_text(&types, one, &look)));
                    String::new()
                },
            )?;
            printed?;
        }
    }
    Ok(damage(&types))
}

fn in_array(
    args: &LayoutArgs,
    types: &Types,
    found: &[&Structure],
    look: &Look,
    stride: Stride,
    json: Json,
) -> Result<()> {
    let array = InArray { stride, fields: &args.fields };
    let mut placed: Vec<(&Structure, Slots)> = Vec::new();
    let mut unplaced: Vec<String> = Vec::new();
    for structure in found {
        match Slots::new(types, structure, look, &array) {
            Ok(slots) => placed.push((structure, slots)),
            Err(why) => unplaced.push(format!("{}: {why}", structure.name)),
        }
    }
    if let (true, Some(why)) = (placed.is_empty(), unplaced.first()) {
        return Err(bad(why.clone()));
    }
    // Of all structures, those that do not fit are no surprise.
    if !args.structures.is_empty() {
        unplaced.iter().for_each(|why| screen::note(&format!("corefold: {why}")));
    }
    let asked = !args.fields.is_empty();
    json.print(
        || layout::slots_json(&placed, types.damage(), look),
        || {
            placed
                .iter()
                .map(|(s, slots)| layout::slots_text(types, s, slots, look, asked))
                .collect::<Vec<_>>()
                .join("\n")
        },
    )
}

fn diff(args: &LayoutArgs, old: &Path, new: &Path, json: Json) -> Result<u8> {
    let (look, old_types, new_types) = (args.look(), open(args, old)?, open(args, new)?);
    // With --diff all other words are names.
    let first = args.file.iter().map(|word| word.to_string_lossy().into_owned());
    let patterns: Vec<String> = first.chain(args.structures.iter().cloned()).collect();
    let (olds, news) = (layout::select(&old_types, &patterns), layout::select(&new_types, &patterns));
    let (olds, news) = match (olds, news) {
        (Err(name), Err(_)) => return Err(missing(old, &old_types, &name)),
        (olds, news) => (olds.unwrap_or_default(), news.unwrap_or_default()),
    };
    let heat = args.hot.as_deref().map(|hot| heat(hot, (old, &old_types), (new, &new_types))).transpose()?;
    let builds = Builds {
        old: &old_types,
        new: &new_types,
        line: args.line_size,
        stride: args.stride(),
        fields: &args.fields,
        heat: heat.as_ref(),
    };
    let found = layout::differences(&builds, &olds, &news);
    json.print(|| layout::differences_json(&found, &look), || layout::differences_text(&found, &look, heat.is_some()))?;
    Ok(damage(&old_types).max(damage(&new_types)))
}

/// What each field of the recorded build cost; of the run with the most CPUs.
fn heat(hot: &Path, old: (&Path, &Types), new: (&Path, &Types)) -> Result<Heat> {
    let runs = save::load(hot)?;
    let mut run = runs.into_iter().max_by_key(|run| run.cpus).context("the recording has no runs")?;
    let is_new = take_from(&mut run, new.0);
    if !is_new && !take_from(&mut run, old.0) {
        let (hot, old, new) = (hot.display(), old.0.display(), new.0.display());
        return Err(bad(format!("{hot} is a recording of neither {old} nor {new}: record one of these builds")));
    }
    let explained: Explained = explain(&run, &mut Images::new())?;
    let heat = Heat::new(&explained, if is_new { new.1 } else { old.1 });
    if heat.is_empty() {
        screen::note(&format!(
            "corefold: {} has no stall or spin for fields of structures in {}",
            hot.display(),
            if is_new { new.0 } else { old.0 }.display()
        ));
    }
    Ok(heat)
}

/// If the run has loaded this file, it is read from here. It is known by its build ID, if that is in both, wherever it was then:
/// the recorded program may have been built again since, and this be a copy that was kept.
fn take_from(run: &mut Run, file: &Path) -> bool {
    let (id, path) = (build_id(file), file.canonicalize().ok());
    let is_it = |module: &&mut Module| match id.is_empty() || module.build_id.is_empty() {
        true => Path::new(&module.path).canonicalize().ok() == path,
        false => module.build_id == id,
    };
    let Some(module) = run.modules.iter_mut().find(is_it) else { return false };
    if let Some(path) = path.as_ref().and_then(|path| path.to_str()) {
        module.path = path.to_owned();
    }
    true
}

fn open(args: &LayoutArgs, path: &Path) -> Result<Types> {
    let request = Request { path: path.to_owned(), prefer_btf: args.btf, base: args.base.clone(), threads: 0 };
    Types::open(&request).map_err(|error| bad(format!("{error:#}")))
}

fn missing(file: &Path, types: &Types, name: &str) -> anyhow::Error {
    let like = match layout::similar(types, name).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        names => format!("; did you mean one of {}?", names.join(", ")),
    };
    let all = types.structures().len();
    bad(format!("{} has no structure called {name} among its {all}{like}", file.display()))
}

/// Damaged units, of which at most so many are named.
const MOST_DAMAGE: usize = 3;

fn damage(types: &Types) -> u8 {
    let damage = types.damage();
    for text in damage.iter().take(MOST_DAMAGE) {
        screen::note(&format!("corefold: damaged debug information, left out: {text}"));
    }
    if damage.len() > MOST_DAMAGE {
        screen::note(&format!("corefold: and {} more damaged units", damage.len() - MOST_DAMAGE));
    }
    if damage.is_empty() { exit::FINE } else { exit::BAD_INPUT }
}
