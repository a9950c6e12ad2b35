// SPDX-License-Identifier: MIT OR Apache-2.0
//! False sharing between elements of an array, or between heap objects: what they are, and how many CPUs use each.
use crate::fields::pattern;
use crate::types::{Beside, Neighbours, SiteUse};
use corefold_recording::CpuSet;
use std::collections::BTreeMap;

/// From this share of the false sharing on, the structures beside each other are all that is said of it; below the rest
/// of it, they are not mentioned.
const NEARLY_ALL: f64 = 0.9;
/// Accesses that cost less than this share of the most expensive ones to the same place do not count as its use.
const USE: f64 = 0.01;

/// Accesses to one place: their cost and CPUs.
pub type Uses<'a> = Vec<(f64, &'a CpuSet)>;

/// The CPUs that use a place, but for rare accesses, as of a sum at the end.
pub fn users(uses: &Uses) -> CpuSet {
    let most = uses.iter().map(|(cost, _)| *cost).fold(0.0, f64::max);
    let mut users = CpuSet::default();
    uses.iter().filter(|(cost, _)| *cost >= most * USE).for_each(|(_, cpus)| users.add(cpus));
    users
}

/// Structures of one kind that lie beside others.
#[derive(Default)]
struct Row<'a> {
    cost: f64,
    uses: BTreeMap<u64, Uses<'a>>,
    first: Option<&'a Beside>,
}

type Key<'a> = (Neighbours, Option<&'a str>, Option<&'a str>, Vec<&'a str>);

/// What lies beside what, by kind.
#[derive(Default)]
pub(crate) struct Apart<'a> {
    rows: BTreeMap<Key<'a>, Row<'a>>,
}

/// What is said of those that most of the false sharing is between.
pub(crate) struct Said {
    /// All of it is, or nearly.
    pub alone: bool,
    pub reason: String,
    /// What would separate them.
    pub cure: String,
}

impl<'a> Apart<'a> {
    /// A place in the code waited for so long because of what lies beside.
    pub fn add(&mut self, site: &'a SiteUse, beside: &'a Beside, cost: f64) {
        let key = (beside.kind, beside.type_name.as_deref(), beside.other_type.as_deref(), pattern(&beside.name));
        let row = self.rows.entry(key).or_default();
        row.cost += cost;
        row.uses.entry(beside.address).or_default().push((cost, &site.cpus));
        row.first.get_or_insert(beside);
    }

    /// Of so much false sharing.
    pub fn said(&self, all: f64) -> Option<Said> {
        let row = self.rows.values().max_by(|a, b| a.cost.total_cmp(&b.cost))?;
        let share = row.cost / all;
        let first = row.first.filter(|_| share > 1.0 - NEARLY_ALL)?;
        let each = row.uses.values().all(|uses| users(uses).len() <= 1);
        let what = match first.kind {
            Neighbours::Elements => "elements of one array",
            Neighbours::Objects => "separate heap objects",
        };
        let used = if each { ", each used by one CPU," } else { "" };
        Some(Said { alone: share >= NEARLY_ALL, reason: format!("{what}{used} share lines"), cure: cure(first) })
    }
}

fn cure(first: &Beside) -> String {
    let (bytes, line) = (first.size, first.line_bytes);
    match (first.kind, first.type_name.as_deref(), first.other_type.as_deref()) {
        (Neighbours::Elements, what, _) => {
            let (what, array) = (what.unwrap_or("each"), if first.is_heap { ", and the array," } else { "" });
            format!("aligning {what} ({bytes} bytes){array} to {line} bytes would separate the elements")
        }
        (Neighbours::Objects, Some(what), other) => {
            let from =
                other.filter(|other| *other != what).map_or("them".to_owned(), |other| format!("it from {other}"));
            format!(
                "allocating {what} ({bytes} bytes) on lines of its own, aligned to {line} bytes, would separate {from}"
            )
        }
        (Neighbours::Objects, None, _) => {
            format!("allocating them on lines of their own, aligned to {line} bytes, would separate them")
        }
    }
}
