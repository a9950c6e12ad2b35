// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are truncated, overwritten, spliced: an error or fewer structures, never a crash, a hang or runaway memory.
//!
//! `COREFOLD_FUZZ_SECONDS=3600 cargo test -p corefold-report --test layout -- fuzz` for longer; a failure prints its seed,
//! and `COREFOLD_FUZZ_SEED` replays it.
use super::built::{Built, LOOK, tell};
use corefold_dwarf::{Request, Source, Types};
use corefold_report::layout::*;
use object::{Object, ObjectSection};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// No mutation of these files, some tens of kB, may take longer or use more.
const LONGEST: Duration = Duration::from_secs(10);
const MOST_MEMORY: u64 = 1 << 30;
const SEEDS: u64 = 2000;

/// xorshift64*: the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

struct Victim {
    name: &'static str,
    bytes: Vec<u8>,
    /// Where its types are.
    parts: Vec<Range<usize>>,
}

impl Victim {
    fn elf(name: &'static str, built: &Built) -> Victim {
        let bytes = std::fs::read(&built.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let wanted = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_types", ".debug_str_offsets", ".BTF"];
        let parts = file.sections().filter(|section| wanted.contains(&section.name().unwrap_or_default()));
        let mut parts: Vec<_> =
            parts.filter_map(|s| s.file_range()).map(|(at, n)| at as usize..(at + n) as usize).collect();
        parts.push(0..64);
        Victim { name, bytes, parts }
    }

    fn mutated(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for _ in 0..1 + random.below(4) {
            let part = &self.parts[random.below(self.parts.len())];
            let at = part.start + random.below(part.len());
            let length = (1 + random.below(16)).min(part.end - at);
            match random.below(6) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.next() as u8,
                2 => bytes[at..at + length].fill([0, 0xff, 0x7f, 0x80][random.below(4)]),
                3 => {
                    let from = part.start + random.below(part.len() - length);
                    bytes.copy_within(from..from + length, at);
                }
                4 => {
                    let other = &self.parts[random.below(self.parts.len())];
                    let from = other.start + random.below(other.len().saturating_sub(length));
                    if from + length <= bytes.len() {
                        bytes.copy_within(from..from + length, at);
                    }
                }
                _ if random.below(8) == 0 => bytes.truncate(at.max(1)),
                _ => bytes[at] = bytes[at].wrapping_add(1),
            }
            if bytes.len() < self.bytes.len() {
                break;
            }
        }
        bytes
    }
}

/// All that is done with a file's types.
pub fn use_all(types: &Types) -> usize {
    let all = select(types, &[]).unwrap();
    let mut printed = structures_json(types, &all, &LOOK).len();
    let expand = Look { expand: true, ..LOOK };
    for structure in &all {
        printed += structure_text(types, structure, &LOOK).len() + structure_text(types, structure, &expand).len();
        for stride in [Stride::Slab { cpus: 80 }, Stride::Bytes(1000)] {
            if let Ok(slots) = Slots::new(types, structure, &LOOK, &InArray { stride, fields: &[] }) {
                printed += slots_text(types, structure, &slots, &LOOK, false).len();
            }
        }
    }
    let builds = Builds { old: types, new: types, line: 64, stride: None, fields: &[], heat: None };
    printed + differences_text(&differences(&builds, &all, &all), &LOOK, false).len()
}

/// CPU time of the calling thread: how busy the host is does not count.
pub fn cpu_time() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split_whitespace().next().unwrap().parse().unwrap())
}

pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn run(victim: &Victim, seed: u64, scratch: &Path) -> bool {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    std::fs::write(scratch, victim.mutated(&mut random)).unwrap();
    let begun = cpu_time();
    let request = Request { path: scratch.to_owned(), threads: 1, ..Request::default() };
    let done = std::panic::catch_unwind(|| Types::open(&request).map(|types| use_all(&types)).is_ok());
    let took = cpu_time() - begun;
    assert!(done.is_ok(), "{}: COREFOLD_FUZZ_SEED={seed}: a panic", victim.name);
    assert!(took < LONGEST, "{}: COREFOLD_FUZZ_SEED={seed}: {took:?}", victim.name);
    let peak = peak_memory();
    assert!(peak < MOST_MEMORY, "{}: COREFOLD_FUZZ_SEED={seed}: {peak} bytes", victim.name);
    done.unwrap()
}

#[test]
fn fuzz_damaged_files_end_in_words() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let mut victims = vec![
        Victim::elf("C, DWARF 5", &Built::c(&[])),
        Victim::elf("C, DWARF 4, type units", &Built::c(&["-gdwarf-4", "-fdebug-types-section"])),
        Victim::elf("C, object file", &Built::c(&["-c"])),
        Victim::elf("C++", &Built::cpp(&[])),
        Victim::elf("Rust", &Built::rust(&["--crate-type=lib", "--emit=obj"])),
    ];
    victims.push(super::pahole::btf_victim().map_or_else(small_btf, |bytes| {
        let whole = 0..bytes.len();
        Victim { name: "BTF", bytes, parts: vec![whole, 0..24] }
    }));
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("mutant");
    for victim in &victims {
        std::fs::write(&scratch, &victim.bytes).unwrap();
        let types = Types::open(&Request { path: scratch.clone(), ..Request::default() }).unwrap();
        assert!(use_all(&types) > 0, "{}: nothing to damage", victim.name);
    }
    if let Some(seed) = number("COREFOLD_FUZZ_SEED") {
        victims.iter().for_each(|victim| assert!(run(victim, seed, &scratch) || seed > 0));
        return;
    }
    // The same mutants at each run, half a minute of them, unless more are asked for.
    let longer = number("COREFOLD_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let first = if longer.is_some() { UNIX_EPOCH.elapsed().unwrap().as_secs() << 20 } else { 1 };
    let each_second = |begin: u64| {
        let scratch = directory.path().join(begin.to_string());
        let (mut seed, mut read) = (begin, 0);
        while longer.map_or(seed < SEEDS, |end| Instant::now() < end) {
            read += victims.iter().filter(|victim| run(victim, first + seed, &scratch)).count();
            seed += 2;
        }
        ((seed - begin) / 2, read)
    };
    let ((odd, read_of_odd), (even, read_of_even)) = std::thread::scope(|scope| {
        let odd = scope.spawn(|| each_second(1));
        let even = each_second(0);
        (odd.join().unwrap(), even)
    });
    let (all, read) = ((odd + even) as usize * victims.len(), read_of_odd + read_of_even);
    tell(&format!("{all} mutants, {read} of them still readable, peak memory {} MB", peak_memory() >> 20));
    assert!(read > 0 && read < all, "mutations do too much, or nothing");
}

/// A structure of two fields, encoded by hand.
pub fn small_btf_bytes() -> Vec<u8> {
    let strings = b"\0int\0pair\0first\0second\0";
    let types: [u32; 13] = [1, 0x0100_0000, 4, 32, 5, 0x0400_0002, 8, 10, 1, 0, 16, 1, 32];
    let header: [u32; 6] = [0x0001_eb9f, 24, 0, 52, 52, strings.len() as u32];
    let words = header.into_iter().chain(types);
    words.flat_map(u32::to_le_bytes).chain(strings.iter().copied()).collect()
}

fn small_btf() -> Victim {
    let bytes = small_btf_bytes();
    let whole = 0..bytes.len();
    Victim { name: "BTF by hand", bytes, parts: vec![whole] }
}

#[test]
fn errors_say_where() {
    let bytes = small_btf_bytes();
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        let source = Source { bytes: &bytes, pointer_bytes: 8 };
        format!("{:#}", Types::from_btf(source, None).expect_err("it is damaged"))
    };
    assert!(Types::from_btf(Source { bytes: &bytes, pointer_bytes: 8 }, None).is_ok());
    assert!(error(&|b| b[24 + 16] = 0xff).contains("type 2 at offset 0x28"), "the name");
    assert!(error(&|b| b[24 + 20] = 200).contains("type 2 at offset 0x28"), "more members than there are");
    assert!(error(&|b| b.truncate(70)).contains("beyond its 0x46 bytes"), "the end is missing");
    assert!(error(&|b| b[2] = 9).contains("version 9"));
    let elf = Victim::elf("C", &Built::c(&[]));
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("mutant");
    let mut damaged = elf.bytes.clone();
    // Abbreviation codes that nobody defined, from some entry on.
    let info = elf.parts.iter().filter(|part| part.start > 0).find(|part| part.len() > 200).unwrap().clone();
    damaged[info.start + 100..info.end].fill(0x7e);
    std::fs::write(&scratch, damaged).unwrap();
    let error = match Types::open(&Request { path: scratch.clone(), ..Request::default() }) {
        Ok(types) => types.damage().join("; "),
        Err(error) => format!("{error:#}"),
    };
    assert!(error.contains("entry at 0x"), "{error}");
}
