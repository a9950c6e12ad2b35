// SPDX-License-Identifier: MIT OR Apache-2.0
//! A change of the source that makes a layout: alignment or padding of members where they stand.
//!
//! Unless the layout is another order, members keep theirs and their names, and padding has none, so that initialisers and
//! whatever takes a structure for its first member mean the same. Variables are aligned. What an allocator returns is not, so that
//! has a whole line of padding instead, which parts two members wherever the object begins. Before the first member there is
//! padding only if something else was used there; then a note says what no longer holds.
mod diff;
mod size;
mod source;

use super::candidate::Candidate;
use super::order::Reorder;
use super::trial::{Trial, gains_more};
use corefold_explain::{Declared, DeclaredMember, Language, Storage, Undeclared};
use diff::{Change, diff};
use serde::Serialize;
use source::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The source change that makes a layout, as far as there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Patch {
    /// The layout, as trials name it.
    pub layout: String,
    /// A unified diff for `patch -p1`; empty if none can be made.
    pub diff: String,
    /// Where to apply it.
    pub folder: PathBuf,
    /// What is left to do by hand, and why.
    pub by_hand: Vec<String>,
    /// What to look at in the program.
    pub notes: Vec<String>,
}

/// Reads a source file: its path without links, and its text.
pub type Read<'a> = &'a mut dyn FnMut(&str) -> Option<(PathBuf, String)>;

impl Patch {
    /// Whether it makes the whole layout.
    fn is_whole(&self) -> bool {
        !self.diff.is_empty() && self.by_hand.is_empty()
    }
}

/// The patch of the first of these trials, or of the first that gains as much and that a patch makes as a whole; none if nothing
/// is gained.
pub fn patch(trials: &[Trial], line_bytes: u64, folder: &Path, read: Read) -> Option<Patch> {
    let first = trials.first().filter(|first| gains_more(first.gain, 0.0))?;
    let as_good = trials.iter().filter(|trial| trial.gain.is_some_and(|gain| !gains_more(first.gain, gain)));
    let mut patches = as_good.map(|trial| patch_of(trial, line_bytes, folder, read));
    let of_first = patches.next()?;
    if of_first.is_whole() { Some(of_first) } else { patches.find(Patch::is_whole).or(Some(of_first)) }
}

/// The patch of a trial's layouts, for lines of so many bytes. Paths are relative to `folder` if all are in it.
fn patch_of(trial: &Trial, line_bytes: u64, folder: &Path, read: Read) -> Patch {
    let mut editor = Editor { line_bytes, read, sources: BTreeMap::new(), changes: BTreeMap::new(), notes: Vec::new() };
    let mut by_hand = Vec::new();
    for candidate in [&trial.candidate].into_iter().chain(&trial.with) {
        if let Err(why) = editor.edit(candidate) {
            by_hand.push(format!("{}: {why}", candidate.layout));
        }
    }
    editor.finish(trial.layout(), folder, by_hand)
}

struct Editor<'a> {
    line_bytes: u64,
    read: Read<'a>,
    /// By the name that the debug information has.
    sources: BTreeMap<String, Option<Source>>,
    changes: BTreeMap<(String, usize), Change>,
    notes: Vec<String>,
}

impl Editor<'_> {
    /// All changes of one layout, or none and why.
    fn edit(&mut self, candidate: &Candidate) -> Result<(), String> {
        let declared = candidate.declared.as_ref().map_err(|why| words(*why, candidate, self.line_bytes))?;
        let mut changes = Vec::new();
        if let (Some(_), [_, _, ..]) = (&candidate.reorder, &declared[..]) {
            return Err("the members are of several structures: move them by hand".into());
        }
        for structure in declared {
            self.check(structure)?;
            changes.extend(self.changes_of(structure, candidate)?);
        }
        for structure in declared {
            let in_front = structure.ends && candidate.follows && !candidate.is_of_elements();
            let sizes = size::sizes(structure, self.line_bytes).filter(|_| candidate.reorder.is_none() && !in_front);
            if let Some((old, new)) = sizes {
                self.note(format!("{} grows from {old} to {new} bytes", structure.name));
            }
            self.note_assertions(structure, &changes)?;
        }
        for (file, line, change) in changes {
            let known = self.changes.entry((file, line)).or_default();
            known.before = change.before.or(known.before.take());
            known.instead = change.instead.or(known.instead.take());
        }
        Ok(())
    }

    /// Each member must be where the debug information says: otherwise the source is not that of the program.
    fn check(&mut self, structure: &Declared) -> Result<(), String> {
        for member in &structure.members {
            let (Some(name), Some((file, line))) = (&member.name, &member.place) else { continue };
            if !self.source(file)?.mentions(*line, name) {
                return Err(format!(
                    "{file} has no `{name}` at line {line}: has it changed since the program was built?"
                ));
            }
        }
        Ok(())
    }

    fn source(&mut self, file: &str) -> Result<&Source, String> {
        let read = &mut self.read;
        let source = self.sources.entry(file.to_owned()).or_insert_with(|| {
            let (path, text) = read(file)?;
            Some(Source::new(path, &text))
        });
        source.as_ref().ok_or_else(|| format!("{file} cannot be read, or is a system header"))
    }

    fn changes_of(
        &mut self,
        structure: &Declared,
        candidate: &Candidate,
    ) -> Result<Vec<(String, usize, Change)>, String> {
        if let Some(reorder) = &candidate.reorder {
            return self.moved(structure, reorder);
        }
        let Declared { members, begins, language, .. } = structure;
        let mut changes = Vec::new();
        if structure.storage == Storage::Global {
            // The alignment of one is that of the structure, and its size a multiple.
            let aligned = if begins.is_empty() { &[0][..] } else { begins };
            for &number in aligned {
                if number == 0 && members[0].offset > 0 {
                    return Err(format!("{} does not begin with a member", structure.name));
                }
                changes.push(self.aligned(&members[number], *language)?);
            }
            self.note(format!(
                "{} is aligned to {} bytes: where the program allocates one, malloc must become aligned_alloc({1}, …)",
                structure.name, self.line_bytes
            ));
            return Ok(changes);
        }
        for &number in begins {
            changes.push(self.padded(&members[number], *language, 0)?);
        }
        if structure.ends {
            let last = members.last().filter(|last| last.size.is_some_and(|size| size > 0));
            let last = last.ok_or_else(|| format!("{} ends with a flexible array member", structure.name))?;
            changes.push(self.padded(last, *language, 1)?);
        }
        if structure.ends && !candidate.is_of_elements() {
            match candidate.follows {
                true => changes.extend(self.padded_in_front(structure)?),
                false => self.note(format!(
                    "objects of {} begin where the allocator places them; for the begin of a line, malloc must become \
                     aligned_alloc({}, …)",
                    structure.name, self.line_bytes
                )),
            }
        }
        Ok(changes)
    }

    /// Parted from what comes before it in memory, if it begins with a member.
    fn padded_in_front(&mut self, structure: &Declared) -> Result<Option<(String, usize, Change)>, String> {
        let Declared { name, members, language, begins, .. } = structure;
        let Some(first) = members.first().filter(|first| first.offset == 0 && begins.first() != Some(&0)) else {
            self.note(format!(
                "the padding separates objects of {name} from what follows them in memory, not from what precedes them"
            ));
            return Ok(None);
        };
        let first_name = first.name.as_deref().unwrap_or_default();
        self.note(format!(
            "{name} no longer begins with {first_name}: a cast of a pointer to the one into a pointer to the other would be wrong"
        ));
        self.padded(first, *language, 0).map(Some)
    }

    /// The lines of members that go elsewhere in their structure.
    fn moved(&mut self, structure: &Declared, reorder: &Reorder) -> Result<Vec<(String, usize, Change)>, String> {
        let Declared { name, base, members, language, .. } = structure;
        let offset = |member: &DeclaredMember| base + member.offset;
        let is_moved = |member: &&DeclaredMember| {
            reorder.ranges.iter().any(|(from, bytes)| (*from..from + bytes).contains(&offset(member)))
        };
        let (mut text, mut changes) = (String::new(), Vec::new());
        for member in members.iter().filter(is_moved) {
            let (source, file, line) = self.plain(member, *language)?;
            let number = line as usize - 1;
            text += &source.lines[number];
            changes.push((file.to_owned(), number, Change { before: None, instead: Some(String::new()) }));
        }
        let at = members.iter().position(|member| offset(member) >= reorder.before);
        let (anchor, later) = at.map_or((members.last(), 1), |at| (members.get(at), 0));
        let (_, file, line) = self.plain(anchor.ok_or("a structure without members")?, *language)?;
        let all_here = changes.iter().all(|(other, ..)| other == file) && text.ends_with('\n');
        if text.is_empty() || !all_here {
            return Err(format!("its members are not all in one structure: move them in {name} by hand"));
        }
        changes.push((file.to_owned(), line as usize - 1 + later, Change { before: Some(text), instead: None }));
        self.note(format!(
            "what depends on the order of members of {name}, as initialisers without names, must follow"
        ));
        Ok(changes)
    }

    /// Assertions in the changed files that name the structure: its size and offsets are others now.
    fn note_assertions(&mut self, structure: &Declared, changes: &[(String, usize, Change)]) -> Result<(), String> {
        // `struct pair`, `store::Pair<std::atomic<long>, 2>`.
        let name = structure.name.split('<').next().unwrap_or_default();
        let name = name.rsplit([' ', ':']).next().unwrap_or_default();
        for (file, ..) in changes {
            let lines: Vec<usize> = self.source(file)?.assertions(name).collect();
            for line in lines {
                self.note(format!(
                    "{file}:{line} (before the patch) asserts something of {name}: it may have to change"
                ));
            }
        }
        Ok(())
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The source of the member, which its line declares and nothing else.
    fn plain<'b>(&mut self, member: &'b DeclaredMember, language: Language) -> Result<(&Source, &'b str, u32), String> {
        let (name, (file, line)) = member.name.as_ref().zip(member.place.as_ref()).ok_or("an anonymous member")?;
        let source = self.source(file)?;
        if member.is_bit_field || !source.declares(*line, name, language) {
            return Err(format!("{file}:{line} is not a complete declaration of {name} alone"));
        }
        Ok((source, file, *line))
    }

    fn aligned(&mut self, member: &DeclaredMember, language: Language) -> Result<(String, usize, Change), String> {
        let bytes = self.line_bytes;
        let (source, file, line) = self.plain(member, language)?;
        let number = line as usize - 1;
        let keyword = if language == Language::C { "_Alignas" } else { "alignas" };
        let indent = source.indent(line);
        let text = format!("{indent}{keyword}({bytes}) {}", &source.lines[number][indent.len()..]);
        Ok((file.to_owned(), number, Change { before: None, instead: Some(text) }))
    }

    /// With a line of padding before it, or so many lines later.
    fn padded(
        &mut self,
        member: &DeclaredMember,
        language: Language,
        later: usize,
    ) -> Result<(String, usize, Change), String> {
        let words = vec![": 64"; (self.line_bytes / 8) as usize].join(", ");
        let bytes = self.line_bytes;
        let (source, file, line) = self.plain(member, language)?;
        let text = format!("{}long long {words}; /* {bytes} bytes of padding */{}", source.indent(line), source.end());
        Ok((file.to_owned(), line as usize - 1 + later, Change { before: Some(text), instead: None }))
    }

    fn finish(self, layout: String, folder: &Path, by_hand: Vec<String>) -> Patch {
        let mut by_file: BTreeMap<&Path, (&Source, BTreeMap<usize, Change>)> = BTreeMap::new();
        for ((file, line), change) in self.changes {
            if let Some(Some(source)) = self.sources.get(&file) {
                by_file.entry(&source.path).or_insert((source, BTreeMap::new())).1.insert(line, change);
            }
        }
        let is_there = |path: &&Path| path.starts_with(folder);
        let folder = if by_file.keys().all(is_there) { folder } else { Path::new("/") };
        let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let diffs = by_file.iter().map(|(path, (source, changes))| diff(&name(path), &source.lines, changes));
        Patch { layout, diff: diffs.collect(), folder: folder.into(), by_hand, notes: self.notes }
    }
}

/// Why there is no patch, and what to do instead.
fn words(why: Undeclared, candidate: &Candidate, line_bytes: u64) -> String {
    match why {
        Undeclared::Untyped => format!(
            "the type of the object is not known: where the program allocates it, or divides it up, round sizes and addresses up \
             to multiples of {line_bytes}"
        ),
        Undeclared::Bytes => format!(
            "the program carves its objects from a byte array: round their sizes up to multiples of {line_bytes} there, and \
             align the array to {line_bytes} bytes"
        ),
        Undeclared::NoStructure if candidate.is_of_elements() => format!(
            "the elements are not structures: wrap each in a structure aligned to {line_bytes} bytes, and change the code \
             that uses them"
        ),
        Undeclared::NoStructure => format!(
            "the object is not a structure: wrap it in one aligned to {line_bytes} bytes, and change the code that uses it"
        ),
        Undeclared::Between => "no structure member begins there: change the code that divides up these bytes".into(),
        Undeclared::Rust => format!(
            "Rust's debug information does not say where fields are declared: give the field a type with \
             #[repr(align({line_bytes}))], such as crossbeam_utils::CachePadded, or align its structure"
        ),
        Undeclared::OtherLanguage => "it is not declared in C or C++".into(),
    }
}

#[cfg(test)]
mod tests;
