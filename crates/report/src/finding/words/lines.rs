// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sentences on lines: who takes them from whom, and what would separate what lies on them.
use super::locks::taken;
use super::unrecorded::{NOT_RECORDED, not_recorded};
use crate::curve::Point;
use crate::finding::cause::{cpu_time, lock_on};
use crate::hot::{Group, Spot, by_field};
use crate::units;
use corefold_explain::{LockUse, Sharing, listed, lock_kind_name};
use corefold_recording::LockKind;

pub fn lines_sentence(point: &Point, group: &Group) -> String {
    let hottest = group.hottest();
    let share = units::about(units::share(group.wait(), cpu_time(point)));
    let (at_least, besides) = match not_recorded(point) {
        Some(others) => ("At least ", format!(" ({others} for lines that {NOT_RECORDED})")),
        None => ("", String::new()),
    };
    let lines = match group.lines.len() {
        1 => "one cache line".into(),
        n => format!("{n} cache lines"),
    };
    let object = match hottest.object.as_str() {
        "" => format!("{:#x}", hottest.address),
        object => object.into(),
    };
    let lock = lock_on(point, group).map_or(String::new(), is_a_lock);
    format!(
        "{at_least}{share} of CPU time waits for {lines} of {object}{besides}{}.{lock}{}",
        waited_for(group),
        sharing(group)
    )
}

/// What the field is, where it is a lock that is mostly free.
fn is_a_lock(lock: &LockUse) -> String {
    let kind = lock.type_name.as_deref().unwrap_or(lock_kind_name(lock.kind));
    let readers = if lock.kind == LockKind::RwLock { " (read locks write its line, too)" } else { "" };
    format!(" {} is a {kind}{readers}{}", lock.name, taken("its", lock.acquisitions, lock.contended))
}

/// Fields named with their share; what is below is only counted, and not even that if it is next to nothing.
const FIELDS: usize = 3;
const LEAST_FIELD: f64 = 0.01;

/// The fields that are waited for, each with its share of the object's stall and spin.
fn waited_for(group: &Group) -> String {
    let worth = |field: &(String, u64)| units::share(field.1, group.wait()) >= LEAST_FIELD;
    let fields: Vec<_> = group.fields().into_iter().filter(worth).collect();
    let share = |wait| units::about(units::share(wait, group.wait()));
    let mut shares: Vec<String> =
        fields.iter().take(FIELDS).map(|(name, wait)| format!("{} for {name}", share(*wait))).collect();
    if fields.len() > FIELDS {
        let more = share(fields[FIELDS..].iter().map(|field| field.1).sum());
        shares.push(format!("{more} for {}", units::counted((fields.len() - FIELDS) as u64, "other field")));
    }
    let is_object = |name: &str| {
        let rest = group.hottest().object.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
    };
    match shares.split_first() {
        None => String::new(),
        // All that there is of it.
        Some(_) if shares.len() == 1 && is_object(&fields[0].0) => String::new(),
        Some((first, rest)) => {
            let (share, name) = first.split_once(' ').expect("a share and a name");
            let rest: String = rest.iter().map(|field| format!(", {field}")).collect();
            format!(": {share} of it {name}{rest}")
        }
    }
}

/// Who takes the lines from whom, and what padding would separate.
fn sharing(group: &Group) -> String {
    let verdict = &group.verdict;
    let (writers, readers) = parties(group);
    if writers.is_empty() {
        return String::new();
    }
    let who = format!("{} {} {}", places(&writers), verb(&writers, "write"), fields(&writers));
    let padding = verdict.padding.replace('`', "");
    match verdict.sharing {
        Sharing::False if readers.is_empty() => {
            format!(" False sharing: {who}: {}; {padding}.", verdict.reason)
        }
        Sharing::False => format!(
            " False sharing: {who}, and so {} the line from {}: {}; {padding}.",
            verb(&writers, "take"),
            places(&readers),
            verdict.reason,
        ),
        Sharing::True => format!(" True sharing: {who}, which {}; {padding}.", used(group)),
        Sharing::Both => format!(
            " True and false sharing: {who}; {} of the wait is true sharing, the rest false sharing; {padding}.",
            units::about(1.0 - verdict.false_share),
        ),
        Sharing::ReadOnly | Sharing::Unknown => format!(" {who}."),
    }
}

/// Who else uses what is written: `sum (stats.c:9) reads on other CPUs; each is used by at most 2 CPUs`, `8 CPUs use`.
fn used(group: &Group) -> String {
    let verdict = &group.verdict;
    let cpus = units::counted(verdict.users, "CPU");
    let each = match verdict.users_each {
        each if each > 0 && each < verdict.users => {
            format!("; each is used by at most {}", units::counted(each, "CPU"))
        }
        _ => String::new(),
    };
    let readers: Vec<&Spot> = group.sites.iter().filter(|spot| reads_elsewhere(spot, group)).collect();
    match (readers.is_empty(), each.is_empty()) {
        (true, _) => format!("{cpus} use{each}"),
        (false, true) => format!("{} {} on other CPUs; {cpus} use it", places(&readers), verb(&readers, "read")),
        (false, false) => format!("{} {} on other CPUs{each}", places(&readers), verb(&readers, "read")),
    }
}

/// Reads that take the lines from the CPUs that write there.
fn reads_elsewhere(spot: &Spot, group: &Group) -> bool {
    let of_written = spot.fields.iter().any(|field| group.verdict.written.iter().any(|name| name == field.0));
    of_written && units::share(spot.read_elsewhere, group.transfers) >= READER
}

/// A place that reads what others write is named from this share of the transfers on.
const READER: f64 = 0.1;

/// Places shown on either side.
const PARTIES: usize = 2;
/// A place that waits for less than this fraction of the first one's wait is left out.
const MINOR: u64 = 100;

/// The places that write the fields which the verdict calls written, and those that read the others, those that
/// waited longest first.
fn parties<'a, 'b>(group: &'b Group<'a>) -> (Vec<&'b Spot<'a>>, Vec<&'b Spot<'a>>) {
    let verdict = &group.verdict;
    let among =
        |spot: &Spot, names: &[String]| spot.fields.iter().any(|field| names.iter().any(|name| name == field.0));
    let (writers, others): (Vec<&Spot>, Vec<&Spot>) = group.sites.iter().partition(|spot| spot.writes());
    let writers: Vec<&Spot> = writers.into_iter().filter(|spot| among(spot, &verdict.written)).collect();
    let readers = others.into_iter().filter(|spot| among(spot, &verdict.only_read)).collect();
    (main(writers), main(readers))
}

/// Those that wait much.
fn main<'a, 'b>(spots: Vec<&'b Spot<'a>>) -> Vec<&'b Spot<'a>> {
    let most = spots.iter().map(|spot| spot.wait()).max().unwrap_or(0);
    spots.into_iter().filter(|spot| spot.wait() * MINOR >= most).collect()
}

/// `add (counter.c:31) and drop (counter.c:40)`.
fn places(spots: &[&Spot]) -> String {
    let mut places: Vec<String> = spots.iter().map(|s| s.place.to_string()).collect();
    places.dedup();
    match places.len() {
        0..=PARTIES => places.join(" and "),
        more => {
            format!("{} and {}", places[..PARTIES].join(", "), units::counted((more - PARTIES) as u64, "more place"))
        }
    }
}

fn verb(spots: &[&Spot], verb: &str) -> String {
    if places(spots).contains(" and ") { verb.into() } else { format!("{verb}s") }
}

/// The fields that these places touch, those that were waited for longest first.
fn fields(spots: &[&Spot]) -> String {
    let all = by_field(spots.iter().flat_map(|spot| spot.fields.iter().copied()));
    listed(&all.into_iter().map(|field| field.0).collect::<Vec<_>>())
}
