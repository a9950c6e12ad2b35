// SPDX-License-Identifier: MIT OR Apache-2.0
//! True or false sharing: whether those who fight for a line use the same bytes of it.
//!
//! A recording says how many CPUs came through each place in the code, not which. So every place's cost
//! is laid on those it conflicts with (at least one of the two writes), weighed by how often they moved
//! the line: places that touch the same bytes count as true sharing, the others as false.
use crate::lines::{reads, writes};
use crate::types::{Sharing, Verdict};
use corefold_recording::Site;

/// A place in the code, as far as the verdict needs it.
pub(crate) struct Toucher {
    /// Number of the field.
    pub field: usize,
    /// The function that was really called, for inlined ones touch what it touches.
    function: String,
    from: u32,
    to: u32,
    reads: bool,
    writes: bool,
    cpus: u32,
    weight: f64,
    cost: f64,
}

impl Toucher {
    pub fn new(site: &Site, field: usize, function: String) -> Toucher {
        let from = u32::from(site.offset);
        Toucher {
            field,
            function,
            from,
            to: from + u32::from(site.size.max(1)),
            reads: reads(site.kind),
            writes: writes(site.kind),
            cpus: site.cpus,
            weight: (site.transfers + site.claims) as f64,
            cost: (site.stall + site.spin + site.transfers) as f64,
        }
    }

    /// A field is the least that has a name: words of one lock are not told apart.
    fn overlaps(&self, other: &Toucher) -> bool {
        self.field == other.field || (self.from < other.to && other.from < self.to)
    }
}

/// Below this share of the cost, the other kind of sharing is not worth a word.
const NEGLIGIBLE: f64 = 0.1;

/// Those whose accesses matter to a line. A place that hardly ever moved it (a first initialisation, say)
/// is no party. Stores wait for nothing but make others wait: where no writer pays, all of them are parties.
fn parties(touchers: &[Toucher]) -> Vec<&Toucher> {
    let cost: f64 = touchers.iter().map(|toucher| toucher.cost).sum();
    let moves: f64 = touchers.iter().map(|toucher| toucher.weight).sum();
    let mut parties: Vec<&Toucher> = touchers.iter().filter(|toucher| toucher.cost >= cost * 0.01).collect();
    if !parties.iter().any(|party| party.writes) {
        let writers = || touchers.iter().filter(|toucher| toucher.writes);
        let by_writers: f64 = writers().map(|writer| writer.weight).sum();
        if by_writers > 1.0 && by_writers >= moves * NEGLIGIBLE {
            parties.extend(writers());
        }
    }
    parties
}

/// The verdict on a line that `cpus` CPUs touched; `names` are its fields'.
pub(crate) fn judge(touchers: &[Toucher], names: &[&str], cpus: u32) -> Verdict {
    let parties = parties(touchers);
    // A line's count starts when it is first shared, a place's with its first access.
    let seen = parties.iter().map(|party| party.cpus).max().unwrap_or(0);
    let cpus = cpus.max(seen);
    let mut verdict = Verdict { sharing: sharing(&parties, cpus), ..Verdict::default() };
    let used = |wanted: &dyn Fn(&Toucher) -> bool| -> Vec<usize> {
        let mut fields: Vec<usize> = parties.iter().filter(|party| wanted(party)).map(|party| party.field).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    };
    let written = used(&|party| party.writes);
    let mut only_read = used(&|party| party.reads);
    only_read.retain(|field| !written.contains(field));
    verdict.written = written.iter().map(|field| names[*field].to_owned()).collect();
    verdict.only_read = only_read.iter().map(|field| names[*field].to_owned()).collect();
    verdict.sentence = sentence(&verdict, cpus);
    verdict
}

fn sharing(parties: &[&Toucher], cpus: u32) -> Sharing {
    if parties.is_empty() || (cpus < 2 && pieces(parties).len() < 2) {
        return Sharing::Unknown;
    }
    if !parties.iter().any(|party| party.writes) {
        return Sharing::ReadOnly;
    }
    let census = Census::new(parties, cpus);
    let (mut true_cost, mut false_cost) = (0.0, 0.0);
    for party in parties {
        let (same, other) = census.opponents(party);
        if same + other > 0.0 {
            true_cost += party.cost * same / (same + other);
            false_cost += party.cost * other / (same + other);
        }
    }
    match true_cost / (true_cost + false_cost) {
        share if share.is_nan() => Sharing::Unknown,
        share if share < NEGLIGIBLE => Sharing::False,
        share if share > 1.0 - NEGLIGIBLE => Sharing::True,
        _ => Sharing::Both,
    }
}

/// Who may be whom.
struct Census<'a> {
    parties: &'a [&'a Toucher],
    /// More CPUs touched the line than there are separate pieces of it: some piece has several.
    crowded: bool,
    /// As many pieces as CPUs, and too many for that to be chance: each CPU has its own.
    one_each: bool,
}

impl<'a> Census<'a> {
    fn new(parties: &'a [&'a Toucher], cpus: u32) -> Census<'a> {
        let pieces = pieces(parties);
        let one_each = pieces.len() >= 3 && pieces.len() as u32 >= cpus;
        Census { parties, crowded: cpus > pieces.iter().sum(), one_each }
    }

    /// Transfers of those that take the line from `party`: for the same bytes, and for others.
    fn opponents(&self, party: &Toucher) -> (f64, f64) {
        let (mut same, mut other) = (0.0, 0.0);
        for opponent in self.parties.iter().filter(|opponent| opponent.writes || party.writes) {
            if std::ptr::eq(*opponent, party) {
                same += party.weight * f64::from(party.cpus.saturating_sub(1)) / f64::from(party.cpus.max(1));
            } else if !party.overlaps(opponent) {
                other += opponent.weight;
            } else {
                same += opponent.weight * self.likely_another_cpu(party, opponent);
            }
        }
        (same, other)
    }

    /// Of two places that touch the same bytes, how likely it is that they ran on different CPUs.
    fn likely_another_cpu(&self, one: &Toucher, two: &Toucher) -> f64 {
        if one.cpus.max(two.cpus) > 1 || self.crowded {
            1.0
        } else if one.function == two.function || self.one_each {
            0.0
        } else {
            0.5
        }
    }
}

/// Separate pieces of the line, each with the number of CPUs that surely used it.
fn pieces(parties: &[&Toucher]) -> Vec<u32> {
    let mut ranges: Vec<(u32, u32, u32)> = parties.iter().map(|party| (party.from, party.to, party.cpus)).collect();
    ranges.sort_unstable();
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    for (from, to, cpus) in ranges {
        match pieces.last_mut() {
            Some((end, most)) if from < *end => (*end, *most) = ((*end).max(to), (*most).max(cpus)),
            _ => pieces.push((to, cpus)),
        }
    }
    pieces.into_iter().map(|piece| piece.1).collect()
}

fn sentence(verdict: &Verdict, cpus: u32) -> String {
    let (written, read) = (list(&verdict.written), list(&verdict.only_read));
    let suffering = if verdict.only_read.is_empty() { String::new() } else { format!("; {read} beside it only read") };
    match verdict.sharing {
        Sharing::False if verdict.only_read.is_empty() => {
            format!("different CPUs write {written}, which lie on one line")
        }
        Sharing::False if verdict.written.len() == 1 => {
            format!("{written} is written, and takes the line from readers of {read}")
        }
        Sharing::False => {
            format!("different CPUs write {written}, and take the line from readers of {read}")
        }
        Sharing::True => format!("{cpus} CPUs use {written}, which some of them write{suffering}"),
        Sharing::Both => format!(
            "several CPUs use and write {written}, which share the line with each other or with what is beside them{suffering}"
        ),
        Sharing::ReadOnly => format!("{cpus} CPUs fetch {read}, which nobody writes"),
        Sharing::Unknown => "too little is known to tell who disturbs whom".to_owned(),
    }
}

/// Names in backquotes; those that differ in one subscript only are drawn together.
fn list(names: &[String]) -> String {
    let quoted: Vec<String> = gather(names).iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [some @ .., last] if some.len() <= 2 => format!("{} and {last}", some.join(", ")),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    }
}

/// `slots[0].delta`, `slots[1].delta`, `slots[2].delta` as `slots[0…2].delta`.
fn gather(names: &[String]) -> Vec<String> {
    let mut gathered: Vec<String> = Vec::new();
    let mut row: Option<(&str, &str, u64, u64)> = None;
    for name in names {
        let subscript = last_subscript(name);
        row = match (row, subscript) {
            (Some((head, tail, first, last)), Some((h, n, t))) if (head, tail) == (h, t) && n == last + 1 => {
                gathered.pop();
                gathered.push(format!("{head}[{first}…{n}]{tail}"));
                Some((head, tail, first, n))
            }
            (_, subscript) => {
                gathered.push(name.clone());
                subscript.map(|(head, n, tail)| (head, tail, n, n))
            }
        };
    }
    gathered
}

/// `a[1].b[2].c` into `a[1].b`, 2 and `.c`.
fn last_subscript(name: &str) -> Option<(&str, u64, &str)> {
    let open = name.rfind('[')?;
    let close = open + name[open..].find(']')?;
    Some((&name[..open], name[open + 1..close].parse().ok()?, &name[close + 1..]))
}

#[cfg(test)]
mod tests {
    use super::gather;

    #[test]
    fn rows_are_drawn_together() {
        let names = ["a", "s[0].x", "s[1].x", "s[2].x", "s[2].y", "t[4]", "t[6]"].map(str::to_owned);
        assert_eq!(gather(&names), ["a", "s[0…2].x", "s[2].y", "t[4]", "t[6]"]);
    }
}
