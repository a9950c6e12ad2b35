// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where on their lines the objects of an array or slab fall, slot by slot.
//!
//! Object k of an array begins at k × stride, which is (k × stride) mod line bytes after a line begins. That repeats
//! after line / gcd(stride, line) objects; of a slab, at each slab's beginning too.
use super::leaves::Leaf;

/// How objects follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    pub stride: u64,
    /// Objects of a slab; `None`: an array of any length.
    pub objects: Option<u64>,
    pub line: u64,
}

/// What `--stride` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// Bytes from one object to the next.
    Bytes(u64),
    /// As the kit's slab caches and Linux's SLUB pack objects of this size without alignment, on so many CPUs.
    Slab { cpus: u32 },
}

/// Slabs have up to so many pages.
const MOST_PAGES: u64 = 8;
const PAGE: u64 = 4096;
/// Fields that all overlap, as only circles of types have them, would make pairs without end.
const MOST_LOOKS: usize = 500_000;
const WORD: u64 = 8;

impl Rows {
    /// For objects of `size` bytes; an error says why there is no such array.
    pub fn new(stride: Stride, size: u64, line: u64) -> Result<Rows, String> {
        match stride {
            _ if size == 0 => Err("it has no bytes".to_owned()),
            Stride::Bytes(bytes) if bytes < size => Err(format!("objects of {size} bytes do not fit into {bytes}")),
            Stride::Bytes(stride) => Ok(Rows { stride, objects: None, line }),
            Stride::Slab { cpus } => {
                let stride = size.checked_next_multiple_of(WORD).filter(|stride| *stride <= MOST_PAGES * PAGE);
                let stride = stride.ok_or_else(|| format!("{size} bytes are more than a slab has"))?;
                Ok(Rows { stride, objects: Some(slab_pages(stride, cpus) * PAGE / stride), line })
            }
        }
    }

    /// Objects until their places on lines repeat.
    pub fn period(&self) -> u64 {
        let period = self.line / gcd(self.stride, self.line);
        self.objects.map_or(period, |objects| period.min(objects))
    }

    /// Where the object in a slot begins on its line.
    pub fn offset(&self, slot: u64) -> u64 {
        slot % self.line * (self.stride % self.line) % self.line
    }

    /// How many objects of a slab, or of a period, are placed as the one in `slot`.
    pub fn count(&self, slot: u64) -> u64 {
        let objects = self.objects.unwrap_or(self.period());
        (objects + self.period() - 1 - slot) / self.period()
    }

    pub fn objects(&self) -> u64 {
        self.objects.unwrap_or(self.period())
    }

    pub fn share(&self, a: &Leaf, b: &Leaf, slot: u64) -> bool {
        let at = self.offset(slot);
        let (a, b) = (a.lines(at, self.line), b.lines(at, self.line));
        a.0 <= b.1 && b.0 <= a.1
    }
}

/// Two fields of an object in an array, and the slots in which they have a line in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Indices of the fields.
    pub fields: (usize, usize),
    pub slots: Vec<u64>,
    /// Of the array's objects, or of a slab's.
    pub objects: u64,
}

/// All pairs of `fields` that share a line in some slot. Fields that overlap, as those of a union, are one place.
pub fn pairs(rows: &Rows, fields: &[Leaf]) -> Vec<Pair> {
    let (mut pairs, mut left) = (Vec::new(), MOST_LOOKS);
    for (first, a) in fields.iter().enumerate() {
        for (second, b) in fields.iter().enumerate().skip(first + 1) {
            // Fields are in the order of memory: no later one is nearer.
            if left == 0 || b.offset >= a.offset.saturating_add(a.size).saturating_add(rows.line) {
                break;
            }
            left -= 1;
            if b.offset < a.offset.saturating_add(a.size) {
                continue;
            }
            let slots: Vec<u64> = (0..rows.period()).filter(|slot| rows.share(a, b, *slot)).collect();
            let objects = slots.iter().map(|slot| rows.count(*slot)).sum();
            if objects > 0 {
                pairs.push(Pair { fields: (first, second), slots, objects });
            }
        }
    }
    pairs
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The fewest pages that waste at most a sixteenth (then an eighth, a quarter) with at least 4 × (log2(CPUs) + 2)
/// objects: `slab_pages` of the kit's slab_pages.c, `calculate_order` of Linux's mm/slub.c.
fn slab_pages(stride: u64, cpus: u32) -> u64 {
    let pages_for = |objects: u64, fraction: u64| {
        let wasteful = |bytes: u64| bytes / stride < objects || bytes % stride > bytes / fraction;
        (0..).map(|order| 1 << order).find(|pages| *pages > MOST_PAGES || !wasteful(pages * PAGE)).unwrap_or(MOST_PAGES)
    };
    let wanted = 4 * (u64::from(cpus.max(1).ilog2()) + 2);
    for objects in (2..=wanted.min(MOST_PAGES * PAGE / stride)).rev() {
        for fraction in [16, 8, 4] {
            let pages = pages_for(objects, fraction);
            if pages <= MOST_PAGES {
                return pages;
            }
        }
    }
    pages_for(1, 1).min(MOST_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(path: &str, offset: u64, size: u64) -> Leaf {
        Leaf { path: path.to_owned(), type_name: String::new(), offset, size }
    }

    /// By arithmetic alone, over all objects of a long array.
    #[test]
    fn pairs_are_what_the_addresses_say() {
        for stride in [584, 592, 640, 100, 8, 64] {
            let rows = Rows::new(Stride::Bytes(stride), stride.min(584), 64).unwrap();
            let fields = [leaf("count", 0, 8), leaf("owner", 32, 8), leaf("far", 96, 8)];
            for (first, second) in [(0, 1), (0, 2), (1, 2)] {
                // Of every byte: with a stride of 100 bytes fields lie across lines.
                let lines = |field: &Leaf, object: u64| -> Vec<u64> {
                    (0..field.size).map(|byte| (object * stride + field.offset + byte) / 64).collect()
                };
                let meet = |k: &u64| lines(&fields[first], *k).iter().any(|l| lines(&fields[second], *k).contains(l));
                let shared = (0..6400).filter(meet).count();
                let found = pairs(&rows, &fields).into_iter().find(|pair| pair.fields == (first, second));
                let share = found.map_or(0.0, |pair| pair.objects as f64 / rows.objects() as f64);
                assert_eq!(share, shared as f64 / 6400.0, "{stride} {first} {second}");
            }
        }
    }

    #[test]
    fn slabs_are_as_the_kit_packs_them() {
        let objects = |size, cpus| {
            let rows = Rows::new(Stride::Slab { cpus }, size, 64).unwrap();
            (rows.stride, rows.objects.unwrap())
        };
        assert_eq!(objects(592, 80), (592, 55));
        assert_eq!(objects(580, 80), (584, 56));
        assert_eq!(objects(8, 80), (8, 512));
        assert_eq!(objects(30_000, 80), (30_000, 1));
        assert!(Rows::new(Stride::Slab { cpus: 1 }, 40_000, 64).is_err());
        assert!(Rows::new(Stride::Bytes(8), 9, 64).is_err());
    }
}
