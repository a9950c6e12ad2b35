// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kit's structures on their lines: what the static assertions in its headers promise, as the reader sees it.
use super::built::{Built, LOOK};
use corefold_report::layout::{InArray, Slots, Stride, select};
use std::collections::BTreeMap;

const SOURCE: &str = "
#include <corefold/cf_rwsem.h>
#include <corefold/cf_slab.h>
struct cf_slab slab;
struct cf_rwsem semaphore;
int main(void) { return 0; }
";

fn kit() -> Built {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../kit/include");
    Built::new("gcc", "kit.c", SOURCE, &["-g", include])
}

/// The first and the last line of each field of one object.
type Lines = BTreeMap<String, (u64, u64)>;

/// Of an object at each of the offsets that its stride leads to, the first at 0.
fn lines(name: &str, stride: u64) -> Vec<Lines> {
    let types = kit().types();
    let structure = select(&types, &[name.to_owned()]).unwrap()[0];
    let slots = Slots::new(&types, structure, &LOOK, &InArray { stride: Stride::Bytes(stride), fields: &[] }).unwrap();
    let at = |slot: u64| {
        let fields = slots.fields.iter();
        fields.map(|leaf| (leaf.path.clone(), leaf.lines(slots.rows.offset(slot), slots.rows.line))).collect()
    };
    (0..slots.rows.period()).map(at).collect()
}

#[test]
fn a_slab_cache_has_its_constants_its_depot_and_its_slabs_on_lines_of_their_own() {
    let slots = lines("cf_slab", 256);
    let fields = &slots[0];
    assert_eq!(slots.len(), 1, "it begins on a line, and is whole lines");
    let line = |prefixes: &[&str]| {
        let is_one = |path: &&String| prefixes.iter().any(|p| *path == p || path.starts_with(&format!("{p}.")));
        let found: Vec<_> = fields.iter().filter(|(path, _)| is_one(path)).map(|(_, lines)| *lines).collect();
        assert!(found.len() >= prefixes.len(), "{prefixes:?} in {fields:?}");
        found
    };
    let constants = ["cpus", "magazine", "stride", "objects", "slab_bytes", "constructor", "charge", "context"];
    assert!(line(&constants).iter().all(|lines| *lines == (0, 0)), "{fields:?}");
    assert!(line(&["depot", "full", "empty", "full_count", "exchanges"]).iter().all(|lines| *lines == (1, 1)));
    assert!(line(&["pages", "partial", "unused", "regions", "bytes", "refills"]).iter().all(|lines| *lines == (2, 2)));
    assert!(line(&["name", "draining"]).iter().all(|lines| *lines == (3, 3)), "{fields:?}");
}

/// Of the places that 8-byte alignment allows, count and owner share a line in half: the facts of the published regression.
#[test]
fn a_semaphore_is_on_one_line_or_two() {
    let slots = lines("cf_rwsem", 72);
    let aligned = &slots[0];
    assert!(aligned.values().all(|lines| *lines == (0, 0)), "{aligned:?}");
    assert_eq!(slots.len(), 8);
    let last = |slot: &Lines| slot.values().map(|lines| lines.1).max();
    assert!(slots.iter().all(|slot| last(slot) <= Some(1)), "two lines at most: {slots:?}");
    let together = slots.iter().filter(|slot| slot["count"] == slot["owner"]).count();
    assert_eq!(together, 4, "{slots:?}");
}
