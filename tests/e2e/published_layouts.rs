// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold fix` on public crates as they were before a published change of layout: it proposes that change among its first
//! three. tests/layouts pins the crates and uses them.
use crate::cargo::Workspace;
use crate::harness::{said, skipped};
use serde_json::Value;

/// What uses it, and what the published change parts from its neighbours: a part of the layout's name.
const CHANGES: [(&str, &str); 3] = [
    // crossbeam-utils #1055: each lock that large cells share is padded to a line.
    ("cells", "each of crossbeam_utils::atomic::atomic_cell::lock::LOCKS["),
    // dashmap #303: each shard, a lock and its table, is padded to a line.
    ("shards", "each of RwLock<RawRwLock, HashMap<"),
    // tokio #5829: the senders' end of a channel is padded to a line, alone or with the receiver's waker.
    ("channel", "ArcInner<Chan<usize, Semaphore>>.data.tx.tail_position"),
];

#[test]
#[ignore = "public crates: make stress runs it"]
fn published_changes_of_layout_are_among_the_first_three() {
    let workspace = Workspace::of("layouts", "");
    let fetched = said(&mut workspace.cargo("fetch --locked"));
    if fetched.code != Some(0) {
        assert!(!fetched.err.contains("--locked"), "{}", fetched.err);
        return skipped(&format!("the crates cannot be fetched: {}", fetched.err));
    }
    for (what, parted) in CHANGES {
        let line = format!("run --release --locked --cpus 8 --no-host-time -o {what}.rec -- {what} 8");
        workspace.corefold(&line);
        let fixed = workspace.0.corefold(&format!("fix {what}.rec --no-slots --json -"));
        assert_eq!(fixed.code, Some(0), "{what}: {}", fixed.err);
        let document: Value = serde_json::from_str(&fixed.out).expect("a JSON document");
        let layouts = document["layouts"].as_array().expect("a list").iter().take(3);
        let is_change = |one: &Value| {
            let layout = one["layout"].as_str().expect("text");
            let is_apart = [" of its own", " of their own"].iter().any(|end| layout.ends_with(end));
            layout.contains(parted) && is_apart && one["gain"].as_f64().is_some_and(|gain| gain > 0.05)
        };
        let found = layouts.clone().any(is_change);
        assert!(found, "{what}: {:?}", layouts.map(|one| &one["layout"]).collect::<Vec<_>>());
        // Rust's debug information does not say where fields are declared: the report says what to do.
        assert!(
            document["patch"]["by_hand"][0].as_str().is_some_and(|text| text.contains("repr(align(64))")),
            "{document}"
        );
    }
}
