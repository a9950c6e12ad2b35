// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold layout`: what it is asked, what it says, and how it fails.
use crate::common::{Place, corefold};
use corefold_explain::build_id;
use corefold_recording::{AccessKind, CLASSES, Line, Module, Run, Site, Status, encode};

const SOURCE: &str = "
struct list { struct list *next, *prev; };
struct stats { long hits; PAD long misses; long cold[6]; struct list all; };
struct other { char c; short s; };
struct stats stats; struct other other;
int main(void) { return (int)stats.hits; }
";

/// `old` keeps its two counters on different lines, `new` does not.
fn builds() -> Place {
    let place = Place::new();
    place.file("stats.c", SOURCE);
    for (name, pad) in [("old", "char pad[56];"), ("new", "")] {
        let built = place.sh(&format!("gcc -g -O1 '-DPAD={pad}' stats.c -o {name}"));
        assert_eq!(built.code, Some(0), "{}", built.err);
    }
    place
}

#[test]
fn structures_are_selected_by_name() {
    let place = builds();
    let all = place.corefold("layout old");
    assert_eq!((all.code, all.err.as_str()), (Some(0), ""));
    for name in ["struct list {", "struct stats {", "struct other {"] {
        assert!(all.out.contains(name), "{}", all.out);
    }
    assert_eq!(place.corefold("layout old *").out, all.out);
    let one = place.corefold("layout old oth* --line-size 128").out;
    assert!(
        one.starts_with("struct other {\n\tchar                       c;                    /*     0     1 */\n"),
        "{one}"
    );
    assert!(!one.contains("stats"), "{one}");
    assert_eq!(place.corefold("layout new other").out, place.corefold("layout old other").out);
}

#[test]
fn what_cannot_be_shown_is_said_in_words() {
    let place = builds();
    place.sh("printf 'int main(void) { return 0; }' > n.c; gcc n.c -o none; echo text > text; mkfifo pipe; head -c 3000 old > cut");
    for (line, words) in [
        ("layout old statz", "no structure called statz among its 3; did you mean"),
        ("layout missing", "cannot read missing"),
        ("layout none", "no debug information: compile it with -g"),
        ("layout text", "neither an ELF file nor BTF"),
        ("layout cut", "cannot read the types of cut"),
        ("layout pipe", "it is a pipe, not a file"),
        ("layout .", "it is a directory, not a file"),
        ("layout /dev/zero", "it is a device, not a file"),
        ("layout", "required"),
        ("layout old --line-size 48", "a power of two"),
        ("layout old --stride 0", "must be a number of bytes"),
        ("layout old stats --stride 100", "do not fit into 100"),
        ("layout --diff old", "2 values required"),
        ("layout old --hot x", "--diff"),
        ("layout --diff old new nothing", "no structure called nothing"),
        ("layout --diff old new --hot text", "text"),
        ("layout old --btf", "it has no .BTF section"),
    ] {
        let said = place.corefold(line);
        assert_eq!(said.code, Some(2), "{line}: {}{}", said.out, said.err);
        assert!(said.err.contains(words) && said.out.is_empty(), "{line}: {}", said.err);
    }
    let help = place.corefold("layout --help").out;
    assert!(help.contains("Examples:") && help.contains("--stride slab") && help.contains("--diff"), "{help}");
}

#[test]
fn documents_are_json() {
    let place = builds();
    for line in
        ["layout old", "layout old stats --stride slab", "layout --diff old new", "layout --diff old new --stride slab"]
    {
        let said = place.corefold(&format!("{line} --json -"));
        let document: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        assert_eq!((said.code, document["schema"].as_u64()), (Some(0), Some(1)), "{}", said.err);
        let beside = place.corefold(&format!("{line} --json beside"));
        assert_eq!(beside.out, place.corefold(line).out);
        assert_eq!(std::fs::read_to_string(place.path("beside")).unwrap(), said.out);
    }
    let text = place.corefold("layout old --json -").out;
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stats = document["structures"].as_array().unwrap().iter().find(|s| s["name"] == "stats").unwrap();
    assert_eq!((stats["size"].as_u64(), stats["members"][2]["name"].as_str()), (Some(136), Some("misses")));
    assert_eq!(
        (stats["members"][2]["offset"].as_u64(), stats["members"][2]["cacheline"].as_u64()),
        (Some(64), Some(1))
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = builds();
    let said = place.sh(&format!("'{}' layout old | head -1", corefold()));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn builds_are_compared() {
    let place = builds();
    let said = place.corefold("layout --diff old new");
    assert!(said.out.starts_with("stats: 136 → 80 bytes (-56)\n"), "{}", said.out);
    assert!(said.out.contains("gone    pad") && said.out.contains("moved   misses: offset 64 → 8"), "{}", said.out);
    assert!(said.out.contains("hits, misses: moved together: they now share a line"), "{}", said.out);
    assert!(said.out.ends_with("3 structures compared, 1 differ, 2 are the same\n"), "{}", said.out);
    assert_eq!(place.corefold("layout --diff old old").out, "3 structures compared, 0 differ, 3 are the same\n");
}

/// A run of `old` in which CPUs wait for `stats.hits` and `stats.misses`, as far as that needs to be true.
fn recording(place: &Place) -> Run {
    let symbols = place.sh("nm old").out;
    let address = symbols.lines().find_map(|line| line.strip_suffix(" B stats")).expect("a variable");
    let base = 0x5555_5555_4000;
    let stats = base + u64::from_str_radix(address, 16).unwrap();
    let line = |at: u64, stall: u64| Line {
        address: at & !63,
        bytes: 64,
        objects: vec![],
        transfers: [1; CLASSES],
        stall,
        spin: 0,
        sites: vec![Site {
            pc: base + 0x1130,
            kind: AccessKind::Write,
            offset: (at & 63) as u8,
            size: 8,
            transfers: 100,
            stall,
            spin: 0,
            cpus: (0..4).collect(),
            conflicts: vec![],
        }],
    };
    let path = place.path("old").display().to_string();
    Run {
        cpus: 4,
        clock_hz: 1_000_000_000,
        cycles: 2000,
        status: Status::Exited(0),
        modules: vec![Module { path, build_id: Vec::new(), base, start: base, end: base + 0x10_0000 }],
        // Of a third field too, which is on the line of the second.
        lines: vec![line(stats, 600), line(stats + 64, 300), line(stats + 120, 100)],
        ..Run::default()
    }
}

#[test]
fn a_recording_ranks_the_fields_that_moved() {
    let place = builds();
    place.file("hot.rec", encode(&[recording(&place)]));
    let said = place.corefold("layout --diff old new --hot hot.rec");
    assert_eq!(said.code, Some(0), "{}", said.err);
    let first = said.out.lines().find(|line| line.contains(", ") && line.contains("moved")).unwrap_or_default();
    assert!(
        first.starts_with("  hits, misses: moved together") && first.contains("[90.0% of stall and spin]"),
        "{}",
        said.out
    );
    assert!(said.out.starts_with("stats: 136 → 80 bytes (-56); 90.0% of stall and spin"), "{}", said.out);
    // Of a pair with one field that nobody waited for, nothing is said.
    assert_eq!(said.out.matches("% of stall and spin]").count(), 2, "{}", said.out);
    // Without the recording another pair might come first, and nothing is said of stall.
    assert!(!place.corefold("layout --diff old new").out.contains("stall"));
    place.file("cold.rec", encode(&[Run { lines: vec![], ..recording(&place) }]));
    let other = Module { path: "/bin/true".into(), ..recording(&place).modules.remove(0) };
    place.file("other.rec", encode(&[Run { modules: vec![other], ..recording(&place) }]));
    let other = place.corefold("layout --diff old new --hot other.rec");
    assert!(other.code == Some(2) && other.err.contains("is a recording of neither old nor new"), "{}", other.err);
    // The recorded program was built again; a copy of it was kept.
    let copied = Module { build_id: build_id(&place.path("old")), ..recording(&place).modules.remove(0) };
    let copied = Module { path: place.path("new").display().to_string(), ..copied };
    place.file("copied.rec", encode(&[Run { modules: vec![copied], ..recording(&place) }]));
    let copied = place.corefold("layout --diff old new --hot copied.rec");
    assert!(copied.out.contains("[90.0% of stall and spin]"), "{}{}", copied.err, copied.out);
    let cold = place.corefold("layout --diff old new --hot cold.rec");
    assert!(cold.code == Some(0) && cold.err.contains("no stall or spin for fields of structures"), "{}", cold.err);
}
