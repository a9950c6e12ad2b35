// SPDX-License-Identifier: MIT OR Apache-2.0
//! True or false sharing: whether CPUs that take a line from each other use the same fields of it.
//!
//! The recording says of each access that had to fetch its line which access of another CPU that was because of.
//! Where both touch the same field, it is true sharing, else false sharing; each place in the code counts by the
//! cycles that it waited.
use crate::beside::{self, Apart, Said, Uses};
use crate::fields::{listed, merged};
use crate::types::{Sharing, SiteUse, Verdict};
use corefold_recording::{AccessKind, CpuSet};
use std::collections::{BTreeMap, HashMap};

/// Below this share of the cost, the other kind of sharing is not mentioned.
const NEGLIGIBLE: f64 = 0.1;
/// A field with less than this share of the writes, or of the cost, of the field that has most is no party.
const PARTY: f64 = 0.01;

/// A field as far as the verdict needs it.
#[derive(Default)]
struct Part<'a> {
    name: String,
    cost: f64,
    /// Of this, by reads.
    read_cost: f64,
    /// Waited for it because of other fields, or for others because of it.
    false_cost: f64,
    /// Times that a line was fetched for a write to it, or because of one.
    writes: u64,
    users: CpuSet,
    writers: CpuSet,
    /// By address: objects of one type have the same names of fields.
    uses: BTreeMap<u64, Uses<'a>>,
}

/// The verdict on what these places in the code touch. `own` tells those whose waiting is judged; the others lie on
/// the same lines, and may be why.
pub fn judge<'a>(sites: impl Iterator<Item = &'a SiteUse> + Clone, own: impl Fn(&SiteUse) -> bool) -> Verdict {
    let (mut parts, mut index): (Vec<Part>, HashMap<&str, usize>) = Default::default();
    let (mut true_cost, mut false_cost, mut within_arrays, mut apart) = (0.0, 0.0, 0.0, Apart::default());
    for site in sites.clone() {
        let cost = (site.stall + site.spin + site.transfers) as f64;
        add(&mut parts, &mut index, site, cost);
        let (same, other) = site.conflict_counts();
        if own(site) && same + other > 0 {
            true_cost += cost * same as f64 / (same + other) as f64;
            false_cost += cost * other as f64 / (same + other) as f64;
            within_arrays += cost * elements(site) as f64 / (same + other) as f64;
            for (conflict, beside) in site.conflicts.iter().filter_map(|c| Some((c, c.beside.as_ref()?))) {
                apart.add(site, beside, cost * conflict.count as f64 / (same + other) as f64);
            }
        }
    }
    let mut owned = sites.clone().filter(|site| own(site)).peekable();
    let library = owned.peek().is_some() && owned.all(|site| site.of_library);
    let written_at_all = parts.iter().any(|part| part.writes > 0) || sites.clone().any(|site| writes(site.kind));
    parts
        .sort_by(|a, b| (b.cost, b.writes).partial_cmp(&(a.cost, a.writes)).expect("finite").then(a.name.cmp(&b.name)));
    let true_share = true_cost / (true_cost + false_cost);
    let sharing = match true_share {
        share if share.is_nan() && !written_at_all && !parts.is_empty() => Sharing::ReadOnly,
        share if share.is_nan() => Sharing::Unknown,
        share if share < NEGLIGIBLE => Sharing::False,
        share if share > 1.0 - NEGLIGIBLE => Sharing::True,
        _ => Sharing::Both,
    };
    let of_elements = within_arrays / false_cost;
    let mut verdict = verdict(sharing, &parts, true_share, of_elements, apart.said(false_cost));
    if library && !verdict.padding.is_empty() {
        verdict.padding = "it is the C library's own and cannot be padded".to_owned();
        verdict.separates = false;
    }
    verdict.sentence = sentence(&verdict);
    verdict
}

/// `index`: where in `parts` each is, by name.
fn add<'a>(parts: &mut Vec<Part<'a>>, index: &mut HashMap<&'a str, usize>, site: &'a SiteUse, cost: f64) {
    let mut part = |name: &'a str| {
        *index.entry(name).or_insert_with(|| {
            parts.push(Part { name: name.to_owned(), ..Part::default() });
            parts.len() - 1
        })
    };
    let at = part(&site.field);
    let against: Vec<_> = site.conflicts.iter().map(|conflict| (part(&conflict.field), conflict)).collect();
    let (same, other) = site.conflict_counts();
    for (field, conflict) in against {
        parts[field].writes += if conflict.wrote { conflict.count } else { 0 };
        if !conflict.same && conflict.count > 0 {
            let falsely = cost * conflict.count as f64 / (same + other) as f64;
            parts[field].false_cost += falsely;
            parts[at].false_cost += falsely;
        }
    }
    let part = &mut parts[at];
    part.cost += cost;
    part.users.add(&site.cpus);
    part.uses.entry(site.address).or_default().push((cost, &site.cpus));
    if reads(site.kind) {
        part.read_cost += cost;
    }
    if writes(site.kind) {
        part.writers.add(&site.cpus);
        part.writes += site.conflicts.iter().map(|conflict| conflict.count).sum::<u64>();
    }
}

/// Times that the line was fetched because another CPU had used another element of the same array.
fn elements(site: &SiteUse) -> u64 {
    let array = without_indices(&site.field);
    let is_element = |field: &str| field.contains('[') && without_indices(field) == array;
    let elements = site.conflicts.iter().filter(|conflict| !conflict.same && is_element(&conflict.field));
    elements.map(|conflict| conflict.count).sum()
}

/// `of_elements`: the share of the false sharing that is between elements of one array.
fn verdict(sharing: Sharing, parts: &[Part], true_share: f64, of_elements: f64, said: Option<Said>) -> Verdict {
    // The elements of an array together, or there would be no minor field beside those of a large one.
    let mut by_array: BTreeMap<String, u64> = BTreeMap::new();
    parts.iter().for_each(|part| *by_array.entry(without_indices(&part.name)).or_default() += part.writes);
    let most_writes = by_array.values().copied().max().unwrap_or(0);
    let most_cost = parts.iter().map(|part| part.cost).fold(0.0, f64::max);
    let all_cost: f64 = parts.iter().map(|part| part.cost).sum();
    let is_written =
        |part: &&Part| part.writes > 0 && by_array[&without_indices(&part.name)] as f64 >= most_writes as f64 * PARTY;
    let written: Vec<&Part> = parts.iter().filter(is_written).collect();
    // Not elements of an array that others write elements of, as each may in turn, unless several CPUs read one.
    let is_element =
        |part: &&Part| part.name.contains('[') && part.users.len() < 2 && by_array[&without_indices(&part.name)] > 0;
    let is_read =
        |part: &&Part| !is_written(part) && !is_element(part) && part.read_cost > 0.0 && part.cost >= most_cost * PARTY;
    let mut only_read: Vec<&Part> = parts.iter().filter(is_read).collect();
    if sharing != Sharing::ReadOnly && only_read.iter().map(|part| part.cost).sum::<f64>() < all_cost * NEGLIGIBLE {
        only_read.clear();
    }
    let names = |parts: &[&Part]| -> Vec<String> { parts.iter().map(|part| part.name.clone()).collect() };
    let mut verdict = Verdict {
        sharing,
        false_share: if true_share.is_nan() { 0.0 } else { 1.0 - true_share },
        written: names(&written),
        only_read: names(&only_read),
        ..Verdict::default()
    };
    let mut users = CpuSet::default();
    let used = if sharing == Sharing::ReadOnly { &only_read } else { &written };
    used.iter().for_each(|part| users.add(&part.users));
    verdict.users = users.len();
    let pieces = used.iter().flat_map(|part| part.uses.values());
    verdict.users_each = pieces.map(|uses| beside::users(uses).len()).max().unwrap_or(0);
    let apart = to_part(sharing, &written, &only_read);
    advise(&mut verdict, &names(&apart), of_elements, said);
    verdict
}

/// Which of the fields that are written would be apart if there were room between them. Where threads wait for each other's words
/// as well, those that they wait for because of what lies beside; none where all readers read what one CPU writes, all of it.
fn to_part<'a>(sharing: Sharing, written: &[&'a Part<'a>], only_read: &[&Part]) -> Vec<&'a Part<'a>> {
    let Some(first) = written.first().filter(|_| sharing == Sharing::Both) else { return written.to_vec() };
    // Reads that wait for nothing are not recorded of all.
    let is_used_alike = |part: &&Part| {
        let mut both = part.users.clone();
        both.add(&first.users);
        part.writers == first.writers && both == first.users && part.users.len() * 2 >= first.users.len()
    };
    if only_read.is_empty() && first.writers.len() == 1 && written.iter().all(is_used_alike) {
        return Vec::new();
    }
    let most = written.iter().map(|part| part.false_cost).fold(0.0, f64::max);
    written.iter().filter(|part| part.false_cost >= most * NEGLIGIBLE).copied().collect()
}

/// `a.b[3].c` as `a.b[].c`.
fn without_indices(name: &str) -> String {
    let mut parts = name.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + "[" + part.trim_start_matches(|c: char| c != ']'))
}

/// Why lines are shared falsely, and what would separate what lies on them. Of elements and heap objects that lie beside
/// each other it is said only where their fields alone do not say it.
fn advise(verdict: &mut Verdict, apart: &[String], of_elements: f64, said: Option<Said>) {
    verdict.reason = match verdict.only_read.is_empty() {
        true => "different CPUs write different fields of one line",
        false => "a read-mostly word beside a written one",
    }
    .to_owned();
    verdict.padding = padding(verdict, apart, of_elements);
    let one_array = quoted(&verdict.written).len() == 1 && verdict.written.len() > 1 && verdict.only_read.is_empty();
    let is_false = matches!(verdict.sharing, Sharing::False | Sharing::Both);
    let said = said.filter(|_| is_false && !one_array);
    let parts = !apart.is_empty() || !verdict.only_read.is_empty();
    verdict.separates = is_false && (parts || said.is_some());
    match said {
        Some(said) if said.alone || !parts => (verdict.reason, verdict.padding) = (said.reason, said.cure),
        Some(said) => verdict.padding += &format!(", and {}", said.cure),
        None => {}
    }
}

/// What would lie on lines of their own if there were room between them.
fn padding(verdict: &Verdict, written: &[String], of_elements: f64) -> String {
    let (names, read) = (list(written), list(&verdict.only_read));
    match (verdict.sharing, verdict.only_read.is_empty()) {
        (Sharing::False | Sharing::Both, false) => {
            let among = of_elements > NEGLIGIBLE && written.len() > 1;
            let elements = if among { format!(", and the elements of {names}") } else { String::new() };
            format!("padding would separate {names} from {read}{elements}")
        }
        (Sharing::False | Sharing::Both, true) if of_elements > 1.0 - NEGLIGIBLE && quoted(written).len() > 1 => {
            format!("padding would separate the elements of {names}")
        }
        (Sharing::False, true) => format!("padding would separate {}", apart(written)),
        (Sharing::Both, true) if !written.is_empty() => format!("padding would separate {}", apart(written)),
        (Sharing::True | Sharing::Both, _) => "padding would not separate these uses".to_owned(),
        _ => String::new(),
    }
}

/// "`a` from `b`", "the elements of `a[0-7]`".
fn apart(names: &[String]) -> String {
    match quoted(names).as_slice() {
        [] => "nothing".to_owned(),
        [one] if names.len() > 1 => format!("the elements of {one}"),
        [one] => format!("{one} from its neighbours"),
        [one, two] => format!("{one} from {two}"),
        _ => format!("{} from each other", list(names)),
    }
}

fn quoted(names: &[String]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    merged(&names).iter().map(|name| format!("`{name}`")).collect()
}

fn list(names: &[String]) -> String {
    listed(&quoted(names))
}

fn sentence(verdict: &Verdict) -> String {
    let (written, read, cpus) = (list(&verdict.written), list(&verdict.only_read), verdict.users);
    let (padding, reason) = (&verdict.padding, &verdict.reason);
    match verdict.sharing {
        Sharing::False if verdict.only_read.is_empty() => {
            format!("{reason}, {written}; {padding}")
        }
        Sharing::False => format!(
            "{reason}: each write to {written} takes the line from readers of {read}; \
             {padding}"
        ),
        Sharing::True => format!("{cpus} CPUs use {written}{}, written by some of them; {padding}", each(verdict)),
        Sharing::Both => format!(
            "{:.0}% of the wait is true sharing, the rest false sharing: {written} written{}; {padding}",
            100.0 * (1.0 - verdict.false_share),
            if verdict.only_read.is_empty() { String::new() } else { format!(", {read} read") },
        ),
        Sharing::ReadOnly => format!("{cpus} CPUs read {read}; no write was recorded"),
        Sharing::Unknown => "too few conflicts between CPUs were recorded to classify the sharing".to_owned(),
    }
}

/// ` (each used by at most 2)`, where not all CPUs use the same.
fn each(verdict: &Verdict) -> String {
    match verdict.users_each {
        each if each == 0 || each >= verdict.users => String::new(),
        each => format!(" (each used by at most {each})"),
    }
}

pub(crate) fn reads(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Read | AccessKind::AtomicLoad | AccessKind::Rmw | AccessKind::SplitLock)
}

pub(crate) fn writes(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Write | AccessKind::AtomicStore | AccessKind::Rmw | AccessKind::SplitLock)
}
