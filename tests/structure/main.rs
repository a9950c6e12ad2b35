// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a crate import each other one way: no file needs, through others, one that needs it.
mod imports;
mod skipped;

use imports::Imports;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The engine's rooms, from the bottom to the top: a file imports its own and those below it. A room is a folder, with the
/// file of its name, or a file of the crate's root: of these all that are not named here are in the lowest.
const ROOMS: [&[&str]; 11] = [
    &["code", "state"],
    &["storage"],
    &["counts"],
    &["scheduling"],
    &["account"],
    &["hooks"],
    &["recorder"],
    &["mappings"],
    &["threads"],
    &["calls"],
    &["crash", "start"],
];

type Graph = BTreeMap<String, BTreeSet<String>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

fn source_of(name: &str) -> PathBuf {
    folder().join(name).join("src")
}

fn crates() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = folder().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The files below `folder`, as modules: `hooks/spin` for `hooks/spin.rs`. Files and folders of tests are left out.
fn modules(folder: &Path, prefix: &str, found: &mut BTreeMap<String, PathBuf>) {
    for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap();
        if name == "tests" {
            continue;
        }
        if entry.is_dir() {
            modules(&entry, &format!("{prefix}{name}/"), found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.insert(format!("{prefix}{name}"), entry);
        }
    }
}

/// The text before the tests that stand in the file itself, which are its end. Tests in a file of their own are named anywhere.
fn without_tests(text: &str) -> &str {
    const TESTS: &str = "#[cfg(test)]\nmod ";
    let is_here = |at: &usize| text[at + TESTS.len()..].lines().next().is_some_and(|line| line.ends_with('{'));
    let end = text.match_indices(TESTS).map(|(at, _)| at).find(is_here);
    &text[..end.unwrap_or(text.len())]
}

/// The names that a crate's root takes from its files, and from which.
fn exported(root: &str, files: &[&str]) -> BTreeMap<String, Vec<String>> {
    let code: String = root.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let statements = code.split_inclusive(';').map(str::trim_start);
    let uses =
        statements.filter(|text| ["use ", "pub use ", "pub(crate) use "].iter().any(|word| text.starts_with(word)));
    let paths = uses.flat_map(|text| of_root(text, files));
    paths.filter_map(|path| Some((path.last()?.clone(), path[..path.len() - 1].to_vec()))).collect()
}

/// Is something of this name defined in the text, not only named?
fn defines(text: &str, name: &str) -> bool {
    let defined = |word: &str| ["fn", "struct", "enum", "trait", "type", "const", "static"].contains(&word);
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| defined(pair[0]) && pair[1] == name)
}

/// What the text of a crate's root imports from its files.
fn of_root(text: &str, files: &[&str]) -> Vec<Vec<String>> {
    let below = |path: Vec<String>| path.into_iter().filter(|name| !name.is_empty()).collect();
    Imports::of(text, "", files).into_iter().map(below).collect()
}

/// Which file imports which; tests within files are left out.
fn graph(source: &Path) -> Graph {
    let mut files = BTreeMap::new();
    modules(source, "", &mut files);
    let at_root: Vec<&str> = files.keys().map(String::as_str).filter(|file| !file.contains('/')).collect();
    let root = files.get("lib").map_or(String::new(), |file| std::fs::read_to_string(file).unwrap());
    let exported = exported(&root, &at_root);
    let resolve = |path: &[String]| {
        let path = path.first().and_then(|name| exported.get(name)).map_or(path, Vec::as_slice);
        let file = (1..=path.len()).rev().map(|n| path[..n].join("/")).find(|m| files.contains_key(m));
        // What no file has is the root's own, unless that defines no such thing.
        let own = || path.first().is_some_and(|name| defines(&root, name));
        file.or_else(|| own().then(|| "lib".to_owned()))
    };
    let imports = |(name, file): (&String, &PathBuf)| {
        let text = std::fs::read_to_string(file).unwrap();
        let text = without_tests(&text);
        let start = format!("{name}/");
        let is_below = |other: &&String| other.strip_prefix(&start).is_some_and(|rest| !rest.contains('/'));
        let below: Vec<&str> = files.keys().filter(is_below).filter_map(|other| other.rsplit('/').next()).collect();
        let paths = match name == "lib" {
            true => of_root(text, &at_root),
            false => Imports::of(text, name, &below),
        };
        (name.clone(), paths.iter().filter_map(|path| resolve(path)).filter(|other| other != name).collect())
    };
    files.iter().map(imports).collect()
}

/// All that can be reached from `from`.
fn reached<'a>(graph: &'a Graph, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        open.extend(graph[file].iter().map(String::as_str).filter(|next| seen.insert(*next)));
    }
    seen
}

/// The files of the largest circle.
fn circle(graph: &Graph) -> Vec<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph.keys().map(|file| (&**file, reached(graph, file))).collect();
    let of = |file: &str| reached[file].iter().copied().filter(|other| reached[other].contains(file)).collect();
    graph.keys().map(|file| of(file)).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn files_of_a_crate_import_each_other_one_way() {
    let mut wrong = Vec::new();
    for folder in crates() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let graph = graph(&folder.join("src"));
        let circle = circle(&graph);
        if !circle.is_empty() {
            wrong.push(format!("{name}: {circle:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The imports of a file of a room above its own.
fn upward(graph: &Graph) -> Vec<String> {
    let named = |file: &str| ROOMS.iter().position(|rooms| rooms.contains(&file.split('/').next().unwrap_or_default()));
    let height = |file: &str| named(file).unwrap_or(0);
    let arrows = graph.iter().flat_map(|(file, imports)| imports.iter().map(move |other| (file, other)));
    let up = arrows.filter(|(file, other)| height(file) < height(other));
    up.map(|(file, other)| format!("{file} imports {other}")).collect()
}

#[test]
fn rooms_of_the_engine_import_each_other_downwards() {
    let engine = source_of("engine");
    for room in ROOMS.into_iter().flatten() {
        assert!(engine.join(format!("{room}.rs")).exists(), "{room} is no room of the engine");
    }
    let upward = upward(&graph(&engine));
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}

/// Imports between what lies in one folder: files, and folders with the file of their name.
fn within(graph: &Graph, folder: &str) -> Graph {
    let child = |file: &str| Some(file.strip_prefix(folder)?.split('/').next()?.to_owned());
    let mut found = Graph::new();
    for (file, imports) in graph {
        let Some(from) = child(file) else { continue };
        let others = imports.iter().filter_map(|other| child(other)).filter(|other| *other != from);
        found.entry(from.clone()).or_default().extend(others);
    }
    found
}

/// Of each folder in which there is one, the largest circle of what lies in it.
fn circles_of_folders(graph: &Graph) -> Vec<String> {
    let folders: BTreeSet<&str> = graph.keys().filter_map(|file| Some(&file[..=file.rfind('/')?])).collect();
    let folders = [""].into_iter().chain(folders);
    let of = |folder: &str| {
        let within = within(graph, folder);
        let circle = circle(&within);
        (!circle.is_empty()).then(|| format!("in {folder:?}: {circle:?}"))
    };
    folders.filter_map(of).collect()
}

#[test]
fn folders_of_the_engine_and_what_it_stands_on_import_each_other_one_way() {
    let wrong: Vec<String> = ["block", "engine", "model", "sim"]
        .into_iter()
        .flat_map(|name| circles_of_folders(&graph(&source_of(name))))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_arrow_upward_is_found() {
    let graph: Graph = [("hooks/a", &["calls/b", "engine"][..]), ("calls/b", &["hooks/a"]), ("engine", &["state/c"])]
        .map(|(file, imports)| (file.to_owned(), imports.iter().map(|import| (*import).to_owned()).collect()))
        .into();
    assert_eq!(upward(&graph), ["hooks/a imports calls/b"]);
}

#[test]
fn a_circle_of_folders_is_found() {
    let graph: Graph = [("a/b", &["c/d"][..]), ("c/d", &[]), ("c/e", &["a"]), ("a", &[])]
        .map(|(file, imports)| (file.to_owned(), imports.iter().map(|import| (*import).to_owned()).collect()))
        .into();
    assert!(circle(&graph).is_empty());
    assert_eq!(circles_of_folders(&graph), [r#"in "": ["a", "c"]"#]);
}

#[test]
fn code_behind_the_name_of_a_file_of_tests_counts() {
    let code = "use a::B;\n#[cfg(test)]\nmod tests;\nfn f() -> crate::c::D {}\n";
    assert_eq!(without_tests(code), code);
    assert_eq!(without_tests(&[code, "#[cfg(test)]\nmod tests {\nuse crate::e::F;\n}\n"].concat()), code);
}

#[test]
fn a_circle_is_found() {
    let graph: Graph = [("a", &["b"][..]), ("b", &["c", "d"]), ("c", &["a"]), ("d", &[])]
        .map(|(file, imports)| (file.to_owned(), imports.iter().map(|import| (*import).to_owned()).collect()))
        .into();
    assert_eq!(circle(&graph), ["a", "b", "c"]);
}

#[test]
fn what_the_root_exports_is_known_by_its_file() {
    let root = "mod a;\nmod b;\n// pub use a::No;\npub use a::{C, d::E};\npub(crate) use b::F;\nfn f() { a::g() }\n";
    let found = exported(root, &["a", "b"]);
    let found: Vec<String> = found.iter().map(|(name, file)| format!("{name} {}", file.join("/"))).collect();
    assert_eq!(found, ["C a", "E a/d", "F b"]);
}
