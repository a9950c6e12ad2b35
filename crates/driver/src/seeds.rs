// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of seeds: `1-10000`, `7,11,100-200`.
use crate::exit::bad_input;
use anyhow::Result;
use std::ops::RangeInclusive;

/// Seeds in the order in which they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<RangeInclusive<u64>>);

impl Seeds {
    pub fn parse(list: &str) -> Result<Seeds> {
        list.split(',').map(|part| one(list, part)).collect::<Result<_>>().map(Seeds)
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|r| (r.end() - r.start()).saturating_add(1)).fold(0, u64::saturating_add)
    }

    /// The seed at `place`, counted from 0.
    pub fn at(&self, place: u64) -> Option<u64> {
        let mut left = place;
        for range in &self.0 {
            match range.end() - range.start() {
                more if left <= more => return Some(range.start() + left),
                more => left -= more + 1,
            }
        }
        None
    }
}

fn one(list: &str, part: &str) -> Result<RangeInclusive<u64>> {
    let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => {
            Err(bad_input!("--seeds {list}: the range {first}-{last} ends before it begins: write {last}-{first}"))
        }
        (Some(first), Some(last)) => Ok(first..=last),
        _ => Err(malformed(list, part)),
    }
}

fn number(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
}

fn malformed(list: &str, part: &str) -> anyhow::Error {
    bad_input!("--seeds {list}: {part:?} is neither a number nor a range like 1-10000")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(list: &str) -> Vec<u64> {
        let seeds = Seeds::parse(list).unwrap();
        let all: Vec<u64> = (0..).map_while(|place| seeds.at(place)).collect();
        assert_eq!(seeds.count(), all.len() as u64);
        all
    }

    #[test]
    fn seeds_come_in_the_order_of_the_list() {
        assert_eq!(all("7"), [7]);
        assert_eq!(all("5, 1-3,10"), [5, 1, 2, 3, 10]);
        assert_eq!(Seeds::parse("0-18446744073709551615").unwrap().count(), u64::MAX);
    }

    #[test]
    fn what_is_wrong_is_quoted() {
        for (list, part) in [("", ""), ("1,,2", ""), ("1-", "1-"), ("-1", "-1"), ("1,x", "x")] {
            let said = Seeds::parse(list).unwrap_err().to_string();
            assert!(said.starts_with(&format!("--seeds {list}: {part:?} is neither")), "{said}");
        }
        let said = Seeds::parse("7,3-1").unwrap_err().to_string();
        assert_eq!(said, "--seeds 7,3-1: the range 3-1 ends before it begins: write 1-3");
    }
}
